//! Arrays of structs become structures of arrays, and back, at the speed of a copy.
//!
//! A struct of 12 bytes cannot be loaded by one access, and field by field a warp touches three times the sectors that it
//! uses. Where data comes as structs, convert it once; kernels then read arrays, each contiguous.
//!
//! ```
//! use cust::memory::DeviceBuffer;
//! use warpsmith_kernels::structs::{to_arrays, to_structs};
//! use warpsmith_launch::{Device, Wish};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(Wish::Virtual)?;
//! let points = DeviceBuffer::from_slice(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?; // x, y, z
//! let mut arrays = DeviceBuffer::from_slice(&[0.0f32; 12])?;
//! to_arrays(&device, 4, &points, &mut arrays)?; // arrays 4 elements apart: each begins at a multiple of 16 bytes
//! device.synchronize()?;
//! assert_eq!(arrays.as_host_vec()?, [1.0, 4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 3.0, 6.0, 0.0, 0.0]);
//!
//! let mut back = DeviceBuffer::from_slice(&[[0.0f32; 3]; 2])?;
//! to_structs(&device, 4, &arrays, &mut back)?;
//! device.synchronize()?;
//! assert_eq!(back.as_host_vec()?, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! # Ok(()) }
//! ```

use bytemuck::Pod;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::base::coalescing::{Point, Quad};
use kernels_gpu::base::records::{
    BLOCK, STRUCTS, arrays_to_points, arrays_to_quads, points_to_arrays, quads_to_arrays,
};
use warpsmith_launch::{Device, Shape};

use crate::{Error, LEVELS};

/// Field k of each struct goes to the array that begins at `k * pitch`. Best if the pitch is a multiple of 4 elements.
///
/// Structs have three or four fields of four bytes, such as `[f32; 3]`, `[u32; 4]` or a `#[repr(C)]` type that is
/// [`Pod`]; `F` is a field, or what stands for it.
#[doc(alias = "AoS")]
#[doc(alias = "SoA")]
pub fn to_arrays<T: Pod + DeviceCopy, F: Pod + DeviceCopy>(
    device: &Device,
    pitch: usize,
    from: &DeviceSlice<T>,
    to: &mut DeviceSlice<F>,
) -> Result<(), Error> {
    let launch = Conversion::new(from, to, pitch)?;
    let to = DevicePointer::<f32>::from_raw(to.as_device_ptr().as_raw());
    let structs = from.as_device_ptr().as_raw();
    // SAFETY: a struct is as many words as the kernel's, all bits of which are values; the buffers were compared with what is
    // converted.
    let launched = unsafe {
        if Conversion::<T, F>::FIELDS == 3 {
            let from = DeviceSlice::<Point>::from_raw_parts(DevicePointer::from_raw(structs), from.len());
            let kernel = device.kernel::<points_to_arrays>(&LEVELS)?;
            kernel.launch(launch.shape, (launch.count, launch.pitch, &from, to))
        } else {
            let from = DeviceSlice::<Quad>::from_raw_parts(DevicePointer::from_raw(structs), from.len());
            let kernel = device.kernel::<quads_to_arrays>(&LEVELS)?;
            kernel.launch(launch.shape, (launch.count, launch.pitch, &from, to))
        }
    };
    Ok(launched?)
}

/// The way back: as many structs as `to` holds, from arrays that begin `pitch` elements apart.
pub fn to_structs<T: Pod + DeviceCopy, F: Pod + DeviceCopy>(
    device: &Device,
    pitch: usize,
    from: &DeviceSlice<F>,
    to: &mut DeviceSlice<T>,
) -> Result<(), Error> {
    let launch = Conversion::new(to, from, pitch)?;
    let structs = to.as_device_ptr().as_raw();
    let from = DevicePointer::<f32>::from_raw(from.as_device_ptr().as_raw());
    // SAFETY: as above.
    let launched = unsafe {
        let from = DeviceSlice::from_raw_parts(from, Conversion::<T, F>::FIELDS * pitch);
        if Conversion::<T, F>::FIELDS == 3 {
            let to = DevicePointer::<Point>::from_raw(structs);
            let kernel = device.kernel::<arrays_to_points>(&LEVELS)?;
            kernel.launch(launch.shape, (launch.count, launch.pitch, &from, to))
        } else {
            let to = DevicePointer::<Quad>::from_raw(structs);
            let kernel = device.kernel::<arrays_to_quads>(&LEVELS)?;
            kernel.launch(launch.shape, (launch.count, launch.pitch, &from, to))
        }
    };
    Ok(launched?)
}

/// A launch for structs of type `T` whose fields are `F`.
struct Conversion<T, F> {
    count: u32,
    pitch: u32,
    shape: Shape,
    types: std::marker::PhantomData<(T, F)>,
}

impl<T: DeviceCopy, F: DeviceCopy> Conversion<T, F> {
    const FIELDS: usize = size_of::<T>() / 4;

    fn new(structs: &DeviceSlice<T>, arrays: &DeviceSlice<F>, pitch: usize) -> Result<Self, Error> {
        const {
            assert!(size_of::<F>() == 4, "a field has four bytes");
            assert!(size_of::<T>() == 12 || size_of::<T>() == 16, "a struct has three or four fields");
        }
        let (n, fields, has) = (structs.len(), Self::FIELDS, arrays.len());
        if pitch < n || fields.checked_mul(pitch).is_none_or(|needed| needed > has) {
            return Err(Error::Structs(format!(
                "{n} of {fields} fields need {fields} arrays at least {n} elements apart; these are {pitch} apart in a buffer \
                 of {has}"
            )));
        }
        let address = structs.as_device_ptr().as_raw();
        if fields == 4 && !address.is_multiple_of(16) {
            return Err(Error::Structs(format!(
                "those of 16 bytes begin at {address:#x}: let them begin at a multiple of 16"
            )));
        }
        let in_32_bits = |count: usize| {
            let admitted = u32::try_from(count).ok().filter(|&count| count <= u32::MAX - STRUCTS as u32);
            admitted.ok_or_else(|| Error::Structs(format!("{count} are too many: convert them in parts")))
        };
        let shape = Shape { block: [BLOCK as u32, 1, 1], ..Shape::line(n, STRUCTS as u32) };
        Ok(Self { count: in_32_bits(n)?, pitch: in_32_bits(pitch)?, shape, types: std::marker::PhantomData })
    }
}
