//! Running a decoded program.

use crate::launch::Launch;
use crate::module::Kernel;
use crate::observer::LaunchObserver;
use crate::{Error, Gpu};

/// The host threads that run blocks.
#[derive(Debug)]
pub(crate) struct Pool {
    #[expect(dead_code, reason = "launches do not run yet")]
    threads: usize,
}

impl Pool {
    pub fn new(threads: usize) -> Self {
        Pool { threads }
    }
}

pub(crate) fn launch<O: LaunchObserver>(
    _gpu: &Gpu,
    _pool: &Pool,
    kernel: &Kernel,
    _launch: &Launch,
    _params: &[u8],
    _observer: &mut O,
) -> Result<(), Error> {
    Err(Error::LaunchLimit {
        kernel: kernel.name().into(),
        what: "launches, which do not run yet,",
        asked: 1,
        limit: 0,
    })
}
