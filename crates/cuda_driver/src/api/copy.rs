//! Copies of memory.

use std::ffi::c_void;

use std::sync::Arc;

use crate::abi::{
    Answer, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUcontext, CUdeviceptr, CUmemorytype, CUresult,
    CUstream, In,
};
use crate::objects::context::{CONTEXTS, Context, current};
use crate::objects::copy_description::{cuboid, rectangle};
use crate::objects::device::memory;
use crate::objects::stream::{default_target, refuse_if_capturing, target};
use crate::objects::transfer::{Copy, Memory};

/// For each kind of copy: synchronous, and in a stream.
macro_rules! copies {
    ($(($($arg:ident: $type:ty),*) => $copy:expr; $at_once:ident, $in_stream:ident;)*) => {$(
        pub fn $at_once($($arg: $type),*) -> Answer {
            let target = default_target()?;
            $copy.accessible_to(target.context.device)?.run_now(&target)
        }

        pub fn $in_stream($($arg: $type,)* stream: CUstream) -> Answer {
            let target = target(stream)?;
            $copy.accessible_to(target.context.device)?.issue(&target)
        }
    )*};
}

copies! {
    (dst: CUdeviceptr, src: CUdeviceptr, bytes: usize)
        => Copy::linear(Memory::unified(dst), Memory::unified(src), bytes); cuMemcpy, cuMemcpyAsync;
    (dst: CUdeviceptr, src: *const c_void, bytes: usize)
        => Copy::linear(Memory::Device(dst), Memory::host(src), bytes); cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2;
    (dst: *mut c_void, src: CUdeviceptr, bytes: usize)
        => Copy::linear(Memory::host(dst), Memory::Device(src), bytes); cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2;
    (dst: CUdeviceptr, src: CUdeviceptr, bytes: usize)
        => on_device(dst, src, bytes); cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2;
    (copy: In<CUDA_MEMCPY2D>) => rectangle(&copy.get()?)?; cuMemcpy2D_v2, cuMemcpy2DAsync_v2;
    (copy: In<CUDA_MEMCPY3D>) => cuboid(&copy.get()?)?; cuMemcpy3D_v2, cuMemcpy3DAsync_v2;
}

fn on_device(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Copy {
    Copy::linear(Memory::Device(dst), Memory::Device(src), bytes)
}

pub fn cuMemcpyPeer(
    dst: CUdeviceptr,
    dst_context: CUcontext,
    src: CUdeviceptr,
    src_context: CUcontext,
    bytes: usize,
) -> Answer {
    let target = default_target()?;
    let ends = Ends::new(&on_device(dst, src, bytes), dst_context, src_context)?;
    ends.finish()?;
    on_device(dst, src, bytes).run_now(&target)
}

pub fn cuMemcpyPeerAsync(
    dst: CUdeviceptr,
    dst_context: CUcontext,
    src: CUdeviceptr,
    src_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Answer {
    let target = target(stream)?;
    let copy = on_device(dst, src, bytes);
    Ends::new(&copy, dst_context, src_context)?;
    copy.issue(&target)
}

/// The contexts between which a copy goes. For host memory and arrays the context does not matter.
struct Ends([Arc<Context>; 2]);

impl Ends {
    /// Fails for invalid contexts, and for addresses on devices other than theirs.
    fn new(copy: &Copy, dst: CUcontext, src: CUcontext) -> Answer<Self> {
        let ends = [CONTEXTS.get(dst)?, CONTEXTS.get(src)?];
        for (context, side) in ends.iter().zip([&copy.to, &copy.from]) {
            context.intact()?;
            if let Memory::Device(address) = side.memory
                && let Some(device) = memory().find(address).and_then(|allocation| allocation.device())
                && device != context.device.number as u32
            {
                return Err(CUresult::INVALID_VALUE);
            }
        }
        Ok(Self(ends))
    }

    /// The same for a box. It names a side's context if that side is device memory or an array.
    fn of(copy: &Copy, given: &CUDA_MEMCPY3D_PEER) -> Answer<Self> {
        let named = |kind: u32, context: *mut c_void| -> Answer<CUcontext> {
            let of_context = matches!(kind.try_into()?, CUmemorytype::DEVICE | CUmemorytype::ARRAY);
            if of_context { Ok(context as CUcontext) } else { Ok(current()?.handle) }
        };
        let dst = named(given.dstMemoryType, given.reserved1)?;
        let src = named(given.srcMemoryType, given.reserved0)?;
        Self::new(copy, dst, src)
    }

    /// Waits for all work in both, as a synchronous copy does.
    fn finish(&self) -> Answer {
        self.0.iter().try_for_each(|context| {
            refuse_if_capturing(context)?;
            context.queue.drain()
        })
    }
}

pub fn cuMemcpy3DPeer(copy: In<CUDA_MEMCPY3D_PEER>) -> Answer {
    let target = default_target()?;
    let given = copy.get()?;
    let copy = cuboid(&given)?;
    Ends::of(&copy, &given)?.finish()?;
    copy.run_now(&target)
}

pub fn cuMemcpy3DPeerAsync(copy: In<CUDA_MEMCPY3D_PEER>, stream: CUstream) -> Answer {
    let target = target(stream)?;
    let given = copy.get()?;
    let copy = cuboid(&given)?;
    Ends::of(&copy, &given)?;
    copy.issue(&target)
}
