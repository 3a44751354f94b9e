//! Kernels that cannot race, written without `unsafe`, with shared memory and barriers.
//!
//! # Two levels
//! Code at the level of the **block** is the same for all of its threads; code of one **thread** stands in closures only. A
//! barrier can be written at the level of the block alone, so no thread can miss it.
//!
//! ```
//! use blockwise::prelude::*;
//!
//! /// `sum[i] = a[i] + b[i]`
//! #[kernel]
//! #[requires(a.len() == sum.len(), b.len() == sum.len())]
//! pub fn add(block: Block<256>, a: &[f32], b: &[f32], mut sum: SliceMut<f32>) {
//!     sum.write(&block, |_, i| a[i] + b[i]);
//! }
//! ```
//! [`Block<256>`](Block) is a token: it is no parameter of the launch, and says that blocks have 256 threads. The closure is
//! what a thread does; it is handed its [`Thread`] and the index of the element that it owns. The relations that the kernel `#[requires]` the
//! host tests before the launch, so no index is tested again.
//!
//! A value that differs by thread and outlives a closure is a [`PerThread`]: the block keeps it, and only threads open it.
//!
//! # Shared memory
//! A [`Tile`] marked `#[shared]` goes from phase to phase, and each step takes it and gives it back. *Filled*: each element is
//! computed by one thread. *Shared*: all threads read, after a barrier. Then it may be *reused*, after another one.
//!
//! ```
//! # use blockwise::prelude::*;
//! /// C = A · B
//! #[kernel]
//! pub fn product(
//!     block: Block<16, 16>,
//!     #[shared] mut tile_a: Tile<f32, 16, 16>,
//!     #[shared] mut tile_b: Tile<f32, 16, 16>,
//!     a: Matrix<f32>,
//!     b: Matrix<f32>,
//!     mut c: MatrixMut<f32, Tiles<16, 16>>,
//! ) {
//!     let (row, col) = (block.y() * 16, block.x() * 16);
//!     let mut sum = block.each(|_| 0.0);
//!     for first in (0..a.cols()).step_by(16) {
//!         let filled = (
//!             tile_a.fill(&block, |_, (y, x)| a.get_or(row + y, first + x, 0.0)),
//!             tile_b.fill(&block, |_, (y, x)| b.get_or(first + y, col + x, 0.0)),
//!         );
//!         let shared = block.share(filled);
//!         let (a, b) = &shared;
//!         sum.update(&block, |t, sum| {
//!             for i in 0..16 {
//!                 *sum += a.at(t.y(), i) * b.at(i, t.x());
//!             }
//!         });
//!         (tile_a, tile_b) = block.reuse(shared);
//!     }
//!     c.write(&block, |t, _| sum.of(t));
//! }
//! ```
//! Without `reuse` the loop does not compile: the tiles of its second turn would be filled while slow threads still read.
//!
//! ```compile_fail,E0382
//! # use blockwise::prelude::*;
//! # #[kernel]
//! # pub fn wrong(block: Block<16, 16>, #[shared] tile: Tile<f32, 16, 16>) {
//! for _ in 0..2 {
//!     let shared = block.share(tile.fill(&block, |_, _| 0.0));
//!     block.each(|t| shared.at(t.y(), t.x()));
//! }
//! # }
//! ```
//!
//! # Chapters
//! Each page has a kernel that compiles and one that does not, and says why.
//!
//! | page | what it is about |
//! | --- | --- |
//! | [`Block`], [`Thread`] | the two levels, and what each knows |
//! | [`PerThread`] | a value for each thread, which outlives a closure |
//! | [`DeviceCopy`] | what a launch passes, structs of your own included |
//! | [`Matrix`] | what is read, with the guard that edges need |
//! | [`SliceMut`], [`MatrixMut`] | what is written, and the maps that say who owns what |
//! | [`Linear`] | ownership of one's own choice, by three constants |
//! | [`Tile`] | shared memory, and its phases |
//! | [`Tile::conflict_degree`] | bank conflicts, as a constant that a kernel asserts |
//! | [`Dynamic`] | tiles whose extents are chosen at launch |
//! | [`RowByRow`] | tiles that are moved by 16 bytes |
//! | [`Filling`] | copies that run while the block goes on |
//! | [`Counters`], [`Counting`] | places that many threads add to |
//! | [`Scan`] | what a block makes of its threads' values |
//! | [`Warp`] | 32 threads that exchange values without memory |
//! | [`Lane`] | the values that warps exchange and blocks combine |
//!
//! # Outputs
//! [`SliceMut`] and [`MatrixMut`] have a map in their type that gives each element one owner. The host computes the grid from it.
//! Where many threads meet there are [`Counters`], which they add to.
//!
//! # Together
//! [`Block::reduce`] and [`Block::scan`] make something of all threads' values that is the same for the block, so it may decide
//! where the block goes; [`Block::exchange`] lets threads replace pairs of elements; [`Block::warps`] has the shuffles.
//!
//! # Launches
//! `warpsmith_launch::Device::scope` starts these kernels without `unsafe`: buffers stay borrowed until the scope has waited.
//!
//! # What types do not see
//! `cuda_std::thread::thread_idx_x()` and the atomics of `core` are safe functions. `cuda_builder` looks for them in whatever a
//! kernel without `unsafe` reaches, and refuses it.
#![no_std]

