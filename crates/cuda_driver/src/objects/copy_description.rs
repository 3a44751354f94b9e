//! The copies that programs describe in 2-D and 3-D.

use std::ffi::c_void;

use crate::abi::{Answer, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUdeviceptr, CUmemorytype, CUresult, Handle};
use crate::objects::transfer::{Copy, Memory, NAMED, Side};

fn side(
    kind: CUmemorytype,
    at_host: *const c_void,
    at_device: CUdeviceptr,
    array: Handle,
    pitch: usize,
    height: usize,
    [x, y, z]: [usize; 3],
    extent: [usize; 3],
) -> Answer<Side> {
    let [width, rows, _] = extent;
    if kind == CUmemorytype::ARRAY {
        return NAMED.get(array)?.side([x, y, z], extent);
    }
    let row = x.checked_add(width).ok_or(CUresult::INVALID_VALUE)?;
    let column = y.checked_add(rows).ok_or(CUresult::INVALID_VALUE)?;
    // If omitted, rows are contiguous.
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
        CUmemorytype::HOST => Memory::Host(at(at_host as u64)? as usize),
        CUmemorytype::DEVICE => Memory::Device(at(at_device)?),
        CUmemorytype::UNIFIED | CUmemorytype::ARRAY => Memory::unified(at(at_device)?),
    };
    Ok(Side { memory, pitch, slice })
}

pub fn rectangle(c: &CUDA_MEMCPY2D) -> Answer<Copy> {
    let extent = [c.WidthInBytes, c.Height, 1];
    let from = [c.srcXInBytes, c.srcY, 0];
    let to = [c.dstXInBytes, c.dstY, 0];
    Ok(Copy {
        from: side(
            c.srcMemoryType.try_into()?,
            c.srcHost,
            c.srcDevice,
            c.srcArray,
            c.srcPitch,
            0,
            from,
            extent,
        )?,
        to: side(c.dstMemoryType.try_into()?, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, 0, to, extent)?,
        extent,
    })
}

pub fn cuboid(c: &CUDA_MEMCPY3D) -> Answer<Copy> {
    let extent = [c.WidthInBytes, c.Height, c.Depth];
    let from = [c.srcXInBytes, c.srcY, c.srcZ];
    let to = [c.dstXInBytes, c.dstY, c.dstZ];
    Ok(Copy {
        from: side(
            c.srcMemoryType.try_into()?,
            c.srcHost,
            c.srcDevice,
            c.srcArray,
            c.srcPitch,
            c.srcHeight,
            from,
            extent,
        )?,
        to: side(
            c.dstMemoryType.try_into()?,
            c.dstHost,
            c.dstDevice,
            c.dstArray,
            c.dstPitch,
            c.dstHeight,
            to,
            extent,
        )?,
        extent,
    })
}
