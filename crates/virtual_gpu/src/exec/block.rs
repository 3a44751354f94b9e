//! A block: its warps take slices, meet at barriers, and share memory.

mod barriers;
mod report;

use super::block_state::{Barrier, BlockState};
use super::cluster::ClusterState;
use super::compiled::CodeEntry;
use super::context::{Cx, LaunchContext, SharedMemory};
use super::converged::{Next, Resume, Slices, WarpState, are_alike};
use super::frame;
use super::run;
use super::schedule::Schedule;
use super::warp::{Group, Stop, Warp};
use crate::fault::Fault;
use crate::memory::View;
use crate::observer::{BlockInfo, BlockObserver};

/// Operations that a warp runs before the next has its turn.
pub(super) const WARP_SLICE: u64 = 2048;
/// The same where somebody may have been interrupted for whom all others wait.
const SHORT_SLICE: u64 = 128;

/// One block with all that it owns.
#[derive(Debug)]
pub(crate) struct Block<O> {
    pub state: BlockState,
    pub warps: Vec<Warp>,
    pub shared: Vec<Line>,
    pub observer: Option<O>,
    /// Operations that its warps have executed, and those of them that the launch has counted.
    pub executed: u64,
    pub counted: u64,
    pub(super) finished: u32,
    pub(super) next: usize,
    /// The warps in the order of their slices.
    pub(super) order: Vec<u32>,
    /// That is the order of their indices.
    in_order: bool,
    /// Where the warps are, while the block runs in its kernel's code.
    pub(super) resumes: Vec<Resume>,
    /// Where they are when a block begins.
    firsts: Vec<Resume>,
    /// These are alike.
    begins_alike: bool,
    /// Nothing of it has run.
    is_new: bool,
    /// Its warps are what they are when a block begins, but for their registers: [`Resume`]s were all that its slices needed.
    pub(super) untouched: bool,
}

/// Keeps shared memory aligned as bulk copies want it.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(128))]
pub(crate) struct Line([u8; 128]);

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

impl<O: BlockObserver> Block<O> {
    /// An empty block, to be [started](Self::start) as often as wanted.
    pub fn new() -> Self {
        Block {
            state: BlockState::default(),
            warps: Vec::new(),
            shared: Vec::new(),
            observer: None,
            executed: 0,
            counted: 0,
            finished: 0,
            next: 0,
            order: Vec::new(),
            in_order: false,
            resumes: Vec::new(),
            firsts: Vec::new(),
            begins_alike: false,
            is_new: false,
            untouched: false,
        }
    }

    /// Makes it the block of that index at its beginning.
    #[inline(always)]
    pub fn start(&mut self, launch: &LaunchContext<'_>, block: &BlockInfo, rank: u32) {
        let linear = block.linear;
        self.state.index = block.index;
        self.state.linear = linear;
        self.state.cluster_rank = rank;
        self.state.age = 0;
        self.state.behind = false;
        self.state.watch = None;
        self.state.output.clear();
        self.state.extensions.clear();
        if self.state.awaited != 0 {
            self.state.barriers = [Barrier::default(); 16];
            self.state.awaited = 0;
        }
        self.state.skipped = None;
        (self.executed, self.counted) = (0, 0);
        self.finished = 0;
        self.next = 0;
        let schedule = Schedule::of(launch.gpu.options().seed);
        // Blocks that do the same are not to keep in step.
        self.state.tellings = schedule.is_calm().then_some((linear as u32).wrapping_mul(5));
        self.shared.iter_mut().for_each(|line| line.0 = [0; 128]);
        self.shared.resize(launch.shared_end.div_ceil(128) as usize, Line([0; 128]));
        let threads = block.threads;
        let warps = threads.div_ceil(32);
        self.state.one_warp = warps == 1;
        self.state.changes = schedule.changes(linear, warps);
        if self.order.is_empty() || !schedule.is_calm() {
            self.order.clear();
            let at = |place| schedule.order(place, warps.into(), !linear) as u32;
            self.order.extend((0..u64::from(warps)).map(at));
            self.in_order = self.order.is_sorted();
        }
        let local_limit = launch.kernel.local_bytes.saturating_add(launch.stack_limit);
        for i in self.warps.len() as u32..warps {
            self.warps.push(Warp::new(i, 0, local_limit, launch.most_rows));
        }
        if !std::mem::replace(&mut self.untouched, true) {
            self.begin_warps(launch, threads);
        }
        if let Some(frame_reset) = &launch.frame_reset {
            // SAFETY: `begin_warps` gave the warps frames of the kernel's function and looked where they are; if that was for a
            // block before this one, nothing has touched them since.
            unsafe { frame_reset.reset(&self.firsts, launch, &self.state) };
        }
        self.is_new = true;
    }

