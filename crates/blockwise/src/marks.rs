//! This crate's intrinsics. Each has a name of this crate's own, by which the builder's check tells
//! a question that is asked here, at the level of a thread, from one that a kernel asks by itself.

cuda_std::__intrinsics! {
    pub(crate) fn thread_x() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.tid.x";
    pub(crate) fn thread_y() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.tid.y";
    pub(crate) fn thread_z() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.tid.z";
    pub(crate) fn block_x() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.ctaid.x";
    pub(crate) fn block_y() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.ctaid.y";
    pub(crate) fn block_z() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.ctaid.z";
    pub(crate) fn grid_x() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.nctaid.x";
    pub(crate) fn grid_y() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.nctaid.y";
    pub(crate) fn grid_z() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.nctaid.z";
    pub(crate) fn barrier(id: u32) = "blockwise:llvm.nvvm.barrier.cta.sync.aligned.all";
    pub(crate) fn shuffle_xor(lanes: u32, value: u32, mask: u32, clamp: u32) -> u32 = "blockwise:llvm.nvvm.shfl.sync.bfly.i32";
    pub(crate) fn shuffle_up(lanes: u32, value: u32, distance: u32, clamp: u32) -> u32 = "blockwise:llvm.nvvm.shfl.sync.up.i32";
    pub(crate) fn shuffle_index(lanes: u32, value: u32, lane: u32, clamp: u32) -> u32 = "blockwise:llvm.nvvm.shfl.sync.idx.i32";
    pub(crate) fn ballot(lanes: u32, condition: bool) -> u32 = "blockwise:llvm.nvvm.vote.ballot.sync";
}

/// [`thread_x`] in 64 bits. A conversion reads the special register itself, where LLVM has a move and a conversion.
///
/// # Safety
/// Reading a special register has no precondition; on the host it panics.
#[inline(always)]
pub(crate) unsafe fn long_thread_x() -> u64 {
    #[cfg(target_os = "cuda")]
    {
        let x: u64;
        // SAFETY: reading a special register has no precondition.
        unsafe {
            cuda_std::__blockwise_ptx!("cvt.u64.u32 {x}, %tid.x;", x = out(u64) x; options(pure, nomem))
        };
        x
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: it panics.
    unsafe {
        cuda_std::__device::only_on_the_gpu("a thread's place")
    }
}
