//! Arrays: memory that textures and surfaces read, and that the host accesses only through copies.
//!
//! The virtual device keeps an array's elements row by row, without gaps. The real one hides their order; a program
//! cannot see the difference, because an array has no address.

use std::ffi::c_void;
use std::sync::Arc;

use virtual_gpu::texture::{ChannelFormat, Image};

use crate::abi::{
    Answer, CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUarray_format, CUdeviceptr, CUresult, CUstream,
    Handle, In, Out,
};
use crate::api::memory::cuMemFree_v2;
use crate::objects::allocation::{Origin, allocate};
use crate::objects::registry::{Registry, new_handle};
use crate::objects::stream::{default_target, target};
use crate::objects::transfer::{Copy, Memory, NAMED, Named, Side};

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

pub struct Array {
    descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    format: ChannelFormat,
    address: CUdeviceptr,
    /// Bytes of a row.
    row: usize,
}

impl Array {
    pub fn of(handle: Handle) -> Answer<Arc<Self>> {
        ARRAYS.get(handle)
    }

    pub fn image(&self) -> Answer<Image> {
        let d = &self.descriptor;
        let layered = d.Flags & (LAYERED | CUBEMAP) != 0;
        let size = |length: usize| u32::try_from(length).map_err(|_| CUresult::INVALID_VALUE);
        let depth = size(d.Depth)?;
        Ok(Image {
            address: self.address,
            format: self.format,
            channels: d.NumChannels,
            width: size(d.Width)?,
            height: size(d.Height)?,
            depth: if layered { 0 } else { depth },
            layers: if layered { depth } else { 0 },
            row_pitch: self.row as u64,
            linear: false,
        })
    }

    pub fn is_surface(&self) -> bool {
        self.descriptor.Flags & SURFACE != 0
    }

    /// Rows of a slice.
    fn rows(&self) -> usize {
        self.descriptor.Height.max(1)
    }

    /// Slices, layers or faces.
    fn slices(&self) -> usize {
        self.descriptor.Depth.max(1)
    }

    /// A run of bytes starting at `offset`, as 1-D copies address it.
    fn run(&self, offset: usize, bytes: usize) -> Answer<Memory> {
        let whole = self.row * self.rows() * self.slices();
        if offset.checked_add(bytes).is_none_or(|end| end > whole) {
            return Err(CUresult::INVALID_VALUE);
        }
        Ok(Memory::Device(self.address + offset as u64))
    }
}

impl Named for Array {
    fn side(&self, [x, y, z]: [usize; 3], [width, height, depth]: [usize; 3]) -> Answer<Side> {
        let inside = |start: usize, length: usize, limit: usize| {
            start.checked_add(length).is_some_and(|end| end <= limit)
        };
        if !inside(x, width, self.row) || !inside(y, height, self.rows()) || !inside(z, depth, self.slices())
        {
            return Err(CUresult::INVALID_VALUE);
        }
        let (pitch, slice) = (self.row, self.row * self.rows());
        let memory = Memory::Device(self.address + (x + y * pitch + z * slice) as u64);
        Ok(Side { memory, pitch, slice })
    }
}

/// The kernel's view of a `CUarray_format`.
pub fn channel_format(number: u32) -> Answer<ChannelFormat> {
    Ok(match CUarray_format::try_from(number)? {
        CUarray_format::UNSIGNED_INT8 => ChannelFormat::U8,
        CUarray_format::UNSIGNED_INT16 => ChannelFormat::U16,
        CUarray_format::UNSIGNED_INT32 => ChannelFormat::U32,
        CUarray_format::SIGNED_INT8 => ChannelFormat::S8,
        CUarray_format::SIGNED_INT16 => ChannelFormat::S16,
        CUarray_format::SIGNED_INT32 => ChannelFormat::S32,
        CUarray_format::HALF => ChannelFormat::F16,
        CUarray_format::FLOAT => ChannelFormat::F32,
    })
}

