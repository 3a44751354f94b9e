//! A launch about to run, and which crate compiles the interpreter for it.

use crate::exec::{self, Pool};
use crate::launch::Launch;
use crate::module::Kernel;
use crate::observer::LaunchObserver;
use crate::profiler::Profiler;
use crate::{Error, Gpu, Quota};

/// A launch about to run.
pub struct Job<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) pool: &'a Pool,
    pub(crate) quota: &'a Quota,
    pub(crate) kernel: &'a Kernel,
    pub(crate) launch: &'a Launch,
    pub(crate) params: &'a [u8],
}

impl Job<'_> {
    /// Checks the launch and runs it.
    pub fn under<O: LaunchObserver>(self, observer: &mut O) -> Result<(), Error> {
        exec::launch(self, observer)
    }
}

/// Observers of a launch: one, or several.
///
/// The interpreter is compiled for each type of observer. Because each implementor calls `job.under(self)` itself, that
/// happens in the implementor's crate, and not again in every crate that launches.
pub trait Watch {
    /// Runs the launch: `job.under(self)`, or under the observer that this represents.
    fn run(&mut self, job: Job<'_>) -> Result<(), Error>;
}

impl Watch for () {
    fn run(&mut self, job: Job<'_>) -> Result<(), Error> {
        job.under(self)
    }
}

impl Watch for Profiler {
    fn run(&mut self, job: Job<'_>) -> Result<(), Error> {
        job.under(self)
    }
}
