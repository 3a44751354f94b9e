//! Hopper's own means, `compute_90a` only: tensor copies, barriers that count their bytes, clusters, and products of whole
//! warpgroups.
//!
//! One thread starts copies of boxes of a tensor into shared memory ([`TensorMap`]); a [`Barrier`] counts the bytes as
//! they land. Warpgroups (four warps) wait for it and multiply what lies there without loading it themselves
//! ([`KTile`], [`Multiply`]); the sums stay in registers, and may be the left operand of another product ([`Rows`]). A
//! [`Ring`] of stages lets copies run ahead of products, and [`cluster`] lets two blocks share what they copy.
//!
//! Facts known when the kernel is compiled are in the types: a tile of shared memory has the element, the order and
//! the number of lines of what lies in it, so that it takes only boxes of a map with the same element, box and swizzle,
//! and gives only descriptors that say the same.
//!
//! A whole product that uses most of this is [`kernels_gpu::hopper::first`](../../kernels_gpu/hopper/first/index.html), in
//! `kernels-gpu/src/hopper/first.rs`.

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
