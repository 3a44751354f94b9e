//! Matrix products on tensor cores, typed by element, shape and layout: upstream's names on top of `wmma` and
//! `mma.sync`.
//!
//! A fragment is one lane's share of a matrix that the 32 lanes of a warp hold together. All lanes load, multiply and store
//! as one, in convergence.
//!
//! ```
//! use cuda_std::f16;
//! use cuda_std::warp::matrix::{TensorCore, dims, layout};
//!
//! /// c = a · b, 16×16 each, by one warp.
//! unsafe fn product(a: *const f16, b: *const f16, c: *mut f32) {
//!     let core = TensorCore::<f16, dims::Shape<16, 16, 16>>::new();
//!     let (mut left, mut right) = (core.matrix_a::<layout::Row>(), core.matrix_b::<layout::Col>());
//!     unsafe {
//!         left.load::<16>(a);
//!         right.load::<16>(b);
//!         core.accumulator().mma(&left, &right).store::<layout::Row, 16>(c);
//!     }
//! }
//! ```
//!
//! | elements | accumulator | shapes | from |
//! | --- | --- | --- | --- |
//! | `f16` | `f32`, `f16` | 16×16×16, 32×8×16, 8×32×16 | `compute_70` |
//! | `i8`, `u8`, `bool` | `i32` | 16×16×16, 32×8×16, 8×32×16 | `compute_72` |
//! | `bf16` | `f32` | 16×16×16, 32×8×16, 8×32×16 | `compute_80` |
//! | `f32`, as TF32 | `f32` | 16×16×8 | `compute_80` |
//! | `f64` | `f64` | 8×8×4 | `compute_80` |
//! | `f16`, `bf16` / `i8`, `u8` | `f32` / `i32` | 16×8×16, in registers | `compute_80` |

mod element;
mod fragment;
pub mod multi;
pub mod ops;
mod shape;
mod stride;

pub use element::{AccumulatorElement, MatrixElement};
pub use fragment::{Accumulator, MatrixA, MatrixB, MatrixExt, TensorCore};
pub use ops::MmaWithShapeAndLayout;
pub use shape::{
    AccumulatorSize, FragmentSize, Layout, MmaShape, SharedMemoryLoadable, TensorCoreShape, WmmaShape, dims,
    layout,
};
pub use stride::{MAX_STRIDE, StrideValidator, ValidStride};

mod sealed {
    /// Only this module says what tensor cores support.
    pub trait Sealed {}
}
