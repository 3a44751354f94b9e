//! Arrays: memory that textures and surfaces read, reached by the host through copies alone.
//!
//! The virtual device keeps an array's elements row by row, without gaps. The real one hides their order; a program
//! cannot see the difference, because an array has no address.

use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::{
    Answer, CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUdeviceptr, CUresult, CUstream, Handle, In, Out,
};
use crate::device::context::Origin;
use crate::device::memory::{allocate, copy_async, copy_now, cuMemFree_v2};
use crate::device::registry::Registry;
use crate::device::stream::{default_target, target};
use crate::device::transfer::{Copy, Memory, host};

static ARRAYS: Registry<Array> = Registry::new(CUresult::INVALID_HANDLE);

/// `CUDA_ARRAY3D_LAYERED`: the depth counts layers.
const LAYERED: u32 = 1;
/// `CUDA_ARRAY3D_CUBEMAP`: the depth counts six faces a cube.
const CUBEMAP: u32 = 4;
/// `CUDA_ARRAY3D_TEXTURE_GATHER`: 2-D only.
const GATHER: u32 = 8;
/// Layered, surface, cubemap, gather, depth, colour attachment.
const KNOWN_FLAGS: u32 = 0x3f;

/// An array.
pub struct Array {
    descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    /// Where its elements lie.
    pub address: CUdeviceptr,
    /// Bytes of a row.
    pub row: usize,
}

impl Array {
    /// The array of a handle.
    pub fn of(handle: Handle) -> Answer<Arc<Self>> {
        ARRAYS.get(handle)
    }

    /// Rows of a slice.
    pub fn rows(&self) -> usize {
        self.descriptor.Height.max(1)
    }

    /// Slices, layers or faces.
    fn slices(&self) -> usize {
        self.descriptor.Depth.max(1)
    }

    /// Fails when a box does not lie in the array.
    pub fn check(&self, [x, y, z]: [usize; 3], [width, height, depth]: [usize; 3]) -> Answer {
        let inside = |start: usize, length: usize, limit: usize| {
            start.checked_add(length).is_some_and(|end| end <= limit)
        };
        let holds =
            inside(x, width, self.row) && inside(y, height, self.rows()) && inside(z, depth, self.slices());
        if holds { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
    }

    /// A run of bytes from `offset` on, as the 1-D copies name it.
    fn run(&self, offset: usize, bytes: usize) -> Answer<Memory> {
        let whole = self.row * self.rows() * self.slices();
        if offset.checked_add(bytes).is_none_or(|end| end > whole) {
            return Err(CUresult::INVALID_VALUE);
        }
        Ok(Memory::Device(self.address + offset as u64))
    }
}

/// Bytes of a channel in `CUarray_format`.
fn channel_bytes(format: u32) -> Option<usize> {
    match format {
        0x01 | 0x08 => Some(1),
        0x02 | 0x09 | 0x10 => Some(2),
        0x03 | 0x0a | 0x20 => Some(4),
        _ => None,
    }
}

/// Bytes of a row, if the driver would make such an array.
fn row_bytes(d: &CUDA_ARRAY3D_DESCRIPTOR) -> Option<usize> {
    let channel = channel_bytes(d.Format)?;
    let layered = d.Flags & LAYERED != 0;
    let shape = match (d.Width, d.Height, d.Depth) {
        (0, ..) => false,
        // A line, or layers of lines.
        (_, 0, depth) => depth == 0 || layered,
        _ => true,
    };
    let cube = d.Flags & CUBEMAP == 0
        || (d.Width == d.Height && d.Depth.is_multiple_of(6) && d.Depth != 0 && (layered || d.Depth == 6));
    let gather = d.Flags & GATHER == 0 || (d.Height != 0 && d.Depth == 0);
    let right = shape && cube && gather && d.Flags & !KNOWN_FLAGS == 0 && matches!(d.NumChannels, 1 | 2 | 4);
    right.then(|| d.Width.checked_mul(channel * d.NumChannels as usize)).flatten()
}

fn create(place: Out<Handle>, descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Answer {
    place.required()?;
    let row = row_bytes(&descriptor).ok_or(CUresult::INVALID_VALUE)?;
    let slices = descriptor.Height.max(1).checked_mul(descriptor.Depth.max(1));
    let bytes = slices.and_then(|slices| slices.checked_mul(row)).ok_or(CUresult::INVALID_VALUE)?;
    let address = allocate(bytes, Origin::Device)?;
    place.set(ARRAYS.insert(Array { descriptor, address, row }))
}

pub fn cuArrayCreate_v2(place: Out<Handle>, descriptor: In<CUDA_ARRAY_DESCRIPTOR>) -> Answer {
    let d = descriptor.get()?;
    let CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels } = d;
    create(place, CUDA_ARRAY3D_DESCRIPTOR { Width, Height, Depth: 0, Format, NumChannels, Flags: 0 })
}

pub fn cuArray3DCreate_v2(place: Out<Handle>, descriptor: In<CUDA_ARRAY3D_DESCRIPTOR>) -> Answer {
    create(place, descriptor.get()?)
}

pub fn cuArrayGetDescriptor_v2(place: Out<CUDA_ARRAY_DESCRIPTOR>, array: Handle) -> Answer {
    let CUDA_ARRAY3D_DESCRIPTOR { Width, Height, Format, NumChannels, .. } = Array::of(array)?.descriptor;
    place.required()?.set(CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels })
}