/// Whether the driver would create such an array.
fn possible(d: &CUDA_ARRAY3D_DESCRIPTOR) -> bool {
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
    shape && cube && gather && d.Flags & !KNOWN_FLAGS == 0 && matches!(d.NumChannels, 1 | 2 | 4)
}

fn create(place: Out<Handle>, descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Answer {
    place.required()?;
    place.set(make(descriptor)?)
}

fn make(descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Answer<Handle> {
    let d = &descriptor;
    let format = channel_format(d.Format)?;
    let row = d.Width.checked_mul(format.size() as usize * d.NumChannels as usize);
    let row = row.filter(|_| possible(d)).ok_or(CUresult::INVALID_VALUE)?;
    let slices = d.Height.max(1).checked_mul(d.Depth.max(1));
    let bytes = slices.and_then(|slices| slices.checked_mul(row)).ok_or(CUresult::INVALID_VALUE)?;
    let address = allocate(bytes, Origin::Device)?;
    let array = Arc::new(Array { descriptor, format, address, row });
    let handle = new_handle();
    NAMED.insert_as(handle, array.clone() as Arc<dyn Named>);
    ARRAYS.insert_as(handle, array);
    Ok(handle)
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
    let _ = NAMED.remove(array);
    let array = ARRAYS.remove(array)?;
    // The context may have ended, and its memory with it.
    cuMemFree_v2(array.address).or(Ok(()))
}

/// An array and its mip levels, each half as long in every dimension that has more than one element.
pub struct MipmappedArray {
    levels: Vec<Handle>,
}

static MIPMAPPED: Registry<MipmappedArray> = Registry::new(CUresult::INVALID_HANDLE);

impl MipmappedArray {
    pub fn of(handle: Handle) -> Answer<Arc<Self>> {
        MIPMAPPED.get(handle)
    }

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
    // Like the driver: no more levels than until one element is left.
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
    Copy::linear(Array::of(array)?.run(offset, bytes)?, Memory::host(from), bytes).run_now(&default_target()?)
}

pub fn cuMemcpyAtoH_v2(to: *mut c_void, array: Handle, offset: usize, bytes: usize) -> Answer {
    Copy::linear(Memory::host(to), Array::of(array)?.run(offset, bytes)?, bytes).run_now(&default_target()?)
}

pub fn cuMemcpyHtoAAsync_v2(
    array: Handle,
    offset: usize,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Answer {
    Copy::linear(Array::of(array)?.run(offset, bytes)?, Memory::host(from), bytes).issue(&target(stream)?)
}

pub fn cuMemcpyAtoHAsync_v2(
    to: *mut c_void,
    array: Handle,
    offset: usize,
    bytes: usize,
    stream: CUstream,
) -> Answer {
    Copy::linear(Memory::host(to), Array::of(array)?.run(offset, bytes)?, bytes).issue(&target(stream)?)
}

pub fn cuMemcpyDtoA_v2(array: Handle, offset: usize, from: CUdeviceptr, bytes: usize) -> Answer {
    let to = Array::of(array)?.run(offset, bytes)?;
    Copy::linear(to, Memory::Device(from), bytes).run_now(&default_target()?)
}

pub fn cuMemcpyAtoD_v2(to: CUdeviceptr, array: Handle, offset: usize, bytes: usize) -> Answer {
    let from = Array::of(array)?.run(offset, bytes)?;
    Copy::linear(Memory::Device(to), from, bytes).run_now(&default_target()?)
}

pub fn cuMemcpyAtoA_v2(
    to: Handle,
    to_offset: usize,
    from: Handle,
    from_offset: usize,
    bytes: usize,
) -> Answer {
    let (to, from) = (Array::of(to)?.run(to_offset, bytes)?, Array::of(from)?.run(from_offset, bytes)?);
    Copy::linear(to, from, bytes).run_now(&default_target()?)
}
