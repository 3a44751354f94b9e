//! Device memory: allocation, copies, fills, what an address is.

use std::ffi::c_void;
use std::sync::Arc;

use virtual_gpu::memory::Allocation;

use crate::abi::attributes::memory_type;
use crate::abi::{
    Answer, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUcontext, CUdeviceptr, CUresult, CUstream,
    Handle, In, Out,
};
use crate::check;
use crate::device::array::Array;
use crate::device::context::{Origin, current, current_if_any, memory_info, owner_of};
use crate::device::stream::{Target, default_target, target};
use crate::device::transfer::{Copy, Fill, Memory, Side, host};
use crate::device::work::Op;
use crate::device::{code_of, gpu};

/// The allocation that holds an address.
pub fn allocation(address: CUdeviceptr) -> Answer<Arc<Allocation>> {
    gpu().memory().find(address).ok_or(CUresult::INVALID_VALUE)
}

/// Allocates memory that the current context owns.
pub fn allocate(bytes: usize, origin: Origin) -> Answer<CUdeviceptr> {
    let context = current()?;
    if bytes == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let address = gpu().memory().alloc(bytes as u64).map_err(|error| code_of(&error))?;
    context.owned().insert(address, origin);
    check::tell(|sanitizer| sanitizer.host_allocated(address, bytes as u64, None));
    Ok(address)
}

pub fn cuMemAlloc_v2(place: Out<CUdeviceptr>, bytes: usize) -> Answer {
    place.required()?;
    place.set(allocate(bytes, Origin::Device)?)
}

/// Rows start at multiples of this, which suits every access width and sector.
const PITCH: usize = 512;

pub fn cuMemAllocPitch_v2(
    place: Out<CUdeviceptr>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element_size: u32,
) -> Answer {
    place.required()?;
    pitch.required()?;
    if !matches!(element_size, 4 | 8 | 16) || width == 0 || height == 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let row = width.checked_next_multiple_of(PITCH).ok_or(CUresult::INVALID_VALUE)?;
    place.set(allocate(row.checked_mul(height).ok_or(CUresult::OUT_OF_MEMORY)?, Origin::Device)?)?;
    pitch.set(row)
}

pub fn cuMemFree_v2(address: CUdeviceptr) -> Answer {
    current_if_any()?;
    if address == 0 {
        return Ok(());
    }
    let (owner, origin) = owner_of(address).ok_or_else(|| {
        check::tell(|sanitizer| sanitizer.host_free_failed(address));
        CUresult::INVALID_VALUE
    })?;
    if matches!(origin, Origin::PinnedHost { .. } | Origin::Registered) {
        return Err(CUresult::INVALID_VALUE);
    }
    // Work that uses it ends first, as with the real driver.
    owner.queue.drain()?;
    if origin == Origin::Graph {
        // It stays where it is for the graph's next launch.
        return owner.intact();
    }
    if matches!(origin, Origin::Managed) {
        owner.owned().remove(&address);
        crate::device::host_memory::release(address, origin);
    } else {
        crate::device::pool::free_in_turn(address)?;
    }
    owner.intact()
}

pub fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Answer {
    free.required()?;
    total.required()?;
    current()?;
    let (left, all) = memory_info();
    free.set(left as usize)?;
    total.set(all as usize)
}

pub fn cuMemGetAddressRange_v2(base: Out<CUdeviceptr>, size: Out<usize>, address: CUdeviceptr) -> Answer {
    current()?;
    let allocation = gpu().memory().find(address).ok_or(CUresult::NOT_FOUND)?;
    base.set_if_given(allocation.address());
    size.set_if_given(allocation.size() as usize);
    Ok(())
}

/// Runs a copy in its stream's turn and waits for it.
pub fn copy_now(target: &Target, copy: Copy) -> Answer {
    copy.check()?;
    if let Some(capture) = target.capture() {
        capture.invalidate();
        return Err(CUresult::STREAM_CAPTURE_UNSUPPORTED);
    }
    crate::device::graph::refuse_if_global_capture_forbids(target)?;
    // Everything before it is done, so the copy needs no turn of its own.
    target.synchronize()?;
    target.context.queue.directly(|| copy.run())
}

/// Issues a copy; waits where the real driver would, which is when it writes pageable memory.
pub fn copy_async(target: &Target, mut copy: Copy) -> Answer {
    copy.check()?;
    if target.capture().is_some() {
        return target.issue(Op::Copy(copy));
    }
    copy.stage()?;
    let wait = copy.must_wait();
    target.issue(Op::Copy(copy))?;
    if wait { target.synchronize() } else { Ok(()) }
}

