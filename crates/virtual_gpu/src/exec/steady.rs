//! The turns of warps whose lanes are together, in a kernel's own code.
//!
//! Nearly all turns are like that: they begin where a block begins or behind a barrier, and end at a barrier or at the exit. A block
//! of eight warps has their registers in tens of kilobytes, so whatever else a turn looks at is no longer near. While a block
//! runs, what such turns need of a warp is kept in few words, a [`Place`]; the [`Warp`] learns of it when something else needs it.

use super::block::{Block, BlockStop, WARP_QUANTUM};
use super::cluster::ClusterState;
use super::compiled::{After, Door, Round};
use super::context::{Cx, LaunchContext, SharedMemory};
use super::run::{Ends, Raised, ends};
use super::warp::{Group, Wait};
use crate::form::op::{BarrierKind, OpKind};
use crate::form::registers::{NONE, Regs, Row};
use crate::memory::View;
use crate::observer::{At, BlockObserver};
use crate::stretch::{Function, Variant};

/// Where a warp is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub stage: Stage,
    pub pc: u32,
    pub lanes: u32,
    /// [`State::together`] of code that runs it.
    ///
    /// [`State::together`]: crate::stretch::State::together
    pub together: u32,
    /// [`State::may_split`].
    ///
    /// [`State::may_split`]: crate::stretch::State::may_split
    pub may_split: u32,
    pub steps: u64,
    /// The rows of its first frame.
    pub rows: *mut Row,
    /// Of some registers only some lanes are there: see [`Door::widen`].
    pub narrow: bool,
    /// [`State::backward`].
    ///
    /// [`State::backward`]: crate::stretch::State::backward
    pub backward: u32,
    /// Lanes that have parted from others, which wait at the second.
    pub parted: (u32, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its lanes are together in the kernel's own function, and can go on.
    Ready,
    /// They have arrived at a plain barrier.
    Waits(u32),
    Gone,
    /// Anything else: ask the warp.
    Odd,
}

/// What is to be done next.
pub(super) enum Next {
    /// The turn of this warp.
    Turn(usize),
    /// The rest of its turn, which began when it had executed so many operations.
    Rest(usize, u64),
    Stop(BlockStop),
}

/// The turns of a block's warps, as far as they have come.
pub(super) struct Turns {
    warps: usize,
    patience: usize,
    budget: u64,
    pub spent: u64,
    /// Warps in a row that could not go on.
    pub idle: usize,
    pub moved: bool,
    /// Some warp has ended in a steady turn.
    pub exited: bool,
    /// All warps can go on at the same program counter in the same way.
    pub alike: bool,
    /// They have their turns in the order of their indices.
    pub in_order: bool,
    /// What the block's progress was when a round began, and turns since.
    round: (u64, usize),
}

impl Turns {
    pub fn new(warps: usize, patience: usize, budget: u64, progress: u64) -> Self {
        Turns {
            warps,
            patience,
            budget,
            spent: 0,
            idle: 0,
            moved: false,
            exited: false,
            alike: false,
            in_order: false,
            round: (progress, 0),
        }
    }

    /// Whose turn it is, unless the block has ended or is to stop.
    #[inline(always)]
    pub fn next(&mut self, finished: u32, progress: u64, next: &mut usize, order: &[u32]) -> Next {
        if finished as usize == self.warps {
            return Next::Stop(BlockStop::Finished);
        }
        if self.spent >= self.budget {
            return Next::Stop(BlockStop::Quantum);
        }
        if self.idle >= self.warps {
            return Next::Stop(if self.moved { BlockStop::MovedAndStuck } else { BlockStop::Stuck });
        }
        if self.round.1 == self.warps * self.patience {
            // All warps only looked: perhaps for what another block is to write.
            if progress == self.round.0 {
                return Next::Stop(BlockStop::Quantum);
            }
            self.round = (progress, 0);
        }
        self.round.1 += 1;
        let turn = order[*next] as usize;
        *next = if *next + 1 < self.warps { *next + 1 } else { 0 };
        Next::Turn(turn)
    }

    /// Whether all warps will have a turn now if all of them can go on.
    #[inline(always)]
    fn has_round(&self) -> bool {
        self.alike
            && self.in_order
            && self.spent + self.warps as u64 * WARP_QUANTUM <= self.budget
            && self.idle < self.warps
            && self.round.1 + self.warps <= self.warps * self.patience
    }

    /// A warp that cannot go on has had its turn.
    #[inline(never)]
    fn rest(&mut self, stage: Stage) {
        self.spent += u64::from(matches!(stage, Stage::Waits(_)));
        self.idle += 1;
    }
}

