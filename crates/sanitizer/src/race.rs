//! The race check: two accesses to one byte, one of them a write, that nothing orders.
//!
//! Order comes from block barriers, `bar.warp.sync`, a fence before an atomic or volatile write whose location somebody
//! reads, `mbarrier`s, and waits for asynchronous copies. Votes and shuffles order nothing. Scopes count: a block fence
//! orders nothing for another block.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use virtual_gpu::observer::{Access, AccessKind, At, BarrierStep, MemorySpace, Order, Scope};

use crate::clock::{Clocks, Gathered, Known, Snapshot};
use crate::shadow::{Entry, Shadow, Touch};

/// What blocks of one launch share.
#[derive(Debug, Default)]
pub struct GlobalRaces {
    shadow: Shadow,
    meetings: HashMap<u64, Meeting>,
}

/// Knowledge left at a location by those who wrote it, for those who read it.
#[derive(Debug, Default)]
struct Meeting {
    /// For threads of the writer's own block, by block.
    narrow: HashMap<u32, Gathered>,
    /// For any block.
    wide: Gathered,
}

/// A race: the later access's lane and first byte, and the earlier access.
#[derive(Debug, Clone, Copy)]
pub struct Race {
    /// Lane of the later access.
    pub lane: u32,
    /// Address of the word.
    pub address: u64,
    /// The earlier access.
    pub earlier: Entry,
    /// Whether the later access writes.
    pub write: bool,
}

/// A named barrier of the block.
#[derive(Debug, Default)]
struct Barrier {
    generation: u64,
    gathering: Option<Known>,
    complete: HashMap<u64, (Arc<Known>, u32)>,
    waiting: HashMap<u64, u32>,
}

/// A copy that has been started and that nobody has waited for.
#[derive(Debug)]
struct Copy {
    group: Option<u32>,
    shared: u64,
    bytes: u32,
}

#[derive(Debug, Default)]
struct Copies {
    started: Vec<Copy>,
    committed: u32,
}

/// The race check of one block.
#[derive(Debug)]
pub struct BlockRaces {
    block: u32,
    clocks: Clocks,
    shared: Shadow,
    shared_meetings: HashMap<u64, Meeting>,
    global: Arc<Mutex<GlobalRaces>>,
    fences: HashMap<u32, (Snapshot, Scope)>,
    barriers: HashMap<u32, Barrier>,
    /// By thread: the barrier and the generation it waits for.
    waits: HashMap<u32, (u32, u64)>,
    copies: HashMap<u32, Copies>,
}

impl BlockRaces {
    /// For a block that is about to start.
    pub fn new(block: u32, threads: u32, global: Arc<Mutex<GlobalRaces>>) -> Self {
        // Warps are whole here: a lane beyond the block's threads never touches anything.
        let clocks = Clocks::new(block, threads.next_multiple_of(32) as usize);
        BlockRaces {
            block,
            clocks,
            shared: Shadow::default(),
            shared_meetings: HashMap::new(),
            global,
            fences: HashMap::new(),
            barriers: HashMap::new(),
            waits: HashMap::new(),
            copies: HashMap::new(),
        }
    }

    /// A memory access; `report` is called for each lane and word that races.
    pub fn access(&mut self, at: At, access: &Access<'_>, mut report: impl FnMut(Race)) {
        if !matches!(access.space, MemorySpace::Shared | MemorySpace::Global) {
            return;
        }
        let strong =
            access.order != Order::Weak || matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let touch = Touch {
            write: access.kind != AccessKind::Load,
            strong,
            wide: access.scope >= Scope::Cluster,
            asynchronous: false,
        };
        if strong {
            self.meet(at, access);
        }
        let global = self.global.clone();
        let mut global = match access.space {
            MemorySpace::Global => Some(global.lock().unwrap_or_else(PoisonError::into_inner)),
            _ => None,
        };
        let shadow = match &mut global {
            Some(global) => &mut global.shadow,
            None => &mut self.shared,
        };
        let bytes = u64::from(access.bytes());
        for lane in lanes(access.lanes) {
            let thread = at.warp * 32 + lane;
            let address = access.addresses[lane as usize];
            let entry = Entry {
                block: self.block,
                warp: at.warp,
                step: self.clocks.step(thread),
                pc: at.pc,
                lanes: 1 << lane,
                bytes: 0,
                touch,
            };
            for (word, mask) in words(address, bytes) {
                if let Some(earlier) = shadow.touch(word, &Entry { bytes: mask, ..entry }, &self.clocks) {
                    report(Race { lane, address: word * 4, earlier, write: touch.write });
                }
            }
        }
    }

