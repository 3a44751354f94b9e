//! Device building blocks: typed shared tiles and guarded views of matrices.
//!
//! A tiled kernel moves a piece of a matrix from global to shared memory, uses it many times, and writes a result.
//! [`View`] and [`ViewMut`] are the matrix in global memory, with the guard that edges need; [`SharedTile`] is the
//! piece in shared memory, whose [`Layout`] (plain, padded, swizzled, column by column) is part of its type, so a
//! kernel changes its bank conflicts by naming another layout; [`SharedTile::load`] fills it. [`reduce`] and
//! [`scan`] make something of the values of a block, those of [`warp`] of a warp's, and [`sync_grid`] waits for a whole grid.
//! A [`Vector`] is 16 bytes moved by one access, [`Four`] four elements moved so, a [`Straddle`]
//! 16 bytes that are not aligned, and [`RegisterTranspose`] transposes a few of them in registers. A [`Raster`] says which tile of a product
//! is computed when; [`repeat!`] is a loop with a constant counter; a [`SharedAddress`] is a place as PTX takes it.
//! [`mma`] has the blocks of products on tensor cores, of every chip from capability 8.0 on, [`hopper`] those of capability
//! 9.0: each begins with a kernel that uses them.
#![no_std]
#![warn(missing_docs)]

mod address;
mod block;
mod grid;
pub mod hopper;
mod layout;
pub mod mma;
mod raster;
mod repeat;
mod sealed {
    /// Keeps a trait's implementors to this crate: unsafe code trusts what they say.
    pub trait Sealed {}
}
mod register_transpose;
mod shared;
mod tf32;
mod vector;
mod view;
pub mod warp;

#[doc(hidden)]
pub use cuda_std;

pub use address::SharedAddress;
pub use block::{reduce, scan, thread_in_block, threads_of_block};
pub use grid::sync_grid;
pub use layout::{
    ColumnOrder, ColumnOrderPadded, Layout, Padded, PaddedGroups, Plain, Swizzled, SwizzledChunks,
};
pub use raster::{Raster, TileIndex};
pub use register_transpose::RegisterTranspose;
pub use shared::{DynamicTile, SharedTile, Walk};
pub use vector::{Four, Straddle, VECTOR_BYTES, Vector};
pub use view::{View, ViewMut};
