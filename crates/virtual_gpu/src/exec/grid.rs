//! A launch: the worker threads that run its blocks.

use std::collections::{BTreeMap, VecDeque};
use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::block::{Block, BlockStop};
use super::cluster::ClusterState;
use super::compiled::{self, Door};
use super::context::{Compiles, LaunchContext, SharedMemory};
use super::frame::Renewed;
use super::limits::{check, cluster_blocks, with_clusters};
use super::schedule::Schedule;
use crate::fault::{Fault, FaultKind};
use crate::form::program::SharedVariable;
use crate::form::registers::Row;
use crate::job::Job;
use crate::launch::Launch;
use crate::memory::{AllocationKind, Lookout, View};
use crate::module::{Kernel, SharedArray};
use crate::observer::{BlockInfo, BlockObserver, LaunchInfo, LaunchObserver};
use crate::{Error, Gpu};

/// Operations of a block before another resident block has its turn.
const BLOCK_QUANTUM: u64 = 1 << 17;
/// The same where blocks wait for each other by design.
const COOPERATIVE_QUANTUM: u64 = 1 << 14;
/// The same where a block may have been interrupted for which all others wait.
const SHORT_QUANTUM: u64 = 1 << 12;
/// Blocks that one thread keeps going when blocks do not end by themselves.
const MAX_RESIDENT: usize = 256;
/// Turns that blocks before a faulted one may take to end, or to fault themselves.
const GRACE: u32 = 256;
/// Blocks that a thread takes at a time: what it writes for others then costs them little.
const MOST_TAKEN: u64 = 64;
/// Observers of ended blocks that it keeps.
const MOST_KEPT: usize = 16;
/// When a launch that runs on is mentioned.
const NOTICE_AFTER: Duration = Duration::from_secs(10);

/// The host threads that run blocks.
#[derive(Debug)]
pub(crate) struct Pool {
    threads: usize,
    pool: OnceLock<Option<rayon::ThreadPool>>,
}

impl Pool {
    pub fn new(threads: usize) -> Self {
        Pool { threads: threads.max(1), pool: OnceLock::new() }
    }

    /// Runs `work` on so many threads at once, or on this one.
    fn run(&self, threads: usize, work: impl Fn() + Sync) {
        if threads > 1 {
            let pool = self.pool.get_or_init(|| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(self.threads)
                    .thread_name(|i| format!("virtual-gpu-{i}"))
                    .build()
                    .ok()
            });
            if let Some(pool) = pool {
                pool.in_place_scope(|scope| {
                    for _ in 1..threads {
                        scope.spawn(|_| work());
                    }
                    work();
                });
                return;
            }
        }
        work();
    }
}

