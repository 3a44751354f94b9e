//! Fragments to shared memory and back.

use cuda_std::prelude::*;
use tile::hopper::{SharedAddress, load_matrices, store_matrices};

/// Stores a warp's four words as matrices one way and loads them another: matrix i comes back as matrix (i + 1) % 4.
///
/// # Safety
/// `from` and `to` have 128 words; 32 threads.
#[kernel]
#[block_dim(32, 1, 1)]
pub unsafe fn matrices_turn(from: *const u32, to: *mut u32) {
    let base = SharedAddress::of(cuda_std::shared_array![u128; 32]);
    let lane = thread::thread_idx_x();
    // SAFETY: 32 lanes, 32 rows of 16 bytes.
    unsafe {
        let words = [0, 1, 2, 3].map(|i: usize| *from.add(lane as usize * 4 + i));
        store_matrices(base.plus(lane * 16), words);
        thread::sync_threads();
        let back = load_matrices(base.plus((lane + 24) % 32 * 16));
        for i in 0..4 {
            cuda_std::unroll!(full);
            *to.add(lane as usize * 4 + i) = back[i];
        }
    }
}
