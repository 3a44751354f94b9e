//! A launch in progress: the threads that take its blocks, and the slices of resident blocks.

mod merge;
mod progress;
mod team;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Instant;

use super::block::Block;
use super::compiled::CodeEntry;
use super::context::LaunchContext;
use super::limits::cluster_blocks;
use super::schedule::Schedule;
use super::scheduler::BlockStop;
use crate::Gpu;
use crate::fault::Fault;
use crate::launch::Launch;
use crate::memory::{Lookout, View};
use crate::observer::{BlockInfo, BlockObserver, LaunchObserver};
use merge::{Merge, Tally};
use team::{GRACE, Team};

/// Operations of a block's slice: another resident block runs next.
const BLOCK_SLICE: u64 = 1 << 17;
/// The same where blocks wait for each other by design.
const COOPERATIVE_SLICE: u64 = 1 << 14;
/// The same where a block may have been interrupted for which all others wait.
const SHORT_SLICE: u64 = 1 << 12;
/// Blocks that one thread keeps going when blocks do not end by themselves.
const MAX_RESIDENT: usize = 256;
/// Blocks that a thread takes at a time: what it writes for others then costs them little.
const MOST_TAKEN: u64 = 64;

/// A launch under way, shared by the threads that run it.
pub(super) struct Grid<'a, O: LaunchObserver> {
    context: &'a LaunchContext<'a>,
    schedule: Schedule,
    threads: u64,
    /// Whether threads may count for themselves for a while: no limit is looked at after each block.
    keeps_tallies: bool,
    /// Read to make a block's observer, written to take it back.
    observer: RwLock<&'a mut O>,
    /// The place of the next cluster to start, in the order of the schedule.
    next: AtomicU64,
    clusters: u64,
    /// How many there are in each direction.
    shape: [u32; 3],
    /// The first place whose block faulted: later blocks are cut short.
    first_fault: AtomicU64,
    fault: Mutex<Option<Box<Fault>>>,
    merge: Mutex<Merge<O::Block>>,
    instructions: AtomicU64,
    /// How many there were when something was last written, or a block started.
    last_progress: AtomicU64,
    /// [`Memory::writes`] when last read.
    ///
    /// [`Memory::writes`]: crate::memory::Memory::writes
    seen_writes: AtomicU64,
    started: Instant,
    lookout: Lookout,
    /// Seconds at which the last notice was given.
    notice: AtomicU64,
}

/// Whether a thread may take several blocks and count for them together. Not if limits are looked at after each block, or blocks
/// wait for each other by design.
fn keeps_tallies(gpu: &Gpu, launch: &Launch) -> bool {
    let options = gpu.options();
    let limited = options.watchdog.is_some() || options.spin_limit.is_some();
    let alone = !launch.cooperative && cluster_blocks(launch) == 1;
    alone && !limited && Schedule::of(options.seed).is_calm()
}

/// Whether another team may be kept going beside those that a thread has.
fn has_room<B: BlockObserver>(resident: &VecDeque<Box<Team<B>>>) -> bool {
    resident.len() < MAX_RESIDENT && resident.iter().map(|team| team.bytes()).sum::<u64>() < 1 << 30
}

impl<'a, O: LaunchObserver> Grid<'a, O> {
    /// A launch for at most `threads` threads.
    pub fn new(context: &'a LaunchContext<'a>, observer: &'a mut O, threads: usize) -> Self {
        let launch = &context.launch;
        let clusters = launch.blocks() / cluster_blocks(launch);
        let threads = threads.min(usize::try_from(clusters).unwrap_or(usize::MAX));
        let started = Instant::now();
        Grid {
            context,
            schedule: Schedule::of(context.gpu.options().seed),
            threads: threads as u64,
            keeps_tallies: keeps_tallies(context.gpu, launch),
            observer: RwLock::new(observer),
            next: AtomicU64::new(0),
            clusters,
            shape: std::array::from_fn(|d| launch.grid[d] / launch.cluster[d].max(1)),
            first_fault: AtomicU64::new(u64::MAX),
            fault: Mutex::new(None),
            merge: Mutex::new(Merge::new()),
            instructions: AtomicU64::new(0),
            last_progress: AtomicU64::new(0),
            seen_writes: AtomicU64::new(context.quota.memory().writes().load(Ordering::Relaxed)),
            started,
            lookout: Lookout::new(started),
            notice: AtomicU64::new(0),
        }
    }

