//! The barrier check: barriers that promised to be reached together and are not, threads that go round one, and wrong
//! masks.
//!
//! Threads that wait for ever are found by the virtual GPU itself, which ends the launch with who waits where. Since
//! Volta, threads that have ended no longer count at a barrier, so returning before the first one is no mistake. Going
//! round a barrier is: a thread that left out one that others wait at, and ended. It is told from an early return by the
//! barriers that it came to before, or by its last access: the barrier's way leads there, and no way leads back.

use std::collections::HashMap;

use virtual_gpu::Code;
use virtual_gpu::observer::{Access, At, BarrierStep};

use crate::finding::{Action, Finding};
use crate::kind::{Kind, Others};
use crate::reached::{Reached, lanes};
use crate::report::Reporter;
use crate::tool::{BlockBarrier, Tool};
use crate::watched::Watched;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// `.aligned`, and some living lanes of the warp are elsewhere.
    Divergent {
        /// Lanes that are elsewhere.
        elsewhere: u32,
    },
    /// Others of the block meet at another barrier of the same number.
    Mismatched {
        /// Where they are.
        other: u32,
        /// A warp and its lanes that are there.
        warp: u32,
        /// See above.
        lanes: u32,
    },
    /// A thread went round the barrier and ended.
    WentRound {
        thread: u32,
        /// Its last access.
        last: u32,
    },
    /// A thread ended before, and others of its warp came.
    Parted {
        thread: u32,
        /// Its last access.
        last: u32,
        /// Where it ended.
        exit: u32,
    },
    /// A lane executes a warp barrier whose mask leaves it out.
    NotMember {
        /// Lanes left out.
        lanes: u32,
    },
    /// The mask names lanes that have ended.
    Ended {
        /// Lanes that have ended.
        lanes: u32,
    },
}

/// The barrier check of one block.
#[derive(Debug)]
pub struct BlockBarriers {
    alive: Vec<u32>,
    born: Vec<u32>,
    /// By thread: its last memory access, for lanes of `apart`; the others of a warp had theirs together.
    last: Vec<u32>,
    together: Vec<u32>,
    apart: Vec<u32>,
    /// By thread: where it ended.
    exits: Vec<u32>,
    /// Lanes that have come to a barrier of all threads.
    came: Vec<u32>,
    /// The last accesses of threads that have ended, each with one such thread.
    ended: HashMap<u32, u32>,
    /// A thread that came to barriers of all threads, and has ended.
    left: Option<u32>,
    /// By barrier: who came first in this turn of it.
    first: HashMap<u32, At>,
    /// Whether the way from one place leads to the other and not back.
    beyond: HashMap<(u32, u32), bool>,
}

impl BlockBarriers {
    /// For a block that is about to start.
    pub fn of(block: &Watched<'_>) -> Self {
        Self::new(block.threads)
    }

    fn new(threads: u32) -> Self {
        let full = |warp: u32| (threads - warp * 32).min(32);
        let alive: Vec<u32> = (0..threads.div_ceil(32)).map(|warp| u32::MAX >> (32 - full(warp))).collect();
        BlockBarriers {
            born: alive.clone(),
            last: vec![0; alive.len() * 32],
            together: vec![0; alive.len()],
            apart: vec![0; alive.len()],
            exits: vec![0; alive.len() * 32],
            came: vec![0; alive.len()],
            alive,
            ended: HashMap::new(),
            left: None,
            first: HashMap::new(),
            beyond: HashMap::new(),
        }
    }

    /// Lanes access memory.
    #[inline]
    fn accessed(&mut self, at: At) {
        let warp = at.warp as usize;
        if self.alive[warp] & !at.lanes == 0 && self.alive[warp] == self.born[warp] {
            self.together[warp] = at.pc;
            self.apart[warp] = 0;
            return;
        }
        self.apart[warp] |= at.lanes;
        let last = &mut self.last[warp * 32..][..32];
        for lane in 0..32 {
            last[lane] = if at.lanes >> lane & 1 != 0 { at.pc } else { last[lane] };
        }
    }

    fn last(&self, thread: u32) -> u32 {
        let warp = thread as usize / 32;
        if self.apart[warp] >> (thread % 32) & 1 != 0 {
            self.last[thread as usize]
        } else {
            self.together[warp]
        }
    }

    /// Lanes have ended.
    fn ended(&mut self, at: At) {
        self.alive[at.warp as usize] &= !at.lanes;
        let left = at.lanes & self.came[at.warp as usize];
        if left != 0 {
            self.left.get_or_insert(at.warp * 32 + left.trailing_zeros());
        }
        for lane in lanes(at.lanes) {
            let thread = at.warp * 32 + lane;
            self.exits[thread as usize] = at.pc;
            self.ended.entry(self.last(thread)).or_insert(thread);
        }
    }

