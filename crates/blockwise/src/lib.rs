//! Kernels that cannot race, written without `unsafe`.
//!
//! Code at the level of the **block** is the same for all of its threads; code of one **thread** stands in closures only. A
//! barrier can be written at the level of the block alone, so no thread can miss it.
//!
//! ```
//! use blockwise::prelude::*;
//!
//! /// `sum[i] = a[i] + b[i]`
//! #[kernel]
//! pub fn add(block: Block<256>, a: &[f32], b: &[f32], mut sum: SliceMut<f32>) {
//!     sum.write(&block, |_, i| a[i] + b[i]);
//! }
//! ```
#![no_std]

extern crate self as blockwise;

#[doc(hidden)]
#[path = "device.rs"]
pub mod __device;
mod block;
mod collective;
mod counter;
mod grid;
mod lane;
mod marks;
mod matrix;
mod output;
mod own;
mod per_thread;
mod phase;
pub mod prelude;
mod requires;
mod thread;
mod tile;
mod warp;

#[doc(hidden)]
pub use cuda_std;

pub use ::tile::{ColumnOrder, ColumnOrderPadded, Layout, Padded, Plain, Swizzled};
pub use block::{Block, BlockToken};
pub use collective::{Scan, Scratch};
pub use counter::{Counted, Counters, Counting};
pub use cuda_std::kernel;
pub use grid::{Axis, BlockwiseKernel, Demand, MatrixMap, SliceMap};
pub use lane::Lane;
pub use matrix::Matrix;
pub use output::{MatrixMut, Mirrored, OneEach, Part, Rows, SliceMut, Strided, Tiles};
pub use per_thread::PerThread;
pub use phase::{Reuse, Share};
pub use requires::{Broken, Extents};
pub use thread::Thread;
pub use tile::{Empty, Filled, Shared, Tile};
pub use warp::Warp;

/// What the elements of tiles and outputs are: plain values, which any thread may copy.
pub trait Element: Copy + Send + Sync + 'static {}
impl<T: Copy + Send + Sync + 'static> Element for T {}
