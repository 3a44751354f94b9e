//! The thread's position in its block and grid; barriers and fences.

use crate::intrinsic::intrinsics;
#[cfg(feature = "glam")]
use glam::{UVec2, UVec3};
#[cfg(not(feature = "glam"))]
pub use plain::{UVec2, UVec3};

intrinsics! {
    fn tid_x() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.tid.x";
    fn tid_y() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.tid.y";
    fn tid_z() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.tid.z";
    fn ntid_x() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.ntid.x";
    fn ntid_y() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.ntid.y";
    fn ntid_z() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.ntid.z";
    fn ctaid_x() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.ctaid.x";
    fn ctaid_y() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.ctaid.y";
    fn ctaid_z() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.ctaid.z";
    fn nctaid_x() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.nctaid.x";
    fn nctaid_y() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.nctaid.y";
    fn nctaid_z() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.nctaid.z";
    fn barrier(id: u32) = "llvm:llvm.nvvm.barrier.cta.sync.aligned.all";
    fn membar_cta() = "llvm:llvm.nvvm.membar.cta";
    fn membar_gl() = "llvm:llvm.nvvm.membar.gl";
    fn membar_sys() = "llvm:llvm.nvvm.membar.sys";
    fn sleep(nanoseconds: u32) = "llvm:llvm.nvvm.nanosleep";
}

/// Replaces `glam`'s vectors when that feature is off.
#[cfg(not(feature = "glam"))]
mod plain {
    /// Two numbers, along x and y.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub struct UVec2 {
        /// Along x.
        pub x: u32,
        /// Along y.
        pub y: u32,
    }

    impl UVec2 {
        /// Of two numbers.
        #[inline(always)]
        pub const fn new(x: u32, y: u32) -> Self {
            Self { x, y }
        }
    }

    /// Three numbers, along x, y and z.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub struct UVec3 {
        /// Along x.
        pub x: u32,
        /// Along y.
        pub y: u32,
        /// Along z.
        pub z: u32,
    }

    impl UVec3 {
        /// Zero along each.
        pub const ZERO: Self = Self::new(0, 0, 0);

        /// Of three numbers.
        #[inline(always)]
        pub const fn new(x: u32, y: u32, z: u32) -> Self {
            Self { x, y, z }
        }
    }
}

macro_rules! registers {
    ($($(#[$meta:meta])* $name:ident = $register:ident;)*) => {$(
        $(#[$meta])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reading a special register has no precondition.
            unsafe { $register() }
        }
    )*};
}
registers! {
    /// The thread's x index in its block, below 1024.
    thread_idx_x = tid_x;
    /// The thread's y index in its block, below 1024.
    thread_idx_y = tid_y;
    /// The thread's z index in its block, below 64.
    thread_idx_z = tid_z;
    /// The block's size along x.
    block_dim_x = ntid_x;
    /// The block's size along y.
    block_dim_y = ntid_y;
    /// The block's size along z.
    block_dim_z = ntid_z;
    /// The block's x index in the grid.
    block_idx_x = ctaid_x;
    /// The block's y index in the grid.
    block_idx_y = ctaid_y;
    /// The block's z index in the grid.
    block_idx_z = ctaid_z;
    /// The grid's size along x, in blocks.
    grid_dim_x = nctaid_x;
    /// The grid's size along y, in blocks.
    grid_dim_y = nctaid_y;
    /// The grid's size along z, in blocks.
    grid_dim_z = nctaid_z;
}

/// The thread's index in its block.
#[inline(always)]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// The block's index in the grid.
#[inline(always)]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// The block's size, in threads.
#[inline(always)]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// The grid's size, in blocks.
#[inline(always)]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// A number unique to this thread in the grid, whatever the shapes of block and grid. It wraps at 2³².
#[inline(always)]
pub fn index() -> u32 {
    let (grid, block, dim, thread) = (grid_dim(), block_idx(), block_dim(), thread_idx());
    let row = grid.y.wrapping_mul(block.z).wrapping_add(block.y);
    let block_id = grid.x.wrapping_mul(row).wrapping_add(block.x);
    let in_block = thread.z * (dim.x * dim.y) + thread.y * dim.x + thread.x;
    block_id.wrapping_mul(dim.x * dim.y * dim.z).wrapping_add(in_block)
}

/// The thread's index along x in the whole grid.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x())
}

/// The thread's index along x and y in the whole grid.
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), block_idx_y().wrapping_mul(block_dim_y()).wrapping_add(thread_idx_y()))
}

/// The thread's index along x, y and z in the whole grid.
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3::new(x, y, block_idx_z().wrapping_mul(block_dim_z()).wrapping_add(thread_idx_z()))
}

/// Whether this is the grid's first thread.
#[inline(always)]
pub fn first() -> bool {
    block_idx() == UVec3::ZERO && thread_idx() == UVec3::ZERO
}

/// The number of lanes in a warp.
#[inline(always)]
pub fn warp_size() -> u32 {
    32
}

/// Waits until every thread of the block arrives; all of them then see what each wrote to shared and global memory.
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: a barrier that some threads never reach hangs or traps; it corrupts nothing.
    unsafe { barrier(0) }
}

/// [`sync_threads`]; returns the number of threads whose `predicate` is not zero.
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    let count: u32;
    // SAFETY: as for `sync_threads`.
    unsafe {
        crate::ptx!("{{", ".reg .pred p;", "setp.ne.u32 p, {predicate}, 0;", "bar.red.popc.u32 {count}, 0, p;", "}}",
            count = out(u32) count, predicate = in(u32) predicate; options(convergent));
    }
    count
}

/// [`sync_threads`]; returns non-zero if every thread's `predicate` is non-zero.
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    let result: u32;
    // SAFETY: as for `sync_threads`.
    unsafe {
        crate::ptx!("{{", ".reg .pred p, q;", "setp.ne.u32 p, {predicate}, 0;", "bar.red.and.pred q, 0, p;",
            "selp.u32 {result}, 1, 0, q;", "}}",
            result = out(u32) result, predicate = in(u32) predicate; options(convergent));
    }
    result
}

/// [`sync_threads`]; returns non-zero if any thread's `predicate` is non-zero.
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    let result: u32;
    // SAFETY: as for `sync_threads`.
    unsafe {
        crate::ptx!("{{", ".reg .pred p, q;", "setp.ne.u32 p, {predicate}, 0;", "bar.red.or.pred q, 0, p;",
            "selp.u32 {result}, 1, 0, q;", "}}",
            result = out(u32) result, predicate = in(u32) predicate; options(convergent));
    }
    result
}

/// Orders this thread's memory accesses as seen by its block (PTX `membar.cta`). The name is upstream's.
#[inline(always)]
pub fn grid_fence() {
    // SAFETY: a fence has no precondition.
    unsafe { membar_cta() }
}

/// Orders this thread's memory accesses as seen by the device (PTX `membar.gl`).
#[inline(always)]
pub fn device_fence() {
    // SAFETY: a fence has no precondition.
    unsafe { membar_gl() }
}

/// Orders this thread's memory accesses as seen by the device, the host and other devices (PTX `membar.sys`).
#[inline(always)]
pub fn system_fence() {
    // SAFETY: a fence has no precondition.
    unsafe { membar_sys() }
}

/// Sleeps for about `nanos` nanoseconds, at most a millisecond. From `compute_70` on.
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    // SAFETY: sleeping has no precondition.
    unsafe { sleep(nanos) }
}
