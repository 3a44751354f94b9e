//! The scheduler of a block: its warps take time slices in turn, until all have exited or the block has to give way.
//!
//! A slice runs a warp until it comes to a barrier, exits, faults, or has used up its operations. There are two implementors:
//! [`CodeEntry::run_slice`], compiled code that starts at a [`Resume`](super::resume::Resume), and [`interpreter::run`], which
//! takes the slices of all other warps and the rest of a slice that compiled code left early.

use super::block::{Block, Life};
use super::block_state::BlockState;
use super::cluster::ClusterState;
use super::compiled::CodeEntry;
use super::context::{Cx, LaunchContext, SharedMemory};
use super::interpreter;
use super::resume::{Resume, WarpState};
use crate::fault::Fault;
use crate::memory::View;
use crate::observer::BlockObserver;

/// Operations of a slice.
pub(super) const SLICE: u64 = 2048;
/// The same in schedules that interrupt warps: all others may wait for one that was interrupted.
const SHORT_SLICE: u64 = 128;

/// How a warp's slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceEnd {
    /// All lanes that have not exited came to this barrier.
    Barrier(u32),
    /// All lanes have exited.
    Exit,
    /// Its operations are used up, or it gives way to other warps.
    Expired,
    /// No group of lanes can go on by itself.
    Blocked,
}

/// Why a block stopped. As wide as a pointer: what may be a fault in its place then goes through registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum BlockStop {
    Finished,
    /// It could go on.
    EndOfSlice,
    /// No warp can go on by itself.
    Stuck,
    /// The same, but some went on before that, which another block may have waited for.
    MovedAndStuck,
}

/// A block's surroundings.
pub(super) struct Surroundings<'a, 'l> {
    pub launch: &'a LaunchContext<'l>,
    /// Shared memory of the cluster's blocks, by rank.
    pub cluster: &'a [SharedMemory],
    pub team: &'a mut ClusterState,
    pub device: &'a View,
}

impl Surroundings<'_, '_> {
    /// The context of the warps of a block.
    #[inline(always)]
    fn of<'c, O>(&'c mut self, block: &'c mut BlockState, observer: &'c mut O) -> Cx<'c, O> {
        let Surroundings { launch, cluster, team, device } = self;
        Cx { launch, block, cluster, team, observer, device }
    }
}

/// The slices of a run of a block, and its limits.
struct Slices {
    warps: usize,
    /// Rounds without progress after which the block gives way.
    spin_limit: usize,
    budget: u64,
    spent: u64,
    /// Warps in a row that could not go on.
    idle: usize,
    moved: bool,
    /// The block's progress when a round began, and slices since.
    round: (u64, usize),
}

impl Slices {
    fn new(warps: usize, spin_limit: usize, budget: u64, progress: u64) -> Self {
        Slices { warps, spin_limit, budget, spent: 0, idle: 0, moved: false, round: (progress, 0) }
    }

    /// The reason to stop before the next slice, if there is one.
    #[inline(always)]
    fn stop(&mut self, finished: u32, progress: u64) -> Option<BlockStop> {
        if finished as usize == self.warps {
            return Some(BlockStop::Finished);
        }
        if self.spent >= self.budget {
            return Some(BlockStop::EndOfSlice);
        }
        if self.idle >= self.warps {
            return Some(if self.moved { BlockStop::MovedAndStuck } else { BlockStop::Stuck });
        }
        if self.round.1 == self.warps * self.spin_limit {
            // All warps only looked: perhaps for what another block is to write.
            if progress == self.round.0 {
                return Some(BlockStop::EndOfSlice);
            }
            self.round = (progress, 0);
        }
        self.round.1 += 1;
        None
    }

    /// Counts the slice of a warp that waits, or has exited.
    #[inline]
    fn pass(&mut self, state: WarpState) {
        self.spent += u64::from(matches!(state, WarpState::AtBarrier(_)));
        self.idle += 1;
    }

    /// Counts a slice of `steps` operations.
    #[inline(always)]
    fn count(&mut self, steps: u64, progress: bool) {
        self.spent += steps.max(1);
        self.idle = if progress { 0 } else { self.idle + 1 };
        self.moved |= progress;
    }
}

/// A slice that a warp has had.
struct Slice {
    end: SliceEnd,
    steps: u64,
    /// False for a warp that only asked again, in vain.
    progress: bool,
}

