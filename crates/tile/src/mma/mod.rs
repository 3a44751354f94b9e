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
//! A whole product of bytes, copies two stages ahead:
//!
//! ```
//! use cuda_std::prelude::*;
//! use tile::SharedAddress;
//! use tile::mma::{AlongK, Filler, Matrix, Reader, Ring, StageTile, Sums};
//!
//! const STAGES: usize = 3;
//! const TILE: usize = StageTile::<i8, AlongK, 64, 64>::BYTES;
//! type Stages = Ring<STAGES, { 2 * TILE }>;
//! /// What the launch asks for: 1024 bytes to align the stages.
//! pub const SHARED_BYTES: usize = 1024 + Stages::TOTAL;
//!
//! /// C = A · B of bytes: a block for each 64 × 64 elements of C, a warp for 32 × 32 of them; A by rows, B by columns, rows of
//! /// both at multiples of 16 bytes.
//! ///
//! /// # Safety
//! /// A has m × k, B n × k and C m × n elements; `k` is a multiple of 16.
//! #[kernel]
//! #[block_dim(128, 1, 1)]
//! pub unsafe fn byte_product(m: u32, n: u32, k: u32, a: *const i8, b: *const i8, c: *mut i32) {
//!     let [m, n, k] = [m, n, k].map(|extent| extent as usize);
//!     let thread = thread::thread_idx_x() as usize;
//!     let (warp, lane) = (thread / 32, thread % 32);
//!     let (row, col) = (thread::block_idx_y() as usize * 64, thread::block_idx_x() as usize * 64);
//!     // Every stage has a tile of A, and one of B behind it.
//!     let tile_a = SharedAddress::dynamic().bits();
//!     let tile_b = tile_a + TILE as u32;
//!     let matrix = |first, extent| Matrix { first, stride: k, extent, depth: k };
//!     let mut fill_a = Filler::<i8, AlongK, 64, 64, 128>::new(matrix(a, m), row, tile_a, thread);
//!     let mut fill_b = Filler::<i8, AlongK, 64, 64, 128>::new(matrix(b, n), col, tile_b, thread);
//!     // Two blocks of 16 rows, and two of 16 columns, for each warp.
//!     let rows = Reader::<i8, AlongK, 64, 64, 2>::of_rows(tile_a, warp / 2 * 32, lane);
//!     let columns = Reader::<i8, AlongK, 64, 64, 2>::of_columns(tile_b, warp % 2 * 32, lane);
//!     let mut sums = [[Sums::<i8>::ZERO; 4]; 2];
//!     let mut ring = Stages::new();
//!     // SAFETY: shared memory as `SHARED_BYTES`; all threads come to each wait, whole warps to each product.
//!     unsafe {
//!         for stage in 0..STAGES - 1 {
//!             fill_a.fill((stage * 2 * TILE) as u32);
//!             fill_b.fill((stage * 2 * TILE) as u32);
//!             Stages::commit();
//!         }
//!         for _ in 0..k.div_ceil(64) {
//!             Stages::wait();
//!             fill_a.fill(ring.writing()); // beyond k: zeros
//!             fill_b.fill(ring.writing());
//!             Stages::commit();
//!             for step in 0..2 {
//!                 cuda_std::unroll!(full);
//!                 for i in 0..2 {
//!                     cuda_std::unroll!(full);
//!                     let of_a = rows.rows(ring.reading(), i, step);
//!                     for j in 0..2 {
//!                         cuda_std::unroll!(full);
//!                         let [left, right] = columns.columns(ring.reading(), j, step);
//!                         sums[i][2 * j].add(of_a, left);
//!                         sums[i][2 * j + 1].add(of_a, right);
//!                     }
//!                 }
//!             }
//!             ring.advance();
//!         }
//!         for sum in 0..32 {
//!             cuda_std::unroll!(full);
//!             let (i, j, element) = (sum / 16, sum / 4 % 4, sum % 4);
//!             let (down, right) = Sums::<i8>::place(lane, element);
//!             let (down, right) = (row + warp / 2 * 32 + 16 * i + down, col + warp % 2 * 32 + 8 * j + right);
//!             if down < m && right < n {
//!                 *c.add(down * n + right) = sums[i][j].elements()[element];
//!             }
//!         }
//!     }
//! }
//! ```
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
