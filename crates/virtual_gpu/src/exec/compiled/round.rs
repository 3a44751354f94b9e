//! Rounds in which all warps of a block do the same: most rounds are like that, and the slices of most warps are short.

use super::{CodeEntry, Running};
use crate::exec::block::WARP_SLICE;
use crate::exec::context::Cx;
use crate::exec::converged::{Resume, WarpState};
use crate::exec::run::{Raised, SliceEnd};
use crate::exec::warp::Warp;
use crate::form::registers::Regs;
use crate::observer::{At, BlockObserver};

/// How far a round has come.
pub(in crate::exec) struct Round {
    /// Slices that ended like the first.
    pub slices: usize,
    /// What these ended with.
    pub ends: SliceEnd,
    /// Operations that they were.
    pub steps: u64,
    pub after: After,
}

/// What came behind these slices.
pub(in crate::exec) enum After {
    Nothing,
    /// The code of this warp, which had executed so many operations, has come elsewhere.
    Other(usize, u64),
    Fault(usize, Raised),
}

impl CodeEntry<'_> {
    /// Slices of all warps, which are at the same program counter in the same way, one after the other as long as they end
    /// alike. `None` if there is no code there.
    #[inline]
    pub fn round<O: BlockObserver>(
        &mut self,
        resumes: &mut [Resume],
        warps: &mut [Warp],
        cx: &mut Cx<'_, O>,
    ) -> Option<Round> {
        let Resume { pc, lanes, converged, .. } = *resumes.first()?;
        let which = usize::from(converged != 0);
        let block = self.variants[which].as_ref().map_or(0, |variant| variant.region.block(pc));
        if block == 0 || u64::from(block) > WARP_SLICE {
            return None;
        }
        if O::COUNTS {
            self.count_by(which, cx.observer);
        }
        self.state.progress = 0;
        let mut round = Round { slices: 0, ends: SliceEnd::No, steps: 0, after: After::Nothing };
        let (mut ends_at, mut stage) = (u32::MAX, WarpState::Irregular);
        for (resume, warp) in resumes.iter_mut().zip(warps) {
            let (begun, index) = (resume.steps, warp.index);
            let end = begun + WARP_SLICE;
            self.begin(Running::resumed(resume, end));
            // SAFETY: the rows are those of the warp's first frame.
            let regs = unsafe { Regs::new(resume.rows) };
            let next = match self.run(which, warp, cx, regs, pc) {
                Ok(next) => next,
                Err(raised) => {
                    round.after = After::Fault(round.slices, raised);
                    break;
                }
            };
            let CodeEntry { state, cache, .. } = self;
            resume.pc = next;
            resume.compact |= which == 1;
            (resume.steps, resume.backward) = (state.steps, state.backward);
            let is_alike = if next == ends_at {
                true
            } else if round.slices == 0 && state.steps < end {
                round.ends = cache.slice_end(cx.launch, resume);
                (ends_at, stage) = match round.ends {
                    SliceEnd::Barrier(id) => (next, WarpState::AtBarrier(id)),
                    SliceEnd::Exit => (next, WarpState::Exited),
                    SliceEnd::No => (u32::MAX, WarpState::Irregular),
                };
                ends_at == next && !cache.differs
            } else {
                false
            };
            let stays = state.converged == converged && state.diverged == 0;
            if !is_alike || !stays || state.steps >= end {
                resume.compact &= state.diverged == 0;
                (resume.converged, resume.diverged) = (state.converged, (state.diverged, state.behind));
                round.after = After::Other(round.slices, begun);
                break;
            }
            resume.stage = stage;
            if O::INSTRUCTIONS {
                cx.observer.instruction(At { pc: next, warp: index, lanes });
            }
            resume.steps = state.steps + 1;
            round.steps += state.steps + 1 - begun;
            round.slices += 1;
        }
        cx.block.progress += self.state.progress;
        Some(round)
    }
}
