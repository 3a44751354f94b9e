//! Asynchronous copies and products: a thread starts them, they touch memory later, and they must be waited for.

use std::hash::Hasher;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use virtual_gpu::observer::{At, MemorySpace};

use super::{BlockRaces, UNKNOWN};
use crate::clock::Clocks;
use crate::copies::Bulk;
use crate::numbered::Spread;
use crate::reached::{lanes, words};
use crate::shadow::{Asking, Clash, Race, Shadow, Stamp, Touch};

/// Where a copy takes its bytes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub address: u64,
    /// How many bytes a `cp.async` reads; which instruction a bulk copy is of.
    pub read: u32,
}

/// The bulk copies out of shared memory that one instruction has issued, up to this lane's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Issue {
    pc: u32,
    warp: u32,
    lane: u32,
    number: u32,
    source: u64,
}

impl Source {
    /// In place of the value of a word: two copies that bring the same from the same place have the same.
    fn stands_for(self, word: u64, to: u64) -> u32 {
        let mut spread = Spread::default();
        spread.write_u64(self.address.wrapping_add(word * 4).wrapping_sub(to));
        spread.write_u64(self.read.into());
        (spread.finish() >> 32) as u32
    }
}

impl BlockRaces {
    /// `cp.async`: shared memory will be written at an unknown time, each lane's from its `source`.
    pub(super) fn copy_started(
        &mut self,
        at: At,
        shared: &[u64; 32],
        bytes: u32,
        source: impl Fn(u32) -> Source,
        mut report: impl FnMut(Race),
    ) {
        for lane in lanes(at.lanes) {
            let address = shared[lane as usize];
            self.write_later(at, lane, (address, bytes), Some(source(lane)), &mut report);
            self.copies.started(at.warp * 32 + lane, address, bytes, at.pc);
        }
    }

    fn write_later(
        &mut self,
        at: At,
        lane: u32,
        (address, bytes): (u64, u32),
        source: Option<Source>,
        report: &mut impl FnMut(Race),
    ) {
        let touch = Touch { write: true, asynchronous: true, copies: true, ..Touch::default() };
        let thread = at.warp * 32 + lane;
        let mut shared = self.shared.hold();
        let stamp = Stamp::new(self.block, self.clocks.step(thread), at.pc, at.warp, (lane, lane), touch);
        shared.overwritten(&self.clocks, stamp, (address, bytes), report);
        for (word, mask) in words(address, bytes.into()) {
            let asking = Asking {
                stamp: stamp.of_bytes(mask),
                floor: self.clocks.floor(thread),
                clocks: &self.clocks,
            };
            let value = source.map(|source| source.stands_for(word, address));
            if let Some((earlier, clash)) = shared.shadow.write(word, &asking, value) {
                report(Race { address: word * 4, earlier, later: asking.stamp, clash });
            }
        }
    }

    /// `cp.async.commit_group`.
    pub(super) fn group_committed(&mut self, at: At) {
        lanes(at.lanes).for_each(|lane| self.copies.committed(at.warp * 32 + lane));
    }

    /// `cp.async.wait_group`: all but the latest `pending` groups have landed.
    pub(super) fn groups_awaited(&mut self, at: At, pending: u32) {
        for lane in lanes(at.lanes) {
            let thread = at.warp * 32 + lane;
            let by = landed_by(&self.clocks, thread);
            for (address, bytes) in self.copies.landed(thread, pending) {
                land(&mut self.shared.hold().shadow, &by, address, bytes);
            }
        }
    }

    /// Threads end: of the first that has copies under way, its lane, and the instruction and the destination of a copy.
    pub(super) fn copies_forgotten(&self, at: At) -> Option<(u32, u32, u64)> {
        lanes(at.lanes).find_map(|lane| {
            let (pc, address) = self.copies.forgotten(at.warp * 32 + lane)?;
            Some((lane, pc, address))
        })
    }

    /// A bulk copy into shared memory was issued by the lane of `at`, to complete on an `mbarrier`.
    pub(super) fn bulk_started(
        &mut self,
        at: At,
        address: u64,
        bytes: u32,
        barrier: u64,
        mut report: impl FnMut(Race),
    ) {
        let lane = at.lanes.trailing_zeros() & 31;
        self.write_later(at, lane, (address, bytes), None, &mut report);
        let thread = at.warp * 32 + lane;
        let by = landed_by(&self.clocks, thread);
        let passes_on = self.clocks.publish(thread);
        self.shared.hold().bulk.push(Bulk { by, passes_on, address, bytes, barrier });
    }