/// Checks a launch and runs it.
pub(crate) fn launch<O: LaunchObserver>(job: Job<'_>, observer: &mut O) -> Result<(), Error> {
    static GRIDS: AtomicU64 = AtomicU64::new(1);
    let Job { gpu, pool, quota, kernel, launch, params } = job;
    let code = kernel.code();
    let launch = &with_clusters(code, launch)?;
    check(gpu, code, launch, params)?;
    let dynamic_offset = code.static_shared.next_multiple_of(code.dynamic_align.max(1));
    let user_shared =
        if launch.dynamic_shared > 0 { dynamic_offset + launch.dynamic_shared } else { code.static_shared };
    // Hardware puts its part first. Here it comes last, for kernels that ask where it is, so that a kernel's own
    // addresses stay what they are and accesses beyond its variables are found in all others.
    let reserved_offset = user_shared.next_multiple_of(128);
    let shared_bytes = match code.asks_reserved_shared {
        true => reserved_offset + gpu.chip().sm.shared_reserved_per_block,
        false => user_shared,
    };
    let params = AlignedParams::new(params);
    let workspace = match launch.cooperative {
        true => Some(Workspace::new(gpu)?),
        false => None,
    };
    let compiled = compiled::counted::<O::Block>().and_then(|counted| {
        let compiler = gpu.options().compiler.as_deref()?;
        Some(Compiles { compiler, module: &kernel.module().0, counted })
    });
    let context = LaunchContext {
        gpu,
        code: kernel.module().code(),
        evaluations: &kernel.module().0.evaluations,
        compiled,
        kernel: code,
        launch: *launch,
        params: params.bytes(),
        shared_bytes,
        shared_end: shared_bytes.next_multiple_of(gpu.chip().sm.shared_granularity.max(128)),
        dynamic_offset,
        user_shared,
        reserved_offset,
        grid_id: GRIDS.fetch_add(1, Ordering::Relaxed),
        epoch: 1 << 20,
        quota,
        stack_limit: gpu.options().stack_limit,
        renewed: Renewed::of(kernel.module().code(), code.function)
            .filter(|_| !<O::Block as BlockObserver>::REGISTERS),
        most_rows: most_rows(launch, pool.threads),
        workspace: workspace.as_ref().map_or(0, |w| w.address),
    };
    let info = LaunchInfo {
        kernel: code.name.clone(),
        launch: *launch,
        shared_bytes,
        shared_end: context.shared_end,
        reserved: if code.asks_reserved_shared { reserved_offset..shared_bytes } else { 0..0 },
        code: kernel.module().code().clone(),
        function: code.function,
        memory: quota.memory().clone(),
        shared: shared_arrays(kernel, dynamic_offset, user_shared),
    };
    observer.begin(&info);
    let clusters = launch.blocks() / cluster_blocks(launch);
    let threads = if observer.serial() { 1 } else { pool.threads };
    let threads = threads.min(usize::try_from(clusters).unwrap_or(usize::MAX));
    let started = Instant::now();
    let grid = Grid {
        context: &context,
        schedule: Schedule::of(gpu.options().seed),
        threads: threads as u64,
        keeps_tallies: keeps_tallies(gpu, launch),
        observer: RwLock::new(observer),
        next: AtomicU64::new(0),
        clusters,
        shape: std::array::from_fn(|d| launch.grid[d] / launch.cluster[d].max(1)),
        first_fault: AtomicU64::new(u64::MAX),
        fault: Mutex::new(None),
        merge: Mutex::new(Merge { next: 0, ended: 0, waiting: BTreeMap::new(), output: 0, skipped: None }),
        instructions: AtomicU64::new(0),
        last_progress: AtomicU64::new(0),
        seen_writes: AtomicU64::new(quota.memory().writes().load(Ordering::Relaxed)),
        started,
        lookout: Lookout::new(started),
        notice: AtomicU64::new(0),
    };
    context.count(0);
    pool.run(threads, || grid.work());
    let (fault, skipped) = grid.finish();
    observer.end(&info, fault.as_deref());
    match skipped.or(fault) {
        Some(fault) => Err(Error::Fault(fault)),
        None => Ok(()),
    }
}

/// Rows that a warp's registers may take, so that those of all warps that run at a time take half of the machine's memory.
/// Lanes that go different ways have frames of their own, so a warp may come to need 32 times what its threads have on a
/// device, 513 KiB each; it has no less than a warp that stays together needs.
fn most_rows(launch: &Launch, threads: usize) -> usize {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    let memory = *MEMORY.get_or_init(|| {
        // SAFETY: it asks for numbers.
        let (pages, bytes) =
            unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(bytes).unwrap_or(0))
    });
    let blocks = cluster_blocks(launch) as usize * threads;
    let warps = blocks * launch.threads().div_ceil(32) as usize;
    (memory / 2 / warps.max(1) / size_of::<Row>()).max(1 << 17)
}

/// The module's shared variables as the kernel places them; those whose size the launch gives take all of it.
fn shared_arrays(kernel: &Kernel, dynamic: u32, user_shared: u32) -> Vec<Option<SharedArray>> {
    let place = |(index, variable): (u32, &SharedVariable)| {
        let (offset, size) = match variable.dynamic {
            true => (dynamic, user_shared.saturating_sub(dynamic)),
            false => (kernel.code().shared_offset(index)?, variable.size),
        };
        Some(SharedArray { name: variable.name.clone(), offset, size })
    };
    (0..).zip(&kernel.module().code().shared).map(place).collect()
}

/// What a cooperative launch keeps in device memory for its length.
struct Workspace<'g> {
    gpu: &'g Gpu,
    address: u64,
}

impl<'g> Workspace<'g> {
    fn new(gpu: &'g Gpu) -> Result<Self, Error> {
        let address = gpu.memory().alloc_kind(1024, AllocationKind::Global, Some("cooperative launch"))?;
        Ok(Workspace { gpu, address })
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        // It is ours alone, so this is its one release.
        let _ = self.gpu.memory().free(self.address);
    }
}

/// Kernel parameters where loads of any width may read them.
struct AlignedParams {
    words: Vec<u128>,
    length: usize,
}

impl AlignedParams {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0u128; bytes.len().div_ceil(16)];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks(16)) {
            let mut whole = [0; 16];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u128::from_ne_bytes(whole);
        }
        AlignedParams { words, length: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `words` holds at least `length` bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.length) }
    }
}

