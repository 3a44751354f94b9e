//! The scheduler of a block: its warps take time slices in turn, until all have exited or the block has to give way.
//!
//! A slice runs a warp until it comes to a barrier, exits, faults, or has used up its operations. There are two implementors:
//! [`CodeEntry::run_slice`], compiled code that starts at a [`Resume`](super::resume::Resume), and [`interpreter::run`], which
//! takes the slices of all other warps and the rest of a slice that compiled code left early.

mod barriers;

use super::block::Life;
use super::compiled::CodeEntry;
use super::context::Cx;
use super::interpreter::{self, Raised};
use super::resume::{Resume, WarpState};
use super::warp::Warp;
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

/// A run of a block: what it may use up, and how far its warps have come.
pub(super) struct Scheduler<'s, 'l, O> {
    pub cx: Cx<'s, O>,
    pub entry: Option<&'s mut CodeEntry<'l>>,
    pub warps: &'s mut [Warp],
    pub resumes: &'s mut [Resume],
    /// The warps in the order of their slices, and the place of the one that is next.
    pub order: &'s [u32],
    pub next: &'s mut usize,
    /// Warps that have exited.
    pub finished: &'s mut u32,
    /// Operations that the block has executed.
    pub executed: &'s mut u64,
    pub life: &'s mut Life,
}

/// The slices of a run.
struct Slices {
    warps: usize,
    /// Slices without progress after which the block gives way.
    spin_limit: usize,
    budget: u64,
    spent: u64,
    /// Warps in a row that could not go on.
    idle: usize,
    moved: bool,
    /// The block's progress when the slices since were counted last, and how many there may be still.
    progress: u64,
    left: usize,
}

impl Slices {
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
        if self.left == 0 {
            // All warps only looked: perhaps for what another block is to write.
            if progress == self.progress {
                return Some(BlockStop::EndOfSlice);
            }
            (self.progress, self.left) = (progress, self.spin_limit);
        }
        self.left -= 1;
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

/// A fault, with the index of its warp.
pub(super) type Faulted = (usize, Raised);

impl<'s, 'l, O: BlockObserver> Scheduler<'s, 'l, O> {
    /// Gives the warps slices, for about `budget` operations.
    pub fn run(&mut self, budget: u64) -> Result<BlockStop, Faulted> {
        // At once where blocks wait for each other by design, later where one more likely just computes.
        let rounds = if self.cx.launch.launch.cooperative || self.cx.cluster.len() > 1 { 1 } else { 8 };
        let (warps, progress) = (self.warps.len(), self.cx.block.progress);
        let spin_limit = warps * rounds;
        let mut slices =
            Slices { warps, spin_limit, budget, spent: 0, idle: 0, moved: false, progress, left: spin_limit };
        // Some warp has exited in compiled code, and the cluster does not know.
        let mut exits = false;
        loop {
            if let Some(stop) = slices.stop(*self.finished, self.cx.block.progress) {
                let stop = if stop == BlockStop::EndOfSlice && self.waits_endlessly(progress) {
                    BlockStop::Stuck
                } else {
                    stop
                };
                // Nothing can ask for the warps of a lone block that has finished.
                if exits && (self.cx.cluster.len() > 1 || stop != BlockStop::Finished) {
                    self.publish_exits();
                }
                if stop == BlockStop::EndOfSlice {
                    self.cx.block.age += slices.spent / self.warps.len() as u64;
                }
                return Ok(stop);
            }
            let index = self.order[*self.next] as usize;
            *self.next = if *self.next + 1 < self.warps.len() { *self.next + 1 } else { 0 };
            let (resume, warp) = (&mut self.resumes[index], &mut self.warps[index]);
            let (state, begun) = (resume.state, resume.steps);
            if matches!(state, WarpState::AtBarrier(_) | WarpState::Exited) {
                slices.pass(state);
                continue;
            }
            let compiled = match &mut self.entry {
                Some(entry) if state == WarpState::Ready => {
                    entry.run_slice(resume, warp, &mut self.cx).map_err(|raised| (index, raised))?
                }
                _ => None,
            };
            let Slice { end, steps, progress } = match compiled {
                Some(end) => Slice { end, steps: resume.steps - begun, progress: true },
                None => {
                    if std::mem::take(&mut exits) {
                        self.publish_exits();
                    }
                    self.interpret(index, begun).map_err(|raised| (index, raised))?
                }
            };
            *self.executed += steps;
            slices.count(steps, progress);
            let moved = match end {
                SliceEnd::Barrier(id) => self.arrive(index, id).map_err(|raised| (index, raised))?,
                SliceEnd::Exit => {
                    *self.finished += 1;
                    self.cx.block.progress += 1;
                    exits |= compiled.is_some();
                    self.open_complete()
                }
                SliceEnd::Expired | SliceEnd::Blocked => false,
            };
            if moved {
                (slices.idle, slices.moved) = (0, true);
            }
            if compiled.is_none() {
                let warp = &mut self.warps[index];
                self.resumes[index] = Resume::of(warp, self.cx.launch, self.entry.is_some());
                if std::mem::take(&mut self.cx.block.told) {
                    self.cx.block.age += slices.spent / self.warps.len() as u64;
                    return Ok(BlockStop::EndOfSlice);
                }
            }
        }
    }