    /// It has landed: who waits for its `mbarrier` knows of it from here on, and of what its thread knew.
    pub(super) fn bulk_landed(&mut self, address: u64, bytes: u32) {
        let mut shared = self.shared.hold();
        let shared = &mut *shared;
        let Some(at) = shared.bulk.iter().position(|bulk| (bulk.address, bulk.bytes) == (address, bytes))
        else {
            return;
        };
        let bulk = shared.bulk.remove(at);
        land(&mut shared.shadow, &bulk.by, address, bytes);
        shared.sync_objects.entry(bulk.barrier).or_default().wide.put(&bulk.passes_on);
    }

    /// The lane of `at` has issued a bulk copy out of shared memory, which may read its source later.
    pub(super) fn bulk_taken(&mut self, at: At, address: u64, bytes: u32) {
        let lane = at.lanes.trailing_zeros() & 31;
        let thread = at.warp * 32 + lane;
        let by = self.reads_later(at, lane);
        self.shared.hold().outstanding.taken((self.block, thread), by, address, bytes);
    }

    fn reads_later(&self, at: At, lane: u32) -> Stamp {
        let touch = Touch { asynchronous: true, ..Touch::default() };
        Stamp::new(self.block, self.clocks.step(at.warp * 32 + lane), at.pc, at.warp, (lane, lane), touch)
    }

    /// `cp.async.bulk.commit_group`.
    pub(super) fn bulk_group_committed(&mut self, at: At) {
        let mut shared = self.shared.hold();
        lanes(at.lanes)
            .for_each(|lane| shared.outstanding.copies_committed((self.block, at.warp * 32 + lane)));
    }

    /// `cp.async.bulk.wait_group`: the sources of all but the latest `pending` groups have been read, by who waits, and
    /// what they write may have been `written`.
    pub(super) fn bulk_groups_awaited(&mut self, at: At, pending: u32, written: bool) {
        for lane in lanes(at.lanes) {
            if written {
                let thread = at.warp * 32 + lane;
                let stores = self.shared.hold().outstanding.stores_awaited((self.block, thread), pending);
                let by = landed_by(&self.clocks, thread);
                let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
                stores.into_iter().for_each(|(start, end)| {
                    land(&mut global.shadow, &by, start, (end - start) as u32);
                });
            }
            let thread = (self.block, at.warp * 32 + lane);
            let taken = self.shared.hold().outstanding.copies_awaited(thread, pending);
            for (start, end) in taken {
                let of = (start, (end - start) as u32);
                // What it could race with was told when the copy was issued, or when it was overwritten.
                let touch = Touch::default();
                self.moved(At { lanes: 1 << lane, ..at }, MemorySpace::Shared, touch, of, None, |_| ());
            }
        }
    }

    /// A warp has issued `wgmma.mma_async`, which may read these pieces later. What it finds there must have been written
    /// before.
    pub(super) fn product_issued(&mut self, at: At, pieces: &[u32], mut report: impl FnMut(Race)) {
        let lane = at.lanes.trailing_zeros() & 31;
        let thread = at.warp * 32 + lane;
        let stamp = self.reads_later(at, lane);
        let mut shared = self.shared.hold();
        for word in pieces.iter().flat_map(|&piece| u64::from(piece / 4)..u64::from(piece / 4 + 4)) {
            let asking =
                Asking { stamp: stamp.of_bytes(0xF), floor: self.clocks.floor(thread), clocks: &self.clocks };
            let found = shared.shadow.look(word, &asking);
            let found = found.or_else(|| unseen(&mut shared.shadow, &self.clocks, thread, word));
            if let Some((earlier, clash)) = found {
                report(Race { address: word * 4, earlier, later: asking.stamp, clash });
            }
        }
        shared.outstanding.product((self.block, at.warp), stamp, pieces);
    }

    /// `wgmma.commit_group`.
    pub(super) fn products_committed(&mut self, at: At) {
        self.shared.hold().outstanding.products_committed((self.block, at.warp));
    }

    /// `wgmma.wait_group`.
    pub(super) fn products_awaited(&mut self, at: At, pending: u32) {
        let steps = std::array::from_fn(|lane| self.clocks.step(at.warp * 32 + lane as u32));
        self.shared.hold().outstanding.products_awaited((self.block, at.warp), pending, steps);
    }

