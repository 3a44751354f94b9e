//! Device building blocks: typed shared tiles and guarded views of matrices.
//!
//! A tiled kernel moves a piece of a matrix from global to shared memory, uses it many times, and writes a result.
//! [`View`] and [`ViewMut`] are the matrix in global memory, with the guard that edges need; [`SharedTile`] is the
//! piece in shared memory, whose [`Layout`] (plain, padded, swizzled, column by column) is part of its type, so a
//! kernel changes its bank conflicts by naming another layout.
#![no_std]

mod layout;
mod shared;
mod view;

#[doc(hidden)]
pub use cuda_std;

pub use layout::{ColumnOrder, ColumnOrderPadded, Layout, Padded, Plain, Swizzled};
pub use shared::{DynamicTile, SharedTile};
pub use view::{View, ViewMut};