    /// Tells whether the block has only waited on phases of `mbarrier`s that never end since its `progress` was this.
    fn waits_endlessly(&self, progress: u64) -> bool {
        let Some(waits) = &self.cx.block.phase_waits else { return false };
        let running = |(_, resume): &(_, &Resume)| resume.state == WarpState::Irregular;
        let warps = self.warps.iter().zip(&*self.resumes).filter(running).map(|(warp, _)| warp);
        self.cx.block.progress == progress && waits.are_endless(warps)
    }

    /// Ends the run: shows the observer what code has counted, and moves positions into the warps unless the next block begins
    /// with these.
    pub fn close(&mut self, reusable: bool) {
        let Some(entry) = &mut self.entry else { return };
        entry.close(self.cx.observer);
        if entry.missed > 0 {
            self.cx.launch.count_for(false, entry.missed);
        }
        if !reusable {
            self.resumes
                .iter_mut()
                .zip(&mut *self.warps)
                .for_each(|(resume, warp)| resume.restore(warp, entry));
        }
    }

    /// Has the interpreter run a slice that has `begun` at that number of operations.
    #[inline(never)]
    fn interpret(&mut self, index: usize, begun: u64) -> Result<Slice, Raised> {
        *self.life = Life::Interpreted;
        let warp = &mut self.warps[index];
        if let Some(entry) = &self.entry {
            self.resumes[index].restore(warp, entry);
        }
        let vain = warp.vain;
        warp.retry();
        let length = if self.cx.block.changes.is_some() { SHORT_SLICE } else { SLICE };
        let end = interpreter::run(warp, &mut self.cx, &mut self.entry, begun + length)?;
        self.cx.team.set(self.cx.block.cluster_rank, index, warp.live);
        let steps = warp.steps - begun;
        if let Some(entry) = &mut self.entry {
            entry.count(warp, steps);
        }
        let block = &mut *self.cx.block;
        if let Some(watch) = &mut block.watch {
            block.progress += u64::from(watch.computes(&mut warp.unobtrusive, steps));
        }
        Ok(Slice { end, steps, progress: steps > warp.vain - vain })
    }

    /// Shows the cluster which warps have exited in compiled code.
    #[inline(never)]
    fn publish_exits(&mut self) {
        for (index, resume) in self.resumes.iter().enumerate() {
            if resume.state == WarpState::Exited {
                self.cx.team.set(self.cx.block.cluster_rank, index, 0);
            }
        }
    }
}
