//! Who touched each word last: the shadow of memory that the race check keeps.
//!
//! A word is 4 aligned bytes; what touches only some of them says so in a mask. Each word has room for its latest write
//! and its latest read; what these two cannot hold (several readers that do not know of each other, writes to different
//! bytes) lies in a side table. A touch is by lanes of one warp at one step, so a broadcast takes one entry.

use std::collections::HashMap;

use crate::clock::{Clocks, Step};

/// How memory was touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// Whether it was changed.
    pub write: bool,
    /// Whether the access is atomic, volatile or otherwise ordered, and so may meet its like.
    pub strong: bool,
    /// Whether a strong access reaches beyond the block.
    pub wide: bool,
    /// Whether an asynchronous copy does it, at a time nobody knows until somebody has waited for it.
    pub asynchronous: bool,
}

/// Lanes of one warp that touched a word at one step by one instruction.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Block.
    pub block: u32,
    /// Warp in the block.
    pub warp: u32,
    /// Step of the lanes; 0 marks an empty entry.
    pub step: Step,
    /// The instruction.
    pub pc: u32,
    /// Which lanes.
    pub lanes: u32,
    /// Which bytes of the word.
    pub bytes: u8,
    /// How.
    pub touch: Touch,
}

impl Entry {
    const EMPTY: Entry = Entry {
        block: 0,
        warp: 0,
        step: 0,
        pc: 0,
        lanes: 0,
        bytes: 0,
        touch: Touch { write: false, strong: false, wide: false, asynchronous: false },
    };

    fn is_empty(&self) -> bool {
        self.step == 0
    }

    /// Same lanes' warp, step and instruction: the two can be one entry.
    fn joins(&self, other: &Entry) -> bool {
        (self.block, self.warp, self.step, self.pc, self.bytes)
            == (other.block, other.warp, other.step, other.pc, other.bytes)
            && self.touch == other.touch
    }

    /// The lanes of this entry whose touch does not lie in `thread`'s past.
    fn unknown_to(&self, thread: u32, clocks: &Clocks) -> u32 {
        let mut unknown = 0;
        let mut lanes = self.lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            lanes &= lanes - 1;
            if !clocks.knows(thread, self.block, self.warp * 32 + lane, self.step) {
                unknown |= 1 << lane;
            }
        }
        unknown
    }

    /// Whether two touches of one byte, unordered, are a race.
    fn clashes(&self, other: &Entry) -> bool {
        if !(self.touch.write || other.touch.write) {
            return false;
        }
        let reach = self.block == other.block || (self.touch.wide && other.touch.wide);
        !(self.touch.strong && other.touch.strong && reach)
    }
}

/// One word.
#[derive(Debug, Clone, Copy)]
struct Word {
    write: Entry,
    read: Entry,
    /// Index into the side table, from 1.
    more: u32,
}

const WORDS_A_PAGE: usize = 1024;

/// Entries of a word beyond this are dropped, oldest first: a race with one reader is as good as with another.
const MOST_ENTRIES: usize = 40;

/// The shadow of one address space.
#[derive(Debug, Default)]
pub struct Shadow {
    pages: HashMap<u64, Box<[Word; WORDS_A_PAGE]>>,
    more: Vec<Vec<Entry>>,
    free: Vec<u32>,
}

impl Shadow {
    /// Notes a touch of `bytes` (a mask) of the word at `address / 4` by the one lane of `entry`, and returns an earlier
    /// touch that it races with, cut down to the lanes concerned.
    pub fn touch(&mut self, word: u64, entry: &Entry, clocks: &Clocks) -> Option<Entry> {
        debug_assert!(entry.lanes.is_power_of_two());
        let Shadow { pages, more, free } = self;
        let page = pages.entry(word / WORDS_A_PAGE as u64).or_insert_with(|| {
            Box::new([Word { write: Entry::EMPTY, read: Entry::EMPTY, more: 0 }; WORDS_A_PAGE])
        });
        let word = &mut page[(word % WORDS_A_PAGE as u64) as usize];
        // The same instruction at the same step: another lane of a broadcast.
        if !entry.touch.write && word.read.joins(entry) && word.write.is_empty() && word.more == 0 {
            word.read.lanes |= entry.lanes;
            return None;
        }
        let thread = entry.warp * 32 + entry.lanes.trailing_zeros();
        let race = |earlier: &Entry| -> Option<Entry> {
            if earlier.is_empty() || earlier.bytes & entry.bytes == 0 || !earlier.clashes(entry) {
                return None;
            }
            let unknown =
                if earlier.touch.asynchronous { earlier.lanes } else { earlier.unknown_to(thread, clocks) };
            (unknown != 0).then_some(Entry { lanes: unknown, ..*earlier })
        };
        let mut found = race(&word.write);
        if entry.touch.write {
            found = found.or_else(|| race(&word.read));
        }
        if word.more != 0 {
            let side = &more[word.more as usize - 1];
            found = found.or_else(|| side.iter().find_map(race));
        }
        let mut keep = |entry: Entry| {
            if word.more == 0 {
                let index = free.pop().unwrap_or_else(|| {
                    more.push(Vec::new());
                    more.len() as u32
                });
                word.more = index;
            }
            let side = &mut more[word.more as usize - 1];
            if let Some(same) = side.iter_mut().find(|e| e.joins(&entry)) {
                same.lanes |= entry.lanes;
                return;
            }
            if side.len() >= MOST_ENTRIES {
                side.remove(0);
            }
            side.push(entry);
        };
        if entry.touch.write {
            // What was touched of the bytes written now is either ordered before this write, or was just reported.
            for old in [&mut word.write, &mut word.read] {
                old.bytes &= !entry.bytes;
                if old.bytes == 0 {
                    *old = Entry::EMPTY;
                }
            }
            if !word.write.is_empty() {
                keep(word.write);
            }
            word.write = *entry;
            if word.more != 0 {
                let side = &mut more[word.more as usize - 1];
                for old in side.iter_mut().filter(|e| e.touch.write || e.bytes & entry.bytes != 0) {
                    old.bytes &= !entry.bytes;
                }
                side.retain(|e| e.bytes != 0);
                if side.is_empty() {
                    free.push(word.more);
                    word.more = 0;
                }
            }
        } else if word.read.joins(entry) {
            word.read.lanes |= entry.lanes;
        } else {
            let covered = word.read.bytes & !entry.bytes == 0 && word.read.unknown_to(thread, clocks) == 0;
            if !word.read.is_empty() && !covered {
                keep(word.read);
            }
            word.read = *entry;
        }
        found
    }

