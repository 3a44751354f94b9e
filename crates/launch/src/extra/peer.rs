//! Several devices of one process: what reaches what, copies between them, and order between their streams.

use cust::error::{CudaError, CudaResult};
use cust::sys;

use super::result;
use crate::device::Device;
use crate::stream::Stream;

/// A place in a device's memory.
#[derive(Clone, Copy)]
pub struct DeviceAddress<'d> {
    /// Whose memory it is.
    pub device: &'d Device,
    /// Where.
    pub address: u64,
}

/// Whether kernels and copy engines of `device` can reach the memory of `peer` directly.
pub fn can_access_peer(device: &Device, peer: &Device) -> CudaResult<bool> {
    let mut can = 0;
    let raw =
        |device: &Device| cust::device::Device::get_device(device.index()).map(|device| device.as_raw());
    // SAFETY: the place is valid for the call.
    result(unsafe { sys::cuDeviceCanAccessPeer(&mut can, raw(device)?, raw(peer)?) })?;
    Ok(can != 0)
}

/// Lets `device` reach the memory of `peer` from now on; without it copies between them pass through the host. It makes the
/// context of `device` current in this thread.
pub fn enable_peer_access(device: &Device, peer: &Device) -> CudaResult<()> {
    cust::context::CurrentContext::set_current(device.context())?;
    // SAFETY: the context is alive as long as its device.
    match result(unsafe { sys::cuCtxEnablePeerAccess(peer.context().as_raw(), 0) }) {
        Err(CudaError::PeerAccessAlreadyEnabled) => Ok(()),
        other => other,
    }
}

/// Copies bytes from one place to another, between devices or on one, once the stream comes to it.
///
/// # Safety
/// Both places have that many bytes and keep them until the stream has done it, and nothing else writes them meanwhile.
pub unsafe fn copy(
    to: DeviceAddress<'_>,
    from: DeviceAddress<'_>,
    bytes: usize,
    stream: &Stream,
) -> CudaResult<()> {
    if bytes == 0 || to.address == from.address {
        return Ok(());
    }
    // SAFETY: the caller's promise; contexts are alive as long as their devices.
    result(unsafe {
        if std::ptr::eq(to.device, from.device) {
            sys::cuMemcpyDtoDAsync_v2(to.address, from.address, bytes, stream.as_inner())
        } else {
            let contexts = [to, from].map(|place| place.device.context().as_raw());
            sys::cuMemcpyPeerAsync(
                to.address,
                contexts[0],
                from.address,
                contexts[1],
                bytes,
                stream.as_inner(),
            )
        }
    })
}

/// Copies `rows` pieces of `bytes` each, which lie a pitch apart on both sides (to, from), once the stream comes to it.
///
/// # Safety
/// As [`copy`], for all rows.
pub unsafe fn copy_rows(
    to: DeviceAddress<'_>,
    from: DeviceAddress<'_>,
    (bytes, rows): (usize, usize),
    (to_pitch, from_pitch): (usize, usize),
    stream: &Stream,
) -> CudaResult<()> {
    if bytes == 0 || rows == 0 {
        return Ok(());
    }
    let description = sys::CUDA_MEMCPY3D_PEER_st {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: std::ptr::null(),
        srcDevice: from.address,
        srcArray: std::ptr::null_mut(),
        srcContext: from.device.context().as_raw(),
        srcPitch: from_pitch,
        srcHeight: rows,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: to.address,
        dstArray: std::ptr::null_mut(),
        dstContext: to.device.context().as_raw(),
        dstPitch: to_pitch,
        dstHeight: rows,
        WidthInBytes: bytes,
        Height: rows,
        Depth: 1,
    };
    // SAFETY: the caller's promise.
    result(unsafe { sys::cuMemcpy3DPeerAsync(&description, stream.as_inner()) })
}

/// A moment of a stream, which others can wait for; `cust`'s events can be waited for once.
#[derive(Debug)]
pub struct StreamEvent(sys::CUevent);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for StreamEvent {}
// SAFETY: as above.
unsafe impl Sync for StreamEvent {}

impl StreamEvent {
    /// The moment at which all has been done that was put on the device's `stream` so far.
    pub fn record(device: &Device, stream: &Stream) -> CudaResult<Self> {
        cust::context::CurrentContext::set_current(device.context())?;
        let mut event = std::ptr::null_mut();
        const NO_TIMES: u32 = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the place is valid for the call.
        result(unsafe { sys::cuEventCreate(&mut event, NO_TIMES) })?;
        let moment = Self(event);
        // SAFETY: event and stream are alive, and of one context.
        result(unsafe { sys::cuEventRecord(event, stream.as_inner()) })?;
        Ok(moment)
    }

    /// Lets what comes next on `stream`, of this device or of another one, wait for it.
    pub fn make_wait(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both are alive; the driver keeps what it needs of them.
        result(unsafe { sys::cuStreamWaitEvent(stream.as_inner(), self.0, 0) })
    }
}

impl Drop for StreamEvent {
    fn drop(&mut self) {
        // SAFETY: no one else has it. The driver frees it once no stream waits for it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// The context that is current in this thread, which becomes current again when this is dropped.
#[derive(Debug)]
pub struct CurrentContextGuard(sys::CUcontext);

impl CurrentContextGuard {
    /// Remembers it.
    pub fn save() -> Self {
        let mut context = std::ptr::null_mut();
        // SAFETY: the place is valid for the call. Before the driver starts there is none.
        let _ = unsafe { sys::cuCtxGetCurrent(&mut context) };
        Self(context)
    }
}

impl Drop for CurrentContextGuard {
    fn drop(&mut self) {
        // SAFETY: it was current; if it is gone, the driver says so, and none is current.
        let _ = unsafe { sys::cuCtxSetCurrent(self.0) };
    }
}
