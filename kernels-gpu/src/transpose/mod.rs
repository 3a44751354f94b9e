//! The transpose of a row-major matrix, step by step: f32, f64, f16 and bytes, any shape.
//!
//! Reading rows and writing columns cannot both be contiguous, unless the turn happens in shared memory:
//!
//! | step | reads | writes | shared memory |
//! | --- | --- | --- | --- |
//! | copy, the yardstick | contiguous | contiguous | not used |
//! | naive | contiguous | one sector for each lane | not used |
//! | tile | contiguous | contiguous | reading a column: 32 lanes in one bank |
//! | padded | contiguous | contiguous | an odd number of words a row: no conflict |
//! | swizzled | contiguous | contiguous | columns permuted by row: no conflict, nothing wasted |
//! | [`vectorised`] | 16 bytes a lane | 16 bytes a lane | chunks of 16 bytes permuted: no conflict |
//! | [`shifted`] | as vectorised, rows that begin anywhere | | words shifted as they are read |
//! | [`hopper`](crate::hopper::transpose) | as the last two, 256 bytes at a time into L2 | as the last two | as the last two |
//!
//! The kernels up to the swizzled step are in [`base::transpose`](crate::base::transpose), with those of the last two for every
//! device. Here is what these are made of, for Hopper too.

pub mod shifted;
pub mod tiling;
pub mod vectorised;

#[cfg(feature = "host")]
use crate::choice::UseKernel;

/// The signature of all transposes: rows, columns, the matrix, and where the result goes.
pub type Signature<T> = fn(u32, u32, &'static [T], *mut T);

/// A use of a transpose of elements of 1, 2, 4, 8 or 16 bytes.
#[cfg(feature = "host")]
pub trait UseTranspose<R>:
    UseKernel<Signature<u8>, R>
    + UseKernel<Signature<u16>, R>
    + UseKernel<Signature<u32>, R>
    + UseKernel<Signature<u64>, R>
    + UseKernel<Signature<u128>, R>
{
}
#[cfg(feature = "host")]
impl<U, R> UseTranspose<R> for U where
    U: UseKernel<Signature<u8>, R>
        + UseKernel<Signature<u16>, R>
        + UseKernel<Signature<u32>, R>
        + UseKernel<Signature<u64>, R>
        + UseKernel<Signature<u128>, R>
{
}
