//! The way to the [product](super::product), a step at a time: bf16, both operands along k, extents that are multiples of the tiles.
//!
//! | file | what is new | TFLOP/s at 4096³ on an H200 |
//! | --- | --- | ---: |
//! | [`01_one_group`](one_group) | a warpgroup copies, waits, multiplies 64 × 256 elements, and begins again | 456 |
//! | [`02_ring`](ring) | a thread copies four stages ahead for two warpgroups: copies and products overlap | 603 |
//! | [`03_registers`](registers) | the copying warpgroup gives its registers to the others | 599 |
//! | [`04_persistent`](persistent) | a block for each multiprocessor goes from tile to tile, in an order that shares A and B in L2 | 612 |
//! | `hopper_bf16_nt_alone` | tiles leave through shared memory, as tensor copies, while the next is multiplied | 706 |
//! | `hopper_bf16_nt` | two blocks share B | 708 |
//!
//! Each file is a whole kernel; the copies of a stage and the stores of a tile, which no step changes, are here. The last two are of the
//! product itself. docs/performance.md has the rates at 8192³, too.

use cuda_std::prelude::*;
use half::bf16;
use tile::hopper::{Barrier, KMajor, KTile, PANEL_LINES, PanelMap, SharedAddress};

use super::HopperGemm;
use super::epilogue::Narrow;

#[path = "01_one_group.rs"]
mod one_group;
#[path = "04_persistent.rs"]
mod persistent;
#[path = "03_registers.rs"]
mod registers;
#[path = "02_ring.rs"]
mod ring;
pub use one_group::hopper_one_group;
pub use persistent::hopper_persistent;
pub use registers::hopper_registers;
pub use ring::hopper_ring;

listed! { hopper_one_group hopper_ring hopper_registers hopper_persistent }

pub const BLOCK_N: u32 = 256;
/// Rows of C that a warpgroup computes.
pub const GROUP_M: u32 = 64;
/// Stages of the ring, from the second step on.
const STAGES: u32 = 4;

/// Bytes of dynamic shared memory for stages of `rows` rows of A.
pub const fn shared_bytes(rows: u32, stages: u32) -> u32 {
    1024 + stages * ((rows + BLOCK_N) * 128 + 2 * Barrier::BYTES)
}

/// Stores a warpgroup's sums from (`row`, `col`) on, two neighbours at a time: each four lanes write 16 bytes of a row.
///
/// # Safety
/// C has m × n elements, these 64 × 256 among them.
#[inline(always)]
unsafe fn store(p: &HopperGemm, c: *mut bf16, sums: &[f32; 128], (row, col): (u32, u32)) {
    let thread = thread::thread_idx_x() % 128;
    let row = (row + thread / 32 * 16 + thread % 32 / 4) as usize;
    let col = (col + thread % 4 * 2) as usize;
    for j in 0..32 {
        cuda_std::unroll!(full);
        for below in 0..2 {
            cuda_std::unroll!(full);
            let first = 4 * j + 2 * below;
            let word = bf16::pack(p.alpha * sums[first], p.alpha * sums[first + 1]);
            // SAFETY: the caller's promise.
            unsafe { *c.add((row + 8 * below) * p.n as usize + col + 8 * j).cast::<u32>() = word };
        }
    }
}

/// The operands of a stage.
#[inline(always)]
fn stage<const ROWS: u32>(
    stages: SharedAddress,
    stage: u32,
) -> (KTile<bf16, KMajor, ROWS>, KTile<bf16, KMajor, BLOCK_N>) {
    let first = stages.plus(stage * (ROWS + BLOCK_N) * 128);
    // SAFETY: room for as many stages, each a multiple of 1024 bytes.
    unsafe { (KTile::at(first), KTile::at(first.plus(ROWS * 128))) }
}

/// Starts the copies of a stage.
///
/// # Safety
/// One thread calls, for a stage that is empty.
#[inline(always)]
unsafe fn fill<const ROWS: u32>(
    a: &PanelMap<bf16>,
    b: &PanelMap<bf16>,
    (to_a, to_b): (KTile<bf16, KMajor, ROWS>, KTile<bf16, KMajor, BLOCK_N>),
    (row, col, k): (u32, u32, u32),
    full: Barrier,
) {
    // SAFETY: the caller's promise.
    unsafe {
        full.arrive_expecting((ROWS + BLOCK_N) * 128);
        for panel in 0..ROWS / PANEL_LINES {
            cuda_std::unroll!(full);
            to_a.load_panel(a, panel, (row, k), full, None);
        }
        for panel in 0..BLOCK_N / PANEL_LINES {
            cuda_std::unroll!(full);
            to_b.load_panel(b, panel, (col, k), full, None);
        }
    }
}
