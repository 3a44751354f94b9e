//! A block: its warps take turns, meet at barriers, and share memory.

use super::block_state::{Barrier, BlockState};
use super::cluster::ClusterState;
use super::compiled::Door;
use super::context::{Cx, LaunchContext, Raise, SharedMemory, raise};
use super::frame;
use super::run::{self, Raised};
use super::schedule::Schedule;
use super::steady::{Next, Place, Stage, Turns};
use super::warp::{Group, Stop, Wait, Warp};
use crate::fault::{Fault, FaultKind, is_library};
use crate::form::op::{BarrierKind, BarrierOp, OpKind};
use crate::form::registers::lanes_of;
use crate::memory::View;
use crate::observer::{At, BarrierStep, BlockInfo, BlockObserver};

/// Operations that a warp runs before the next has its turn.
pub(super) const WARP_QUANTUM: u64 = 2048;
/// The same where somebody may have been interrupted for whom all others wait.
const SHORT_QUANTUM: u64 = 128;

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
    /// The warps in the order of their turns.
    pub(super) order: Vec<u32>,
    /// Where the warps are, while the block runs in its kernel's code.
    pub(super) places: Vec<Place>,
    /// Where they are when a block begins.
    firsts: Vec<Place>,
    /// Nothing of it has run.
    is_new: bool,
    /// Its warps are what they are when a block begins, but for their registers: [`Place`]s were all that its turns needed.
    pub(super) untouched: bool,
}

/// Keeps shared memory aligned as bulk copies want it.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(128))]
pub(crate) struct Line([u8; 128]);

