//! Arrays of structs become structures of arrays, and back, at the speed of a copy.
//!
//! A struct of 12 bytes cannot be loaded by one access, and field by field a warp touches three times the sectors that it
//! uses. Where data comes as structs, convert it once; kernels then read arrays, each contiguous.
//!
//! ```
//! use warpsmith_kernels::structs::{to_arrays, to_structs};
//! use warpsmith_launch::{Device, DevicePreference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DevicePreference::Virtual)?;
//! let points = device.upload(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?; // x, y, z
//! let mut arrays = device.upload(&[0.0f32; 12])?;
//! to_arrays(&device, 4, &points, &mut arrays)?; // arrays 4 elements apart: each begins at a multiple of 16 bytes
//! assert_eq!(device.download(&arrays)?, [1.0, 4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 3.0, 6.0, 0.0, 0.0]);
//!
//! let mut back = device.upload(&[[0.0f32; 3]; 2])?;
//! to_structs(&device, 4, &arrays, &mut back)?;
//! assert_eq!(device.download(&back)?, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! # Ok(()) }
//! ```

use bytemuck::Pod;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::base::coalescing::{Point, Quad};
use kernels_gpu::base::records::{
    BLOCK, STRUCTS, arrays_to_points, arrays_to_quads, points_to_arrays, quads_to_arrays,
};
use warpsmith_launch::{BufferSlice, BufferSliceMut, Device, Shape};

use crate::{Error, LEVELS, finished};

/// Field k of each struct goes to the array that begins at `k * pitch`. Best if the pitch is a multiple of 4 elements. Waits until
/// it has.
///
/// Structs have three or four fields of four bytes, such as `[f32; 3]`, `[u32; 4]` or a `#[repr(C)]` type that is
/// [`Pod`]; `F` is a field, or what stands for it.
#[doc(alias = "AoS")]
#[doc(alias = "SoA")]
pub fn to_arrays<'b, T: Pod + DeviceCopy, F: Pod + DeviceCopy>(
    device: &Device,
    pitch: usize,
    from: impl Into<BufferSlice<'b, T>>,
    to: impl Into<BufferSliceMut<'b, F>>,
) -> Result<(), Error> {
    let (from, mut to) = (from.into(), to.into());
    // SAFETY: both are borrowed until the device has been waited for.
    finished(device, unsafe { to_arrays_async(device, pitch, from.as_cust(), to.as_cust_mut()) })
}

/// Makes as many structs as `to` holds, of arrays that begin `pitch` elements apart, and waits for them.
pub fn to_structs<'b, T: Pod + DeviceCopy, F: Pod + DeviceCopy>(
    device: &Device,
    pitch: usize,
    from: impl Into<BufferSlice<'b, F>>,
    to: impl Into<BufferSliceMut<'b, T>>,
) -> Result<(), Error> {
    let (from, mut to) = (from.into(), to.into());
    // SAFETY: as above.
    finished(device, unsafe { to_structs_async(device, pitch, from.as_cust(), to.as_cust_mut()) })
}

/// [`to_arrays`] of `cust`'s buffers, put on the device's stream.
///
/// # Safety
/// Until the stream has done it, both stay where they are, and nothing else writes `from` or reaches `to`.
pub unsafe fn to_arrays_async<T: Pod + DeviceCopy, F: Pod + DeviceCopy>(
    device: &Device,
    pitch: usize,
    from: &DeviceSlice<T>,
    to: &mut DeviceSlice<F>,
) -> Result<(), Error> {
    let launch = Conversion::new(from, to, pitch)?;
    let to = DevicePointer::<f32>::from_raw(to.as_device_ptr().as_raw());
    let structs = from.as_device_ptr().as_raw();
    // SAFETY: a struct is as many words as the kernel's, all bits of which are values; the buffers were compared with what is
    // converted; the rest is the caller's promise.
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

/// [`to_structs`] of `cust`'s buffers, put on the device's stream.
///
/// # Safety
/// As [`to_arrays_async`].
pub unsafe fn to_structs_async<T: Pod + DeviceCopy, F: Pod + DeviceCopy>(
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
