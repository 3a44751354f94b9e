//! A number of launches as one sample: captured into a graph, so that it holds the kernels' time and not the host's.
//!
//! The driver's own copy is enqueued directly: as a node of a graph it goes through a copy engine, at two thirds of the
//! rate that a plain call reaches.

use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::sys;
use warpsmith_launch::Stream;

use super::pairs::Enqueue;

/// Launches that can be timed over and over.
pub enum Sampler<'a> {
    Captured(Replay),
    /// Enqueued one by one.
    Direct(Enqueue<'a>, u32),
}

impl Sampler<'_> {
    /// Runs once and returns the milliseconds of one launch.
    pub fn time(&mut self, stream: &Stream) -> CudaResult<f64> {
        match self {
            Self::Captured(replay) => replay.time(stream),
            Self::Direct(enqueue, launches) => {
                timed(stream, *launches, || (0..*launches as usize).try_for_each(&mut *enqueue))
            }
        }
    }
}

/// Milliseconds of one launch between two events.
fn timed(stream: &Stream, launches: u32, run: impl FnOnce() -> CudaResult<()>) -> CudaResult<f64> {
    let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    stream.record(&start)?;
    run()?;
    stream.record(&end)?;
    end.synchronize()?;
    Ok(f64::from(end.elapsed_time_f32(&start)?) / f64::from(launches))
}

/// A number of launches, replayed as one.
pub struct Replay {
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
    launches: u32,
}

impl Replay {
    /// Captures `launches` calls of `enqueue`, which must put work on `stream` and nothing else; it is told which
    /// buffer set to use, so that sets rotate and the L2 cache does not answer for memory.
    pub fn capture(
        stream: &Stream,
        launches: u32,
        enqueue: &mut dyn FnMut(usize) -> CudaResult<()>,
    ) -> CudaResult<Self> {
        let mut replay = Self { graph: std::ptr::null_mut(), executable: std::ptr::null_mut(), launches };
        // SAFETY: the stream is alive; the capture it begins is ended below on every path.
        unsafe {
            check(sys::cuStreamBeginCapture_v2(
                stream.as_inner(),
                sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED,
            ))?
        };
        let enqueued = (0..launches as usize).try_for_each(&mut *enqueue);
        // SAFETY: ends the capture begun above; the graph is owned by `replay` from here on.
        let ended = unsafe { check(sys::cuStreamEndCapture(stream.as_inner(), &mut replay.graph)) };
        enqueued.and(ended)?;
        // SAFETY: the graph was just captured, the executable is owned by `replay`.
        unsafe {
            check(sys::cuGraphInstantiateWithFlags(&mut replay.executable, replay.graph, 0))?;
        }
        Ok(replay)
    }

    /// Replays once and returns the milliseconds of one launch.
    pub fn time(&self, stream: &Stream) -> CudaResult<f64> {
        timed(stream, self.launches, || {
            // SAFETY: the executable graph is alive as long as `self`.
            unsafe { check(sys::cuGraphLaunch(self.executable, stream.as_inner())) }
        })
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        // SAFETY: both handles are ours alone and null where their making failed.
        unsafe {
            if !self.executable.is_null() {
                sys::cuGraphExecDestroy(self.executable);
            }
            if !self.graph.is_null() {
                sys::cuGraphDestroy(self.graph);
            }
        }
    }
}

/// The driver's code as `cust`'s error.
fn check(code: sys::CUresult) -> CudaResult<()> {
    match code {
        sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
        sys::cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY => Err(CudaError::OutOfMemory),
        sys::cudaError_enum::CUDA_ERROR_INVALID_VALUE => Err(CudaError::InvalidValue),
        sys::cudaError_enum::CUDA_ERROR_ILLEGAL_ADDRESS => Err(CudaError::IllegalAddress),
        sys::cudaError_enum::CUDA_ERROR_LAUNCH_FAILED => Err(CudaError::LaunchFailed),
        sys::cudaError_enum::CUDA_ERROR_NOT_SUPPORTED => Err(CudaError::UnknownError),
        _ => Err(CudaError::UnknownError),
    }
}