    /// How many are to [work](Self::work) on it.
    pub fn threads(&self) -> usize {
        self.threads as usize
    }

    /// Runs blocks on this thread until none is left.
    pub fn work(&self) {
        let mut device = View::new(self.context.quota.memory().clone(), O::Block::GOES_ON);
        let mut entry = None;
        // Boxed: they go from one list to the other.
        let mut resident: VecDeque<Box<Team<O::Block>>> = VecDeque::new();
        let mut spare: Vec<Box<Team<O::Block>>> = Vec::new();
        let cooperative = self.context.launch.cooperative;
        let mut unfinished = false;
        let mut tally = Tally::new();
        // How many of the resident ones are behind all others.
        let mut behind = 0;
        loop {
            // Another block is taken on when none is here, or when the last slice did not end its block: it may wait
            // for one that has not started, or have been interrupted to come behind it.
            let wanted = resident.is_empty() || cooperative || unfinished || behind > 0;
            if wanted && (resident.is_empty() || cooperative || has_room(&resident)) {
                unfinished = false;
                match self.take(&mut tally) {
                    Some(place) if self.cut_short(place) => {
                        // No later one will run either, and a grid may have 2^63 of them.
                        self.next.store(self.clusters, Ordering::Relaxed);
                        tally.taken = 0..0;
                        continue;
                    }
                    Some(place) => {
                        let mut team = spare.pop().unwrap_or_else(|| Box::new(Team::new(self.context)));
                        if !resident.is_empty() {
                            let now = self.instructions.load(Ordering::Relaxed);
                            self.last_progress.store(now, Ordering::Relaxed);
                        }
                        self.start(&mut team, place);
                        resident.push_front(team);
                    }
                    None if resident.is_empty() => {
                        self.give_out(&mut tally);
                        return self.retire(spare);
                    }
                    None => {}
                }
            }
            let Some(mut team) = resident.pop_front() else { continue };
            if behind > 0 {
                behind -= usize::from(std::mem::take(&mut team.behind));
            }
            if self.cut_short(team.place) {
                self.end(&mut team, &mut tally);
                spare.push(team);
                continue;
            }
            device.release();
            match self.run_slices(&mut team, (&device, &mut entry), &mut tally) {
                Ok(false) => {
                    unfinished = true;
                    // What it waits for may be among what was kept back.
                    self.give_out(&mut tally);
                    let faulted = self.first_fault.load(Ordering::Relaxed) != u64::MAX;
                    team.grace -= u32::from(faulted);
                    if team.grace == 0 {
                        self.end(&mut team, &mut tally);
                        spare.push(team);
                        continue;
                    }
                    let interrupted = |block: &mut Block<_>| std::mem::take(&mut block.state.behind);
                    team.behind = team.blocks.iter_mut().map(interrupted).fold(false, |any, one| any | one);
                    behind += usize::from(team.behind);
                    resident.push_back(team);
                }
                Ok(true) => {
                    self.end(&mut team, &mut tally);
                    spare.push(team);
                }
                Err(fault) => {
                    self.report(team.place, fault);
                    self.end(&mut team, &mut tally);
                    spare.push(team);
                }
            }
        }
    }

    /// The place of the next cluster to start: one of some in a row that the thread has taken.
    fn take(&self, tally: &mut Tally<O::Block>) -> Option<u64> {
        if tally.taken.is_empty() {
            let next = self.next.load(Ordering::Relaxed);
            if next >= self.clusters {
                return None;
            }
            // The last ones are given out one by one, so that all threads end at about the same time.
            let share = (self.clusters - next) / (4 * self.threads);
            let many = if self.keeps_tallies { share.clamp(1, MOST_TAKEN) } else { 1 };
            let first = self.next.fetch_add(many, Ordering::Relaxed);
            self.last_progress.store(self.instructions.load(Ordering::Relaxed), Ordering::Relaxed);
            tally.taken = first.min(self.clusters)..(first + many).min(self.clusters);
        }
        tally.taken.next()
    }