fn device(address: CUdeviceptr) -> Memory {
    Memory::Device(address)
}

pub fn cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Answer {
    let target = default_target()?;
    copy_now(&target, Copy::linear(Memory::unified(dst), Memory::unified(src), bytes))
}

pub fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Answer {
    let target = target(stream)?;
    copy_async(&target, Copy::linear(Memory::unified(dst), Memory::unified(src), bytes))
}

pub fn cuMemcpyPeer(
    dst: CUdeviceptr,
    _dst_context: CUcontext,
    src: CUdeviceptr,
    _src_context: CUcontext,
    bytes: usize,
) -> Answer {
    copy_now(&default_target()?, Copy::linear(device(dst), device(src), bytes))
}

pub fn cuMemcpyPeerAsync(
    dst: CUdeviceptr,
    _dst_context: CUcontext,
    src: CUdeviceptr,
    _src_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Answer {
    copy_async(&target(stream)?, Copy::linear(device(dst), device(src), bytes))
}

pub fn cuMemcpyHtoD_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize) -> Answer {
    copy_now(&default_target()?, Copy::linear(device(dst), host(src), bytes))
}

pub fn cuMemcpyDtoH_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize) -> Answer {
    copy_now(&default_target()?, Copy::linear(host(dst), device(src), bytes))
}

pub fn cuMemcpyDtoD_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Answer {
    copy_now(&default_target()?, Copy::linear(device(dst), device(src), bytes))
}

pub fn cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream) -> Answer {
    copy_async(&target(stream)?, Copy::linear(device(dst), host(src), bytes))
}

pub fn cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Answer {
    copy_async(&target(stream)?, Copy::linear(host(dst), device(src), bytes))
}

pub fn cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Answer {
    copy_async(&target(stream)?, Copy::linear(device(dst), device(src), bytes))
}

/// One side of a 2-D or 3-D copy, from its fields.
fn side(
    kind: u32,
    at_host: *const c_void,
    at_device: CUdeviceptr,
    array: Handle,
    pitch: usize,
    height: usize,
    [x, y, z]: [usize; 3],
    extent: [usize; 3],
) -> Answer<Side> {
    let [width, rows, _] = extent;
    if kind == memory_type::ARRAY {
        let array = Array::of(array)?;
        array.check([x, y, z], extent)?;
        let (pitch, slice) = (array.row, array.row * array.rows());
        let memory = Memory::Device(array.address + (x + y * pitch + z * slice) as u64);
        return Ok(Side { memory, pitch, slice });
    }
    let row = x.checked_add(width).ok_or(CUresult::INVALID_VALUE)?;
    let column = y.checked_add(rows).ok_or(CUresult::INVALID_VALUE)?;
    // Left out, rows lie one after the other.
    let pitch = if pitch == 0 { row } else { pitch };
    let height = if height == 0 { column } else { height };
    if pitch < row || height < column {
        return Err(CUresult::INVALID_VALUE);
    }
    let slice = pitch.checked_mul(height).ok_or(CUresult::INVALID_VALUE)?;
    let start = x
        .checked_add(y.checked_mul(pitch).ok_or(CUresult::INVALID_VALUE)?)
        .and_then(|start| start.checked_add(z.checked_mul(slice)?))
        .ok_or(CUresult::INVALID_VALUE)?;
    let at = |address: u64| address.checked_add(start as u64).ok_or(CUresult::INVALID_VALUE);
    let memory = match kind {
        memory_type::HOST => Memory::Host(at(at_host as u64)? as usize),
        memory_type::DEVICE => Memory::Device(at(at_device)?),
        memory_type::UNIFIED => Memory::unified(at(at_device)?),
        _ => return Err(CUresult::INVALID_VALUE),
    };
    Ok(Side { memory, pitch, slice })
}

fn rectangle(copy: In<CUDA_MEMCPY2D>) -> Answer<Copy> {
    let c = copy.get()?;
    let extent = [c.WidthInBytes, c.Height, 1];
    let from = [c.srcXInBytes, c.srcY, 0];
    let to = [c.dstXInBytes, c.dstY, 0];
    Ok(Copy {
        from: side(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcPitch, 0, from, extent)?,
        to: side(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, 0, to, extent)?,
        extent,
    })
}