/// A launch under way, shared by the threads that run it.
struct Grid<'a, O: LaunchObserver> {
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
    /// What [`Memory::writes`] was when it was last looked at.
    ///
    /// [`Memory::writes`]: crate::memory::Memory::writes
    seen_writes: AtomicU64,
    started: Instant,
    lookout: Lookout,
    /// Seconds at which the last notice was given.
    notice: AtomicU64,
}

/// Blocks that have ended, given out in the order of the schedule.
struct Merge<B> {
    next: u64,
    /// How many have ended, in any order.
    ended: u64,
    /// Runs of them, by their first places.
    waiting: BTreeMap<u64, Ended<B>>,
    /// Bytes of output among them.
    output: usize,
    /// The first fault of them that a lane went on from.
    skipped: Option<Box<Fault>>,
}

/// Clusters in a row that have ended.
struct Ended<B> {
    places: Range<u64>,
    observers: Vec<B>,
    output: Vec<u8>,
    skipped: Option<Box<Fault>>,
}

/// What a thread keeps for itself until it has enough for a look at what all threads share. What waits for nobody is short:
/// starting it costs no more than a few words that others write as well.
struct Tally<B> {
    /// The places of clusters that it has taken, and not begun.
    taken: Range<u64>,
    /// Operations of clusters that ended in their first turn.
    instructions: u64,
    /// These clusters, as far as they follow each other.
    ended: Ended<B>,
}

impl<B> Tally<B> {
    fn new() -> Self {
        Tally { taken: 0..0, instructions: 0, ended: Ended::none() }
    }
}