    /// Atomics and volatile accesses carry knowledge from thread to thread.
    fn meet(&mut self, at: At, access: &Access<'_>) {
        let (reads, writes) = match access.kind {
            AccessKind::Load => (true, false),
            AccessKind::Store => (false, true),
            AccessKind::Atomic | AccessKind::Reduction => (true, true),
        };
        let releases =
            matches!(access.order, Order::Release | Order::AcquireRelease | Order::SequentiallyConsistent);
        let global = self.global.clone();
        let mut global = match access.space {
            MemorySpace::Global => Some(global.lock().unwrap_or_else(PoisonError::into_inner)),
            _ => None,
        };
        let meetings = match &mut global {
            Some(global) => &mut global.meetings,
            None => &mut self.shared_meetings,
        };
        for lane in lanes(access.lanes) {
            let thread = at.warp * 32 + lane;
            let meeting = meetings.entry(access.addresses[lane as usize]).or_default();
            // Taken in even when the access is relaxed: whether a fence follows on the reading side is left unchecked,
            // because the idiom that reads, meets at a block barrier and goes on is common and works.
            if reads {
                self.clocks.learn_from(thread, &meeting.wide);
                if let Some(narrow) = meeting.narrow.get(&self.block) {
                    self.clocks.learn_from(thread, narrow);
                }
            }
            if writes {
                let published = if releases {
                    Some((self.clocks.publish(thread), access.scope))
                } else {
                    self.fences
                        .get(&thread)
                        .map(|(snapshot, scope)| (snapshot.clone(), (*scope).min(access.scope)))
                };
                if let Some((snapshot, scope)) = published {
                    if scope >= Scope::Cluster {
                        meeting.wide.put(&snapshot);
                    } else {
                        meeting.narrow.entry(self.block).or_default().put(&snapshot);
                    }
                }
            }
        }
    }

    /// A fence: what came before it may be passed on by the next atomic or volatile write.
    pub fn fence(&mut self, at: At, scope: Scope) {
        for lane in lanes(at.lanes) {
            let thread = at.warp * 32 + lane;
            let snapshot = self.clocks.publish(thread);
            self.fences.insert(thread, (snapshot, scope));
        }
    }

    /// A block barrier.
    pub fn barrier(&mut self, at: At, index: u32, step: BarrierStep) {
        let barrier = self.barriers.entry(index).or_default();
        match step {
            BarrierStep::Arrive | BarrierStep::ArriveAndWait => {
                for lane in lanes(at.lanes) {
                    let thread = at.warp * 32 + lane;
                    let snapshot = self.clocks.publish(thread);
                    barrier.gathering.get_or_insert_with(|| self.clocks.nothing()).gather(&snapshot);
                    if step == BarrierStep::ArriveAndWait {
                        self.waits.insert(thread, (index, barrier.generation));
                        *barrier.waiting.entry(barrier.generation).or_default() += 1;
                    }
                }
            }
            BarrierStep::Leave => {
                for lane in lanes(at.lanes) {
                    let thread = at.warp * 32 + lane;
                    let Some((_, generation)) = self.waits.remove(&thread) else { continue };
                    if generation == barrier.generation {
                        let known = barrier.gathering.take().unwrap_or_else(|| self.clocks.nothing());
                        let waiting = barrier.waiting.remove(&generation).unwrap_or(0);
                        barrier.complete.insert(generation, (Arc::new(known), waiting));
                        barrier.generation += 1;
                    }
                    if let Some((known, left)) = barrier.complete.get_mut(&generation) {
                        self.clocks.learn(thread, known);
                        *left = left.saturating_sub(1);
                        if *left == 0 {
                            barrier.complete.remove(&generation);
                        }
                    }
                }
            }
        }
    }

    /// Lanes of a warp meet at `bar.warp.sync`.
    pub fn warp_sync(&mut self, at: At, members: u32) {
        let mut met = self.clocks.nothing();
        let members = at.lanes & members;
        for lane in lanes(members) {
            let snapshot = self.clocks.publish(at.warp * 32 + lane);
            met.gather(&snapshot);
        }
        let met = Arc::new(met);
        lanes(members).for_each(|lane| self.clocks.learn(at.warp * 32 + lane, &met));
    }

