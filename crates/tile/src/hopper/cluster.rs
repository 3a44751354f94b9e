//! Clusters: blocks that run at the same time on neighbouring multiprocessors, and reach each other's shared memory.
//!
//! Of data that two blocks both need, each copies half for both (multicast):
//!
//! ```
//! use cuda_std::prelude::*;
//! use tile::hopper::{Barrier, Box2, SharedAddress, SharedBox, Swizzle128, TensorMap, cluster};
//!
//! /// Each block of a pair copies half of 64 × 32 words for both, and each writes down what it has.
//! ///
//! /// # Safety
//! /// The map is of at least 64 × 32 words, `seen` has room for them once for each block; 2048 bytes more of dynamic shared memory
//! /// than the words.
//! #[kernel]
//! #[block_dim(128, 1, 1)]
//! #[cluster_dim(2, 1, 1)]
//! pub unsafe fn half_for_both(#[grid_constant] map: &TensorMap<u32, Swizzle128, Box2<32, 32>>, seen: *mut u32) {
//!     type Half = SharedBox<u32, Swizzle128, Box2<32, 32>>;
//!     const BYTES: u32 = TensorMap::<u32, Swizzle128, Box2<32, 32>>::BOX_BYTES;
//!     let (base, rank, thread) = (SharedAddress::dynamic(), cluster::rank(), thread::thread_idx_x());
//!     // SAFETY: room for two boxes and a barrier, at the same place in both blocks; neither leaves while the other copies.
//!     unsafe {
//!         let landed = Barrier::at(base.plus(2 * BYTES));
//!         if thread == 0 {
//!             landed.init(1);
//!             cluster::publish_barriers();
//!         }
//!         cluster::sync();
//!         if thread == 0 {
//!             landed.arrive_expecting(2 * BYTES); // both halves land here
//!             map.load_to_blocks(Half::at(base.plus(rank * BYTES)), [0, 32 * rank as i32], landed, 0b11);
//!         }
//!         landed.wait(0);
//!         for i in 0..16 {
//!             let word = i * 128 + thread;
//!             let (line, col) = (word / 32, word % 32);
//!             let from = Half::at(base.plus(line / 32 * BYTES)).piece(line % 32, col / 4).plus(col % 4 * 4);
//!             *seen.add((thread::block_idx_x() * 2048 + word) as usize) = *from.pointer::<u32>();
//!         }
//!         cluster::sync();
//!     }
//! }
//! ```

use cuda_std::ptx;

macro_rules! read {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            let value: u32;
            // SAFETY: reads a register that does not change.
            unsafe { ptx!(concat!("mov.u32 {value}, %", $register, ";"), value = out(u32) value; options(pure, nomem)) };
            value
        }
    )*};
}
read! {
    /// The number of this block in its cluster.
    rank = "cluster_ctarank";
    /// How many blocks the cluster has.
    size = "cluster_nctarank";
    /// The number of this cluster along x.
    index = "clusterid.x";
    /// How many clusters there are along x.
    count = "nclusterid.x";
}

/// Makes barriers that this thread initialised known to the cluster and to the copies; a [`sync_barriers`] must follow.
#[inline(always)]
pub fn publish_barriers() {
    // SAFETY: orders only.
    unsafe { ptx!("fence.mbarrier_init.release.cluster;") }
}

/// Waits until every thread of the cluster has come here. In a launch without clusters, the block is one.
///
/// # Safety
/// Every thread of the cluster that has not ended calls it, whole warps at a time.
#[inline(always)]
pub unsafe fn sync() {
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire.aligned;"; options(convergent));
    }
}

/// Waits until every thread of the cluster has come here, and what it has [published](publish_barriers) is there; nothing
/// else that it wrote need be. A [`sync`] waits until all of that is visible to the whole chip, which takes half a microsecond.
///
/// # Safety
/// As [`sync`].
#[inline(always)]
pub unsafe fn sync_barriers() {
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.wait.acquire.aligned;"; options(convergent));
    }
}

/// Says that this thread reaches into no other block any more, and expects no block to reach into its own on its behalf:
/// the first half of leaving. [`wait_leaving`] is the other; between them there is time to store results.
///
/// # Safety
/// Every thread of the cluster that has not ended calls both, in this order and once.
#[inline(always)]
pub unsafe fn begin_leaving() {
    // SAFETY: the caller's promise.
    unsafe { ptx!("barrier.cluster.arrive.release;"; options(convergent)) }
}

/// Waits until every thread of the cluster has begun to leave: a block that ends earlier takes its shared memory with it.
///
/// # Safety
/// As [`begin_leaving`].
#[inline(always)]
pub unsafe fn wait_leaving() {
    // SAFETY: the caller's promise.
    unsafe { ptx!("barrier.cluster.wait.acquire;"; options(convergent)) }
}