    /// Makes its warps those of a block that begins.
    #[inline(never)]
    fn begin_warps(&mut self, launch: &LaunchContext<'_>, threads: u32) {
        let function = &launch.code.functions[launch.kernel.function as usize];
        for warp in &mut self.warps {
            let lanes = (threads - warp.index * 32).min(32);
            let lanes = if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 };
            warp.restart();
            // A kernel's own frame always fits: decoding bounded its registers, `local_limit` covers its variables.
            if !warp.is_prepared
                && let Ok(frame) = warp.push_frame(launch.code, launch.kernel.function, None, lanes)
            {
                frame::initialise(warp, launch, &self.state, frame);
                warp.is_prepared = launch.frame_reset.is_some();
            }
            warp.begin(function, lanes);
        }
        self.gather(launch);
        self.firsts.clone_from(&self.resumes);
        self.begins_alike = are_alike(&self.firsts);
    }

    /// The lanes that its warps begin with.
    pub fn lanes(&self) -> impl Iterator<Item = u32> {
        self.firsts.iter().map(|first| first.lanes)
    }

    /// Its observer, which has seen the end of it.
    pub fn take_observer(&mut self) -> Option<O> {
        let mut observer = self.observer.take()?;
        observer.ended();
        Some(observer)
    }

    /// Its shared memory, for the cluster.
    pub fn shared_memory(&mut self, launch: &LaunchContext<'_>) -> SharedMemory {
        SharedMemory { bytes: self.shared.as_mut_ptr().cast(), size: launch.shared_end }
    }

    /// Runs its warps in turn, for about `budget` operations.
    pub fn run<'l>(
        &mut self,
        launch: &LaunchContext<'l>,
        cluster: &[SharedMemory],
        team: &mut ClusterState,
        (device, entry): (&View, &mut Option<CodeEntry<'l>>),
        budget: u64,
    ) -> Result<BlockStop, Box<Fault>> {
        let own = cluster[self.state.cluster_rank as usize];
        let mut entry = match &mut self.observer {
            Some(observer) => CodeEntry::open(entry, launch, &self.state, own, device, observer),
            None => None,
        };
        let is_new = std::mem::take(&mut self.is_new);
        match entry {
            Some(_) if is_new => self.resumes.clone_from(&self.firsts),
            Some(_) => self.gather(launch),
            None => self.resumes.clear(),
        }
        let stop = self.run_slices(launch, (cluster, team, device), &mut entry, budget, is_new);
        if let (Some(entry), Some(observer)) = (&mut entry, &mut self.observer) {
            entry.close(observer);
            if entry.missed > 0 {
                launch.count_for(false, entry.missed);
            }
        }
        // Of a block that has ended nobody asks where its warps are, and the next one finds them where a block begins.
        let has_ended = matches!(stop, Ok(BlockStop::Finished));
        let function = &launch.code.functions[launch.kernel.function as usize];
        // Local memory begins with zeros.
        let may_stay = launch.frame_reset.is_some() && function.local_size == 0;
        if self.resumes.is_empty() || !has_ended || !may_stay {
            self.untouched = false;
            if let Some(entry) = &entry {
                (0..self.resumes.len()).for_each(|turn| self.tell(turn, entry));
            }
        }
        stop
    }

    fn run_slices(
        &mut self,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        entry: &mut Option<&mut CodeEntry<'_>>,
        budget: u64,
        is_new: bool,
    ) -> Result<BlockStop, Box<Fault>> {
        // Slices of all warps after which a block that wrote nothing gives way: at once where blocks wait for each other
        // by design, later where it more likely just computes.
        let patience = if launch.launch.cooperative || cluster.len() > 1 { 1 } else { 8 };
        let mut slices = Slices::new(self.warps.len(), patience, budget, self.state.progress);
        slices.alike = is_new && self.begins_alike;
        slices.in_order = self.in_order;
        let slice = if self.state.changes.is_some() { SHORT_SLICE } else { WARP_SLICE };
        loop {
            let next = match entry {
                Some(entry) => self.converged_slices(&mut slices, launch, (cluster, team, device), entry),
                None => Ok(slices.next(self.finished, self.state.progress, &mut self.next, &self.order)),
            };
            // Whoever asks which warps have ended is an operation of the interpreter's, or of another block's.
            let is_alone = cluster.len() == 1 && matches!(next, Ok(Next::Stop(BlockStop::Finished)));
            if std::mem::take(&mut slices.exited) && !is_alone {
                let gone =
                    self.resumes.iter().enumerate().filter(|(_, resume)| resume.stage == WarpState::Exited);
                gone.for_each(|(turn, _)| team.set(self.state.cluster_rank, turn, 0));
            }
            let (turn, begun) = match next.map_err(|(turn, raised)| self.fault(launch, turn, raised))? {
                Next::Slice(turn) => (turn, None),
                Next::RestOfSlice(turn, begun) => (turn, Some(begun)),
                Next::Stop(stop) => {
                    if stop == BlockStop::EndOfSlice {
                        self.state.age += slices.spent / self.warps.len() as u64;
                    }
                    return Ok(stop);
                }
            };
            if self.warps[turn].live == 0 {
                slices.idle += 1;
                continue;
            }
            let (before, vain) = (begun.unwrap_or(self.warps[turn].steps), self.warps[turn].vain);
            self.warps[turn].retry();
            let end = before + slice;
            let stop = self.run_warp(turn, launch, (cluster, team, device), entry, end)?;
            team.set(self.state.cluster_rank, turn, self.warps[turn].live);
            let steps = self.warps[turn].steps - before;
            if let Some(entry) = entry {
                entry.count(&self.warps[turn], steps);
            }
            if let Some(watch) = &mut self.state.watch {
                let computes = watch.computes(&mut self.warps[turn].unobtrusive, steps);
                self.state.progress += u64::from(computes);
            }
            self.executed += steps;
            // A warp that only asked again, in vain, has made no progress.
            let progress = steps > self.warps[turn].vain - vain;
            slices.spent += steps.max(1);
            slices.idle = if progress { 0 } else { slices.idle + 1 };
            slices.moved |= progress;
            if stop == Stop::Finished {
                self.finished += 1;
                self.state.progress += 1;
                slices.idle = 0;
            }
            let told = std::mem::take(&mut self.state.told);
            if stop != Stop::EndOfSlice
                && self.settle(launch, turn, stop).map_err(|r| self.fault(launch, turn, r))?
            {
                slices.idle = 0;
                slices.moved = true;
            }
            if !self.resumes.is_empty() {
                self.resumes[turn] = self.look(launch, turn);
            }
            if told {
                self.state.age += slices.spent / self.warps.len() as u64;
                return Ok(BlockStop::EndOfSlice);
            }
        }
    }

    fn run_warp(
        &mut self,
        turn: usize,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        entry: &mut Option<&mut CodeEntry<'_>>,
        end: u64,
    ) -> Result<Stop, Box<Fault>> {
        let Some(observer) = &mut self.observer else { return Ok(Stop::Finished) };
        let mut cx = Cx { launch, block: &mut self.state, cluster, team, observer, device };
        run::run(&mut self.warps[turn], &mut cx, entry, end)
            .map_err(|raised| self.fault(launch, turn, raised))
    }

    /// The groups of its warps that have not exited, each with the warp's place.
    fn groups(&self) -> impl Iterator<Item = (usize, &Group)> {
        let has_ended = self.finished as usize == self.warps.len();
        let warps = if has_ended { &[] } else { self.warps.as_slice() };
        warps.iter().enumerate().flat_map(|(turn, warp)| warp.groups.iter().map(move |group| (turn, group)))
    }

    /// About how much memory it takes on the host.
    pub fn bytes(&self) -> u64 {
        let warps: usize =
            self.warps.iter().map(|w| size_of_val(w.rows.as_slice()) + 32 * w.local.size() as usize).sum();
        (warps + size_of_val(self.shared.as_slice())) as u64
    }

    /// Where its warps are now.
    pub fn counters(&self) -> impl Iterator<Item = u32> + '_ {
        self.groups().map(|(_, group)| group.pc)
    }
}
