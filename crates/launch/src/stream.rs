//! A device's stream.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use cust::error::{CudaError, CudaResult};
use cust::event::Event;
use cust::function::{BlockSize, Function, GridSize};
use cust::stream::StreamFlags;
use cust::sys;

use crate::extra::result;

/// A stream. The default stream, on which `cust` copies, waits for it, and it for that one.
///
/// It is `cust`'s without `Stream::add_callback`, which takes a closure that borrows what may be gone when it is called.
/// `cust::launch!` takes it.
///
/// ```compile_fail,E0373
/// # fn late(device: &warpsmith_launch::Device) {
/// let text = String::from("gone");
/// device.stream().on_host(|| println!("{text}")).unwrap(); // called when the stream comes to it
/// # }
/// ```
pub struct Stream {
    stream: ManuallyDrop<cust::stream::Stream>,
    /// The code that destroys it, if it is shared.
    owner: Option<StreamOwner>,
}

/// Keeps a stream of other code.
pub(crate) type StreamOwner = Arc<dyn Any + Send + Sync>;

impl Stream {
    /// Makes one in the current context.
    pub fn new() -> CudaResult<Self> {
        let stream = cust::stream::Stream::new(StreamFlags::NON_BLOCKING, None)?;
        Ok(Self { stream: ManuallyDrop::new(stream), owner: None })
    }

    /// Makes one without order to the default stream, which `cust` never does: a copy of another thread would end a capture of
    /// any other stream, and fail.
    pub(crate) fn for_captures() -> CudaResult<Self> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the place is valid for the call.
        result(unsafe {
            sys::cuStreamCreate(&mut stream, sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32)
        })?;
        // SAFETY: it was made above, and is destroyed by what returns.
        Ok(unsafe { Self::of(stream, None) })
    }

    /// Shares a stream of other code.
    ///
    /// # Safety
    /// `owner` keeps it.
    #[cfg(feature = "share")]
    pub(crate) unsafe fn shared(stream: sys::CUstream, owner: StreamOwner) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::of(stream, Some(owner)) }
    }

    /// # Safety
    /// The stream is there as long as `owner`, or is given away.
    unsafe fn of(stream: sys::CUstream, owner: Option<StreamOwner>) -> Self {
        // SAFETY: `cust`'s stream has one field, the handle: their sizes, which are compared here, are the same.
        let stream = unsafe { std::mem::transmute::<sys::CUstream, cust::stream::Stream>(stream) };
        Self { stream: ManuallyDrop::new(stream), owner }
    }

    /// The keeper of a shared stream.
    #[cfg(feature = "share")]
    pub(crate) fn owner(&self) -> Option<&StreamOwner> {
        self.owner.as_ref()
    }

    /// `cust`'s stream.
    ///
    /// # Safety
    /// Closures that `add_callback` is given borrow nothing: they are `'static`.
    pub unsafe fn cust(&self) -> &cust::stream::Stream {
        &self.stream
    }

    /// The driver's handle, which is valid as long as the stream.
    pub fn as_inner(&self) -> sys::CUstream {
        self.stream.as_inner()
    }

    /// Starts a kernel; what `cust::launch!` calls.
    ///
    /// # Safety
    /// `parameters` points at one value for each of the kernel's parameters, of its size; and what the kernel asks for holds.
    pub unsafe fn launch<G: Into<GridSize>, B: Into<BlockSize>>(
        &self,
        function: &Function<'_>,
        grid: G,
        block: B,
        shared: u32,
        parameters: &[*mut c_void],
    ) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.stream.launch(function, grid, block, shared, parameters) }
    }

    /// Waits until all has been done that was put on it.
    pub fn synchronize(&self) -> CudaResult<()> {
        self.stream.synchronize()
    }

    /// Waits as [`synchronize`](Self::synchronize), and never returns before the work has ended: for functions that lend work their borrows. If the
    /// driver refuses to wait, the process ends.
    pub fn finish(&self) -> CudaResult<()> {
        let waited = self.synchronize();
        if let Err(
            error @ (CudaError::NotPermitted
            | CudaError::InvalidContext
            | CudaError::InvalidHandle
            | CudaError::NotInitialized),
        ) = waited
        {
            // These refuse to wait; all others say that the device has failed, and then nothing runs on it any more.
            eprintln!(
                "warpsmith: the driver does not wait for what uses borrowed memory ({error:?}): giving up"
            );
            std::process::abort();
        }
        waited
    }

    /// Whether all has been done that was put on it.
    pub fn is_done(&self) -> CudaResult<bool> {
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(self.as_inner()) } {
            sys::cudaError_enum::CUDA_ERROR_NOT_READY => Ok(false),
            code => result(code).map(|()| true),
        }
    }

    /// Lets the event happen once the stream comes to it.
    pub fn record(&self, event: &Event) -> CudaResult<()> {
        event.record(&self.stream)
    }

    /// Calls `work` on the host, in a thread of the driver's, once the stream comes to it. It must make no call of the driver. A
    /// stream that is captured into a graph refuses: the graph would call it at each launch.
    pub fn on_host(&self, work: impl FnOnce() + Send + 'static) -> CudaResult<()> {
        let mut status = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is alive, and the place valid for the call.
        result(unsafe { sys::cuStreamIsCapturing(self.as_inner(), &mut status) })?;
        if status != sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE {
            return Err(CudaError::NotPermitted);
        }
        self.stream.add_callback(Box::new(work))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.stream) };
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(&self.as_inner()).finish()
    }
}
