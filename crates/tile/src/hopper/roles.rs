//! Warps that do different things: which warp is which, how many registers each needs, which waits for which.

use cuda_std::ptx;

/// The number of this warp in a block whose threads lie along x.
///
/// It is read from the first lane, so that the assembler knows that all lanes have the same and keeps what follows from it
/// (descriptors, addresses, branches) in registers of the warp rather than of each lane.
#[inline(always)]
pub fn warp_of_block() -> u32 {
    let warp: u32;
    // SAFETY: all lanes take part, at the start of a kernel.
    unsafe {
        ptx!("shfl.sync.idx.b32 {warp}, {of_this}, 0, 31, -1;",
             warp = out(u32) warp, of_this = in(u32) cuda_std::thread::thread_idx_x() / 32; options(convergent));
    }
    warp
}

/// The number of this lane, read here and now: what follows from it is computed here, too, and not kept in registers
/// through the loop before, where 128 sums leave few.
#[inline(always)]
pub fn lane_here() -> u32 {
    let lane: u32;
    // SAFETY: reads a register.
    unsafe { ptx!("mov.u32 {lane}, %laneid;", lane = out(u32) lane) };
    lane
}

/// Whether this lane is the one of its warp that acts for all of it.
///
/// # Safety
/// All lanes of the warp call it.
#[doc(alias = "elect")]
#[doc(alias = "elect.sync")]
#[inline(always)]
pub unsafe fn in_one_thread() -> bool {
    let chosen: u32;
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("{{",
             ".reg .pred chosen;",
             "elect.sync _|chosen, -1;",
             "selp.u32 {chosen}, 1, 0, chosen;",
             "}}",
             chosen = out(u32) chosen; options(convergent));
    }
    chosen != 0
}

/// Waits until the `THREADS` threads of a group have come, as barrier `BARRIER` (1 to 15) counts them.
///
/// # Safety
/// All of these threads call it, and no others use the same barrier meanwhile.
#[doc(alias = "bar.sync")]
#[doc(alias = "named barrier")]
#[inline(always)]
pub unsafe fn sync_group<const THREADS: u32>(barrier: u32) {
    const { assert!(THREADS.is_multiple_of(32) && THREADS > 0, "a group is made of whole warps") }
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("bar.sync {barrier}, {threads};", barrier = in(u32) barrier, threads = imm(THREADS); options(convergent));
    }
}

/// Gives registers back: each thread of the warpgroup keeps `COUNT`.
///
/// # Safety
/// All threads of the warpgroup call it, and the kernel has a limit of threads (`#[block_dim]`).
#[doc(alias = "setmaxnreg")]
#[doc(alias = "setmaxnreg.dec")]
#[inline(always)]
pub unsafe fn give_registers<const COUNT: u32>() {
    const { assert!(COUNT.is_multiple_of(8) && COUNT >= 24 && COUNT <= 256, "a multiple of 8 from 24 to 256") }
    // SAFETY: the caller's promise.
    unsafe { ptx!("setmaxnreg.dec.sync.aligned.u32 {count};", count = imm(COUNT); options(convergent)) }
}

/// Takes registers that others gave back, and waits until there are enough: each thread of the warpgroup has `COUNT`.
///
/// # Safety
/// As [`give_registers`], and the registers of all warps of a block are no more than they had at the start.
#[doc(alias = "setmaxnreg")]
#[doc(alias = "setmaxnreg.inc")]
#[inline(always)]
pub unsafe fn take_registers<const COUNT: u32>() {
    const { assert!(COUNT.is_multiple_of(8) && COUNT >= 24 && COUNT <= 256, "a multiple of 8 from 24 to 256") }
    // SAFETY: the caller's promise.
    unsafe { ptx!("setmaxnreg.inc.sync.aligned.u32 {count};", count = imm(COUNT); options(convergent)) }
}
