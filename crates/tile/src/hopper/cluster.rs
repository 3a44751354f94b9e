//! Clusters: blocks that run at the same time on neighbouring multiprocessors, and reach each other's shared memory.

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

/// Makes barriers that this thread initialised known to the cluster and to the copies; a [`sync`] must follow.
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

/// Says that this thread reaches into no other block any more, and expects nobody to reach into its own on its behalf:
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
