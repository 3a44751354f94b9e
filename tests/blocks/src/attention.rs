//! Attention of one pass: a product, a softmax and another product, whose probabilities never leave their registers.

use cuda_std::intrinsics::fast_expf;
use cuda_std::prelude::*;
use cuda_std::unroll;
use cuda_std::warp::warp_shuffle_xor;
use half::f16;
use tile::hopper::{
    Barrier, KMajor, KTile, MnMajor, Multiply, MultiplyRows, PanelMap, Ring, RingState, Rows, SharedAddress,
    Sums, cluster, in_one_thread, warp_of_block,
};

/// Elements of a query, a key and a value.
pub const WIDTH: u32 = 128;
/// Keys of a stage, and queries of a block: 64 for each of two warpgroups.
pub const KEYS: u32 = 128;

const STAGES: u32 = 2;
/// Half the width of the queries of a warpgroup.
type Queries = KTile<f16, KMajor, 64>;
/// Half the width of a stage's keys.
type Keys = KTile<f16, KMajor, KEYS>;
/// Half of a stage's values, each whole: what is summed over, the keys, runs across the lines.
type Values = KTile<f16, MnMajor, WIDTH>;
const STAGE: u32 = 2 * Keys::BYTES + 2 * Values::BYTES;
const ALL_QUERIES: u32 = 4 * Queries::BYTES;
/// The launch's dynamic shared memory: 1024 bytes to align the stages.
pub const SHARED_BYTES: u32 = 1024 + ALL_QUERIES + STAGES * STAGE + Ring::<STAGES>::BYTES + Barrier::BYTES;

/// Each query's mean of the values, weighted by the softmax of its products with the keys: `out` has a line of [`WIDTH`]
/// for each query, by heads. A block for 128 queries of one head; the grid is (`length` / 128, heads).
///
/// `scale` is what products are multiplied by before the softmax.
///
/// # Safety
/// The maps are of matrices with a line for each query, key and value of all heads, `length` lines a head; `length` is a
/// multiple of 128; `out` is as long as the queries.
#[kernel]
#[block_dim(384, 1, 1)]
pub unsafe fn attention(
    length: u32,
    scale: f32,
    #[grid_constant] queries: &PanelMap<f16>,
    #[grid_constant] keys: &PanelMap<f16>,
    #[grid_constant] values: &PanelMap<f16>,
    out: *mut f16,
) {
    let warp = warp_of_block();
    let first_key = thread::block_idx_y() * length;
    let first_query = first_key + thread::block_idx_x() * 128;
    let base = SharedAddress::dynamic();
    let stages = base.plus(ALL_QUERIES);
    let barriers = stages.plus(STAGES * STAGE);
    // SAFETY: shared memory as `SHARED_BYTES`, each part used as its type says; roles are whole warpgroups.
    unsafe {
        let queries_of = |group: u32, half: u32| Queries::at(base.plus((2 * group + half) * Queries::BYTES));
        let keys_of = |stage: u32, half: u32| Keys::at(stages.plus(stage * STAGE + half * Keys::BYTES));
        let values_of = |stage: u32, half: u32| {
            Values::at(stages.plus(stage * STAGE + 2 * Keys::BYTES + half * Values::BYTES))
        };
        let ring = Ring::<STAGES>::at(barriers);
        let queries_landed = Barrier::at(barriers.plus(Ring::<STAGES>::BYTES));
        if warp == 0 && in_one_thread() {
            ring.init(8); // a stage is empty when eight warps say so
            queries_landed.init(1);
            cluster::publish_barriers();
        }
        thread::sync_threads();
        let mut turn = RingState::<STAGES>::default();
        if warp < 4 {
            if warp == 0 && in_one_thread() {
                queries_landed.arrive_expecting(ALL_QUERIES);
                for i in 0..4 {
                    let (group, half) = (i / 2, i % 2);
                    let at = (first_query + 64 * group, 64 * half);
                    queries_of(group, half).load_panel(queries, 0, at, queries_landed, None);
                }
                for step in 0..length / KEYS {
                    let full = ring.full(turn.stage);
                    ring.empty(turn.stage).wait(turn.parity ^ 1);
                    full.arrive_expecting(STAGE);
                    let key = first_key + step * KEYS;
                    for i in 0..4 {
                        let (half, panel) = (i / 2, i % 2);
                        keys_of(turn.stage, half).load_panel(keys, panel, (key, 64 * half), full, None);
                        values_of(turn.stage, half).load_panel(
                            values,
                            panel,
                            (0, key + 64 * half),
                            full,
                            None,
                        );
                    }
                    turn.advance();
                }
            }
        } else {
            let group = warp / 4 - 1;
            let (upper, lower) = (queries_of(group, 0).whole(), queries_of(group, 1).whole());
            // A thread has sums of two rows: the greatest score of each so far, and what its weights amount to.
            let (mut greatest, mut weight) = ([f32::NEG_INFINITY; 2], [0.0; 2]);
            let mut sums = <f16 as Multiply<WIDTH>>::Sums::ZERO;
            queries_landed.wait(0);
            for _ in 0..length / KEYS {
                unroll!(none);
                ring.full(turn.stage).wait(turn.parity);
                let mut scores = <f16 as Multiply<KEYS>>::Sums::ZERO;
                <f16 as Multiply<KEYS>>::multiply(&mut scores, upper, keys_of(turn.stage, 0).whole(), false);
                <f16 as Multiply<KEYS>>::multiply(&mut scores, lower, keys_of(turn.stage, 1).whole(), true);
                <f16 as Multiply<KEYS>>::finish(&mut scores);

                let before = greatest;
                for i in 0..64 {
                    unroll!(full);
                    greatest[i / 2 % 2] = greatest[i / 2 % 2].max(scores.get(i));
                }
                let mut shrink = [0.0; 2];
                for row in 0..2 {
                    unroll!(full);
                    // Four neighbours have the scores of a row.
                    for distance in [1, 2] {
                        unroll!(full);
                        greatest[row] =
                            greatest[row].max(warp_shuffle_xor(u32::MAX, greatest[row], distance, 32).0);
                    }
                    shrink[row] = fast_expf((before[row] - greatest[row]) * scale);
                    weight[row] *= shrink[row];
                }
                for i in 0..64 {
                    unroll!(full);
                    let row = i / 2 % 2;
                    let probability = fast_expf((scores.get(i) - greatest[row]) * scale);
                    weight[row] += probability;
                    scores.set(i, probability);
                    sums.set(i, sums.get(i) * shrink[row]);
                }
                for half in 0..2 {
                    unroll!(full);
                    let rows = Rows::pack(|i| scores.get(32 * half + i));
                    let values = values_of(turn.stage, half as u32).whole();
                    <f16 as MultiplyRows<WIDTH>>::multiply_rows(&mut sums, rows, values, true);
                }
                if thread::thread_idx_x().is_multiple_of(32) {
                    ring.empty(turn.stage).arrive();
                }
                turn.advance();
            }
            for row in 0..2 {
                unroll!(full);
                for distance in [1, 2] {
                    unroll!(full);
                    weight[row] += warp_shuffle_xor(u32::MAX, weight[row], distance, 32).0;
                }
            }
            let first_row = first_query + 64 * group;
            for i in 0..64 {
                unroll!(full);
                let (down, right) = <[f32; 64]>::place(thread::thread_idx_x() % 128, i);
                let mean = sums.get(i) / weight[i / 2 % 2];
                *out.add(((first_row + down) * WIDTH + right) as usize) = f16::from_f32(mean);
            }
        }
    }
}
