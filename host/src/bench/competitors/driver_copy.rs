//! The driver's own device-to-device copy.

use cust::error::CudaError;

use super::super::competitor::{Candidate, Competitor, Kind, Task};
use super::super::measure::Bench;
use super::super::pairs::Enqueue;
use crate::error::Error;

pub const CANDIDATE: Candidate =
    Candidate { word: None, does: Kind::Copy, open: |_| Ok(Some(Box::new(DriverCopy))) };

struct DriverCopy;

impl Competitor for DriverCopy {
    fn name(&self) -> &'static str {
        "driver copy"
    }

    fn does(&self) -> Kind {
        Kind::Copy
    }

    fn is_captured(&self) -> bool {
        false
    }

    fn launches<'a>(&'a self, bench: &'a Bench<'_>, task: &Task<'a>) -> Result<Option<Enqueue<'a>>, Error> {
        let Task::Copy { buffers, bytes } = task else { return Ok(None) };
        let (buffers, bytes) = (buffers.clone(), *bytes);
        Ok(Some(Box::new(move |set| {
            let (from, to) = buffers[set % buffers.len()];
            // SAFETY: both buffers hold `bytes` bytes, as the suite that asks for the copy made them.
            let code =
                unsafe { cust::sys::cuMemcpyDtoDAsync_v2(to, from, bytes, bench.device.stream().as_inner()) };
            match code {
                cust::sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
                _ => Err(CudaError::UnknownError),
            }
        })))
    }
}
