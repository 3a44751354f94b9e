//! A block: its warps, its shared memory, and its life.

mod report;

use super::block_state::{Barrier, BlockState};
use super::cluster::ClusterState;
use super::compiled::CodeEntry;
use super::context::{Cx, LaunchContext, SharedMemory};
use super::frame;
use super::resume::Resume;
use super::schedule::Schedule;
use super::scheduler::{BlockStop, Scheduler};
use super::warp::{Group, Warp};
use crate::fault::Fault;
use crate::memory::View;
use crate::observer::{BlockInfo, BlockObserver};

/// One block with all that it owns. It is [started](Block::start) again for the next one of its thread.
#[derive(Debug)]
pub(crate) struct Block<O> {
    pub state: BlockState,
    pub warps: Vec<Warp>,
    pub shared: Vec<Line>,
    pub observer: Option<O>,
    /// Operations that its warps have executed.
    pub executed: u64,
    life: Life,
    /// Warps that have exited.
    finished: u32,
    /// The place in `order` of the warp that has the next slice.
    next: usize,
    /// The warps in the order of their slices.
    order: Vec<u32>,
    /// The positions of the warps while the block runs.
    resumes: Vec<Resume>,
    /// Their positions when a block begins.
    firsts: Vec<Resume>,
}

/// A block's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// Nothing has run.
    New,
    /// Compiled code alone has run: its warps are as they were when it was new, and positions are all that has changed.
    Compiled,
    /// The interpreter has run: its warps have changed.
    Interpreted,
    /// All warps have exited. The next block takes them over as they are if they are `reusable`.
    Ended { reusable: bool },
}

/// Keeps shared memory aligned as bulk copies want it.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(128))]
pub(crate) struct Line([u8; 128]);

impl<O: BlockObserver> Block<O> {
    /// An empty block, to be [started](Self::start) as often as wanted.
    pub fn new() -> Self {
        Block {
            state: BlockState::default(),
            warps: Vec::new(),
            shared: Vec::new(),
            observer: None,
            executed: 0,
            life: Life::Ended { reusable: false },
            finished: 0,
            next: 0,
            order: Vec::new(),
            resumes: Vec::new(),
            firsts: Vec::new(),
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
        self.state.phase_waits = None;
        self.state.output.clear();
        self.state.extensions.clear();
        if self.state.awaited != 0 {
            self.state.barriers = [Barrier::default(); 16];
            self.state.awaited = 0;
        }
        self.state.skipped = None;
        self.executed = 0;
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
        }
        let local_limit = launch.kernel.local_bytes.saturating_add(launch.stack_limit);
        for i in self.warps.len() as u32..warps {
            self.warps.push(Warp::new(i, 0, local_limit, launch.most_rows));
        }
        if self.life != (Life::Ended { reusable: true }) {
            self.begin_warps(launch, threads);
        }
        self.life = Life::New;
        if let Some(frame_reset) = &launch.frame_reset {
            // SAFETY: `begin_warps` gave the warps frames of the kernel's function and saved their positions; if that was for a
            // block before this one, nothing has changed them since.
            unsafe { frame_reset.reset(&self.firsts, launch, &self.state) };
        }
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
        self.firsts.clear();
        self.firsts.extend(self.warps.iter_mut().map(|warp| Resume::of(warp, launch, true)));
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
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        entry: &mut Option<CodeEntry<'l>>,
        budget: u64,
    ) -> Result<BlockStop, Box<Fault>> {
        let own = cluster[self.state.cluster_rank as usize];
        let Block { state, warps, resumes, firsts, observer, life, finished, next, order, executed, .. } =
            self;
        let Some(observer) = observer else { return Ok(BlockStop::Finished) };
        let entry = CodeEntry::open(entry, launch, state, own, device, observer);
        let is_compiled = entry.is_some();
        if *life == Life::New && is_compiled {
            *life = Life::Compiled;
            resumes.clone_from(firsts);
        } else {
            *life = Life::Interpreted;
            resumes.clear();
            resumes.extend(warps.iter_mut().map(|warp| Resume::of(warp, launch, is_compiled)));
        }
        let cx = Cx { launch, block: state, cluster, team, observer, device };
        let mut scheduler = Scheduler { cx, entry, warps, resumes, order, next, finished, executed, life };
        let stop = scheduler.run(budget);
        let function = &launch.code.functions[launch.kernel.function as usize];
        // Local memory begins with zeros.
        let may_stay = launch.frame_reset.is_some() && function.local_size == 0;
        let has_ended = matches!(stop, Ok(BlockStop::Finished));
        let reusable = has_ended && may_stay && *scheduler.life == Life::Compiled;
        scheduler.close(reusable);
        self.life = if has_ended { Life::Ended { reusable } } else { Life::Interpreted };
        stop.map_err(|(index, raised)| self.fault(launch, index, raised))
    }

    /// Whether all its warps have exited.
    pub fn has_ended(&self) -> bool {
        matches!(self.life, Life::Ended { .. })
    }

    /// The groups of its warps that have not exited, each with the warp's index.
    fn groups(&self) -> impl Iterator<Item = (usize, &Group)> {
        let warps = if self.has_ended() { &[] } else { self.warps.as_slice() };
        warps.iter().enumerate().flat_map(|(index, warp)| warp.groups.iter().map(move |group| (index, group)))
    }

    /// About how much memory it takes on the host.
    pub fn bytes(&self) -> u64 {
        let warps: usize =
            self.warps.iter().map(|w| size_of_val(w.rows.as_slice()) + 32 * w.local.size() as usize).sum();
        (warps + size_of_val(self.shared.as_slice())) as u64
    }

    /// The program counters of its groups.
    pub fn counters(&self) -> impl Iterator<Item = u32> + '_ {
        self.groups().map(|(_, group)| group.pc)
    }
}
