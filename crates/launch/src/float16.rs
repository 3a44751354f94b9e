//! `half` 2's numbers on their way to the device.
//!
//! `cust` 0.3 knows only `half` 1. [`F16`] and [`Bf16`] are `half` 2's types under a name of our own that may be
//! copied to the device; both have the same bits, and slices change their name at no cost:
//!
//! ```
//! use warpsmith_launch::F16;
//!
//! let numbers = [half::f16::from_f32(0.5), half::f16::from_f32(-2.0)];
//! let for_the_device: &[F16] = F16::wrap(&numbers); // then `DeviceBuffer::from_slice(for_the_device)`
//! assert_eq!(F16::peel(for_the_device), numbers);
//! ```
//!
//! A kernel that takes `&[f16]` or `*mut f16` accepts a buffer of [`F16`] in a typed launch.

use bytemuck::{Pod, TransparentWrapper, Zeroable};
use cust::memory::DeviceCopy;

macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Zeroable, Pod, TransparentWrapper)]
        pub struct $name(pub $inner);

        // SAFETY: two bytes of plain data, no reference to host memory.
        unsafe impl DeviceCopy for $name {}

        impl $name {
            /// A slice of `half`'s numbers as one of these.
            pub fn wrap(slice: &[$inner]) -> &[Self] {
                Self::wrap_slice(slice)
            }

            /// A slice of these as one of `half`'s numbers.
            pub fn peel(slice: &[Self]) -> &[$inner] {
                Self::peel_slice(slice)
            }
        }
    )*};
}
numbers! {
    /// A binary16 number.
    F16(half::f16);
    /// A bfloat16 number.
    Bf16(half::bf16);
}
