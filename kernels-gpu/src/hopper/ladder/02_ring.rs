//! A ring of stages: copies and products overlap.
//!
//! ```text
//!   warpgroup 0, one thread     TMA ─▶ stage 0 │ stage 1 │ stage 2 │ stage 3     waits until a stage is empty
//!   warpgroups 1 and 2          wgmma ◀─ the stages in turn, 64 rows of A each   wait until a stage is full
//! ```
//!
//! One thread does nothing but copy, up to four stages ahead; two warpgroups do nothing but multiply and share the columns of B. An
//! `mbarrier` for each stage counts the bytes that land, another the eight warps that have read it. A product starts while
//! the one before it still runs, so the tensor cores always have the next.
//!
//! Measured: 603 TFLOP/s at 4096³ on an H200, 1.32 times the step before; 626 at 8192³, 1.50 times (docs/performance.md).

use cuda_std::prelude::*;
use half::bf16;
use tile::hopper::{
    Multiply, PanelMap, Ring, RingState, SharedAddress, cluster, in_one_thread, warp_of_block,
};

use super::super::HopperGemm;
use super::{BLOCK_N, GROUP_M, STAGES, fill, stage, store};

/// Rows of C that a block computes.
const ROWS: u32 = 2 * GROUP_M;

/// C = alpha · A · B.
///
/// # Safety
/// `p.m`, `p.n` and `p.k` are multiples of 128, 256 and 64; C has m × n elements; [`shared_bytes`](super::shared_bytes) of 128 rows and
/// four stages; the grid has a block for each tile.
#[kernel]
#[block_dim(384, 1, 1)]
pub unsafe fn hopper_ring(
    p: HopperGemm,
    #[grid_constant] a: &PanelMap<bf16>,
    #[grid_constant] b: &PanelMap<bf16>,
    c: *mut bf16,
) {
    let base = SharedAddress::dynamic();
    let warp = warp_of_block();
    let (tile, across) = (thread::block_idx_x(), (p.n / BLOCK_N).max(1));
    let (row, col) = (tile / across * ROWS, tile % across * BLOCK_N);
    // SAFETY: the kernel's own contract; every stage is used by its own barriers.
    unsafe {
        let ring = Ring::<STAGES>::at(base.plus(STAGES * (ROWS + BLOCK_N) * 128));
        if warp == 0 && in_one_thread() {
            ring.init(8);
            cluster::publish_barriers();
        }
        thread::sync_threads();
        let mut turn = RingState::<STAGES>::default();
        if warp < 4 {
            if warp == 0 && in_one_thread() {
                let mut k = 0;
                while k < p.k {
                    ring.empty(turn.stage).wait(turn.parity ^ 1);
                    fill(a, b, stage::<ROWS>(base, turn.stage), (row, col, k), ring.full(turn.stage));
                    turn.advance();
                    k += 64;
                }
            }
        } else {
            let group = warp / 4 - 1;
            let lane = cuda_std::warp::lane_id();
            let mut sums = [0.0; 128];
            let mut k = 0;
            while k < p.k {
                ring.full(turn.stage).wait(turn.parity);
                let (tile_a, tile_b) = stage::<ROWS>(base, turn.stage);
                let half = tile_a.part(group * GROUP_M);
                <bf16 as Multiply<BLOCK_N>>::multiply(&mut sums, half, tile_b.whole(), k > 0);
                // The product before this one is done: its stage goes back.
                if k > 0 && lane == 0 {
                    ring.empty((turn.stage + STAGES - 1) % STAGES).arrive();
                }
                turn.advance();
                k += 64;
            }
            <bf16 as Multiply<BLOCK_N>>::finish(&mut sums);
            store(&p, c, &sums, (row + group * GROUP_M, col));
        }
    }
}
