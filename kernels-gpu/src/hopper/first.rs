//! The shortest product on Hopper that overlaps copies and arithmetic: what [`product`](super::product) does, without all that makes it
//! fast at every size. Begin to read here.
//!
//! ```text
//!   warpgroup 0, one thread     TMA ─▶ stage 0 │ stage 1 │ stage 2 │ stage 3     waits until a stage is empty
//!   warpgroup 1, 128 threads    wgmma ◀─ the stages in turn, around the ring     waits until a stage is full
//!                               sums + bias, not below zero ─▶ C
//! ```
//!
//! An `mbarrier` for each stage counts the bytes that land, another the warps that have done with it. The host makes the maps
//! (`warpsmith_launch::extra::tensor_map`).

use cuda_std::prelude::*;
use half::f16;
use tile::hopper::{
    KMajor, KTile, Multiply, PanelMap, Ring, RingState, SharedAddress, Sums, cluster, in_one_thread,
    warp_of_block,
};

listed! { hopper_relu }

const STAGES: u32 = 4;
type TileA = KTile<f16, KMajor, 64>;
type TileB = KTile<f16, KMajor, 128>;
const STAGE: u32 = TileA::BYTES + TileB::BYTES;
/// The launch's dynamic shared memory: 1024 bytes to align the stages, and 227 KiB at most.
pub const SHARED_BYTES: u32 = 1024 + STAGES * STAGE + Ring::<STAGES>::BYTES;

/// C = max(A · B + bias, 0): a block for each 64 × 128 elements of C, whose columns are a multiple of 128; both operands
/// along k. One thread of the first warpgroup copies ahead, the second multiplies.
///
/// # Safety
/// The maps are of A, by rows, and of B, by columns; `bias` has a number for each of C's `n` columns.
#[kernel]
#[block_dim(256, 1, 1)]
pub unsafe fn hopper_relu(
    m: u32,
    n: u32,
    k: u32,
    #[grid_constant] a: &PanelMap<f16>,
    #[grid_constant] b: &PanelMap<f16>,
    bias: *const f32,
    c: *mut f16,
) {
    let (row, col) = (thread::block_idx_y() * 64, thread::block_idx_x() * 128);
    let base = SharedAddress::dynamic();
    let steps = k.div_ceil(TileA::DEPTH);
    let warp = warp_of_block();
    // SAFETY: shared memory as `SHARED_BYTES`, each part used as its type says; roles are whole warpgroups.
    unsafe {
        let stage =
            |i: u32| (TileA::at(base.plus(i * STAGE)), TileB::at(base.plus(i * STAGE + TileA::BYTES)));
        let ring = Ring::<STAGES>::at(base.plus(STAGES * STAGE));
        if warp == 0 && in_one_thread() {
            ring.init(4); // a stage is empty when four warps say so
            cluster::publish_barriers();
        }
        thread::sync_threads();
        let mut turn = RingState::<STAGES>::default();
        if warp < 4 {
            if warp == 0 && in_one_thread() {
                for step in 0..steps {
                    let (to_a, to_b) = stage(turn.stage);
                    let full = ring.full(turn.stage);
                    ring.empty(turn.stage).wait(turn.parity ^ 1);
                    full.arrive_expecting(STAGE);
                    to_a.load_panel(a, 0, (row, step * TileA::DEPTH), full, None);
                    to_b.load_panel(b, 0, (col, step * TileB::DEPTH), full, None);
                    to_b.load_panel(b, 1, (col, step * TileB::DEPTH), full, None);
                    turn.advance();
                }
            }
        } else {
            let mut sums = <f16 as Multiply<128>>::Sums::ZERO;
            let mut before = None;
            for step in 0..steps {
                ring.full(turn.stage).wait(turn.parity);
                let (of_a, of_b) = stage(turn.stage);
                <f16 as Multiply<128>>::multiply(&mut sums, of_a.whole(), of_b.whole(), step > 0);
                // Only the product before this one is done: its stage goes back.
                if let Some(before) = before.replace(turn.stage)
                    && thread::thread_idx_x().is_multiple_of(32)
                {
                    ring.empty(before).arrive();
                }
                turn.advance();
            }
            <f16 as Multiply<128>>::finish(&mut sums);
            for i in 0..64 {
                cuda_std::unroll!(full); // or the sums are no longer in registers
                let (down, right) = <[f32; 64]>::place(thread::thread_idx_x() - 128, i);
                if row + down < m {
                    let sum = sums.get(i) + *bias.add((col + right) as usize);
                    let at = (row + down) as usize * n as usize + (col + right) as usize;
                    *c.add(at) = f16::from_f32(sum.max(0.0));
                }
            }
        }
    }
}