    /// `cp.async`: shared memory will be written by nobody knows when.
    pub fn copy_started(&mut self, at: At, shared: &[u64; 32], bytes: u32, mut report: impl FnMut(Race)) {
        let touch = Touch { write: true, strong: false, wide: false, asynchronous: true };
        for lane in lanes(at.lanes) {
            let thread = at.warp * 32 + lane;
            let address = shared[lane as usize];
            let step = self.clocks.step(thread);
            for (word, mask) in words(address, u64::from(bytes)) {
                let entry = Entry {
                    block: self.block,
                    warp: at.warp,
                    step,
                    pc: at.pc,
                    lanes: 1 << lane,
                    bytes: mask,
                    touch,
                };
                if let Some(earlier) = self.shared.touch(word, &entry, &self.clocks) {
                    report(Race { lane, address: word * 4, earlier, write: true });
                }
            }
            self.copies.entry(thread).or_default().started.push(Copy { group: None, shared: address, bytes });
        }
    }

    /// `cp.async.commit_group`.
    pub fn group_committed(&mut self, at: At) {
        for lane in lanes(at.lanes) {
            let copies = self.copies.entry(at.warp * 32 + lane).or_default();
            let group = copies.committed;
            copies.started.iter_mut().for_each(|copy| copy.group = copy.group.or(Some(group)));
            copies.committed += 1;
        }
    }

    /// `cp.async.wait_group`: all but the latest `pending` groups have landed; `u32::MAX`-free `wait_all` is `pending`
    /// 0 with what was not committed included.
    pub fn groups_awaited(&mut self, at: At, pending: u32) {
        for lane in lanes(at.lanes) {
            let thread = at.warp * 32 + lane;
            let Some(copies) = self.copies.get_mut(&thread) else { continue };
            let landed = copies.committed.saturating_sub(pending);
            let step = self.clocks.step(thread);
            let touch = Touch { write: true, strong: false, wide: false, asynchronous: false };
            let (block, warp) = (self.block, at.warp);
            copies.started.retain(|copy| {
                let done = copy.group.is_some_and(|group| group < landed);
                if done {
                    for (word, bytes) in words(copy.shared, u64::from(copy.bytes)) {
                        let entry = Entry { block, warp, step, pc: at.pc, lanes: 1 << lane, bytes, touch };
                        self.shared.land(word, &entry);
                    }
                }
                !done
            });
        }
    }

    /// Lanes leave what they know at an `mbarrier`.
    pub fn mbarrier_arrive(&mut self, at: At, addresses: &[u64; 32]) {
        for lane in lanes(at.lanes) {
            let snapshot = self.clocks.publish(at.warp * 32 + lane);
            self.shared_meetings.entry(addresses[lane as usize]).or_default().wide.put(&snapshot);
        }
    }

    /// Lanes saw an `mbarrier` complete and know what was left there.
    pub fn mbarrier_complete(&mut self, at: At, addresses: &[u64; 32]) {
        for lane in lanes(at.lanes) {
            if let Some(meeting) = self.shared_meetings.get(&addresses[lane as usize]) {
                self.clocks.learn_from(at.warp * 32 + lane, &meeting.wide);
            }
        }
    }
}

/// The lanes of a mask.
pub fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some(lane)
    })
}

/// The words that `bytes` bytes at `address` touch, with the bytes of each as a mask.
fn words(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = address.saturating_add(bytes);
    (address / 4..end.div_ceil(4)).map(move |word| {
        let first = address.saturating_sub(word * 4).min(4);
        let last = (end - word * 4).min(4);
        (word, (0xF >> (4 - last)) & (0xF << first) as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_touches_the_bytes_it_names() {
        assert_eq!(words(6, 4).collect::<Vec<_>>(), [(1, 0b1100), (2, 0b0011)]);
        assert_eq!(words(8, 16).collect::<Vec<_>>(), [(2, 15), (3, 15), (4, 15), (5, 15)]);
        assert_eq!(words(13, 1).collect::<Vec<_>>(), [(3, 0b0010)]);
        assert_eq!(lanes(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
    }
}
