//! Blocks stay: one for each multiprocessor goes from tile to tile.
//!
//! Barriers are set up once, and while two warpgroups store a tile, the copies for the next are under way. Tiles come in the
//! order of [`Raster`](tile::Raster), columns of 16: the blocks that run together share rows of A and columns of B in L2.
//!
//! Measured: 612 TFLOP/s at 4096³ on an H200, 1.02 times the step before; 634 at 8192³, 1.01 times (docs/performance.md).

use cuda_std::prelude::*;
use half::bf16;
use tile::hopper::{
    Multiply, PanelMap, Ring, RingState, SharedAddress, cluster, give_registers, in_one_thread,
    take_registers, warp_of_block,
};

use super::super::HopperGemm;
use super::{BLOCK_N, GROUP_M, STAGES, fill, stage, store};

/// Rows of C that a block computes.
const ROWS: u32 = 2 * GROUP_M;

/// C = alpha · A · B.
///
/// # Safety
/// `p.m`, `p.n` and `p.k` are multiples of 128, 256 and 64; C has m × n elements; [`shared_bytes`](super::shared_bytes) of 128 rows and
/// four stages; the grid has at most a block for each tile.
#[kernel]
#[block_dim(384, 1, 1)]
pub unsafe fn hopper_persistent(
    p: HopperGemm,
    #[grid_constant] a: &PanelMap<bf16>,
    #[grid_constant] b: &PanelMap<bf16>,
    c: *mut bf16,
) {
    let base = SharedAddress::dynamic();
    let warp = warp_of_block();
    let raster = p.raster(ROWS, BLOCK_N);
    let (mut tile, step) = (thread::block_idx_x(), thread::grid_dim_x());
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
            give_registers::<24>();
            if warp == 0 && in_one_thread() {
                while tile < raster.tiles() {
                    let (row, col) = raster.tile(tile);
                    let (row, col) = (row * ROWS, col * BLOCK_N);
                    let mut k = 0;
                    while k < p.k {
                        ring.empty(turn.stage).wait(turn.parity ^ 1);
                        fill(a, b, stage::<ROWS>(base, turn.stage), (row, col, k), ring.full(turn.stage));
                        turn.advance();
                        k += 64;
                    }
                    tile += step;
                }
            }
        } else {
            take_registers::<240>();
            let group = warp / 4 - 1;
            let lane = cuda_std::warp::lane_id();
            let mut sums = [0.0; 128];
            while tile < raster.tiles() {
                let (row, col) = raster.tile(tile);
                let (row, col) = (row * ROWS, col * BLOCK_N);
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
                // And the last one's, for the tile that follows.
                if lane == 0 {
                    ring.empty((turn.stage + STAGES - 1) % STAGES).arrive();
                }
                store(&p, c, &sums, (row + group * GROUP_M, col));
                tile += step;
            }
        }
    }
}