    /// Whether a block before this one has faulted.
    fn cut_short(&self, place: u64) -> bool {
        self.first_fault.load(Ordering::Relaxed) < place
    }

    fn report(&self, place: u64, fault: Box<Fault>) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if place < self.first_fault.load(Ordering::Relaxed) {
            self.first_fault.store(place, Ordering::Relaxed);
            *first = Some(fault);
        }
    }

    fn start(&self, team: &mut Team<O::Block>, place: u64) {
        let index = self.schedule.order(place, self.clusters, 0);
        let launch = &self.context.launch;
        let at = place_in(index, self.shape);
        team.place = place;
        team.grace = GRACE;
        let threads = launch.threads() as u32;
        let size = launch.cluster.map(|d| d.max(1));
        for (rank, block) in team.blocks.iter_mut().enumerate() {
            let within = place_in(rank as u64, size);
            let index: [u32; 3] = std::array::from_fn(|d| at[d] * size[d] + within[d]);
            let [x, y, z] = index.map(u64::from);
            let linear = x + u64::from(launch.grid[0]) * (y + u64::from(launch.grid[1]) * z);
            let info = BlockInfo { index, linear, threads };
            match &mut block.observer {
                Some(observer) => observer.next(&info),
                none => {
                    let observer = self.observer.read().unwrap_or_else(PoisonError::into_inner);
                    *none = Some(observer.block(&info));
                }
            }
            block.start(self.context, &info, rank as u32);
        }
        team.state.restart(team.blocks.iter().map(Block::lanes));
    }

    /// Gives each block of a cluster a slice. True if all have ended.
    fn run_slices(
        &self,
        team: &mut Team<O::Block>,
        (device, entry): (&View, &mut Option<CodeEntry<'a>>),
        tally: &mut Tally<O::Block>,
    ) -> Result<bool, Box<Fault>> {
        let several = team.blocks.len() > 1;
        let slice = match self.context.launch.cooperative || several {
            true => COOPERATIVE_SLICE,
            false if self.schedule.is_calm() => BLOCK_SLICE,
            false => SHORT_SLICE,
        };
        let Team { blocks, shared, state, .. } = team;
        shared.clear();
        shared.extend(blocks.iter_mut().map(|block| block.shared_memory(self.context)));
        let (mut stuck, mut running) = (0, 0);
        for place in 0..blocks.len() {
            let rank = match several {
                true => self.schedule.order(place as u64, blocks.len() as u64, team.place) as usize,
                false => 0,
            };
            let block = &mut blocks[rank];
            if block.has_ended() {
                continue;
            }
            running += 1;
            if self.is_suspicious() {
                block.state.watch.get_or_insert_default();
            }
            let (before, progress) = (block.executed, block.state.progress);
            block.state.watch_phases();
            let stop = block.run(self.context, (shared, state, device), entry, slice)?;
            block.state.phases_watched(progress, several);
            let steps = block.executed - before;
            if stop == BlockStop::Finished && before == 0 && self.keeps_tallies {
                tally.instructions += steps;
                if tally.instructions >= BLOCK_SLICE {
                    let total = self.count(tally);
                    self.watch(block, total)?;
                }
                continue;
            }
            let total = self.instructions.fetch_add(steps, Ordering::Relaxed) + steps;
            self.context.count(steps);
            if block.state.progress != progress {
                self.progressed(total);
            }
            stuck += u32::from(stop == BlockStop::Stuck);
            self.watch(block, total)?;
        }
        let left = blocks.iter().find(|block| !block.has_ended());
        match left {
            Some(block) if stuck > 0 && stuck == running => Err(block.deadlock(self.context)),
            left => Ok(left.is_none()),
        }
    }
}

/// Linear index to 3-D coordinates.
fn place_in(index: u64, [x, y, z]: [u32; 3]) -> [u32; 3] {
    if y == 1 && z == 1 {
        return [index as u32, 0, 0];
    }
    let (x, y) = (u64::from(x), u64::from(y));
    let row = index / x;
    let layer = row / y;
    [(index - row * x) as u32, (row - layer * y) as u32, layer as u32]
}