extern crate self as blockwise;
#[cfg(test)]
extern crate std;

#[doc(hidden)]
#[path = "device.rs"]
pub mod __device;
mod banks;
mod block;
mod collective;
mod copies;
mod counter;
mod device_copy;
mod digest;
mod dynamic;
pub mod fingerprint;
mod grid;
mod lane;
mod linear;
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
mod vectors;
mod warp;

#[doc(hidden)]
pub use cuda_std;

pub use ::tile::{ColumnOrder, ColumnOrderPadded, Layout, Padded, Plain, Swizzled};
pub use banks::{Banks, Walk};
pub use block::{Block, BlockToken};
pub use collective::{Scan, Scratch};
pub use copies::{Commit, Copying, Filling, InFlight};
pub use counter::{AtomicElement, Counters, Counting};
pub use cuda_std::kernel;
pub use device_copy::{Content, DeviceCopy};
pub use dynamic::{Dynamic, DynamicTile, Elements, Pairs};
pub use grid::{BlockCount, BlockwiseKernel, GridRequirement, MatrixMap, SliceMap};
pub use lane::Lane;
pub use linear::Linear;
pub use matrix::Matrix;
pub use output::{MatrixMut, Mirrored, OneEach, Part, Registers, Rows, SliceMut, Strided, Tiles, Turned};
pub use per_thread::PerThread;
pub use phase::{Reuse, Share};
pub use requires::{Extents, UnmetRequirement};
pub use thread::Thread;
pub use tile::{Empty, Filled, Shared, Tile};
pub use vectors::RowByRow;
pub use warp::Warp;

/// Elements of tiles and outputs, and values that threads keep: plain ones, which any thread may copy. Structs of your own are,
/// too.
///
/// ```
/// # use blockwise::prelude::*;
/// #[derive(Clone, Copy)]
/// struct Extremes {
///     least: u32,
///     most: u32,
/// }
///
/// /// The range of the elements up to each one, within its part of 256.
/// #[kernel]
/// #[requires(x.len() == apart.len())]
/// pub fn apart(block: Block<256>, #[shared] tile: Tile<Extremes, 1, 256>, x: &[u32], mut apart: SliceMut<u32>) {
///     let first = block.x() * 256;
///     let own = |i| x.get(first + i).map_or(Extremes { least: u32::MAX, most: 0 }, |x| Extremes { least: *x, most: *x });
///     let tile = block.share(tile.fill(&block, |_, (_, i)| own(i)));
///     apart.write(&block, |t, _| {
///         let before = || (0..t.x() + 1).map(|i| tile.at(0, i));
///         before().map(|e| e.most).max().unwrap_or(0) - before().map(|e| e.least).min().unwrap_or(0)
///     });
/// }
/// ```
/// A type that changes behind a shared reference is none: each thread would write where the others read.
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # use core::cell::Cell;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, #[shared] tile: Tile<&'static Cell<u32>, 1, 256>) {
/// # }
/// ```
pub trait Element: Copy + Send + Sync + 'static {}
impl<T: Copy + Send + Sync + 'static> Element for T {}
