//! One warpgroup does everything, one thing after the other.
//!
//! A thread starts the copies of a stage (64 rows of A and 256 columns of B, 64 deep), all 128 wait until its bytes have landed, multiply it,
//! and wait again until the product has read it. A block that copies does not multiply; only the
//! other blocks of its multiprocessor keep the tensor cores busy meanwhile.
//!
//! Measured: 456 TFLOP/s at 4096³ on an H200, 417 at 8192³ (docs/performance.md).

use cuda_std::prelude::*;
use half::bf16;
use tile::hopper::{Barrier, Multiply, PanelMap, SharedAddress, cluster};

use super::super::HopperGemm;
use super::{BLOCK_N, GROUP_M, fill, stage, store};

/// C = alpha · A · B.
///
/// # Safety
/// `p.m`, `p.n` and `p.k` are multiples of 64, 256 and 64, with a block for each tile in a grid of columns × rows; C has
/// m × n elements; [`shared_bytes`](super::shared_bytes) of 64 rows and one stage.
#[kernel]
#[block_dim(128, 1, 1)]
pub unsafe fn hopper_one_group(
    p: HopperGemm,
    #[grid_constant] a: &PanelMap<bf16>,
    #[grid_constant] b: &PanelMap<bf16>,
    c: *mut bf16,
) {
    let base = SharedAddress::dynamic();
    let (row, col) = (thread::block_idx_y() * GROUP_M, thread::block_idx_x() * BLOCK_N);
    // SAFETY: the kernel's own contract.
    unsafe {
        let (tile_a, tile_b) = stage::<GROUP_M>(base, 0);
        let full = Barrier::at(base.plus((GROUP_M + BLOCK_N) * 128));
        let first = thread::thread_idx_x() == 0;
        if first {
            full.init(1);
            cluster::publish_barriers();
        }
        thread::sync_threads();
        let mut sums = [0.0; 128];
        let (mut k, mut parity) = (0, 0);
        while k < p.k {
            if first {
                fill(a, b, (tile_a, tile_b), (row, col, k), full);
            }
            full.wait(parity);
            parity ^= 1;
            <bf16 as Multiply<BLOCK_N>>::multiply(&mut sums, tile_a.whole(), tile_b.whole(), k > 0);
            <bf16 as Multiply<BLOCK_N>>::finish(&mut sums);
            // No thread reads the stage any more.
            thread::sync_threads();
            k += 64;
        }
        store(&p, c, &sums, (row, col));
    }
}
