//! Tells a wait on an `mbarrier` phase that can never end: state recurrence, as explicit-state model checkers find a livelock.
//!
//! A failed test changes nothing. If lanes fail one in a state of their warp (registers, stacks, place) in which they have failed one
//! before, and nothing has changed in between that they could see, they go round for ever. A block all lanes of which do that, or wait
//! for these, is deadlocked. A block of a cluster is not looked at: others complete its phases. Loops that count, or look at a clock or at memory beyond the block, are never in the same state.

use std::collections::HashSet;

use super::access::space_of;
use super::warp::{Wait, Warp};
use crate::form::access::SpaceOperand;
use crate::observer::{At, MemorySpace};

/// States that are remembered; a loop with more most likely counts.
const MOST: usize = 1 << 14;

/// The failed tests of a block, since it came under suspicion.
#[derive(Debug, Default)]
pub(crate) struct PhaseWaits {
    /// Hashes of the states in which tests failed since anything changed.
    seen: HashSet<u64>,
    /// The lanes of each warp that go round.
    cycling: Vec<u32>,
    /// Something has changed in this slice of the block.
    changed: bool,
}

impl PhaseWaits {
    /// Begins a slice of the block.
    pub fn begin(&mut self) {
        self.changed = false;
    }

    /// Forgets all: something changed that a waiting lane could see, or a lane has looked beyond the block.
    pub fn changed(&mut self) {
        self.seen.clear();
        self.cycling.clear();
        self.changed = true;
    }

    /// Lanes load from memory. That of the block changes only by what is told to [`Self::changed`].
    pub fn loads(&mut self, space: SpaceOperand, addresses: impl Iterator<Item = u64>) {
        use MemorySpace::{Const, Local, Param, Shared};
        let own = |space| matches!(space, Shared | Local | Param | Const);
        let within = match space {
            SpaceOperand::In(space) => own(space),
            SpaceOperand::Generic => addresses.map(|address| space_of(address).0).all(own),
        };
        if !within {
            self.changed();
        }
    }

    /// A test fails for all lanes of `at`, or completes for some of them.
    pub fn tested(&mut self, at: At, failed: bool, warp: &Warp) {
        let index = at.warp as usize;
        if self.cycling.len() <= index {
            self.cycling.resize(index + 1, 0);
        }
        if self.seen.len() >= MOST {
            self.changed();
        } else if failed && !self.seen.insert(state_of(at, warp)) {
            self.cycling[index] |= at.lanes;
        } else {
            self.cycling[index] &= !at.lanes;
        }
    }

    /// Tells whether no lane of these warps can ever go on.
    pub fn are_endless<'w>(&self, warps: impl Iterator<Item = &'w Warp>) -> bool {
        !self.changed
            && self.cycling.iter().any(|lanes| *lanes != 0)
            && warps
                .flat_map(|warp| warp.groups.iter().map(move |group| (warp, group)))
                .all(|(warp, group)| group.wait != Wait::Nothing || self.go_round(warp.index, group.mask))
    }

    /// Tells whether these lanes of a warp fail the same tests again and again.
    pub fn go_round(&self, warp: u32, lanes: u32) -> bool {
        lanes & !self.cycling.get(warp as usize).copied().unwrap_or(0) == 0
    }
}

/// A hash of what decides how the lanes of a warp go on.
fn state_of(at: At, warp: &Warp) -> u64 {
    let rows = warp.rows.iter().flat_map(|row| row.0.as_chunks::<2>().0);
    let registers = rows.map(|[low, high]| u64::from(*low) | u64::from(*high) << 32);
    let begin = u64::from(at.pc) << 32 | u64::from(at.lanes) ^ u64::from(at.warp).rotate_right(6);
    let frames = warp.frames.iter().map(|frame| u64::from(frame.call_pc) << 32 | u64::from(frame.parent));
    registers
        .chain(warp.local.words())
        .chain(frames)
        .fold(begin, |hash, word| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}
