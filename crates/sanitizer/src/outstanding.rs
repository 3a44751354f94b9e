//! Shared memory that asynchronous instructions may still read: the sources of bulk copies out of it, and the operands of
//! `wgmma`, until their group is awaited; and the global memory that bulk copies may still write.
//!
//! The operands of a product have been read when one warp of the warpgroup has waited. Who writes there must be ordered
//! behind such a wait, so these are kept until one is.

use std::collections::{HashMap, VecDeque};

use crate::clock::{Clocks, Step};
use crate::shadow::Stamp;

/// One such read.
#[derive(Debug)]
struct Read {
    by: Stamp,
    /// `None` until it is committed.
    group: Option<u32>,
    /// Ranges of bytes, in order.
    ranges: Vec<(u64, u64)>,
}

impl Read {
    fn touches(&self, address: u64, end: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.1 <= address);
        self.ranges.get(after).is_some_and(|range| range.0 < end)
    }
}

/// Reads of one thread's bulk copies, or of one warp's products.
#[derive(Debug, Default)]
struct Queue {
    reads: Vec<Read>,
    committed: u32,
}

impl Queue {
    fn commit(&mut self) {
        let group = self.committed;
        self.reads.iter_mut().for_each(|read| read.group = read.group.or(Some(group)));
        self.committed += 1;
    }

    /// Takes out those of all groups but the latest `pending`.
    fn done(&mut self, pending: u32) -> Vec<Read> {
        let groups = self.committed.saturating_sub(pending);
        let done = |read: &mut Read| read.group.is_some_and(|group| group < groups);
        self.reads.extract_if(.., done).collect()
    }
}

/// A product that is done.
#[derive(Debug)]
struct Done {
    read: Read,
    /// Block, and number of the warpgroup.
    group: (u32, u32),
    /// Warps that waited for it, with the steps of their lanes at the time.
    waits: Vec<(u32, [Step; 32])>,
}

/// The most finished products to keep until their operands are overwritten; of more the oldest are forgotten.
const MOST_DONE: usize = 256;

/// Uses for which shared memory may still be read.
#[derive(Debug, Default)]
pub struct Outstanding {
    /// By block and thread.
    copies: HashMap<(u32, u32), Queue>,
    /// By block and warp.
    products: HashMap<(u32, u32), Queue>,
    done: VecDeque<Done>,
    /// Writes of bulk copies to global memory, by block and thread.
    stores: HashMap<(u32, u32), Queue>,
    /// The bytes that all of them lie in; empty if there are none.
    within: (u64, u64),
}

impl Outstanding {
    /// A thread has issued a bulk copy out of shared memory.
    pub fn taken(&mut self, thread: (u32, u32), by: Stamp, address: u64, bytes: u32) {
        let range = (address, address + u64::from(bytes));
        let read = Read { by, group: None, ranges: vec![range] };
        self.copies.entry(thread).or_default().reads.push(read);
        self.widen(range);
    }

    /// A thread has issued a bulk copy into global memory.
    pub fn stores(&mut self, thread: (u32, u32), by: Stamp, address: u64, bytes: u32) {
        let ranges = vec![(address, address + u64::from(bytes))];
        self.stores.entry(thread).or_default().reads.push(Read { by, group: None, ranges });
    }

    /// A thread closes its bulk copies into a group.
    pub fn copies_committed(&mut self, thread: (u32, u32)) {
        self.copies.entry(thread).or_default().commit();
        self.stores.entry(thread).or_default().commit();
    }

    /// A thread has waited until its bulk copies have written: the ranges of global memory.
    pub fn stores_awaited(&mut self, thread: (u32, u32), pending: u32) -> Vec<(u64, u64)> {
        let done = self.stores.get_mut(&thread).map(|queue| queue.done(pending)).unwrap_or_default();
        done.into_iter().flat_map(|read| read.ranges).collect()
    }

    /// A thread has waited for its bulk copies: the ranges that have been read.
    pub fn copies_awaited(&mut self, thread: (u32, u32), pending: u32) -> Vec<(u64, u64)> {
        let Some(queue) = self.copies.get_mut(&thread) else { return Vec::new() };
        let done = queue.done(pending);
        self.narrow();
        done.into_iter().flat_map(|read| read.ranges).collect()
    }