pub fn cuArray3DGetDescriptor_v2(place: Out<CUDA_ARRAY3D_DESCRIPTOR>, array: Handle) -> Answer {
    place.required()?.set(Array::of(array)?.descriptor)
}

pub fn cuArrayDestroy(array: Handle) -> Answer {
    let array = ARRAYS.remove(array)?;
    // The context may have ended, and its memory with it.
    cuMemFree_v2(array.address).or(Ok(()))
}

pub fn cuMemcpyHtoA_v2(array: Handle, offset: usize, from: *const c_void, bytes: usize) -> Answer {
    copy_now(&default_target()?, Copy::linear(Array::of(array)?.run(offset, bytes)?, host(from), bytes))
}

pub fn cuMemcpyAtoH_v2(to: *mut c_void, array: Handle, offset: usize, bytes: usize) -> Answer {
    copy_now(&default_target()?, Copy::linear(host(to), Array::of(array)?.run(offset, bytes)?, bytes))
}

pub fn cuMemcpyHtoAAsync_v2(
    array: Handle,
    offset: usize,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Answer {
    copy_async(&target(stream)?, Copy::linear(Array::of(array)?.run(offset, bytes)?, host(from), bytes))
}

pub fn cuMemcpyAtoHAsync_v2(
    to: *mut c_void,
    array: Handle,
    offset: usize,
    bytes: usize,
    stream: CUstream,
) -> Answer {
    copy_async(&target(stream)?, Copy::linear(host(to), Array::of(array)?.run(offset, bytes)?, bytes))
}

pub fn cuMemcpyDtoA_v2(array: Handle, offset: usize, from: CUdeviceptr, bytes: usize) -> Answer {
    let to = Array::of(array)?.run(offset, bytes)?;
    copy_now(&default_target()?, Copy::linear(to, Memory::Device(from), bytes))
}

pub fn cuMemcpyAtoD_v2(to: CUdeviceptr, array: Handle, offset: usize, bytes: usize) -> Answer {
    let from = Array::of(array)?.run(offset, bytes)?;
    copy_now(&default_target()?, Copy::linear(Memory::Device(to), from, bytes))
}

pub fn cuMemcpyAtoA_v2(
    to: Handle,
    to_offset: usize,
    from: Handle,
    from_offset: usize,
    bytes: usize,
) -> Answer {
    let (to, from) = (Array::of(to)?.run(to_offset, bytes)?, Array::of(from)?.run(from_offset, bytes)?);
    copy_now(&default_target()?, Copy::linear(to, from, bytes))
}