    /// Mistakes of lanes at a barrier of the block.
    fn wrong_at(&mut self, at: At, barrier: BlockBarrier, code: &Code) -> Option<Wrong> {
        let BlockBarrier { index, threads, step, aligned } = barrier;
        if step == BarrierStep::Leave {
            let first = self.first.remove(&index).is_some();
            let of_all = first && threads == 0;
            return if of_all { self.went_round(at.pc, code).or_else(|| self.parted()) } else { None };
        }
        if threads == 0 {
            self.came[at.warp as usize] |= at.lanes;
        }
        let elsewhere = self.alive[at.warp as usize] & !at.lanes;
        if aligned && at.lanes != 0 && elsewhere != 0 {
            return Some(Wrong::Divergent { elsewhere });
        }
        let first = *self.first.entry(index).or_insert(at);
        let other = threads == 0 && first.pc != at.pc && !same_line(code, first.pc, at.pc);
        other.then_some(Wrong::Mismatched { other: first.pc, warp: first.warp, lanes: first.lanes })
    }

    /// A thread that has ended behind this place without coming by.
    fn went_round(&mut self, pc: u32, code: &Code) -> Option<Wrong> {
        // It took part in the block's barriers, and then the others went on to one without it.
        if let Some(thread) = self.left {
            return Some(Wrong::WentRound { thread, last: self.last(thread) });
        }
        let beyond = &mut self.beyond;
        self.ended.iter().find_map(|(&last, &thread)| {
            let is = *beyond
                .entry((pc, last))
                .or_insert_with(|| last != pc && code.reaches(pc, last) && !code.reaches(last, pc));
            is.then_some(Wrong::WentRound { thread, last })
        })
    }

    /// A thread that has ended before this barrier of all threads, and left others of its warp behind.
    fn parted(&self) -> Option<Wrong> {
        let ended = |warp: usize| (self.born[warp] & !self.alive[warp], self.alive[warp]);
        (0..self.alive.len()).find_map(|warp| match ended(warp) {
            (0, _) | (_, 0) => None,
            (ended, _) => {
                let thread = warp as u32 * 32 + ended.trailing_zeros();
                Some(Wrong::Parted { thread, last: self.last(thread), exit: self.exits[thread as usize] })
            }
        })
    }

    /// Mistakes in the mask of a warp's barrier, vote or shuffle.
    fn wrong_mask(&mut self, at: At, members: u32, code: &Code) -> Option<Wrong> {
        let outside = at.lanes & !members;
        if outside != 0 {
            return Some(Wrong::NotMember { lanes: outside });
        }
        let warp = at.warp as usize;
        let ended = members & self.born[warp] & !self.alive[warp];
        for lane in lanes(ended) {
            let thread = at.warp * 32 + lane;
            let last = self.last(thread);
            let beyond = &mut self.beyond;
            if *beyond
                .entry((at.pc, last))
                .or_insert_with(|| code.reaches(at.pc, last) && !code.reaches(last, at.pc))
            {
                return Some(Wrong::WentRound { thread, last });
            }
        }
        // Lanes beyond a part-empty last warp count as ended; the full mask is the common way to say "all there are".
        let ended = members & !self.alive[warp];
        (ended != 0 && members != !0).then_some(Wrong::Ended { lanes: ended })
    }
}

impl Tool for BlockBarriers {
    #[inline]
    fn access(&mut self, at: At, _: &Access<'_>, _: &Reached, _: &mut Reporter) {
        self.accessed(at);
    }

    fn barrier(&mut self, at: At, barrier: BlockBarrier, reporter: &mut Reporter) {
        if let Some(wrong) = self.wrong_at(at, barrier, &reporter.launched.code) {
            reporter.barrier(at, wrong);
        }
    }

    fn warp_sync(&mut self, at: At, members: u32, _orders: bool, reporter: &mut Reporter) {
        if let Some(wrong) = self.wrong_mask(at, members, &reporter.launched.code) {
            reporter.barrier(at, wrong);
        }
    }

    fn exit(&mut self, at: At, _: &mut Reporter) {
        self.ended(at);
    }
}