/// The copy that a 3-D description asks for.
pub fn cuboid(c: &CUDA_MEMCPY3D) -> Answer<Copy> {
    let extent = [c.WidthInBytes, c.Height, c.Depth];
    let from = [c.srcXInBytes, c.srcY, c.srcZ];
    let to = [c.dstXInBytes, c.dstY, c.dstZ];
    Ok(Copy {
        from: side(
            c.srcMemoryType,
            c.srcHost,
            c.srcDevice,
            c.srcArray,
            c.srcPitch,
            c.srcHeight,
            from,
            extent,
        )?,
        to: side(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, c.dstHeight, to, extent)?,
        extent,
    })
}

pub fn cuMemcpy2D_v2(copy: In<CUDA_MEMCPY2D>) -> Answer {
    copy_now(&default_target()?, rectangle(copy)?)
}

pub fn cuMemcpy2DAsync_v2(copy: In<CUDA_MEMCPY2D>, stream: CUstream) -> Answer {
    copy_async(&target(stream)?, rectangle(copy)?)
}

pub fn cuMemcpy3D_v2(copy: In<CUDA_MEMCPY3D>) -> Answer {
    copy_now(&default_target()?, cuboid(&copy.get()?)?)
}

pub fn cuMemcpy3DAsync_v2(copy: In<CUDA_MEMCPY3D>, stream: CUstream) -> Answer {
    copy_async(&target(stream)?, cuboid(&copy.get()?)?)
}

/// Fills in the order of the default stream. Like the real driver's, the call may return before it is done, unless the
/// host can see the memory.
fn fill_now(fill: Fill) -> Answer {
    let host_sees = allocation(fill.address)
        .ok()
        .and_then(|allocation| owner_of(allocation.address()))
        .is_some_and(|(_, origin)| !matches!(origin, Origin::Device | Origin::Pool(_) | Origin::Graph));
    self::fill(0, fill)?;
    if host_sees { default_target()?.synchronize() } else { Ok(()) }
}

/// Fills in the order of a stream.
fn fill(stream: CUstream, fill: Fill) -> Answer {
    let target = target(stream)?;
    fill.check()?;
    target.issue(Op::Fill(fill))
}

fn row<const N: usize>(address: CUdeviceptr, value: [u8; N], width: usize) -> Fill {
    rows(address, 0, value, width, 1)
}

fn rows<const N: usize>(
    address: CUdeviceptr,
    pitch: usize,
    value: [u8; N],
    width: usize,
    height: usize,
) -> Fill {
    let mut bytes = [0; 4];
    bytes[..N].copy_from_slice(&value);
    Fill { address, pitch, value: bytes, element: N, width, height }
}

pub fn cuMemsetD8_v2(dst: CUdeviceptr, value: u8, count: usize) -> Answer {
    fill_now(row(dst, value.to_le_bytes(), count))
}

pub fn cuMemsetD16_v2(dst: CUdeviceptr, value: u16, count: usize) -> Answer {
    fill_now(row(dst, value.to_le_bytes(), count))
}

pub fn cuMemsetD32_v2(dst: CUdeviceptr, value: u32, count: usize) -> Answer {
    fill_now(row(dst, value.to_le_bytes(), count))
}

pub fn cuMemsetD8Async(dst: CUdeviceptr, value: u8, count: usize, stream: CUstream) -> Answer {
    fill(stream, row(dst, value.to_le_bytes(), count))
}

pub fn cuMemsetD16Async(dst: CUdeviceptr, value: u16, count: usize, stream: CUstream) -> Answer {
    fill(stream, row(dst, value.to_le_bytes(), count))
}

pub fn cuMemsetD32Async(dst: CUdeviceptr, value: u32, count: usize, stream: CUstream) -> Answer {
    fill(stream, row(dst, value.to_le_bytes(), count))
}

pub fn cuMemsetD2D8_v2(dst: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize) -> Answer {
    fill_now(rows(dst, pitch, value.to_le_bytes(), width, height))
}

pub fn cuMemsetD2D16_v2(dst: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize) -> Answer {
    fill_now(rows(dst, pitch, value.to_le_bytes(), width, height))
}

pub fn cuMemsetD2D32_v2(dst: CUdeviceptr, pitch: usize, value: u32, width: usize, height: usize) -> Answer {
    fill_now(rows(dst, pitch, value.to_le_bytes(), width, height))
}

pub fn cuMemsetD2D8Async(
    dst: CUdeviceptr,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Answer {
    fill(stream, rows(dst, pitch, value.to_le_bytes(), width, height))
}

pub fn cuMemsetD2D16Async(
    dst: CUdeviceptr,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Answer {
    fill(stream, rows(dst, pitch, value.to_le_bytes(), width, height))
}

pub fn cuMemsetD2D32Async(
    dst: CUdeviceptr,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Answer {
    fill(stream, rows(dst, pitch, value.to_le_bytes(), width, height))
}
