//! The time slices of warps whose lanes are converged, in a kernel's own code.
//!
//! Nearly all slices are like that: they begin where a block begins or behind a barrier, and end at a barrier or at the exit. A block
//! of eight warps has their registers in tens of kilobytes, so whatever else a turn looks at is no longer near. While a block
//! runs, what such slices need of a warp is kept in few words, a [`Resume`]; the [`Warp`] learns of it when something else needs it.

use super::block::{Block, BlockStop, WARP_SLICE};
use super::cluster::ClusterState;
use super::compiled::{After, CodeEntry, Round};
use super::context::{Cx, LaunchContext, SharedMemory};
use super::run::{Raised, SliceEnd, slice_end};
use super::warp::{Group, Wait};
use crate::form::op::{BarrierKind, OpKind};
use crate::form::registers::{NONE, Regs, Row};
use crate::jit::{Function, Variant};
use crate::memory::View;
use crate::observer::{At, BlockObserver};

/// Where a warp is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resume {
    pub stage: WarpState,
    pub pc: u32,
    pub lanes: u32,
    /// [`State::converged`] of code that runs it.
    ///
    /// [`State::converged`]: crate::jit::State::converged
    pub converged: u32,
    /// [`State::may_diverge`].
    ///
    /// [`State::may_diverge`]: crate::jit::State::may_diverge
    pub may_diverge: u32,
    pub steps: u64,
    /// The rows of its first frame.
    pub rows: *mut Row,
    /// Of some registers only some lanes are there: see [`CodeEntry::expand`].
    pub compact: bool,
    /// [`State::backward`].
    ///
    /// [`State::backward`]: crate::jit::State::backward
    pub backward: u32,
    /// Lanes that have diverged from others, which wait at the second.
    pub diverged: (u32, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WarpState {
    /// Its lanes are together in the kernel's own function, and can go on.
    Ready,
    /// They have arrived at a plain barrier.
    AtBarrier(u32),
    Exited,
    /// Anything else: ask the warp.
    Irregular,
}

/// What is to be done next.
pub(super) enum Next {
    /// The turn of this warp.
    Slice(usize),
    /// The rest of its turn, which began when it had executed so many operations.
    RestOfSlice(usize, u64),
    Stop(BlockStop),
}

/// The slices of a block's warps, as far as they have come.
pub(super) struct Slices {
    warps: usize,
    patience: usize,
    budget: u64,
    pub spent: u64,
    /// Warps in a row that could not go on.
    pub idle: usize,
    pub moved: bool,
    /// Some warp has exited in a slice of compiled code.
    pub exited: bool,
    /// All warps can go on at the same program counter in the same way.
    pub alike: bool,
    /// They have their slices in the order of their indices.
    pub in_order: bool,
    /// What the block's progress was when a round began, and slices since.
    round: (u64, usize),
}

impl Slices {
    pub fn new(warps: usize, patience: usize, budget: u64, progress: u64) -> Self {
        Slices {
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
            return Next::Stop(BlockStop::EndOfSlice);
        }
        if self.idle >= self.warps {
            return Next::Stop(if self.moved { BlockStop::MovedAndStuck } else { BlockStop::Stuck });
        }
        if self.round.1 == self.warps * self.patience {
            // All warps only looked: perhaps for what another block is to write.
            if progress == self.round.0 {
                return Next::Stop(BlockStop::EndOfSlice);
            }
            self.round = (progress, 0);
        }
        self.round.1 += 1;
        let turn = order[*next] as usize;
        *next = if *next + 1 < self.warps { *next + 1 } else { 0 };
        Next::Slice(turn)
    }

    /// Whether all warps will have a turn now if all of them can go on.
    #[inline(always)]
    fn has_round(&self) -> bool {
        self.alike
            && self.in_order
            && self.spent + self.warps as u64 * WARP_SLICE <= self.budget
            && self.idle < self.warps
            && self.round.1 + self.warps <= self.warps * self.patience
    }

    /// A warp that cannot go on has had its turn.
    #[inline(never)]
    fn rest(&mut self, stage: WarpState) {
        self.spent += u64::from(matches!(stage, WarpState::AtBarrier(_)));
        self.idle += 1;
    }
}

impl<O: BlockObserver> Block<O> {
    /// Looks where all warps are.
    pub(super) fn gather(&mut self, launch: &LaunchContext<'_>) {
        self.resumes.clear();
        for turn in 0..self.warps.len() {
            let resume = self.look(launch, turn);
            self.resumes.push(resume);
        }
    }

    /// Where a warp is.
    pub(super) fn look(&mut self, launch: &LaunchContext<'_>, turn: usize) -> Resume {
        let warp = &mut self.warps[turn];
        let (steps, backward, rows) = (warp.steps, warp.backward, warp.rows.as_mut_ptr());
        let whole = warp.converged && warp.live == u32::MAX && in_halves(launch.launch.block);
        let (converged, may_diverge) = (whole.into(), (warp.converged || warp.is_in_order()).into());
        let resume = |stage: WarpState, pc: u32, lanes: u32| Resume {
            stage,
            pc,
            lanes,
            converged,
            may_diverge,
            steps,
            rows,
            compact: false,
            backward,
            diverged: (0, 0),
        };
        match warp.groups[..] {
            _ if warp.live == 0 => resume(WarpState::Exited, 0, 0),
            [Group { frame: 0, wait: Wait::Nothing, pc, mask, .. }] => resume(WarpState::Ready, pc, mask),
            [Group { frame: 0, wait: Wait::Barrier(id), pc, mask, .. }]
                if warp.arrived == Some(id) && is_plain(launch, pc) =>
            {
                resume(WarpState::AtBarrier(id), pc, mask)
            }
            _ => resume(WarpState::Irregular, 0, 0),
        }
    }

    /// Tells a warp where it is.
    pub(super) fn tell(&mut self, turn: usize, entry: &CodeEntry<'_>) {
        let Resume { stage, pc, steps, converged, rows, compact, backward, diverged, .. } =
            self.resumes[turn];
        if compact && stage != WarpState::Exited {
            // SAFETY: the rows are those of the frame of the kernel's function, which `look` found.
            entry.expand(unsafe { Regs::new(rows) }, pc);
            self.resumes[turn].compact = false;
        }
        let warp = &mut self.warps[turn];
        warp.converged &= converged != 0;
        let (wait, arrived) = match stage {
            WarpState::Irregular => return,
            WarpState::Ready => (Wait::Nothing, None),
            WarpState::AtBarrier(id) => (Wait::Barrier(id), Some(id)),
            WarpState::Exited => {
                warp.steps = steps;
                return warp.finish();
            }
        };
        (warp.steps, warp.arrived) = (steps, arrived);
        warp.backward = backward;
        (warp.groups[0].pc, warp.groups[0].wait) = (pc, wait);
        if let (lanes @ 1.., behind) = diverged {
            warp.diverge(lanes, pc, behind);
        }
    }

    /// Slices, as long as they end at barriers and exits.
    #[inline(never)]
    pub(super) fn converged_slices(
        &mut self,
        slices: &mut Slices,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        entry: &mut CodeEntry<'_>,
    ) -> Result<Next, (usize, Raised)> {
        loop {
            let mut other = None;
            if slices.has_round() && self.finished == 0 && self.state.awaited == 0 && self.next == 0 {
                match self.round(slices, launch, (cluster, team, device), entry) {
                    Some(After::Nothing) => continue,
                    Some(After::Other(turn, begun)) => other = Some((turn, begun)),
                    Some(After::Fault(turn, raised)) => return Err((turn, raised)),
                    None => {}
                }
            }
            slices.alike = false;
            let Block { state, warps, resumes, observer, finished, next, order, executed, .. } = self;
            let Some(observer) = observer else { return Ok(Next::Stop(BlockStop::Finished)) };
            let mut cx = Cx { launch, block: state, cluster, team, observer, device };
            // Barriers that may be complete.
            let changed = loop {
                let (turn, begun) = match other.take() {
                    Some(other) => other,
                    None => {
                        let turn = match slices.next(*finished, cx.block.progress, next, order) {
                            Next::Slice(turn) => turn,
                            stop => return Ok(stop),
                        };
                        let (resume, warp) = (&mut resumes[turn], &mut warps[turn]);
                        if resume.stage != WarpState::Ready {
                            if resume.stage == WarpState::Irregular {
                                return Ok(Next::Slice(turn));
                            }
                            slices.rest(resume.stage);
                            continue;
                        }
                        let begun = resume.steps;
                        entry
                            .pass(resume, warp, &mut cx, begun + WARP_SLICE)
                            .map_err(|raised| (turn, raised))?;
                        (turn, begun)
                    }
                };
                let (resume, warp) = (&mut resumes[turn], &warps[turn]);
                let is_early = resume.steps < begun + WARP_SLICE;
                let ends = if is_early { entry.cache.slice_end(launch, resume) } else { SliceEnd::No };
                let changed = match ends {
                    SliceEnd::Barrier(id) => {
                        resume.stage = WarpState::AtBarrier(id);
                        cx.block.awaited |= 1 << id;
                        let barrier = &mut cx.block.barriers[id as usize];
                        barrier.arrived += 32;
                        if barrier.is_complete(slices.warps as u32 - *finished) { 1 << id } else { 0 }
                    }
                    SliceEnd::Exit => {
                        resume.stage = WarpState::Exited;
                        *finished += 1;
                        cx.block.progress += 1;
                        slices.exited = true;
                        cx.block.awaited
                    }
                    SliceEnd::No => {
                        self.untouched = false;
                        self.tell(turn, entry);
                        self.resumes[turn].stage = WarpState::Irregular;
                        return Ok(Next::RestOfSlice(turn, begun));
                    }
                };
                if O::INSTRUCTIONS {
                    cx.observer.instruction(At { pc: resume.pc, warp: warp.index, lanes: resume.lanes });
                }
                resume.steps += 1;
                let steps = resume.steps - begun;
                *executed += steps;
                slices.spent += steps;
                slices.idle = 0;
                slices.moved = true;
                if changed != 0 {
                    break changed;
                }
            };
            if self.open_complete(launch, changed) {
                slices.alike = are_alike(&self.resumes);
            }
        }
    }

    /// A round of slices of warps that are alike, as far as they stay that.
    #[inline(always)]
    fn round(
        &mut self,
        slices: &mut Slices,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        entry: &mut CodeEntry<'_>,
    ) -> Option<After> {
        let Block { state, warps, resumes, observer, finished, next, executed, .. } = self;
        let mut cx = Cx { launch, block: state, cluster, team, observer: observer.as_mut()?, device };
        let Round { slices: done, ends, steps, after } = entry.round(resumes, warps, &mut cx)?;
        let all = slices.warps;
        *executed += steps;
        slices.spent += steps;
        if done > 0 {
            slices.idle = 0;
            slices.moved = true;
        }
        match ends {
            SliceEnd::Barrier(_) if done == all => {
                state.progress += 1;
                for resume in resumes {
                    resume.stage = WarpState::Ready;
                    resume.pc += 1;
                }
            }
            SliceEnd::Barrier(id) if done > 0 => {
                state.awaited |= 1 << id;
                state.barriers[id as usize].arrived += 32 * done as u32;
            }
            SliceEnd::Exit => {
                *finished += done as u32;
                state.progress += done as u64;
                slices.exited |= done > 0;
            }
            _ => {}
        }
        slices.alike = done == all && !matches!(ends, SliceEnd::Exit);
        let begun = if done < all { done + 1 } else { done };
        slices.round.1 += begun;
        *next = if begun < all { begun } else { 0 };
        Some(after)
    }
}

/// Whether all warps can go on at the same program counter in the same way.
pub(super) fn are_alike(resumes: &[Resume]) -> bool {
    let Some(first) = resumes.first() else { return false };
    let of = |resume: &Resume| (resume.stage, resume.pc, resume.lanes, resume.converged, resume.may_diverge);
    first.stage == WarpState::Ready && resumes.iter().all(|resume| of(resume) == of(first))
}

/// What slices end with at a program counter, if that is the same for all warps.
pub(super) struct EntryCache {
    pub pc: u32,
    ends: SliceEnd,
    /// It is not.
    pub differs: bool,
}

impl EntryCache {
    pub const NOTHING: EntryCache = EntryCache { pc: u32::MAX, ends: SliceEnd::No, differs: false };

    /// What the turn of a warp ends with that has come so far.
    #[inline(always)]
    pub fn slice_end(&mut self, launch: &LaunchContext<'_>, resume: &Resume) -> SliceEnd {
        if self.pc != resume.pc || self.differs {
            *self = Self::of(launch, resume);
        }
        self.ends
    }

    #[inline(never)]
    fn of(launch: &LaunchContext<'_>, &Resume { pc, lanes, rows, .. }: &Resume) -> Self {
        let op = &launch.code.ops[pc as usize];
        // SAFETY: the rows are those of the frame of the kernel's function, which `look` found.
        let ends = match slice_end(op, unsafe { Regs::new(rows) }, lanes) {
            SliceEnd::Barrier(_) if !is_plain(launch, pc) => SliceEnd::No,
            ends => ends,
        };
        let differs = match &op.kind {
            OpKind::Barrier(barrier) => {
                let any = Variant { counted: false, converged: false };
                Function::new(launch.code, launch.kernel.function, any).constant(barrier.id, 1).is_none()
            }
            _ => false,
        };
        EntryCache { pc, ends, differs }
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