impl Reporter {
    fn barrier(&mut self, at: At, wrong: Wrong) {
        let (shape, block) = (self.launched.shape, self.block);
        let others = |lanes: u32| {
            let lane = lanes.trailing_zeros() & 31;
            Others { count: lanes.count_ones(), lane, thread: shape.thread(at.warp, lane) }
        };
        let (kind, other) = match wrong {
            Wrong::Divergent { elsewhere } => (Kind::Divergent(others(elsewhere)), None),
            Wrong::NotMember { lanes } => (Kind::NotInMask(others(lanes)), None),
            Wrong::Ended { lanes } => (Kind::EndedInMask(others(lanes)), None),
            Wrong::Mismatched { other, warp, lanes } => {
                (Kind::Mismatched, Some((Action::Barrier, other, warp * 32 + lanes.trailing_zeros() % 32)))
            }
            Wrong::WentRound { thread, last } => (Kind::Bypassed, Some((Action::Bypass, last, thread))),
            Wrong::Parted { thread, last, exit } => {
                let code = &self.launched.code;
                let other = match code.early_exit(last, exit, at.pc) {
                    Some(leaves) => (Action::Return, leaves, thread),
                    None => (Action::End, last, thread),
                };
                (Kind::EarlyReturn { target: code.target() }, Some(other))
            }
        };
        self.note_at(at.pc, kind, |reporter, finding| {
            let mut sites = vec![reporter.here(Action::Barrier, at)];
            sites.extend(
                other.map(|(what, pc, thread)| reporter.site(what, pc, block, thread / 32, thread % 32)),
            );
            Finding { sites, ..finding }
        });
    }
}

/// Whether two instructions come from one source line: a compiler may copy a barrier with the code around it.
fn same_line(code: &Code, a: u32, b: u32) -> bool {
    let place = |pc| code.frames(pc).first().map(|frame| (frame.file.clone(), frame.line));
    let (a, b) = (place(a), place(b));
    a.is_some() && a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(warp: u32, lanes: u32) -> At {
        At { pc: 0, warp, lanes }
    }

    fn barrier(index: u32, threads: u32, aligned: bool) -> BlockBarrier {
        BlockBarrier { index, threads, step: BarrierStep::ArriveAndWait, aligned }
    }

    #[test]
    fn a_divergent_aligned_barrier_is_wrong_until_the_others_have_ended() {
        let (code, mut barriers) = (Code::default(), BlockBarriers::new(40));
        assert_eq!(
            barriers.wrong_at(at(0, !1), barrier(0, 0, true), &code),
            Some(Wrong::Divergent { elsewhere: 1 })
        );
        assert_eq!(barriers.wrong_at(at(0, !1), barrier(0, 0, false), &code), None);
        barriers.ended(at(0, 1));
        assert_eq!(barriers.wrong_at(at(0, !1), barrier(0, 0, true), &code), None);
        assert_eq!(
            barriers.wrong_at(at(1, 0xFF), barrier(0, 0, true), &code),
            None,
            "the last warp has eight lanes"
        );
    }

    #[test]
    fn warps_at_two_barriers_of_one_number_are_told() {
        let (code, mut barriers) = (Code::default(), BlockBarriers::new(64));
        assert_eq!(barriers.wrong_at(at(0, !0), barrier(0, 0, true), &code), None);
        let other = At { pc: 9, warp: 1, lanes: !0 };
        let wrong = barriers.wrong_at(other, barrier(0, 0, true), &code);
        assert_eq!(wrong, Some(Wrong::Mismatched { other: 0, warp: 0, lanes: !0 }));
        assert_eq!(barriers.wrong_at(other, barrier(1, 64, true), &code), None);
    }

    #[test]
    fn a_warp_comes_or_ends_as_a_whole() {
        let (code, mut barriers) = (Code::default(), BlockBarriers::new(96));
        let leave = BlockBarrier { step: BarrierStep::Leave, ..barrier(0, 0, true) };
        barriers.ended(at(2, !0));
        assert_eq!(barriers.wrong_at(at(0, !0), barrier(0, 0, true), &code), None);
        assert_eq!(barriers.wrong_at(at(0, !0), leave, &code), None, "a whole warp has ended");
        barriers.ended(at(1, 0xFF));
        assert_eq!(barriers.wrong_at(at(0, !0), barrier(0, 0, true), &code), None);
        let parted = barriers.wrong_at(at(0, !0), leave, &code);
        assert_eq!(parted, Some(Wrong::Parted { thread: 32, last: 0, exit: 0 }));
        assert_eq!(barriers.wrong_at(at(0, !0), barrier(1, 64, true), &code), None);
        let counted = BlockBarrier { step: BarrierStep::Leave, ..barrier(1, 64, true) };
        assert_eq!(barriers.wrong_at(at(0, !0), counted, &code), None, "it is for that number of threads");
    }

    #[test]
    fn masks_name_those_who_come() {
        let (code, mut barriers) = (Code::default(), BlockBarriers::new(64));
        assert_eq!(barriers.wrong_mask(at(0, 0b11), 0b01, &code), Some(Wrong::NotMember { lanes: 0b10 }));
        assert_eq!(barriers.wrong_mask(at(0, 0b11), 0b11, &code), None);
        barriers.ended(at(0, 0b100));
        assert_eq!(barriers.wrong_mask(at(0, 0b11), 0b111, &code), Some(Wrong::Ended { lanes: 0b100 }));
    }
}
