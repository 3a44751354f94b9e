//! What this crate asks of the GPU: each is an intrinsic under a name of this crate's own, by which the builder's check tells
//! a question that is asked here, at the level of a thread, from one that a kernel asks by itself.

macro_rules! marks {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)? = $link:literal;)*) => {$(
        $(#[$meta])*
        #[inline(always)]
        #[allow(unused_variables)]
        pub(crate) unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_os = "cuda")]
            {
                unsafe extern "Rust" {
                    #[link_name = $link]
                    fn intrinsic($($arg: $ty),*) $(-> $ret)?;
                }
                // SAFETY: the caller's promise is the intrinsic's own.
                unsafe { intrinsic($($arg),*) }
            }
            #[cfg(not(target_os = "cuda"))]
            // SAFETY: it panics.
            unsafe { cuda_std::__device::only_on_the_gpu(stringify!($name)) }
        }
    )*};
}

marks! {
    fn thread_x() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.tid.x";
    fn thread_y() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.tid.y";
    fn thread_z() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.tid.z";
    fn block_x() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.ctaid.x";
    fn block_y() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.ctaid.y";
    fn block_z() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.ctaid.z";
    fn grid_x() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.nctaid.x";
    fn grid_y() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.nctaid.y";
    fn grid_z() -> u32 = "blockwise:llvm.nvvm.read.ptx.sreg.nctaid.z";
    fn barrier(id: u32) = "blockwise:llvm.nvvm.barrier.cta.sync.aligned.all";
    fn shuffle_xor(lanes: u32, value: u32, mask: u32, clamp: u32) -> u32 = "blockwise:llvm.nvvm.shfl.sync.bfly.i32";
    fn shuffle_up(lanes: u32, value: u32, distance: u32, clamp: u32) -> u32 = "blockwise:llvm.nvvm.shfl.sync.up.i32";
    fn shuffle_index(lanes: u32, value: u32, lane: u32, clamp: u32) -> u32 = "blockwise:llvm.nvvm.shfl.sync.idx.i32";
    fn ballot(lanes: u32, condition: bool) -> u32 = "blockwise:llvm.nvvm.vote.ballot.sync";
}