impl<O: BlockObserver> Block<O> {
    /// Gives its warps slices, for about `budget` operations.
    pub(super) fn run_slices(
        &mut self,
        around: &mut Surroundings<'_, '_>,
        entry: &mut Option<&mut CodeEntry<'_>>,
        budget: u64,
    ) -> Result<BlockStop, Box<Fault>> {
        // At once where blocks wait for each other by design, later where one more likely just computes.
        let spin_limit = if around.launch.launch.cooperative || around.cluster.len() > 1 { 1 } else { 8 };
        let mut slices = Slices::new(self.warps.len(), spin_limit, budget, self.state.progress);
        // Some warp has exited in compiled code, and the cluster does not know.
        let mut exits = false;
        loop {
            if let Some(stop) = slices.stop(self.finished, self.state.progress) {
                // Nothing can ask for the warps of a lone block that has finished.
                if exits && (around.cluster.len() > 1 || stop != BlockStop::Finished) {
                    self.publish_exits(around);
                }
                if stop == BlockStop::EndOfSlice {
                    self.state.age += slices.spent / self.warps.len() as u64;
                }
                return Ok(stop);
            }
            let index = self.order[self.next] as usize;
            self.next = if self.next + 1 < self.warps.len() { self.next + 1 } else { 0 };
            let Resume { state, steps: begun, .. } = self.resumes[index];
            if matches!(state, WarpState::AtBarrier(_) | WarpState::Exited) {
                slices.pass(state);
                continue;
            }
            let compiled = match entry {
                Some(entry) if state == WarpState::Ready => self.run_compiled(index, around, entry)?,
                _ => None,
            };
            let is_compiled = compiled.is_some();
            let Slice { end, steps, progress } = match compiled {
                Some(end) => Slice { end, steps: self.resumes[index].steps - begun, progress: true },
                None => {
                    if std::mem::take(&mut exits) {
                        self.publish_exits(around);
                    }
                    self.interpret(index, around, entry, begun)?
                }
            };
            self.executed += steps;
            slices.count(steps, progress);
            let moved = match end {
                SliceEnd::Barrier(id) => self
                    .arrive(around.launch, index, id)
                    .map_err(|raised| self.fault(around.launch, index, raised))?,
                SliceEnd::Exit => {
                    self.finished += 1;
                    self.state.progress += 1;
                    exits |= is_compiled;
                    self.open_complete(around.launch, self.state.awaited)
                }
                SliceEnd::Expired | SliceEnd::Blocked => false,
            };
            if moved {
                (slices.idle, slices.moved) = (0, true);
            }
            if !is_compiled {
                self.resumes[index] = Resume::of(&mut self.warps[index], around.launch, entry.is_some());
                if std::mem::take(&mut self.state.told) {
                    self.state.age += slices.spent / self.warps.len() as u64;
                    return Ok(BlockStop::EndOfSlice);
                }
            }
        }
    }

    /// Runs compiled code for a slice; `None` if the interpreter has to begin it or to go on with it.
    #[inline(always)]
    fn run_compiled(
        &mut self,
        index: usize,
        around: &mut Surroundings<'_, '_>,
        entry: &mut CodeEntry<'_>,
    ) -> Result<Option<SliceEnd>, Box<Fault>> {
        let Block { state, warps, resumes, observer: Some(observer), .. } = self else { return Ok(None) };
        let mut cx = around.of(state, observer);
        entry
            .run_slice(&mut resumes[index], &mut warps[index], &mut cx)
            .map_err(|raised| self.fault(around.launch, index, raised))
    }

    /// Has the interpreter run a slice that has `begun` at that number of operations.
    #[inline(never)]
    fn interpret(
        &mut self,
        index: usize,
        around: &mut Surroundings<'_, '_>,
        entry: &mut Option<&mut CodeEntry<'_>>,
        begun: u64,
    ) -> Result<Slice, Box<Fault>> {
        self.life = Life::Interpreted;
        if let Some(entry) = entry {
            self.restore(index, entry);
        }
        let length = if self.state.changes.is_some() { SHORT_SLICE } else { SLICE };
        let Block { state, warps, observer: Some(observer), .. } = self else {
            return Ok(Slice { end: SliceEnd::Blocked, steps: 0, progress: false });
        };
        let warp = &mut warps[index];
        let vain = warp.vain;
        warp.retry();
        let end = interpreter::run(warp, &mut around.of(state, observer), entry, begun + length);
        let end = end.map_err(|raised| self.fault(around.launch, index, raised))?;
        let warp = &mut self.warps[index];
        around.team.set(self.state.cluster_rank, index, warp.live);
        let steps = warp.steps - begun;
        if let Some(entry) = entry {
            entry.count(warp, steps);
        }
        if let Some(watch) = &mut self.state.watch {
            self.state.progress += u64::from(watch.computes(&mut warp.unobtrusive, steps));
        }
        Ok(Slice { end, steps, progress: steps > warp.vain - vain })
    }

    /// Shows the cluster which warps have exited in compiled code.
    #[inline(never)]
    fn publish_exits(&self, around: &mut Surroundings<'_, '_>) {
        for (index, resume) in self.resumes.iter().enumerate() {
            if resume.state == WarpState::Exited {
                around.team.set(self.state.cluster_rank, index, 0);
            }
        }
    }
}