impl<B> Ended<B> {
    fn none() -> Self {
        Ended { places: 0..0, observers: Vec::new(), output: Vec::new(), skipped: None }
    }
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

/// Blocks that run together on one thread: a cluster.
struct Team<B> {
    /// Its place in the order of the schedule.
    place: u64,
    blocks: Vec<Block<B>>,
    /// Their shared memory.
    shared: Vec<SharedMemory>,
    done: Vec<bool>,
    /// Whether the schedule put it behind all others, those that have not started among them.
    behind: bool,
    state: ClusterState,
    /// Turns it may still take after a later block has faulted: it may wait for that block, or fault itself.
    grace: u32,
}

impl<'a, O: LaunchObserver> Grid<'a, O> {
    /// What each thread does until no block is left.
    fn work(&self) {
        let mut device = View::new(self.context.quota.memory().clone());
        let mut door = None;
        // Boxed: they go from one list to the other.
        let mut resident: VecDeque<Box<Team<O::Block>>> = VecDeque::new();
        let mut spare: Vec<Box<Team<O::Block>>> = Vec::new();
        let cooperative = self.context.launch.cooperative;
        let mut unfinished = false;
        let mut tally = Tally::new();
        // How many of the resident ones are behind all others.
        let mut behind = 0;
        loop {
            // Another block is taken on when none is here, or when the last turn did not end its block: it may wait
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
            behind -= usize::from(std::mem::take(&mut team.behind));
            if self.cut_short(team.place) {
                self.end(&mut team, &mut tally);
                spare.push(team);
                continue;
            }
            device.release();
            match self.turn(&mut team, (&device, &mut door), &mut tally) {
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
        team.done.iter_mut().for_each(|d| *d = false);
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

    /// Runs a cluster's blocks for a while. True if all have ended.
    fn turn(
        &self,
        team: &mut Team<O::Block>,
        (device, door): (&View, &mut Option<Door<'a>>),
        tally: &mut Tally<O::Block>,
    ) -> Result<bool, Box<Fault>> {
        let several = team.blocks.len() > 1;
        let quantum = match self.context.launch.cooperative || several {
            true => COOPERATIVE_QUANTUM,
            false if self.schedule.is_calm() => BLOCK_QUANTUM,
            false => SHORT_QUANTUM,
        };
        team.shared.clear();
        team.shared.extend(team.blocks.iter_mut().map(|b| b.shared_memory(self.context)));
        let mut stuck = 0;
        let mut running = 0;
        for place in 0..team.blocks.len() {
            let i = match several {
                true => self.schedule.order(place as u64, team.blocks.len() as u64, team.place) as usize,
                false => 0,
            };
            if team.done[i] {
                continue;
            }
            running += 1;
            let block = &mut team.blocks[i];
            if self.is_suspicious() {
                block.state.watch.get_or_insert_default();
            }
            let (before, progress) = (block.counted, block.state.progress);
            let stop = block.run(self.context, &team.shared, &mut team.state, (device, door), quantum)?;
            block.counted = block.executed;
            let steps = block.counted - before;
            if stop == BlockStop::Finished && before == 0 && self.keeps_tallies {
                tally.instructions += steps;
                team.done[i] = true;
                if tally.instructions >= BLOCK_QUANTUM {
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
            match stop {
                BlockStop::Finished => team.done[i] = true,
                BlockStop::Stuck { moved } => stuck += usize::from(!moved),
                BlockStop::Quantum => {}
            }
            self.watch(block, total)?;
        }
        if stuck > 0
            && stuck == running
            && let Some(block) = team.blocks.iter().zip(&team.done).find_map(|(b, done)| (!done).then_some(b))
        {
            return Err(block.deadlock(self.context));
        }
        Ok(team.done.iter().all(|&d| d))
    }

    /// Adds a thread's operations to those of all; how many there are then.
    fn count(&self, tally: &mut Tally<O::Block>) -> u64 {
        let steps = std::mem::take(&mut tally.instructions);
        let total = self.instructions.fetch_add(steps, Ordering::Relaxed) + steps;
        if steps > 0 {
            self.context.count(steps);
            // A block has ended.
            self.progressed(total);
        }
        total
    }

    /// Something was written that others may wait for.
    fn progressed(&self, total: u64) {
        self.last_progress.store(total, Ordering::Relaxed);
        let writes = self.context.quota.memory().writes().fetch_add(1, Ordering::Relaxed) + 1;
        self.seen_writes.store(writes, Ordering::Relaxed);
    }

    /// Operations in which nothing was written.
    fn idle(&self, total: u64) -> u64 {
        // Blocks take turns: a grid of many that wait for one comes round to it late.
        let share = self.clusters.min(MAX_RESIDENT as u64) / 16 + 1;
        total.saturating_sub(self.last_progress.load(Ordering::Relaxed)) / share
    }

    /// Half of the way to the limit the warps are looked at more closely.
    fn is_suspicious(&self) -> bool {
        let limit = self.context.gpu.options().spin_limit;
        limit.is_some_and(|limit| self.idle(self.instructions.load(Ordering::Relaxed)) > limit / 2)
    }

    /// Whether another launch, of this device or of a peer, has written something since this was last asked: what the blocks
    /// wait for may come from there.
    fn others_write(&self, total: u64) -> bool {
        let now = self.context.quota.memory().writes().load(Ordering::Relaxed);
        let wrote = self.seen_writes.swap(now, Ordering::Relaxed) != now;
        if wrote {
            self.last_progress.store(total, Ordering::Relaxed);
        }
        wrote
    }

    /// Ends a launch that has run beyond the watchdog's limit, and mentions one that takes long.
    fn watch(&self, block: &Block<O::Block>, total: u64) -> Result<(), Box<Fault>> {
        if self.context.gpu.options().watchdog.is_some_and(|limit| total > limit) {
            let hottest = self.hottest(block);
            return Err(block.stopped(self.context, FaultKind::Timeout { instructions: total, hottest }));
        }
        if self.context.gpu.options().spin_limit.is_some_and(|limit| self.idle(total) > limit)
            && !self.others_write(total)
        {
            return Err(block.deadlock(self.context));
        }
        if self.lookout.is_out() {
            return Err(block.stopped(self.context, FaultKind::OutOfMemory));
        }
        let seconds = self.started.elapsed().as_secs();
        let last = self.notice.load(Ordering::Relaxed);
        if seconds >= (2 * last).max(NOTICE_AFTER.as_secs())
            && self.notice.compare_exchange(last, seconds, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            let place = self.hottest(block);
            let name = &self.context.kernel.name;
            let ended = self.merge.lock().unwrap_or_else(PoisonError::into_inner).ended;
            // What stands there already is a progress line, which will be written again.
            let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
            eprintln!(
                "{clear}virtual GPU: kernel `{name}` has run for {seconds} s, {} % of its blocks have ended, {total} warp \
                 instructions so far{place} (WARPSMITH_WATCHDOG=N ends a launch after N instructions)",
                ended * 100 / self.clusters.max(1)
            );
        }
        Ok(())
    }

    /// Where most of a block's lanes are now.
    fn hottest(&self, block: &Block<O::Block>) -> String {
        let mut places = BTreeMap::<u32, usize>::new();
        block.counters().for_each(|pc| *places.entry(pc).or_default() += 1);
        let hottest = places.into_iter().max_by_key(|p| p.1).map(|p| self.context.code.location(p.0));
        hottest.map_or_else(String::new, |location| format!(", now at {location}"))
    }

    /// Takes note of an ended cluster.
    fn end(&self, team: &mut Team<O::Block>, tally: &mut Tally<O::Block>) {
        if tally.ended.places.end != team.place {
            self.give_out(tally);
            tally.ended.places = team.place..team.place;
        }
        let ended = &mut tally.ended;
        ended.places.end += 1;
        for block in &mut team.blocks {
            ended.output.append(&mut block.state.output);
            if !<O::Block as BlockObserver>::ADDS_UP {
                ended.observers.extend(block.take_observer());
            }
            ended.skipped = ended.skipped.take().or(block.state.skipped.take());
        }
        let many = ended.places.end - ended.places.start >= MOST_TAKEN || ended.observers.len() >= MOST_KEPT;
        if many || !self.keeps_tallies || !ended.output.is_empty() || ended.skipped.is_some() {
            self.give_out(tally);
        }
    }

    /// Gives out what ended clusters printed and observed, when all before them have ended, and counts their operations.
    fn give_out(&self, tally: &mut Tally<O::Block>) {
        self.count(tally);
        let ended = std::mem::replace(&mut tally.ended, Ended::none());
        if ended.places.is_empty() {
            return;
        }
        let mut merge = self.merge.lock().unwrap_or_else(PoisonError::into_inner);
        merge.ended += ended.places.end - ended.places.start;
        merge.output += ended.output.len();
        merge.waiting.insert(ended.places.start, ended);
        while let Some(ended) = {
            let next = merge.next;
            merge.waiting.remove(&next)
        } {
            merge.next = ended.places.end;
            merge.output -= ended.output.len();
            merge.skipped = merge.skipped.take().or(ended.skipped);
            self.take_back(ended.observers);
            print(&ended.output);
        }
        // No more waits behind a block that runs on than a device would hold; what is beyond comes before that block's.
        if merge.output > self.context.quota.printf_limit() {
            merge.output = 0;
            merge.waiting.values_mut().for_each(|ended| print(&std::mem::take(&mut ended.output)));
        }
    }

    /// Ends the observers that have added up what all blocks of a thread did.
    fn retire(&self, spare: impl IntoIterator<Item = Box<Team<O::Block>>>) {
        let blocks = spare.into_iter().flat_map(|team| team.blocks);
        self.take_back(blocks.filter_map(|mut block| block.take_observer()).collect());
    }

    fn take_back(&self, observers: Vec<O::Block>) {
        if observers.is_empty() {
            return;
        }
        let mut observer = self.observer.write().unwrap_or_else(PoisonError::into_inner);
        observers.into_iter().for_each(|b| observer.merge(b));
    }

    /// What is left when all threads are done: blocks behind a gap that a fault made, the fault, and the first that lanes went
    /// on from.
    fn finish(self) -> (Option<Box<Fault>>, Option<Box<Fault>>) {
        let (waiting, mut skipped) = {
            let mut merge = self.merge.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut merge.waiting), merge.skipped.take())
        };
        for ended in waiting.into_values() {
            skipped = skipped.or(ended.skipped);
            self.take_back(ended.observers);
        }
        (self.fault.into_inner().unwrap_or_else(PoisonError::into_inner), skipped)
    }
}

/// Where the one of that number is among so many in each direction.
fn place_in(index: u64, [x, y, z]: [u32; 3]) -> [u32; 3] {
    if y == 1 && z == 1 {
        return [index as u32, 0, 0];
    }
    let (x, y) = (u64::from(x), u64::from(y));
    let row = index / x;
    let layer = row / y;
    [(index - row * x) as u32, (row - layer * y) as u32, layer as u32]
}

fn print(output: &[u8]) {
    if !output.is_empty() {
        // A closed standard output is no fault of the kernel.
        let _ = std::io::stdout().lock().write_all(output);
    }
}

impl<B: crate::BlockObserver> Team<B> {
    fn new(context: &LaunchContext<'_>) -> Self {
        let size = cluster_blocks(&context.launch) as usize;
        Team {
            place: 0,
            blocks: (0..size).map(|_| Block::new()).collect(),
            shared: Vec::new(),
            done: vec![false; size],
            behind: false,
            state: ClusterState::default(),
            grace: GRACE,
        }
    }

    /// About how much memory it takes on the host.
    fn bytes(&self) -> u64 {
        self.blocks.iter().map(Block::bytes).sum()
    }
}
