//! Streams and events.

use std::ffi::c_void;

use crate::abi::{CUcontext, CUdevice, CUdeviceptr, CUevent, CUstream, CUstreamCallback, Handle, Out};
use crate::entry::entry_points;
use crate::objects::limits::LEAST_PRIORITY;

entry_points! {
    cuCtxRecordEvent @ 12050 => unsupported (ctx: CUcontext, event: CUevent);
    cuCtxWaitEvent @ 12050 => unsupported (ctx: CUcontext, event: CUevent);
    cuEventCreate @ 2000 => event (event: Out<CUevent>, flags: u32);
    cuEventDestroy_v2 @ 4000 => event (event: CUevent);
    cuEventElapsedTime @ 2000 => event (p_milliseconds: Out<f32>, start: CUevent, end: CUevent);
    cuEventElapsedTime_v2 @ 12080 => event (p_milliseconds: Out<f32>, start: CUevent, end: CUevent) as cuEventElapsedTime;
    cuEventQuery @ 2000 => event (event: CUevent);
    cuEventRecord @ 2000 / cuEventRecord_ptsz @ 7000 => event (event: CUevent, stream: CUstream)
        as cuEventRecordWithFlags (0);
    cuEventRecordWithFlags @ 11010 / cuEventRecordWithFlags_ptsz @ 11010 => event (event: CUevent, stream: CUstream,
        flags: u32);
    cuEventSynchronize @ 2000 => event (event: CUevent);
    cuStreamAddCallback @ 5000 / cuStreamAddCallback_ptsz @ 7000 => stream (stream: CUstream, callback: CUstreamCallback,
        user_data: *mut c_void, flags: u32);
    cuStreamAttachMemAsync @ 6000 / cuStreamAttachMemAsync_ptsz @ 7000 => stream (stream: CUstream, dptr: CUdeviceptr,
        length: usize, flags: u32);
    cuStreamBatchMemOp @ 8000 / cuStreamBatchMemOp_ptsz @ 8000 => value (stream: CUstream, count: u32,
        param_array: *mut c_void, flags: u32) as cuStreamBatchMemOp_v2;
    cuStreamBatchMemOp_v2 @ 11070 / cuStreamBatchMemOp_v2_ptsz @ 11070 => value (stream: CUstream, count: u32,
        param_array: *mut c_void, flags: u32);
    cuStreamCopyAttributes @ 11000 / cuStreamCopyAttributes_ptsz @ 11000 => stream_attributes (dst: CUstream,
        src: CUstream);
    cuStreamCreate @ 2000 => stream (stream: Out<CUstream>, flags: u32) as cuStreamCreateWithPriority (LEAST_PRIORITY);
    cuStreamCreateWithPriority @ 5050 => stream (stream: Out<CUstream>, flags: u32, priority: i32);
    cuStreamDestroy_v2 @ 4000 => stream (stream: CUstream);
    cuStreamGetAttribute @ 11000 / cuStreamGetAttribute_ptsz @ 11000 => stream_attributes (stream: CUstream, attr: u32,
        value_out: *mut c_void);
    cuStreamGetCtx @ 9020 / cuStreamGetCtx_ptsz @ 9020 => stream (stream: CUstream, pctx: Out<CUcontext>);
    cuStreamGetCtx_v2 @ 12050 / cuStreamGetCtx_v2_ptsz @ 12050 => unsupported (stream: CUstream, p_ctx: Out<CUcontext>,
        p_green_ctx: Out<Handle>);
    cuStreamGetDevice @ 12080 / cuStreamGetDevice_ptsz @ 12080 => stream (stream: CUstream, device: Out<CUdevice>);
    cuStreamGetFlags @ 5050 / cuStreamGetFlags_ptsz @ 7000 => stream (stream: CUstream, flags: Out<u32>);
    cuStreamGetId @ 12000 / cuStreamGetId_ptsz @ 12000 => stream (stream: CUstream, stream_id: Out<u64>);
    cuStreamGetPriority @ 5050 / cuStreamGetPriority_ptsz @ 7000 => stream (stream: CUstream, priority: Out<i32>);
    cuStreamIsCapturing @ 10000 / cuStreamIsCapturing_ptsz @ 10000 => graph (stream: CUstream, capture_status: Out<u32>);
    cuStreamQuery @ 2000 / cuStreamQuery_ptsz @ 7000 => stream (stream: CUstream);
    cuStreamSetAttribute @ 11000 / cuStreamSetAttribute_ptsz @ 11000 => stream_attributes (stream: CUstream, attr: u32,
        value: *const c_void);
    cuStreamSynchronize @ 2000 / cuStreamSynchronize_ptsz @ 7000 => stream (stream: CUstream);
    cuStreamWaitEvent @ 3020 / cuStreamWaitEvent_ptsz @ 7000 => event (stream: CUstream, event: CUevent, flags: u32);
    cuStreamWaitValue32 @ 8000 / cuStreamWaitValue32_ptsz @ 8000 => value (stream: CUstream, addr: CUdeviceptr, value: u32,
        flags: u32) as cuStreamWaitValue32_v2;
    cuStreamWaitValue32_v2 @ 11070 / cuStreamWaitValue32_v2_ptsz @ 11070 => value (stream: CUstream, addr: CUdeviceptr,
        value: u32, flags: u32);
    cuStreamWaitValue64 @ 9000 / cuStreamWaitValue64_ptsz @ 9000 => value (stream: CUstream, addr: CUdeviceptr, value: u64,
        flags: u32) as cuStreamWaitValue64_v2;
    cuStreamWaitValue64_v2 @ 11070 / cuStreamWaitValue64_v2_ptsz @ 11070 => value (stream: CUstream, addr: CUdeviceptr,
        value: u64, flags: u32);
    cuStreamWriteValue32 @ 8000 / cuStreamWriteValue32_ptsz @ 8000 => value (stream: CUstream, addr: CUdeviceptr,
        value: u32, flags: u32) as cuStreamWriteValue32_v2;
    cuStreamWriteValue32_v2 @ 11070 / cuStreamWriteValue32_v2_ptsz @ 11070 => value (stream: CUstream, addr: CUdeviceptr,
        value: u32, flags: u32);
    cuStreamWriteValue64 @ 9000 / cuStreamWriteValue64_ptsz @ 9000 => value (stream: CUstream, addr: CUdeviceptr,
        value: u64, flags: u32) as cuStreamWriteValue64_v2;
    cuStreamWriteValue64_v2 @ 11070 / cuStreamWriteValue64_v2_ptsz @ 11070 => value (stream: CUstream, addr: CUdeviceptr,
        value: u64, flags: u32);
}
