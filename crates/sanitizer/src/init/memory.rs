//! Definedness of memory beside the accesses of warps: copies, allocations, prints, and tiles of matrices.

use std::sync::PoisonError;

use virtual_gpu::observer::{AsyncEvent, At, MemorySpace};

use super::BlockInit;
use crate::carried::Part;
use crate::cluster::named;
use crate::reached::lanes;
use crate::written::Written;

impl BlockInit {
    /// Bytes of the block's own shadow.
    pub fn shadow_bytes(&mut self) -> usize {
        self.shared.hold().bytes() + self.local.values().map(Written::bytes).sum::<usize>()
    }

    /// Memory that a thread was given by `malloc` is undefined.
    pub fn forget_global(&self, address: u64, bytes: u64) {
        self.global.lock().unwrap_or_else(PoisonError::into_inner).set(address, bytes, false);
    }

    /// Something is copied asynchronously, and its definedness with it. Where a reduction meets something that was never
    /// written, if it does.
    pub fn moved(&mut self, at: At, event: &AsyncEvent<'_>) -> Option<(MemorySpace, u64)> {
        let (space, part, reduces) = match *event {
            AsyncEvent::CopyStarted { shared, global, bytes, read } => {
                for lane in lanes(at.lanes) {
                    let lane = lane as usize;
                    self.copied(shared[lane], global[lane], bytes, read[lane]);
                }
                return None;
            }
            AsyncEvent::Moved { space, write: false, address, bytes, within, swizzle, .. } => {
                self.bulk_read(at, space, &Part { address, bytes, within, swizzle });
                return None;
            }
            // What comes into shared memory was told when it was issued.
            AsyncEvent::Moved {
                space: space @ MemorySpace::Global,
                write: true,
                address,
                bytes,
                within,
                swizzle,
                reduces,
            } => (space, Part { address, bytes, within, swizzle }, reduces),
            AsyncEvent::BulkStarted { address, bytes, reduces, swizzle, .. } => {
                (MemorySpace::Shared, Part { address, bytes, within: 0, swizzle }, reduces)
            }
            _ => return None,
        };
        self.bulk_written(at, space, &part, reduces).then_some((space, part.address))
    }

    /// Memory becomes undefined.
    pub fn forget(&mut self, space: MemorySpace, address: u64, bytes: u32) {
        self.with_memory(space, address, |written, address| written.set(address, bytes.into(), false));
    }

    /// A bulk copy reads this part of what it copies.
    fn bulk_read(&mut self, at: At, space: MemorySpace, part: &Part) {
        match space {
            MemorySpace::Shared => self.carried.read(at, &mut self.shared.hold(), part),
            _ => {
                let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
                self.carried.read(at, &mut global, part);
            }
        }
    }

    /// A bulk copy writes this part of what it copies, or will: who looks there before has a race. Whether it is a
    /// reduction of or with something that was never written.
    fn bulk_written(&mut self, at: At, space: MemorySpace, part: &Part, reduces: bool) -> bool {
        match space {
            MemorySpace::Shared => self.carried.write(at, &mut self.shared.hold(), part, reduces),
            _ => {
                let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
                self.carried.write(at, &mut global, part, reduces)
            }
        }
    }

    /// Whether something undefined is printed.
    pub fn prints(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32) -> bool {
        match space {
            MemorySpace::Local => lanes(at.lanes).any(|lane| {
                let stack = self.local.entry(at.warp * 32 + lane).or_insert_with(self.stack);
                stack.missing(address, bytes) != 0
            }),
            MemorySpace::Shared | MemorySpace::Global => self.of_memory(space, address, bytes) != 0,
            MemorySpace::Param | MemorySpace::Const => false,
        }
    }

    /// Does something with what was written of shared or global memory, at an address in it.
    fn with_memory<T>(
        &mut self,
        space: MemorySpace,
        address: u64,
        what: impl FnOnce(&mut Written, u64) -> T,
    ) -> T {
        match space {
            MemorySpace::Shared => what(&mut self.shared.hold(), named(self.rank, address)),
            _ => what(&mut self.global.lock().unwrap_or_else(PoisonError::into_inner), address),
        }
    }

    /// Undefined bits of at most 16 bytes.
    pub fn of_memory(&mut self, space: MemorySpace, address: u64, bytes: u32) -> u128 {
        self.with_memory(space, address, |written, address| match written.missing(address, bytes) {
            0 => 0,
            _ => written.missing_bits(address, bytes),
        })
    }

    /// At most 16 bytes were written whose undefined bits are these.
    pub fn set_memory(&mut self, space: MemorySpace, address: u64, bytes: u32, undefined: u128) {
        self.with_memory(space, address, |written, address| {
            for byte in 0..bytes {
                written.set_bits(address.wrapping_add(byte.into()), (undefined >> (8 * byte)) as u8);
            }
        });
    }

    /// An asynchronous copy writes shared memory with what global memory holds, as far as it reads it, and zeros.
    fn copied(&mut self, shared: u64, global: u64, bytes: u32, read: u32) {
        let mut source = self.global.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = source.missing(global, read);
        let mut written = self.shared.hold();
        for byte in 0..bytes {
            written.set(shared.wrapping_add(byte.into()), 1, missing >> byte & 1 == 0);
        }
    }
}
