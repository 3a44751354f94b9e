//! Strides: the distance between consecutive rows or columns, in elements.

use super::sealed::Sealed;
use core::marker::PhantomData;

/// The largest stride.
pub const MAX_STRIDE: usize = 8192;

/// A stride of a matrix of `T`.
#[derive(Debug, Clone, Copy)]
pub struct StrideValidator<T, const STRIDE: usize>(PhantomData<T>);

/// A stride that a load or store may have: rows begin at multiples of 16 bytes. One that does not is an error where the
/// kernel is compiled:
///
/// ```compile_fail
/// use cuda_std::warp::matrix::{TensorCore, dims, layout};
/// # fn main() {
/// let mut a = TensorCore::<cuda_std::f16, dims::Shape<16, 16, 16>>::new().matrix_a::<layout::Row>();
/// unsafe { a.load::<7>(core::ptr::null()) };
/// # }
/// ```
pub trait ValidStride: Sealed {
    /// Evaluating it raises the error.
    #[doc(hidden)]
    const CHECKED: ();
}

impl<T, const STRIDE: usize> Sealed for StrideValidator<T, STRIDE> {}
impl<T, const STRIDE: usize> ValidStride for StrideValidator<T, STRIDE> {
    const CHECKED: () = assert!(
        STRIDE > 0 && STRIDE <= MAX_STRIDE && (STRIDE * size_of::<T>()).is_multiple_of(16),
        "a stride of tensor cores is a multiple of 16 bytes (8 of f16 and bf16, 4 of f32 and i32, 2 of f64, 16 of i8, u8 and \
         bool), and at most 8192"
    );
}
