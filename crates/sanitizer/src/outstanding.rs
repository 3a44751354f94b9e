//! Shared memory that asynchronous instructions may still read: the sources of bulk copies out of it, and the operands of
//! `wgmma`, until somebody has waited for their group.

use std::collections::HashMap;

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

/// What shared memory may still be read for.
#[derive(Debug, Default)]
pub struct Outstanding {
    /// By block and thread.
    copies: HashMap<(u32, u32), Queue>,
    /// By block and warp.
    products: HashMap<(u32, u32), Queue>,
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

    /// A thread closes its bulk copies into a group.
    pub fn copies_committed(&mut self, thread: (u32, u32)) {
        self.copies.entry(thread).or_default().commit();
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

    /// A warp has waited for its products. A product is its whole warpgroup's: one warp that sees it done, and tells so,
    /// speaks for the four.
    pub fn products_awaited(&mut self, warp: (u32, u32), pending: u32) {
        let (block, warp) = warp;
        let group = warp / 4 * 4;
        for warp in group..group + 4 {
            if let Some(queue) = self.products.get_mut(&(block, warp)) {
                queue.done(pending);
            }
        }
        self.narrow();
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
        all.find_map(|read| {
            let after = read.ranges.partition_point(|range| range.1 <= address);
            read.ranges.get(after).is_some_and(|range| range.0 < end).then_some(read.by)
        })
    }

    fn widen(&mut self, (start, end): (u64, u64)) {
        let (low, high) = self.within;
        self.within = if low == high { (start, end) } else { (low.min(start), high.max(end)) };
    }

    fn narrow(&mut self) {
        let mut queues = self.copies.values().chain(self.products.values());
        if queues.all(|queue| queue.reads.is_empty()) {
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
        outstanding.products_awaited((0, 1), 0);
        assert_eq!(
            outstanding.reader(128, 4).map(|by| by.warp()),
            Some(4),
            "the other warpgroup has not waited"
        );
        outstanding.products_awaited((0, 4), 0);
        assert!(outstanding.reader(128, 4).is_none());
    }
}