    /// A bulk copy reads or writes memory on behalf of the lane of `at`, as part of its issue; a reduction is atomic for
    /// each element, for the whole device.
    pub(super) fn bulk_moved(
        &mut self,
        at: At,
        space: MemorySpace,
        (write, reduces): (bool, bool),
        of: (u64, u32),
        within: u32,
        mut report: impl FnMut(Race),
    ) {
        let lane = at.lanes.trailing_zeros() & 31;
        let thread = at.warp * 32 + lane;
        let to_global = write && space == MemorySpace::Global;
        if to_global {
            let by = self.reads_later(at, lane);
            self.shared.hold().outstanding.stores((self.block, thread), by, of.0, of.1);
        }
        if !write && space == MemorySpace::Shared {
            self.issued(at, lane, of.0);
            let later = self.reads_later(at, lane);
            let mut shared = self.shared.hold();
            for (word, _) in words(of.0, of.1.into()) {
                if let Some((earlier, clash)) = unseen(&mut shared.shadow, &self.clocks, thread, word) {
                    report(Race { address: word * 4, earlier, later, clash });
                }
            }
        }
        let (strong, wide, asynchronous, copies) = (reduces, reduces, to_global, true);
        let touch = Touch { write, strong, wide, asynchronous, copies, ..Touch::default() };
        // All lanes of a warp may store one tile, as CUTLASS's epilogues do: the bytes are the same.
        let Issue { number, source, .. } = self.issue;
        let source = Source { address: source + u64::from(within), read: number };
        self.moved(at, space, touch, of, (to_global && !reduces).then_some(source), report);
    }

    fn issued(&mut self, at: At, lane: u32, source: u64) {
        let same = (self.issue.pc, self.issue.warp) == (at.pc, at.warp) && self.issue.lane < lane;
        let number = if same { self.issue.number } else { UNKNOWN.fetch_add(1, Ordering::Relaxed) };
        self.issue = Issue { pc: at.pc, warp: at.warp, lane, number, source };
    }

    fn moved(
        &mut self,
        at: At,
        space: MemorySpace,
        touch: Touch,
        (address, bytes): (u64, u32),
        source: Option<Source>,
        mut report: impl FnMut(Race),
    ) {
        let lane = at.lanes.trailing_zeros() & 31;
        let thread = at.warp * 32 + lane;
        let stamp = Stamp::new(self.block, self.clocks.step(thread), at.pc, at.warp, (lane, lane), touch);
        let global = self.global.clone();
        let mut global = match space {
            MemorySpace::Global => Some(global.lock().unwrap_or_else(PoisonError::into_inner)),
            _ => None,
        };
        let mut shared = self.shared.hold();
        let shadow = match &mut global {
            Some(global) => &mut global.shadow,
            None => &mut shared.shadow,
        };
        for (word, mask) in words(address, bytes.into()) {
            let asking = Asking {
                stamp: stamp.of_bytes(mask),
                floor: self.clocks.floor(thread),
                clocks: &self.clocks,
            };
            let found = match touch.write {
                true => {
                    let unknown = || UNKNOWN.fetch_add(1, Ordering::Relaxed);
                    let value = source.map_or_else(unknown, |source| source.stands_for(word, address));
                    shadow.write(word, &asking, Some(value))
                }
                false => shadow.read(word, &asking),
            };
            if let Some((earlier, clash)) = found {
                report(Race { address: word * 4, earlier, later: asking.stamp, clash });
            }
        }
    }

    /// A lane's copies so far land in a phase of an `mbarrier`, for its waiters.
    pub(super) fn copies_tied(&mut self, at: At, barrier: u64, parity: bool) {
        lanes(at.lanes).for_each(|lane| self.copies.tied(at.warp * 32 + lane, barrier, parity));
    }
}

/// A plain store to a word that a bulk copy or product reads for a thread: it is ordered before it, yet no fence between the
/// proxies covers it. Of what other blocks of the cluster have stored nothing is said.
fn unseen(shadow: &mut Shadow, clocks: &Clocks, thread: u32, word: u64) -> Option<(Stamp, Clash)> {
    let write = shadow.last_write(word)?;
    let of = write.warp() * 32 + write.first();
    let plain = !write.copies() && write.block == clocks.block();
    let missing =
        plain && clocks.knows(thread, write.block, of, write.step) && !clocks.is_proxied(of, write.step);
    missing.then_some((write, Clash::NoProxyFence))
}

/// Whose writes copies of a thread are when they have landed: the thread's, at its present step.
pub(super) fn landed_by(clocks: &Clocks, thread: u32) -> Stamp {
    let touch = Touch { write: true, ..Touch::default() };
    let lane = thread % 32;
    Stamp::new(clocks.block(), clocks.step(thread), 0, thread / 32, (lane, lane), touch)
}

/// Makes a range the writes of `by`.
pub(super) fn land(shadow: &mut Shadow, by: &Stamp, address: u64, bytes: u32) {
    words(address, bytes.into()).for_each(|(word, _)| shadow.land(word, by));
}
