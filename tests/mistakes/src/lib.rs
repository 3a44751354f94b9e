//! Mistakes of the classic tutorials: each a kernel as it is often written, and the same kernel put right.
//!
//! `docs/mistakes.md` tells them, with what the tools say of each; `cargo run -p tests --bin mistakes` runs them. The
//! kernels multiply n × n matrices, or transpose one, in tiles of 16 × 16.
#![no_std]

pub mod dropped_tail;
pub mod missing_barrier;
pub mod reused_guard;
pub mod second_from_first;
pub mod stored_transposed;
pub mod too_little_memory;
pub mod two_arrays;

use cuda_std::prelude::*;

/// The edge of a tile, and of a block.
pub const EDGE: usize = 16;

/// This thread's place: x and y in the block, then row and column in the matrix.
#[inline(always)]
fn place() -> ((usize, usize), (usize, usize)) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * EDGE + y;
    let col = thread::block_idx_x() as usize * EDGE + x;
    ((x, y), (row, col))
}