impl<O: BlockObserver> Block<O> {
    /// Looks where all warps are.
    pub(super) fn gather(&mut self, launch: &LaunchContext<'_>) {
        self.places.clear();
        for turn in 0..self.warps.len() {
            let place = self.look(launch, turn);
            self.places.push(place);
        }
    }

    /// Where a warp is.
    pub(super) fn look(&mut self, launch: &LaunchContext<'_>, turn: usize) -> Place {
        let warp = &mut self.warps[turn];
        let (steps, backward, rows) = (warp.steps, warp.backward, warp.rows.as_mut_ptr());
        let whole = warp.together && warp.live == u32::MAX && in_halves(launch.launch.block);
        let (together, may_split) = (whole.into(), (warp.together || warp.is_in_order()).into());
        let place = |stage: Stage, pc: u32, lanes: u32| Place {
            stage,
            pc,
            lanes,
            together,
            may_split,
            steps,
            rows,
            narrow: false,
            backward,
            parted: (0, 0),
        };
        match warp.groups[..] {
            _ if warp.live == 0 => place(Stage::Gone, 0, 0),
            [Group { frame: 0, wait: Wait::Nothing, pc, mask, .. }] => place(Stage::Ready, pc, mask),
            [Group { frame: 0, wait: Wait::Barrier(id), pc, mask, .. }]
                if warp.arrived == Some(id) && is_plain(launch, pc) =>
            {
                place(Stage::Waits(id), pc, mask)
            }
            _ => place(Stage::Odd, 0, 0),
        }
    }

    /// Tells a warp where it is.
    pub(super) fn tell(&mut self, turn: usize, door: &Door<'_>) {
        let Place { stage, pc, steps, together, rows, narrow, backward, parted, .. } = self.places[turn];
        if narrow && stage != Stage::Gone {
            // SAFETY: the rows are those of the frame of the kernel's function, which `look` found.
            door.widen(unsafe { Regs::new(rows) }, pc);
            self.places[turn].narrow = false;
        }
        let warp = &mut self.warps[turn];
        warp.together &= together != 0;
        let (wait, arrived) = match stage {
            Stage::Odd => return,
            Stage::Ready => (Wait::Nothing, None),
            Stage::Waits(id) => (Wait::Barrier(id), Some(id)),
            Stage::Gone => {
                warp.steps = steps;
                return warp.finish();
            }
        };
        (warp.steps, warp.arrived) = (steps, arrived);
        warp.backward = backward;
        (warp.groups[0].pc, warp.groups[0].wait) = (pc, wait);
        if let (lanes @ 1.., behind) = parted {
            warp.part(lanes, pc, behind);
        }
    }

    /// Turns, as long as they end at barriers and exits.
    #[inline(never)]
    pub(super) fn steady_turns(
        &mut self,
        turns: &mut Turns,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        door: &mut Door<'_>,
    ) -> Result<Next, (usize, Raised)> {
        loop {
            let mut other = None;
            if turns.has_round() && self.finished == 0 && self.state.awaited == 0 && self.next == 0 {
                match self.round(turns, launch, (cluster, team, device), door) {
                    Some(After::Nothing) => continue,
                    Some(After::Other(turn, begun)) => other = Some((turn, begun)),
                    Some(After::Fault(turn, raised)) => return Err((turn, raised)),
                    None => {}
                }
            }
            turns.alike = false;
            let Block { state, warps, places, observer, finished, next, order, executed, .. } = self;
            let Some(observer) = observer else { return Ok(Next::Stop(BlockStop::Finished)) };
            let mut cx = Cx { launch, block: state, cluster, team, observer, device };
            // Barriers that may be complete.
            let changed = loop {
                let (turn, begun) = match other.take() {
                    Some(other) => other,
                    None => {
                        let turn = match turns.next(*finished, cx.block.progress, next, order) {
                            Next::Turn(turn) => turn,
                            stop => return Ok(stop),
                        };
                        let (place, warp) = (&mut places[turn], &mut warps[turn]);
                        if place.stage != Stage::Ready {
                            if place.stage == Stage::Odd {
                                return Ok(Next::Turn(turn));
                            }
                            turns.rest(place.stage);
                            continue;
                        }
                        let begun = place.steps;
                        door.pass(place, warp, &mut cx, begun + WARP_QUANTUM)
                            .map_err(|raised| (turn, raised))?;
                        (turn, begun)
                    }
                };
                let (place, warp) = (&mut places[turn], &warps[turn]);
                let is_early = place.steps < begun + WARP_QUANTUM;
                let ends = if is_early { door.known.ends(launch, place) } else { Ends::No };
                let changed = match ends {
                    Ends::Barrier(id) => {
                        place.stage = Stage::Waits(id);
                        cx.block.awaited |= 1 << id;
                        let barrier = &mut cx.block.barriers[id as usize];
                        barrier.arrived += 32;
                        if barrier.is_complete(turns.warps as u32 - *finished) { 1 << id } else { 0 }
                    }
                    Ends::Exit => {
                        place.stage = Stage::Gone;
                        *finished += 1;
                        cx.block.progress += 1;
                        turns.exited = true;
                        cx.block.awaited
                    }
                    Ends::No => {
                        self.untouched = false;
                        self.tell(turn, door);
                        self.places[turn].stage = Stage::Odd;
                        return Ok(Next::Rest(turn, begun));
                    }
                };
                if O::INSTRUCTIONS {
                    cx.observer.instruction(At { pc: place.pc, warp: warp.index, lanes: place.lanes });
                }
                place.steps += 1;
                let steps = place.steps - begun;
                *executed += steps;
                turns.spent += steps;
                turns.idle = 0;
                turns.moved = true;
                if changed != 0 {
                    break changed;
                }
            };
            if self.open_complete(launch, changed) {
                turns.alike = are_alike(&self.places);
            }
        }
    }