    /// The write that an asynchronous copy made has now landed for `entry`'s lane: it counts as that lane's at `entry`'s
    /// step from here on.
    pub fn land(&mut self, word: u64, entry: &Entry) {
        if let Some(page) = self.pages.get_mut(&(word / WORDS_A_PAGE as u64)) {
            let write = &mut page[(word % WORDS_A_PAGE as u64) as usize].write;
            if write.touch.asynchronous
                && (write.block, write.warp, write.lanes) == (entry.block, entry.warp, entry.lanes)
            {
                write.step = entry.step;
                write.touch.asynchronous = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const READ: Touch = Touch { write: false, strong: false, wide: false, asynchronous: false };
    const WRITE: Touch = Touch { write: true, ..READ };
    const ATOMIC: Touch = Touch { write: true, strong: true, wide: true, asynchronous: false };

    fn by(clocks: &Clocks, thread: u32, bytes: u8, touch: Touch) -> Entry {
        Entry {
            block: 0,
            warp: thread / 32,
            step: clocks.step(thread),
            pc: thread,
            lanes: 1 << (thread % 32),
            bytes,
            touch,
        }
    }

    fn meet(clocks: &mut Clocks, threads: std::ops::Range<u32>) {
        let mut met = clocks.nothing();
        for thread in threads.clone() {
            met.gather(&clocks.publish(thread));
        }
        let met = Arc::new(met);
        threads.for_each(|thread| clocks.learn(thread, &met));
    }

    #[test]
    fn a_write_races_with_an_unordered_read_and_not_with_an_ordered_one() {
        let (mut clocks, mut shadow) = (Clocks::new(0, 64), Shadow::default());
        assert!(shadow.touch(5, &by(&clocks, 0, 15, WRITE), &clocks).is_none());
        assert!(shadow.touch(5, &by(&clocks, 40, 15, READ), &clocks).is_some(), "no barrier between");
        meet(&mut clocks, 0..64);
        assert!(shadow.touch(5, &by(&clocks, 41, 15, READ), &clocks).is_none());
        assert!(
            shadow.touch(5, &by(&clocks, 0, 15, WRITE), &clocks).is_some(),
            "write after read, no barrier"
        );
    }

    #[test]
    fn every_reader_is_remembered() {
        let (mut clocks, mut shadow) = (Clocks::new(0, 64), Shadow::default());
        for thread in 0..64 {
            assert!(shadow.touch(0, &by(&clocks, thread, 15, READ), &clocks).is_none());
        }
        // Thread 3 meets all but thread 50, then writes.
        let mut met = clocks.nothing();
        for thread in (0..64).filter(|&t| t != 50) {
            met.gather(&clocks.publish(thread));
        }
        clocks.learn(3, &Arc::new(met));
        let earlier = shadow.touch(0, &by(&clocks, 3, 15, WRITE), &clocks).expect("thread 50 read it");
        assert_eq!((earlier.warp, earlier.lanes), (1, 1 << 18));
    }

    #[test]
    fn bytes_of_a_word_are_apart() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        for thread in 0..4 {
            assert!(shadow.touch(9, &by(&clocks, thread, 1 << thread, WRITE), &clocks).is_none());
        }
        assert!(shadow.touch(9, &by(&clocks, 3, 2, READ), &clocks).is_some());
        assert!(shadow.touch(9, &by(&clocks, 3, 8, READ), &clocks).is_none());
    }

    #[test]
    fn atomics_meet_each_other_but_no_plain_write() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        assert!(shadow.touch(1, &by(&clocks, 0, 15, ATOMIC), &clocks).is_none());
        assert!(shadow.touch(1, &by(&clocks, 1, 15, ATOMIC), &clocks).is_none());
        assert!(shadow.touch(1, &by(&clocks, 2, 15, WRITE), &clocks).is_some());
    }

    #[test]
    fn a_block_scope_atomic_does_not_order_with_another_blocks() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        let narrow = Touch { wide: false, ..ATOMIC };
        let elsewhere = Entry { block: 3, ..by(&clocks, 0, 15, narrow) };
        assert!(shadow.touch(1, &elsewhere, &Clocks::new(3, 4)).is_none());
        assert!(shadow.touch(1, &by(&clocks, 1, 15, narrow), &clocks).is_some());
    }

    #[test]
    fn an_asynchronous_copy_races_until_it_has_landed() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        let copy = by(&clocks, 0, 15, Touch { asynchronous: true, ..WRITE });
        assert!(shadow.touch(2, &copy, &clocks).is_none());
        assert!(shadow.touch(2, &by(&clocks, 0, 15, READ), &clocks).is_some(), "even for the thread itself");
        shadow.land(2, &by(&clocks, 0, 15, WRITE));
        assert!(shadow.touch(2, &by(&clocks, 0, 15, READ), &clocks).is_none());
    }
}
