//! Arrays: memory that textures and surfaces read, reached by the host through copies alone.
//!
//! The virtual device keeps an array's elements row by row, without gaps. The real one hides their order; a program
//! cannot see the difference, because an array has no address.

use std::ffi::c_void;
use std::sync::Arc;

use virtual_gpu::texture::Image;

use crate::abi::{
    Answer, CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUdeviceptr, CUresult, CUstream, Handle, In, Out,
};
use crate::device::context::Origin;
use crate::device::memory::{allocate, copy_async, copy_now, cuMemFree_v2};
use crate::device::registry::Registry;
use crate::device::stream::{default_target, target};
use crate::device::texture::channel_format;
use crate::device::transfer::{Copy, Memory, host};

static ARRAYS: Registry<Array> = Registry::new(CUresult::INVALID_HANDLE);

/// `CUDA_ARRAY3D_LAYERED`: the depth counts layers.
const LAYERED: u32 = 1;
/// `CUDA_ARRAY3D_SURFACE_LDST`: kernels may write it.
const SURFACE: u32 = 2;
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

    /// What textures and surfaces read.
    pub fn image(&self) -> Answer<Image> {
        let d = &self.descriptor;
        let layered = d.Flags & (LAYERED | CUBEMAP) != 0;
        let size = |length: usize| u32::try_from(length).map_err(|_| CUresult::INVALID_VALUE);
        let depth = size(d.Depth)?;
        Ok(Image {
            address: self.address,
            format: channel_format(d.Format)?,
            channels: d.NumChannels,
            width: size(d.Width)?,
            height: size(d.Height)?,
            depth: if layered { 0 } else { depth },
            layers: if layered { depth } else { 0 },
            row_pitch: self.row as u64,
            linear: false,
        })
    }

    /// Whether kernels may write it.
    pub fn is_surface(&self) -> bool {
        self.descriptor.Flags & SURFACE != 0
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
    place.set(make(descriptor)?)
}

fn make(descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Answer<Handle> {
    let row = row_bytes(&descriptor).ok_or(CUresult::INVALID_VALUE)?;
    let slices = descriptor.Height.max(1).checked_mul(descriptor.Depth.max(1));
    let bytes = slices.and_then(|slices| slices.checked_mul(row)).ok_or(CUresult::INVALID_VALUE)?;
    let address = allocate(bytes, Origin::Device)?;
    Ok(ARRAYS.insert(Array { descriptor, address, row }))
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

/// An array and its smaller versions, each half as long in every dimension that has more than one element.
pub struct MipmappedArray {
    levels: Vec<Handle>,
}

static MIPMAPPED: Registry<MipmappedArray> = Registry::new(CUresult::INVALID_HANDLE);

impl MipmappedArray {
    /// The array of a handle.
    pub fn of(handle: Handle) -> Answer<Arc<Self>> {
        MIPMAPPED.get(handle)
    }

    /// The images of its levels, the largest first.
    pub fn images(&self) -> Answer<Vec<Image>> {
        self.levels.iter().map(|&level| Array::of(level)?.image()).collect()
    }
}

pub fn cuMipmappedArrayCreate(
    place: Out<Handle>,
    descriptor: In<CUDA_ARRAY3D_DESCRIPTOR>,
    levels: u32,
) -> Answer {
    place.required()?;
    let d = descriptor.get()?;
    let layered = d.Flags & (LAYERED | CUBEMAP) != 0;
    let longest = d.Width.max(d.Height).max(if layered { 0 } else { d.Depth });
    // As the driver does: no more than there are until one element is left.
    let levels = levels.clamp(1, (usize::BITS - longest.leading_zeros()).max(1));
    let half = |length: usize, level: u32| if length == 0 { 0 } else { (length >> level).max(1) };
    let mut made = Vec::new();
    for level in 0..levels {
        let depth = if layered { d.Depth } else { half(d.Depth, level) };
        let (width, height) = (half(d.Width, level), half(d.Height, level));
        match make(CUDA_ARRAY3D_DESCRIPTOR { Width: width, Height: height, Depth: depth, ..d }) {
            Ok(handle) => made.push(handle),
            Err(code) => {
                made.into_iter().try_for_each(cuArrayDestroy)?;
                return Err(code);
            }
        }
    }
    place.set(MIPMAPPED.insert(MipmappedArray { levels: made }))
}

pub fn cuMipmappedArrayGetLevel(place: Out<Handle>, array: Handle, level: u32) -> Answer {
    let array = MipmappedArray::of(array)?;
    place.set(*array.levels.get(level as usize).ok_or(CUresult::INVALID_VALUE)?)
}

pub fn cuMipmappedArrayDestroy(array: Handle) -> Answer {
    MIPMAPPED.remove(array)?.levels.iter().try_for_each(|&level| cuArrayDestroy(level))
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