    /// A round of turns of warps that are alike, as far as they stay that.
    #[inline(always)]
    fn round(
        &mut self,
        turns: &mut Turns,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        door: &mut Door<'_>,
    ) -> Option<After> {
        let Block { state, warps, places, observer, finished, next, executed, .. } = self;
        let mut cx = Cx { launch, block: state, cluster, team, observer: observer.as_mut()?, device };
        let Round { turns: done, ends, steps, after } = door.round(places, warps, &mut cx)?;
        let all = turns.warps;
        *executed += steps;
        turns.spent += steps;
        if done > 0 {
            turns.idle = 0;
            turns.moved = true;
        }
        match ends {
            Ends::Barrier(_) if done == all => {
                state.progress += 1;
                for place in places {
                    place.stage = Stage::Ready;
                    place.pc += 1;
                }
            }
            Ends::Barrier(id) if done > 0 => {
                state.awaited |= 1 << id;
                state.barriers[id as usize].arrived += 32 * done as u32;
            }
            Ends::Exit => {
                *finished += done as u32;
                state.progress += done as u64;
                turns.exited |= done > 0;
            }
            _ => {}
        }
        turns.alike = done == all && !matches!(ends, Ends::Exit);
        let begun = if done < all { done + 1 } else { done };
        turns.round.1 += begun;
        *next = if begun < all { begun } else { 0 };
        Some(after)
    }
}

/// Whether all warps can go on at the same program counter in the same way.
pub(super) fn are_alike(places: &[Place]) -> bool {
    let Some(first) = places.first() else { return false };
    let of = |place: &Place| (place.stage, place.pc, place.lanes, place.together, place.may_split);
    first.stage == Stage::Ready && places.iter().all(|place| of(place) == of(first))
}

/// What turns end with at a program counter, if that is the same for all warps.
pub(super) struct Known {
    pub pc: u32,
    ends: Ends,
    /// It is not.
    pub differs: bool,
}

impl Known {
    pub const NOTHING: Known = Known { pc: u32::MAX, ends: Ends::No, differs: false };

    /// What the turn of a warp ends with that has come so far.
    #[inline(always)]
    pub fn ends(&mut self, launch: &LaunchContext<'_>, place: &Place) -> Ends {
        if self.pc != place.pc || self.differs {
            *self = Self::of(launch, place);
        }
        self.ends
    }

    #[inline(never)]
    fn of(launch: &LaunchContext<'_>, &Place { pc, lanes, rows, .. }: &Place) -> Self {
        let op = &launch.code.ops[pc as usize];
        // SAFETY: the rows are those of the frame of the kernel's function, which `look` found.
        let ends = match ends(op, unsafe { Regs::new(rows) }, lanes) {
            Ends::Barrier(_) if !is_plain(launch, pc) => Ends::No,
            ends => ends,
        };
        let differs = match &op.kind {
            OpKind::Barrier(barrier) => {
                let any = Variant { counted: false, together: false };
                Function::new(launch.code, launch.kernel.function, any).constant(barrier.id, 1).is_none()
            }
            _ => false,
        };
        Known { pc, ends, differs }
    }
}

/// Whether the threads of half a warp are always neighbours in one row of the block.
pub(super) fn in_halves([x, y, z]: [u32; 3]) -> bool {
    x.is_multiple_of(16) || y == 1 && z == 1
}

/// Whether all threads of a block are to come to a barrier, and nothing is said there.
fn is_plain(launch: &LaunchContext<'_>, pc: u32) -> bool {
    match &launch.code.ops[pc as usize].kind {
        OpKind::Barrier(op) => op.kind == BarrierKind::Sync && op.threads == NONE && op.predicate == NONE,
        _ => false,
    }
}
