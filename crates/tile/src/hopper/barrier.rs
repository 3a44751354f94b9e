//! `mbarrier`: a word of shared memory that counts arrivals and the bytes of copies.

use cuda_std::ptx;

use crate::SharedAddress;

/// A barrier in shared memory.
///
/// A phase ends when the arrivals that [`init`](Self::init) was told have come and all bytes that were announced have
/// landed; the next begins at once. Phases are told apart by their parity. A waiting thread knows which one it needs; a
/// wait for parity 1 on a new barrier returns at once, as if a phase had ended before the first.
#[doc(alias = "mbarrier")]
#[derive(Clone, Copy)]
pub struct Barrier(SharedAddress);

impl Barrier {
    /// Bytes of a barrier, and what its address is a multiple of.
    pub const BYTES: u32 = 8;

    /// The barrier at `address`.
    ///
    /// # Safety
    /// The address is a multiple of 8, and nothing but barrier operations touches these 8 bytes after
    /// [`init`](Self::init).
    #[inline(always)]
    pub unsafe fn at(address: SharedAddress) -> Self {
        Self(address)
    }

    /// Where it lies.
    #[inline(always)]
    pub fn address(self) -> SharedAddress {
        self.0
    }

    /// Makes it expect `arrivals` in each phase.
    ///
    /// # Safety
    /// One thread calls, once; others use the barrier after [`cluster::publish_barriers`](super::cluster::publish_barriers)
    /// by this thread and a barrier of the block or the cluster.
    #[inline(always)]
    pub unsafe fn init(self, arrivals: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            ptx!("mbarrier.init.shared::cta.b64 [{at}], {arrivals};",
                 at = in(u32) self.0.bits(), arrivals = in(u32) arrivals)
        }
    }

    /// Arrives, and announces bytes that copies will bring in this phase.
    ///
    /// # Safety
    /// The barrier was initialised, and this phase has an arrival left.
    #[inline(always)]
    pub unsafe fn arrive_expecting(self, bytes: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            ptx!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{at}], {bytes};",
                 at = in(u32) self.0.bits(), bytes = in(u32) bytes)
        }
    }

    /// Arrives.
    ///
    /// # Safety
    /// As [`arrive_expecting`](Self::arrive_expecting).
    #[inline(always)]
    pub unsafe fn arrive(self) {
        // SAFETY: the caller's promise.
        unsafe { ptx!("mbarrier.arrive.shared::cta.b64 _, [{at}];", at = in(u32) self.0.bits()) }
    }

    /// Arrives at the barrier at the same place in the block `rank` of the cluster.
    ///
    /// # Safety
    /// As [`arrive_expecting`](Self::arrive_expecting), and that block has not ended.
    #[inline(always)]
    pub unsafe fn arrive_at(self, rank: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            ptx!("{{",
                 ".reg .b32 there;",
                 "mapa.shared::cluster.u32 there, {at}, {rank};",
                 "mbarrier.arrive.shared::cluster.b64 _, [there];",
                 "}}",
                 at = in(u32) self.0.bits(), rank = in(u32) rank)
        }
    }

    /// Whether the phase of that parity has ended. It may wait for a while before it answers no.
    ///
    /// # Safety
    /// The barrier was initialised, and at most one phase has ended since the one that is asked for.
    #[inline(always)]
    pub unsafe fn has_ended(self, parity: u32) -> bool {
        let ended: u32;
        // SAFETY: the caller's promise.
        unsafe {
            ptx!("{{",
                 ".reg .pred ended;",
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [{at}], {parity};",
                 "selp.u32 {ended}, 1, 0, ended;",
                 "}}",
                 ended = out(u32) ended, at = in(u32) self.0.bits(), parity = in(u32) parity)
        };
        ended != 0
    }

    /// Waits until the phase of that parity has ended: what was written before the arrivals, and what the copies brought,
    /// is visible then.
    ///
    /// # Safety
    /// As [`has_ended`](Self::has_ended).
    #[inline(always)]
    pub unsafe fn wait(self, parity: u32) {
        // SAFETY: the caller's promise.
        while !unsafe { self.has_ended(parity) } {
            cuda_std::unroll!(none);
        }
    }
}
