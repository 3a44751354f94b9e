//! Work on single values in memory: waiting for one, writing one.

use crate::abi::{Answer, CUgraphNodeType, CUresult, CUstreamWaitValue};
use crate::check;
use crate::objects::context::Context;
use crate::objects::device::memory;
use crate::objects::work::Work;

pub struct WaitValue {
    pub address: u64,
    pub value: u64,
    /// 4 or 8.
    pub bytes: usize,
    pub comparison: CUstreamWaitValue,
}

impl Work for WaitValue {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::BATCH_MEM_OP
    }

    fn perform(&self, _context: &Context) -> Answer {
        Ok(())
    }

    fn ready(&self) -> Option<bool> {
        let mut word = [0; 8];
        if memory().read(self.address, &mut word[..self.bytes]).is_err() {
            // The memory is gone: the value can never be written.
            return Some(true);
        }
        let (seen, mask) =
            (u64::from_le_bytes(word), if self.bytes == 4 { u32::MAX.into() } else { u64::MAX });
        Some(match self.comparison {
            CUstreamWaitValue::EQ => seen == self.value,
            CUstreamWaitValue::AND => seen & self.value != 0,
            CUstreamWaitValue::NOR => !(seen | self.value) & mask != 0,
            // The difference as a signed number, so that counters may wrap.
            CUstreamWaitValue::GEQ if self.bytes == 4 => {
                (seen as u32).wrapping_sub(self.value as u32) as i32 >= 0
            }
            CUstreamWaitValue::GEQ => seen.wrapping_sub(self.value) as i64 >= 0,
        })
    }
}

pub struct WriteValue {
    pub address: u64,
    pub value: u64,
    /// 4 or 8.
    pub bytes: usize,
}

impl Work for WriteValue {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::BATCH_MEM_OP
    }

    fn perform(&self, _context: &Context) -> Answer {
        check::host_pages::signalled();
        check::tell(|sanitizer| sanitizer.host_wrote(self.address, self.bytes as u64));
        let value = &self.value.to_le_bytes()[..self.bytes];
        memory().write(self.address, value).map_err(|_| CUresult::ILLEGAL_ADDRESS)
    }
}
