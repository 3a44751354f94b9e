//! Rounds in which all warps of a block do the same: most rounds are like that, and the turns of most warps are short.

use super::Door;
use crate::exec::block::WARP_QUANTUM;
use crate::exec::context::Cx;
use crate::exec::run::{Ends, Raised};
use crate::exec::steady::{Place, Stage};
use crate::exec::warp::Warp;
use crate::form::registers::Regs;
use crate::observer::{At, BlockObserver};

/// How far a round has come.
pub(in crate::exec) struct Round {
    /// Turns that ended like the first.
    pub turns: usize,
    /// What these ended with.
    pub ends: Ends,
    /// Operations that they were.
    pub steps: u64,
    pub after: After,
}

/// What came behind these turns.
pub(in crate::exec) enum After {
    Nothing,
    /// The code of this warp, which had executed so many operations, has come elsewhere.
    Other(usize, u64),
    Fault(usize, Raised),
}

impl Door<'_> {
    /// Turns of all warps, which are at the same program counter in the same way, one after the other as long as they end
    /// alike. `None` if there is no code there.
    #[inline]
    pub fn round<O: BlockObserver>(
        &mut self,
        places: &mut [Place],
        warps: &mut [Warp],
        cx: &mut Cx<'_, O>,
    ) -> Option<Round> {
        let Place { pc, lanes, together, may_split, .. } = *places.first()?;
        let which = usize::from(together != 0);
        let block = self.ways[which].as_ref().map_or(0, |way| way.stretches.block(pc));
        if block == 0 || u64::from(block) > WARP_QUANTUM {
            return None;
        }
        if O::COUNTS {
            self.count_by(which, cx.observer);
        }
        let state = &mut self.state;
        (state.lanes, state.live) = (lanes, lanes);
        state.meet = u32::MAX;
        (state.together, state.may_split) = (together, may_split);
        (state.parted, state.progress) = (0, 0);
        let mut round = Round { turns: 0, ends: Ends::No, steps: 0, after: After::Nothing };
        let (mut ends_at, mut stage) = (u32::MAX, Stage::Odd);
        for (place, warp) in places.iter_mut().zip(warps) {
            let (begun, index) = (place.steps, warp.index);
            let end = begun + WARP_QUANTUM;
            let state = &mut self.state;
            (state.patience, state.backward) = (u32::MAX, place.backward);
            (state.steps, state.end) = (begun, end);
            // SAFETY: the rows are those of the warp's first frame.
            let regs = unsafe { Regs::new(place.rows) };
            let next = match self.run(which, warp, cx, regs, pc) {
                Ok(next) => next,
                Err(raised) => {
                    round.after = After::Fault(round.turns, raised);
                    break;
                }
            };
            let Door { state, known, .. } = self;
            place.pc = next;
            place.narrow |= which == 1;
            (place.steps, place.backward) = (state.steps, state.backward);
            let is_alike = if next == ends_at {
                true
            } else if round.turns == 0 && state.steps < end {
                round.ends = known.ends(cx.launch, place);
                (ends_at, stage) = match round.ends {
                    Ends::Barrier(id) => (next, Stage::Waits(id)),
                    Ends::Exit => (next, Stage::Gone),
                    Ends::No => (u32::MAX, Stage::Odd),
                };
                ends_at == next && !known.differs
            } else {
                false
            };
            let stays = state.together == together && state.parted == 0;
            if !is_alike || !stays || state.steps >= end {
                place.narrow &= state.parted == 0;
                (place.together, place.parted) = (state.together, (state.parted, state.behind));
                round.after = After::Other(round.turns, begun);
                break;
            }
            place.stage = stage;
            if O::INSTRUCTIONS {
                cx.observer.instruction(At { pc: next, warp: index, lanes });
            }
            place.steps = state.steps + 1;
            round.steps += state.steps + 1 - begun;
            round.turns += 1;
        }
        cx.block.progress += self.state.progress;
        Some(round)
    }
}
