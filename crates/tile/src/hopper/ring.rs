//! A ring of stages between a producer that fills them and consumers that empty them.

use super::barrier::Barrier;
use crate::SharedAddress;

/// The barriers of `STAGES` stages: one that a stage is full, one that it is empty.
#[derive(Clone, Copy)]
pub struct Ring<const STAGES: u32> {
    first: SharedAddress,
}

impl<const STAGES: u32> Ring<STAGES> {
    /// Bytes of the barriers.
    pub const BYTES: u32 = STAGES * 2 * Barrier::BYTES;

    /// The ring whose barriers begin at `address`.
    ///
    /// # Safety
    /// As for [`Barrier::at`], for [`BYTES`](Self::BYTES) bytes.
    #[inline(always)]
    pub unsafe fn at(address: SharedAddress) -> Self {
        Self { first: address }
    }

    /// Makes the barriers: a stage is full after one arrival and its bytes, and empty after `consumers` arrivals.
    ///
    /// # Safety
    /// As for [`Barrier::init`].
    #[inline(always)]
    pub unsafe fn init(self, consumers: u32) {
        for stage in 0..STAGES {
            cuda_std::unroll!(full);
            // SAFETY: the caller's promise.
            unsafe {
                self.full(stage).init(1);
                self.empty(stage).init(consumers);
            }
        }
    }

    /// The barrier of a full stage.
    #[inline(always)]
    pub fn full(self, stage: u32) -> Barrier {
        // SAFETY: `at` was promised room for the barriers.
        unsafe { Barrier::at(self.first.plus(stage * Barrier::BYTES)) }
    }

    /// Waits until every stage has been given back, the last one filled being that before `turn`.
    ///
    /// A producer's last step where other blocks' consumers give its stages back: a block that ended before would take
    /// the barriers with it that they arrive at.
    ///
    /// # Safety
    /// The barriers are made, and the producer waited for every stage before it filled it.
    #[inline(always)]
    pub unsafe fn drain(self, mut turn: RingState<STAGES>) {
        for _ in 0..STAGES {
            cuda_std::unroll!(none);
            // SAFETY: the caller's promise.
            unsafe { self.empty(turn.stage).wait(turn.parity ^ 1) };
            turn.advance();
        }
    }

    /// The barrier of an empty stage.
    #[inline(always)]
    pub fn empty(self, stage: u32) -> Barrier {
        // SAFETY: `at` was promised room for the barriers.
        unsafe { Barrier::at(self.first.plus((STAGES + stage) * Barrier::BYTES)) }
    }
}

/// The current stage, and the parity of the current round.
///
/// A consumer waits for the full stage with [`parity`](Self::parity), a producer for the empty one with the other parity:
/// in the first round that returns at once.
#[doc(alias = "PipelineState")]
#[derive(Clone, Copy, Default)]
pub struct RingState<const STAGES: u32> {
    /// The stage.
    pub stage: u32,
    /// The parity of the round, 0 in the first.
    pub parity: u32,
}

impl<const STAGES: u32> RingState<STAGES> {
    /// Goes on to the next stage.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            self.stage = 0;
            self.parity ^= 1;
        }
    }
}
