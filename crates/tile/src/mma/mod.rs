//! Products of small matrices on tensor cores: `mma.sync`, its operands through `ldmatrix`, and the copies that feed them.
//!
//! A warp multiplies 16 rows of A by 8 columns of B with one instruction; all of its lanes hold a piece of each matrix,
//! a *fragment*. Along K an instruction takes 32 bytes of each row: 16 elements of `f16` or `bf16`, 8 of [`Tf32`], 32 of
//! `i8`. In bytes all types look the same, and that is how this module treats them.
//!
//! | block | what it is |
//! | --- | --- |
//! | [`Element`] | a type that tensor cores multiply, and the type in which they add |
//! | [`RowFragment`], [`ColumnFragment`], [`Sums`] | what a lane holds of A, of B and of their product |
//! | [`StageTile`] | a piece of an operand in shared memory, swizzled so that no access has a bank conflict |
//! | [`Reader`] | the fragments of one warp out of a stage, by `ldmatrix` |
//! | [`Filler`] | one thread's share of the copies of a stage, by `cp.async`, with zeros beyond the matrix |
//! | [`Ring`] | the stages in turn: which one is read, which one is filled |
//!
//! Shapes that do not fit do not compile. A row of a tile that lies along K must be 64 or 128 bytes, or the swizzle would
//! not keep its promise:
//!
//! ```
//! use tile::mma::{AlongK, StageTile};
//! assert_eq!(StageTile::<half::f16, AlongK, 128, 32>::BYTES, 8192);
//! ```
//! ```compile_fail
//! use tile::mma::{AlongK, StageTile};
//! assert_eq!(StageTile::<half::f16, AlongK, 128, 24>::BYTES, 6144); // rows of 48 bytes
//! ```
//!
//! Fragments of different types do not multiply:
//!
//! ```compile_fail
//! # use tile::mma::{ColumnFragment, RowFragment, Sums};
//! fn product(a: RowFragment<half::f16>, b: ColumnFragment<half::bf16>, sums: &mut Sums<half::f16>) {
//!     unsafe { sums.add(a, b) }
//! }
//! ```

mod copy;
mod element;
mod fragment;
mod order;
mod read;
mod stage;

pub use copy::{Filler, Matrix};
pub use element::{Element, Narrow, Number, Tf32};
pub use fragment::{ColumnFragment, RowFragment, Sums};
pub use order::{AcrossK, AlongK, Order};
pub use read::Reader;
pub use stage::{Ring, StageTile};