    /// A warp has issued a product that reads pieces of 16 bytes.
    pub fn product(&mut self, warp: (u32, u32), by: Stamp, pieces: &[u32]) {
        let mut pieces = pieces.to_vec();
        pieces.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for start in pieces.into_iter().map(u64::from) {
            match ranges.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(start + 16),
                _ => ranges.push((start, start + 16)),
            }
        }
        ranges.iter().for_each(|&range| self.widen(range));
        self.products.entry(warp).or_default().reads.push(Read { by, group: None, ranges });
    }

    /// A warp closes its products into a group.
    pub fn products_committed(&mut self, warp: (u32, u32)) {
        self.products.entry(warp).or_default().commit();
    }

    /// A warp has waited for its products, its lanes at these steps. A product is its whole warpgroup's: one warp that
    /// sees it done, and tells so, speaks for the four.
    pub fn products_awaited(&mut self, (block, warp): (u32, u32), pending: u32, steps: [Step; 32]) {
        let group = (block, warp / 4);
        for warp in warp / 4 * 4..warp / 4 * 4 + 4 {
            if let Some(queue) = self.products.get_mut(&(block, warp)) {
                let done = queue.done(pending).into_iter();
                self.done.extend(done.map(|read| Done { read, group, waits: Vec::new() }));
            }
        }
        let theirs = self.done.iter_mut().filter(|done| done.group == group);
        for done in theirs.filter(|done| done.waits.iter().all(|&(of, _)| of != warp)) {
            done.waits.push((warp, steps));
        }
        self.done.drain(..self.done.len().saturating_sub(MOST_DONE));
        self.narrow();
    }

    /// Whose operand a thread overwrites here without being ordered behind a wait for the product. Where it is ordered,
    /// the product is over.
    pub fn operand_of(&mut self, clocks: &Clocks, thread: u32, address: u64, bytes: u64) -> Option<Stamp> {
        let end = address.saturating_add(bytes);
        if self.done.is_empty() || !self.meets(address, end) {
            return None;
        }
        let mut found = None;
        let before = self.done.len();
        self.done.retain(|done| {
            if !done.read.touches(address, end) {
                return true;
            }
            let known = done.waits.iter().any(|(warp, steps)| {
                (0..)
                    .zip(steps)
                    .any(|(lane, &step)| clocks.knows(thread, done.group.0, warp * 32 + lane, step))
            });
            if !known {
                found = Some(done.read.by);
            }
            // Told once is enough.
            false
        });
        if self.done.len() != before {
            self.narrow();
        }
        found
    }

    /// Who may still read one of these bytes.
    #[inline]
    pub fn reader(&self, address: u64, bytes: u64) -> Option<Stamp> {
        let end = address.saturating_add(bytes);
        if self.meets(address, end) { self.find(address, end) } else { None }
    }

    /// Whether a range of bytes may hold some of them.
    #[inline]
    pub fn meets(&self, start: u64, end: u64) -> bool {
        start < self.within.1 && self.within.0 < end
    }

    fn find(&self, address: u64, end: u64) -> Option<Stamp> {
        let mut all = self.copies.values().chain(self.products.values()).flat_map(|queue| &queue.reads);
        all.find(|read| read.touches(address, end)).map(|read| read.by)
    }

    fn widen(&mut self, (start, end): (u64, u64)) {
        let (low, high) = self.within;
        self.within = if low == high { (start, end) } else { (low.min(start), high.max(end)) };
    }

    fn narrow(&mut self) {
        let mut queues = self.copies.values().chain(self.products.values());
        if self.done.is_empty() && queues.all(|queue| queue.reads.is_empty()) {
            self.within = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::Touch;

    fn by(warp: u32) -> Stamp {
        Stamp::new(0, 1, 7, warp, (0, 0), Touch::default())
    }

    #[test]
    fn the_source_of_a_copy_is_in_use_until_its_group_is_awaited() {
        let mut outstanding = Outstanding::default();
        outstanding.taken((0, 3), by(0), 256, 64);
        outstanding.copies_committed((0, 3));
        outstanding.taken((0, 3), by(0), 512, 64);
        outstanding.copies_committed((0, 3));
        assert!(outstanding.reader(319, 1).is_some());
        assert!(outstanding.reader(320, 4).is_none(), "between the two");
        assert_eq!(outstanding.copies_awaited((0, 3), 1), [(256, 320)]);
        assert!(outstanding.reader(256, 64).is_none() && outstanding.reader(575, 8).is_some());
        assert_eq!(outstanding.copies_awaited((0, 3), 0), [(512, 576)]);
        assert!(outstanding.reader(0, 4096).is_none());
    }

    #[test]
    fn one_warp_waits_for_its_warpgroup() {
        let mut outstanding = Outstanding::default();
        for warp in [0, 1, 4] {
            outstanding.product((0, warp), by(warp), &[64, 32, 48, 128]);
            outstanding.products_committed((0, warp));
        }
        assert!(outstanding.reader(79, 1).is_some() && outstanding.reader(80, 48).is_none());
        outstanding.products_awaited((0, 1), 0, [1; 32]);
        assert_eq!(
            outstanding.reader(128, 4).map(|by| by.warp()),
            Some(4),
            "the other warpgroup has not waited"
        );
        outstanding.products_awaited((0, 4), 0, [1; 32]);
        assert!(outstanding.reader(128, 4).is_none());
    }

    #[test]
    fn who_writes_an_operand_has_met_a_warp_that_waited() {
        let mut outstanding = Outstanding::default();
        let mut clocks = Clocks::new(0, 256);
        outstanding.product((0, 0), by(0), &[64]);
        outstanding.products_committed((0, 0));
        let steps = std::array::from_fn(|lane| clocks.step(lane as u32));
        outstanding.products_awaited((0, 0), 0, steps);
        assert!(outstanding.operand_of(&clocks, 3, 64, 4).is_none(), "its own warp");
        outstanding.product((0, 0), by(0), &[64]);
        outstanding.products_committed((0, 0));
        outstanding.products_awaited((0, 0), 0, steps);
        assert!(outstanding.operand_of(&clocks, 130, 80, 4).is_none(), "beside it");
        assert_eq!(outstanding.operand_of(&clocks, 130, 76, 8), Some(by(0)));
        outstanding.product((0, 0), by(0), &[64]);
        outstanding.products_committed((0, 0));
        outstanding.products_awaited((0, 0), 0, steps);
        let mut meet = clocks.meet();
        [5, 130].into_iter().for_each(|thread| clocks.arrive(thread, &mut meet));
        let met = meet.over();
        clocks.leave(130, &met);
        assert!(outstanding.operand_of(&clocks, 130, 64, 4).is_none(), "it met lane 5");
    }
}
