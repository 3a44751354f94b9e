//! Hopper's own means, `compute_90a` only: tensor copies, barriers that count their bytes, clusters, and products of whole
//! warpgroups.
//!
//! One thread starts copies of boxes of a tensor into shared memory ([`TensorMap`]); a [`Barrier`] counts the bytes as
//! they land. Warpgroups (four warps) wait for it and multiply what lies there without loading it themselves
//! ([`KTile`], [`Multiply`]); the sums stay in registers, and may be the left operand of another product ([`Rows`]). A
//! [`Ring`] of stages lets copies run ahead of products, and [`cluster`] lets two blocks share what they copy.
//!
//! What can be told when the kernel is compiled is in the types: a tile of shared memory has the element, the order and
//! the number of lines of what lies in it, so that it takes only boxes of a map with the same element, box and swizzle,
//! and gives only descriptors that say the same.
//!
//! A whole product with an end of its own. The host makes the maps (`warpsmith_launch::extra::tensor_map`), allows the shared memory and
//! launches:
//!
//! ```
//! use cuda_std::prelude::*;
//! use half::f16;
//! use tile::hopper::{
//!     KMajor, KTile, Multiply, PanelMap, Ring, SharedAddress, Sums, RingState, cluster, in_one_thread, warp_of_block,
//! };
//!
//! const STAGES: u32 = 4;
//! type TileA = KTile<f16, KMajor, 64>;
//! type TileB = KTile<f16, KMajor, 128>;
//! const STAGE: u32 = TileA::BYTES + TileB::BYTES;
//! /// What the launch asks for: 1024 bytes to align the stages, and 227 KiB at most.
//! pub const SHARED_BYTES: u32 = 1024 + STAGES * STAGE + Ring::<STAGES>::BYTES;
//!
//! /// C = max(A · B + bias, 0): a block for each 64 × 128 elements of C, whose columns are a multiple of 128; both operands
//! /// along k. One thread of the first warpgroup copies ahead, the second multiplies.
//! ///
//! /// # Safety
//! /// The maps are of A, by rows, and of B, by columns; `bias` has a number for each of C's `n` columns.
//! #[kernel]
//! #[block_dim(256, 1, 1)]
//! pub unsafe fn relu_product(
//!     m: u32,
//!     n: u32,
//!     k: u32,
//!     #[grid_constant] a: &PanelMap<f16>,
//!     #[grid_constant] b: &PanelMap<f16>,
//!     bias: *const f32,
//!     c: *mut f16,
//! ) {
//!     let (row, col) = (thread::block_idx_y() * 64, thread::block_idx_x() * 128);
//!     let base = SharedAddress::dynamic();
//!     let steps = k.div_ceil(TileA::DEPTH);
//!     let warp = warp_of_block();
//!     // SAFETY: shared memory as `SHARED_BYTES`, each part used as its type says; roles are whole warpgroups.
//!     unsafe {
//!         let stage = |i: u32| (TileA::at(base.plus(i * STAGE)), TileB::at(base.plus(i * STAGE + TileA::BYTES)));
//!         let ring = Ring::<STAGES>::at(base.plus(STAGES * STAGE));
//!         if warp == 0 && in_one_thread() {
//!             ring.init(4); // a stage is empty when four warps say so
//!             cluster::publish_barriers();
//!         }
//!         thread::sync_threads();
//!         let mut turn = RingState::<STAGES>::default();
//!         if warp < 4 {
//!             if warp == 0 && in_one_thread() {
//!                 for step in 0..steps {
//!                     let (to_a, to_b) = stage(turn.stage);
//!                     let full = ring.full(turn.stage);
//!                     ring.empty(turn.stage).wait(turn.parity ^ 1);
//!                     full.arrive_expecting(STAGE);
//!                     to_a.load_panel(a, 0, (row, step * TileA::DEPTH), full, None);
//!                     to_b.load_panel(b, 0, (col, step * TileB::DEPTH), full, None);
//!                     to_b.load_panel(b, 1, (col, step * TileB::DEPTH), full, None);
//!                     turn.advance();
//!                 }
//!             }
//!         } else {
//!             let mut sums = <f16 as Multiply<128>>::Sums::ZERO;
//!             let mut before = None;
//!             for step in 0..steps {
//!                 ring.full(turn.stage).wait(turn.parity);
//!                 let (of_a, of_b) = stage(turn.stage);
//!                 <f16 as Multiply<128>>::multiply(&mut sums, of_a.whole(), of_b.whole(), step > 0);
//!                 // Only the product before this one is done: its stage goes back.
//!                 if let Some(before) = before.replace(turn.stage)
//!                     && thread::thread_idx_x().is_multiple_of(32)
//!                 {
//!                     ring.empty(before).arrive();
//!                 }
//!                 turn.advance();
//!             }
//!             <f16 as Multiply<128>>::finish(&mut sums);
//!             for i in 0..64 {
//!                 cuda_std::unroll!(full); // or the sums are no longer in registers
//!                 let (down, right) = <[f32; 64]>::place(thread::thread_idx_x() - 128, i);
//!                 if row + down < m {
//!                     let sum = sums.get(i) + *bias.add((col + right) as usize);
//!                     let at = (row + down) as usize * n as usize + (col + right) as usize;
//!                     *c.add(at) = f16::from_f32(sum.max(0.0));
//!                 }
//!             }
//!         }
//!     }
//! }
//! ```

mod barrier;
pub mod cluster;
mod element;
mod grid;
mod operand;
mod ring;
mod roles;
mod rows;
mod staging;
mod tensor_map;
mod wgmma;

pub use crate::SharedAddress;
pub use barrier::Barrier;
pub use element::{Element, Tf32};
pub use grid::{admit_next_grid, await_previous_grid};
pub use operand::{Descriptor, KMajor, KTile, Major, MnMajor, PANEL_LINES, PanelMap};
pub use ring::{Ring, RingState};
pub use roles::{give_registers, in_one_thread, lane_here, sync_group, take_registers, warp_of_block};
pub use rows::{MultiplyRows, Rows};
pub use staging::{load_matrices, store_matrices};
pub use tensor_map::{
    Box2, Box3, BoxShape, NoSwizzle, SharedBox, Swizzle, Swizzle32, Swizzle64, Swizzle128, TensorMap,
    commit_stores, fence_tensor_copies, wait_stores, wait_stores_read,
};
pub use wgmma::{Multiply, Sums};