/// Why a block stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockStop {
    Finished,
    /// It could go on.
    Quantum,
    /// No warp can go on by itself. `moved`: some went on before that, which another block may have waited for.
    Stuck {
        moved: bool,
    },
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
            places: Vec::new(),
            firsts: Vec::new(),
            is_new: false,
            untouched: false,
        }
    }

    /// Makes it the block of that index at its beginning.
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
        }
        let local_limit = launch.kernel.local_bytes.saturating_add(launch.stack_limit);
        for i in self.warps.len() as u32..warps {
            self.warps.push(Warp::new(i, 0, local_limit, launch.most_rows));
        }
        if !std::mem::replace(&mut self.untouched, true) {
            self.begin_warps(launch, threads);
        }
        if let Some(renewed) = &launch.renewed {
            // SAFETY: `begin_warps` gave the warps frames of the kernel's function and looked where they are; if that was for a
            // block before this one, nothing has touched them since.
            unsafe { renewed.renew(&self.firsts, launch, &self.state) };
        }
        self.is_new = true;
    }

    /// Makes its warps those of a block that begins.
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
                warp.is_prepared = launch.renewed.is_some();
            }
            warp.begin(function, lanes);
        }
        self.gather(launch);
        self.firsts.clone_from(&self.places);
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
        (device, door): (&View, &mut Option<Door<'l>>),
        budget: u64,
    ) -> Result<BlockStop, Box<Fault>> {
        let own = cluster[self.state.cluster_rank as usize];
        let mut door = match &mut self.observer {
            Some(observer) => Door::open(door, launch, &self.state, own, device, observer),
            None => None,
        };
        let is_new = std::mem::take(&mut self.is_new);
        match door {
            Some(_) if is_new => self.places.clone_from(&self.firsts),
            Some(_) => self.gather(launch),
            None => self.places.clear(),
        }
        let stop = self.run_turns(launch, (cluster, team, device), &mut door, budget);
        if let (Some(door), Some(observer)) = (door, &mut self.observer) {
            door.close(observer);
        }
        // Of a block that has ended nobody asks where its warps are, and the next one finds them where a block begins.
        let has_ended = matches!(stop, Ok(BlockStop::Finished));
        let function = &launch.code.functions[launch.kernel.function as usize];
        // Local memory begins with zeros.
        let may_stay = launch.renewed.is_some() && function.local_size == 0;
        if self.places.is_empty() || !has_ended || !may_stay {
            self.untouched = false;
            (0..self.places.len()).for_each(|turn| self.tell(turn));
        }
        stop
    }

    fn run_turns(
        &mut self,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        door: &mut Option<&mut Door<'_>>,
        budget: u64,
    ) -> Result<BlockStop, Box<Fault>> {
        // Turns of all warps after which a block that wrote nothing gives way: at once where blocks wait for each other
        // by design, later where it more likely just computes.
        let patience = if launch.launch.cooperative || cluster.len() > 1 { 1 } else { 8 };
        let mut turns = Turns::new(self.warps.len(), patience, budget, self.state.progress);
        let quantum = if self.state.changes.is_some() { SHORT_QUANTUM } else { WARP_QUANTUM };
        loop {
            let next = match door {
                Some(door) => self.steady_turns(&mut turns, launch, (cluster, team, device), door),
                None => Ok(turns.next(self.finished, self.state.progress, &mut self.next, &self.order)),
            };
            // Whoever asks which warps have ended is an operation of the interpreter's, or of another block's.
            let is_alone = cluster.len() == 1 && matches!(next, Ok(Next::Stop(BlockStop::Finished)));
            if std::mem::take(&mut turns.exited) && !is_alone {
                let gone = self.places.iter().enumerate().filter(|(_, place)| place.stage == Stage::Gone);
                gone.for_each(|(turn, _)| team.set(self.state.cluster_rank, turn, 0));
            }
            let (turn, begun) = match next.map_err(|(turn, raised)| self.fault(launch, turn, raised))? {
                Next::Turn(turn) => (turn, None),
                Next::Rest(turn, begun) => (turn, Some(begun)),
                Next::Stop(stop) => {
                    if stop == BlockStop::Quantum {
                        self.state.age += turns.spent / self.warps.len() as u64;
                    }
                    return Ok(stop);
                }
            };
            if self.warps[turn].live == 0 {
                turns.idle += 1;
                continue;
            }
            let (before, vain) = (begun.unwrap_or(self.warps[turn].steps), self.warps[turn].vain);
            self.warps[turn].retry();
            let end = before + quantum;
            let stop = self.run_warp(turn, launch, (cluster, team, device), door, end)?;
            team.set(self.state.cluster_rank, turn, self.warps[turn].live);
            let steps = self.warps[turn].steps - before;
            if let Some(watch) = &mut self.state.watch {
                let computes = watch.computes(&mut self.warps[turn].unobtrusive, steps);
                self.state.progress += u64::from(computes);
            }
            self.executed += steps;
            // A warp that only asked again, in vain, has made no progress.
            let progress = steps > self.warps[turn].vain - vain;
            turns.spent += steps.max(1);
            turns.idle = if progress { 0 } else { turns.idle + 1 };
            turns.moved |= progress;
            if stop == Stop::Finished {
                self.finished += 1;
                self.state.progress += 1;
                turns.idle = 0;
            }
            let told = std::mem::take(&mut self.state.told);
            if stop != Stop::Quantum
                && self.settle(launch, turn, stop).map_err(|r| self.fault(launch, turn, r))?
            {
                turns.idle = 0;
                turns.moved = true;
            }
            if !self.places.is_empty() {
                self.places[turn] = self.look(launch, turn);
            }
            if told {
                self.state.age += turns.spent / self.warps.len() as u64;
                return Ok(BlockStop::Quantum);
            }
        }
    }

    fn run_warp(
        &mut self,
        turn: usize,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        door: &mut Option<&mut Door<'_>>,
        end: u64,
    ) -> Result<Stop, Box<Fault>> {
        let Some(observer) = &mut self.observer else { return Ok(Stop::Finished) };
        let mut cx = Cx { launch, block: &mut self.state, cluster, team, observer, device };
        run::run(&mut self.warps[turn], &mut cx, door, end).map_err(|raised| self.fault(launch, turn, raised))
    }

    /// Says of a fault where it was.
    fn fault(&self, launch: &LaunchContext<'_>, turn: usize, raised: Raised) -> Box<Fault> {
        let warp = &self.warps[turn];
        let lane = raised.raise.lane;
        let mut fault = launch.fault(self.state.index, warp.index, raised.pc, *raised.raise);
        // A library's function that is not inlined, such as one that reports panics: who called it is worth knowing.
        let frames = &mut fault.location.frames;
        let mut calls = warp.calls(lane);
        while frames.iter().all(|frame| is_library(&frame.file))
            && let Some(pc) = calls.next()
        {
            frames.extend_from_slice(launch.code.frames(pc));
        }
        Box::new(fault)
    }

    /// Counts a warp at its barrier when all its lanes have come, and opens the barriers that are complete. True if
    /// some lane may go on.
    fn settle(&mut self, launch: &LaunchContext<'_>, turn: usize, stop: Stop) -> Result<bool, Raised> {
        let mut moved = false;
        // The barriers that may be complete now: that of the warp, or any that waited for one that has ended.
        let mut changed = if stop == Stop::Finished { self.state.awaited } else { 0 };
        if self.warps[turn].live != 0
            && self.warps[turn].arrived.is_none()
            && let Some(id) = self.warps[turn].at_barrier()
        {
            moved |= self.arrive(launch, turn, id)?;
            changed = 1 << id;
        }
        Ok(self.open_complete(launch, changed) | moved)
    }

    /// Opens those of some barriers, a bit each, that are complete. Whether there were any.
    pub(super) fn open_complete(&mut self, launch: &LaunchContext<'_>, changed: u32) -> bool {
        let mut moved = false;
        for id in lanes_of(changed).map(|id| id as u32) {
            if self.barriers_complete(id) {
                self.open(launch, id);
                self.state.progress += 1;
                moved = true;
            }
        }
        moved
    }

    fn barriers_complete(&self, id: u32) -> bool {
        self.state.barriers[id as usize].is_complete(self.warps.len() as u32 - self.finished)
    }

    fn arrive(&mut self, launch: &LaunchContext<'_>, turn: usize, id: u32) -> Result<bool, Raised> {
        let warp = &mut self.warps[turn];
        let barrier = &mut self.state.barriers[id as usize];
        let mut waits = false;
        let mut passed = Vec::new();
        for i in 0..warp.groups.len() {
            let group = warp.groups[i];
            let Some(op) = barrier_op(launch, &group) else { continue };
            let regs = warp.regs(group.frame);
            let lane = group.mask.trailing_zeros() as usize;
            if op.threads != crate::form::registers::NONE {
                // SAFETY: decoding gave the operand a 32-bit register.
                let threads: u32 = unsafe { regs.get(op.threads, lane) };
                if threads == 0 || !threads.is_multiple_of(32) {
                    return Err(Raised { raise: bad_count(threads, group.mask), pc: group.pc });
                }
                barrier.threads = threads;
            }
            if op.predicate != crate::form::registers::NONE {
                // SAFETY: decoding gave the operand a predicate.
                let yes = unsafe { regs.predicate(op.predicate) } ^ if op.invert { u32::MAX } else { 0 };
                barrier.asked += group.mask.count_ones();
                barrier.yes += (yes & group.mask).count_ones();
            }
            if op.kind == BarrierKind::Arrive {
                passed.push(i);
            } else {
                waits = true;
            }
            if O::SYNCHRONISATION
                && let Some(observer) = &mut self.observer
            {
                let step = if op.kind == BarrierKind::Arrive {
                    BarrierStep::Arrive
                } else {
                    BarrierStep::ArriveAndWait
                };
                // Lanes that called the same functions in turns are at one barrier, each with a frame of its own.
                let same =
                    |other: &&Group| other.pc == group.pc && warp.called_alike(other.frame, group.frame);
                let mut alike = warp.groups.iter().filter(same);
                let lanes = alike.clone().fold(0, |lanes, other| lanes | other.mask);
                if alike.next().is_some_and(|first| first.frame == group.frame) {
                    let at = At { pc: group.pc, warp: warp.index, lanes };
                    observer.barrier(at, id, barrier.threads, step, op.aligned);
                }
            }
        }
        barrier.arrived += 32;
        self.state.awaited |= 1 << id;
        if waits {
            warp.arrived = Some(id);
        }
        let moved = !passed.is_empty();
        for i in passed {
            warp.groups[i].pc += 1;
            warp.groups[i].wait = Wait::Nothing;
        }
        Ok(moved)
    }

    /// Lets the warps that wait at a barrier go on.
    fn open(&mut self, launch: &LaunchContext<'_>, id: u32) {
        let barrier = std::mem::take(&mut self.state.barriers[id as usize]);
        self.state.awaited &= !(1 << id);
        for place in &mut self.places {
            if place.stage == Stage::Waits(id) {
                place.stage = Stage::Ready;
                place.pc += 1;
            }
        }
        for (turn, warp) in self.warps.iter_mut().enumerate() {
            let is_odd = self.places.get(turn).is_none_or(|place| place.stage == Stage::Odd);
            if !is_odd || warp.arrived != Some(id) {
                continue;
            }
            warp.arrived = None;
            for i in 0..warp.groups.len() {
                let group = warp.groups[i];
                if group.wait != Wait::Barrier(id) {
                    continue;
                }
                if let Some(op) = barrier_op(launch, &group) {
                    let regs = warp.regs(group.frame);
                    let all = |yes: bool| if yes { u32::MAX } else { 0 };
                    // SAFETY: decoding gave the target a 32-bit register, or a predicate for `.and` and `.or`.
                    unsafe {
                        match op.kind {
                            BarrierKind::ReducePopc => regs.store(op.target, &[barrier.yes; 32], group.mask),
                            BarrierKind::ReduceAnd => {
                                regs.set_predicate(op.target, all(barrier.yes == barrier.asked), group.mask)
                            }
                            BarrierKind::ReduceOr => {
                                regs.set_predicate(op.target, all(barrier.yes > 0), group.mask)
                            }
                            BarrierKind::Sync | BarrierKind::Arrive => {}
                        }
                    }
                    if O::SYNCHRONISATION
                        && let Some(observer) = &mut self.observer
                    {
                        let at = At { pc: group.pc, warp: warp.index, lanes: group.mask };
                        observer.barrier(at, id, barrier.threads, BarrierStep::Leave, op.aligned);
                    }
                }
                warp.groups[i].pc += 1;
                warp.groups[i].wait = Wait::Nothing;
            }
        }
    }

    /// The fault of a block in which nothing can go on: who waits where.
    pub fn deadlock(&self, launch: &LaunchContext<'_>) -> Box<Fault> {
        // Warps that wait alike share a line: a block has up to 32 of them, and most often one place.
        let mut waits: Vec<(String, Vec<u32>)> = Vec::new();
        let mut first = None;
        for (turn, warp) in self.warps.iter().enumerate() {
            for group in &warp.groups {
                first.get_or_insert((turn, group.pc, group.mask));
                let what = match group.wait {
                    Wait::Barrier(id) => format!("for barrier {id}"),
                    Wait::Members(mask) => {
                        let missing = mask & warp.live & !group.mask;
                        format!("for lanes {missing:#010x} of the member mask {mask:#010x}")
                    }
                    Wait::Retry | Wait::Nothing => "in a loop for something that never comes".into(),
                };
                let exited = !warp.live & self.born(launch, warp.index);
                let note =
                    if exited != 0 { format!("; lanes {exited:#010x} have exited") } else { String::new() };
                let place = launch.code.location(group.pc);
                let wait = format!("lanes {:#010x}, wait {what}, {place}{note}", group.mask);
                match waits.iter_mut().find(|(known, _)| *known == wait) {
                    Some((_, warps)) => warps.push(warp.index),
                    None => waits.push((wait, vec![warp.index])),
                }
            }
        }
        let mut report = String::new();
        for (wait, warps) in waits {
            report += &format!("  {}, {wait}\n", named(&warps));
        }
        for (id, barrier) in self.state.barriers.iter().enumerate().filter(|(_, b)| b.arrived > 0) {
            let expected = if barrier.threads == 0 {
                (self.warps.len() as u32 - self.finished) * 32
            } else {
                barrier.threads
            };
            report += &format!("  barrier {id}: {} of {expected} threads have arrived\n", barrier.arrived);
        }
        let (turn, pc, mask) = first.unwrap_or((0, 0, 1));
        self.fault(launch, turn, Raised { raise: raise(FaultKind::Deadlock(report), mask), pc })
    }

    fn born(&self, launch: &LaunchContext<'_>, warp: u32) -> u32 {
        let lanes = (launch.launch.threads() as u32 - warp * 32).min(32);
        if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 }
    }

    /// A fault that is no operation's own, at the place where the block is now.
    pub fn stopped(&self, launch: &LaunchContext<'_>, kind: FaultKind) -> Box<Fault> {
        let at = self.groups().next().map(|(turn, group)| (turn, group.pc, group.mask));
        let (turn, pc, mask) = at.unwrap_or((0, 0, 1));
        self.fault(launch, turn, Raised { raise: raise(kind, mask), pc })
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

fn barrier_op<'a>(launch: &LaunchContext<'a>, group: &Group) -> Option<&'a BarrierOp> {
    match &launch.code.ops[group.pc as usize].kind {
        OpKind::Barrier(op) => Some(op),
        _ => None,
    }
}

fn bad_count(threads: u32, lanes: u32) -> Box<Raise> {
    let why = format!("a barrier for {threads} threads: the number must be a multiple of 32");
    raise(FaultKind::IllegalInstruction(why), lanes & lanes_of(lanes).next().map_or(0, |i| 1 << i))
}

/// Warps by their numbers, which rise: `warp 3`, `warps 0 to 7, 9`.
fn named(warps: &[u32]) -> String {
    let runs = warps.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        run => run.iter().map(u32::to_string).collect(),
    });
    let runs: Vec<String> = runs.collect();
    format!("warp{} {}", if warps.len() == 1 { "" } else { "s" }, runs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn warps_that_follow_each_other_are_named_together() {
        assert_eq!(named(&[3]), "warp 3");
        assert_eq!(named(&[0, 1]), "warps 0 to 1");
        assert_eq!(named(&[0, 2, 3, 4, 9]), "warps 0, 2 to 4, 9");
    }
}
