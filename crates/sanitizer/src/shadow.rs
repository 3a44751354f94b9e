//! Who touched each word last: the shadow of memory that the race check keeps.
//!
//! A word is 4 aligned bytes; what touches only some of them says so in a mask. Each word has room for its latest write
//! and two reads, 56 bytes in all; what these cannot hold (more readers that do not know of each other, writes to
//! different bytes) lies in a side table. Lanes of one warp that read a word by one instruction take one stamp, which
//! keeps the first and the last of them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::clock::{Clocks, Step};

/// How memory was touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touch {
    /// Whether it was changed.
    pub write: bool,
    /// Whether the access is atomic, volatile or otherwise ordered, and so may meet its like.
    pub strong: bool,
    /// Whether a strong access reaches beyond the block.
    pub wide: bool,
    /// Whether it is strong for being `volatile`.
    pub volatile: bool,
    /// Whether an asynchronous copy does it, at a time nobody knows until somebody has waited for it.
    pub asynchronous: bool,
}

/// Lanes of one warp that touched a word at one step by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Block.
    pub block: u32,
    /// Step of the lanes; 0 marks an empty stamp.
    step: Step,
    /// The instruction.
    pub pc: u32,
    /// First lane, last lane, warp, bytes of the word, and how.
    who: u32,
}

const FIRST: u32 = 0;
const LAST: u32 = 5;
const WARP: u32 = 10;
const BYTES: u32 = 16;
const WRITE: u32 = 1 << 20;
const STRONG: u32 = 1 << 21;
const WIDE: u32 = 1 << 22;
const VOLATILE: u32 = 1 << 23;
const ASYNCHRONOUS: u32 = 1 << 24;

impl Stamp {
    const EMPTY: Stamp = Stamp { block: 0, step: 0, pc: 0, who: 0 };

    /// Of lanes `first` to `last` of a warp.
    #[inline]
    pub fn new(block: u32, step: Step, pc: u32, warp: u32, (first, last): (u32, u32), touch: Touch) -> Self {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let who = first << FIRST
            | last << LAST
            | warp << WARP
            | flag(touch.write, WRITE)
            | flag(touch.strong, STRONG)
            | flag(touch.wide, WIDE)
            | flag(touch.volatile, VOLATILE)
            | flag(touch.asynchronous, ASYNCHRONOUS);
        Stamp { block, step, pc, who }
    }

    /// The same for these bytes of the word (a mask).
    #[inline]
    pub fn of_bytes(self, bytes: u8) -> Self {
        Stamp { who: self.who & !(0xF << BYTES) | u32::from(bytes) << BYTES, ..self }
    }

    /// The first lane.
    #[inline]
    pub fn first(&self) -> u32 {
        self.who >> FIRST & 31
    }

    #[inline]
    fn last(&self) -> u32 {
        self.who >> LAST & 31
    }

    /// The warp.
    #[inline]
    pub fn warp(&self) -> u32 {
        self.who >> WARP & 31
    }

    #[inline]
    fn bytes(&self) -> u32 {
        self.who >> BYTES & 0xF
    }

    /// Whether memory was changed.
    pub fn writes(&self) -> bool {
        self.who & WRITE != 0
    }

    /// Whether the access is atomic or volatile.
    pub fn is_strong(&self) -> bool {
        self.who & STRONG != 0
    }

    /// Whether it is a copy that nobody has waited for.
    pub fn is_asynchronous(&self) -> bool {
        self.who & ASYNCHRONOUS != 0
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.step == 0
    }

    /// The same warp, step and instruction: the two can be one stamp.
    #[inline]
    fn joins(&self, other: &Stamp) -> bool {
        const SPAN: u32 = 31 << FIRST | 31 << LAST;
        (self.block, self.step, self.pc, self.who & !SPAN)
            == (other.block, other.step, other.pc, other.who & !SPAN)
    }

    #[inline]
    fn widen(&mut self, other: &Stamp) {
        let (first, last) = (self.first().min(other.first()), self.last().max(other.last()));
        self.who = self.who & !(31 << FIRST | 31 << LAST) | first << FIRST | last << LAST;
    }

    /// Whether all threads of the block, or the one that asks, know of it without looking further.
    #[inline]
    fn is_old(&self, later: &Stamp, floor: Step) -> bool {
        let one = self.who & (31 << FIRST) == self.who >> LAST & 31;
        self.block == later.block
            && (self.step <= floor
                || one && (self.who ^ later.who) & (31 << WARP | 31 << FIRST | 31 << LAST) == 0)
    }
}

/// How two accesses clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clash {
    /// Nothing orders them.
    Unordered,
    /// The later one has read a flag that orders them, and lacks the fence that makes it count.
    NoAcquire,
    /// Nothing orders them, and both write the same.
    Equal,
}

/// One word.
#[derive(Debug, Clone, Copy)]
struct Word {
    write: Stamp,
    reads: [Stamp; 2],
    /// What was written last.
    value: u32,
    /// Index into the side table, from 1.
    more: u32,
}

const EMPTY: Word = Word { write: Stamp::EMPTY, reads: [Stamp::EMPTY; 2], value: 0, more: 0 };

/// Words of a page: small, because each block has pages of its own for its shared memory.
const PAGE: u64 = 256;

/// Stamps in the side table of one word; beyond it the oldest is dropped: a race with one reader is as good as another.
const MOST: usize = 40;

/// Spreads the numbers of pages, which come in rows.
#[derive(Debug, Default, Clone)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

/// A map by numbers.
pub type Numbered<V> = HashMap<u64, V, BuildHasherDefault<Spread>>;

/// The shadow of one address space.
#[derive(Debug, Default)]
pub struct Shadow {
    index: Numbered<u32>,
    pages: Vec<Box<[Word]>>,
    /// The page that was asked for last.
    last: Option<(u64, u32)>,
    more: Vec<Vec<(Stamp, u32)>>,
    free: Vec<u32>,
    /// Whether it is shared memory, where volatile accesses of one warp's lanes are meant to be in step, and are not.
    shared: bool,
}

/// What is asked of the shadow: one touch by lanes that know the same.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Who, how.
    pub stamp: Stamp,
    /// Up to this step all is known.
    pub floor: Step,
    /// For the rest.
    pub clocks: &'a Clocks,
}

impl Asking<'_> {
    /// How an earlier touch clashes with this one, if it does; at least one of the two writes.
    #[inline]
    fn clash(&self, earlier: &Stamp, shared: bool) -> Option<Clash> {
        let asynchronous = earlier.who & ASYNCHRONOUS != 0;
        if earlier.bytes() & self.stamp.bytes() == 0
            || !asynchronous && earlier.is_old(&self.stamp, self.floor)
        {
            return None;
        }
        if earlier.is_empty() { None } else { self.clash_slowly(earlier, shared) }
    }

    fn clash_slowly(&self, earlier: &Stamp, shared: bool) -> Option<Clash> {
        let later = &self.stamp;
        let both = earlier.who & later.who;
        if both & STRONG != 0 && (earlier.block == later.block || both & WIDE != 0) {
            // Lanes that keep in step by `volatile` alone did so on chips that ran a warp as one.
            let in_step = shared && both & VOLATILE != 0 && earlier.warp() == later.warp();
            if !in_step {
                return None;
            }
        }
        if earlier.is_asynchronous() {
            return Some(Clash::Unordered);
        }
        let mut clash = None;
        for lane in [later.first(), later.last()] {
            let thread = later.warp() * 32 + lane;
            for of in [earlier.first(), earlier.last()] {
                let of = earlier.warp() * 32 + of;
                if self.clocks.knows(thread, earlier.block, of, earlier.step) {
                    continue;
                }
                if !self.clocks.has_read_of(thread, earlier.block, of, earlier.step) {
                    return Some(Clash::Unordered);
                }
                // A store that depends on the flag cannot come before it, and a volatile load passes the caches.
                if later.who & (WRITE | STRONG) == 0 {
                    clash = Some(Clash::NoAcquire);
                }
            }
        }
        clash
    }
}

impl Shadow {
    /// Of a block's shared memory.
    pub fn of_shared() -> Self {
        Shadow { shared: true, ..Shadow::default() }
    }

    #[inline]
    fn page(&mut self, number: u64) -> u32 {
        match self.last {
            Some((last, index)) if last == number => index,
            _ => self.find_page(number),
        }
    }

    fn find_page(&mut self, number: u64) -> u32 {
        let pages = &mut self.pages;
        let index = *self.index.entry(number).or_insert_with(|| {
            pages.push(vec![EMPTY; PAGE as usize].into());
            pages.len() as u32 - 1
        });
        self.last = Some((number, index));
        index
    }

    /// Bytes of the shadow.
    pub fn bytes(&self) -> usize {
        let side: usize = self.more.iter().map(|side| size_of_val(side.as_slice())).sum();
        self.pages.len() * PAGE as usize * size_of::<Word>() + side
    }

    /// Notes a read of the word; an earlier write that it races with.
    #[inline]
    pub fn read(&mut self, word: u64, asking: &Asking<'_>) -> Option<(Stamp, Clash)> {
        let page = self.page(word / PAGE) as usize;
        let shared = self.shared;
        let at = &mut self.pages[page][(word % PAGE) as usize];
        let found = asking.clash(&at.write, shared).map(|clash| (at.write, clash));
        if at.more != 0 {
            return self.read_more(page, word, asking, found);
        }
        let stamp = &asking.stamp;
        for slot in &mut at.reads {
            if slot.joins(stamp) {
                slot.widen(stamp);
                return found;
            }
        }
        for slot in &mut at.reads {
            if slot.is_empty() || slot.bytes() & !stamp.bytes() == 0 && slot.is_old(stamp, asking.floor) {
                *slot = *stamp;
                return found;
            }
        }
        // Readers of other blocks are many and alike: the first and the latest will do.
        let old = std::mem::replace(&mut at.reads[1], *stamp);
        if old.block == stamp.block {
            self.keep(page, word, old, 0);
        }
        found
    }

    #[inline(never)]
    fn read_more(
        &mut self,
        page: usize,
        word: u64,
        asking: &Asking<'_>,
        mut found: Option<(Stamp, Clash)>,
    ) -> Option<(Stamp, Clash)> {
        let shared = self.shared;
        let at = &mut self.pages[page][(word % PAGE) as usize];
        let side = &mut self.more[at.more as usize - 1];
        let stamp = &asking.stamp;
        side.retain(|(old, _)| {
            if old.writes() {
                found = found.or_else(|| asking.clash(old, shared).map(|clash| (*old, clash)));
                return true;
            }
            !(old.bytes() & !stamp.bytes() == 0 && old.is_old(stamp, asking.floor))
        });
        if side.is_empty() {
            self.free.push(at.more);
            at.more = 0;
        }
        for slot in &mut at.reads {
            if slot.joins(stamp) {
                slot.widen(stamp);
                return found;
            }
        }
        for slot in &mut at.reads {
            if slot.is_empty() || slot.bytes() & !stamp.bytes() == 0 && slot.is_old(stamp, asking.floor) {
                *slot = *stamp;
                return found;
            }
        }
        let old = std::mem::replace(&mut at.reads[1], *stamp);
        if old.block == stamp.block {
            self.keep(page, word, old, 0);
        }
        found
    }

    fn keep(&mut self, page: usize, word: u64, stamp: Stamp, value: u32) {
        let at = &mut self.pages[page][(word % PAGE) as usize];
        if at.more == 0 {
            at.more = self.free.pop().unwrap_or_else(|| {
                self.more.push(Vec::new());
                self.more.len() as u32
            });
        }
        let side = &mut self.more[at.more as usize - 1];
        if let Some((same, _)) = side.iter_mut().find(|(old, _)| !old.writes() && old.joins(&stamp)) {
            return same.widen(&stamp);
        }
        if side.len() >= MOST {
            side.remove(0);
        }
        side.push((stamp, value));
    }

    /// Notes a write of the word, of `value` if that is known; an earlier touch that it races with.
    #[inline]
    pub fn write(&mut self, word: u64, asking: &Asking<'_>, value: Option<u32>) -> Option<(Stamp, Clash)> {
        let page = self.page(word / PAGE) as usize;
        let shared = self.shared;
        let at = &mut self.pages[page][(word % PAGE) as usize];
        let stamp = &asking.stamp;
        let weigh = |old: &Stamp, was: u32| {
            let clash = asking.clash(old, shared)?;
            let both = mask_of(old.bytes() & stamp.bytes());
            let plain = old.writes() && !(old.is_strong() || old.is_asynchronous() || stamp.is_strong());
            let equal = plain && value.is_some_and(|value| (value ^ was) & both == 0);
            Some((*old, if equal { Clash::Equal } else { clash }))
        };
        let mut found = weigh(&at.write, at.value);
        for read in &at.reads {
            if found.is_none_or(|(_, clash)| clash == Clash::Equal) {
                found = weigh(read, 0).or(found);
            }
        }
        if at.more != 0 || at.write.bytes() & !stamp.bytes() != 0 {
            let value = value.unwrap_or(0);
            let side = at.more;
            if side != 0 {
                for (old, was) in &self.more[side as usize - 1] {
                    if found.is_none_or(|(_, clash)| clash == Clash::Equal) {
                        found = weigh(old, *was).or(found);
                    }
                }
            }
            self.overwrite(page, word, stamp, value);
            return found;
        }
        // What was touched of the bytes written now is either ordered before this write, or was just reported.
        for read in &mut at.reads {
            if read.bytes() & !stamp.bytes() == 0 {
                *read = Stamp::EMPTY;
            }
        }
        at.write = *stamp;
        at.value = value.unwrap_or(0);
        found
    }

    /// A write where bytes of the word have stamps of their own.
    #[inline(never)]
    fn overwrite(&mut self, page: usize, word: u64, stamp: &Stamp, value: u32) {
        let at = &mut self.pages[page][(word % PAGE) as usize];
        let rest = |old: &Stamp| old.of_bytes((old.bytes() & !stamp.bytes()) as u8);
        for read in &mut at.reads {
            *read = rest(read);
            if read.bytes() == 0 {
                *read = Stamp::EMPTY;
            }
        }
        if at.more != 0 {
            let side = &mut self.more[at.more as usize - 1];
            side.iter_mut().for_each(|(old, _)| *old = rest(old));
            side.retain(|(old, _)| old.bytes() != 0);
            if side.is_empty() {
                self.free.push(at.more);
                at.more = 0;
            }
        }
        let old = (rest(&at.write), at.value);
        at.write = *stamp;
        at.value = value;
        if old.0.bytes() != 0 && !old.0.is_empty() {
            self.keep(page, word, old.0, old.1);
        }
    }

    /// The writes that an asynchronous copy made have now landed for the lane of `by`: they count as that lane's, at its
    /// step, from here on.
    pub fn land(&mut self, word: u64, by: &Stamp) {
        let page = self.page(word / PAGE) as usize;
        let at = &mut self.pages[page][(word % PAGE) as usize];
        let side = match at.more {
            0 => [].iter_mut(),
            more => self.more[more as usize - 1].iter_mut(),
        };
        for stamp in std::iter::once(&mut at.write).chain(side.map(|(stamp, _)| stamp)) {
            if stamp.is_asynchronous()
                && (stamp.block, stamp.warp(), stamp.first()) == (by.block, by.warp(), by.first())
            {
                stamp.step = by.step;
                stamp.who &= !ASYNCHRONOUS;
            }
        }
    }
}

/// The bits of the bytes of a mask.
fn mask_of(bytes: u32) -> u32 {
    (0..4).filter(|i| bytes >> i & 1 != 0).fold(0, |mask, i| mask | 0xFF << (8 * i))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Touch =
        Touch { write: false, strong: false, wide: false, volatile: false, asynchronous: false };
    const WRITE: Touch = Touch { write: true, ..READ };
    const ATOMIC: Touch = Touch { write: true, strong: true, wide: true, ..READ };

    fn touch(
        shadow: &mut Shadow,
        clocks: &Clocks,
        word: u64,
        thread: u32,
        bytes: u8,
        how: Touch,
    ) -> Option<(Stamp, Clash)> {
        touch_with(shadow, clocks, word, thread, bytes, how, None)
    }

    fn touch_with(
        shadow: &mut Shadow,
        clocks: &Clocks,
        word: u64,
        thread: u32,
        bytes: u8,
        how: Touch,
        value: Option<u32>,
    ) -> Option<(Stamp, Clash)> {
        let lane = thread % 32;
        let stamp = Stamp::new(clocks.block(), clocks.step(thread), thread, thread / 32, (lane, lane), how);
        let asking = Asking { stamp: stamp.of_bytes(bytes), floor: clocks.floor(thread), clocks };
        if how.write { shadow.write(word, &asking, value) } else { shadow.read(word, &asking) }
    }

    fn meet(clocks: &mut Clocks, threads: impl Iterator<Item = u32> + Clone) {
        let mut meeting = clocks.meet();
        threads.clone().for_each(|thread| clocks.arrive(thread, &mut meeting));
        let met = meeting.over();
        threads.for_each(|thread| clocks.leave(thread, &met));
    }

    #[test]
    fn a_word_takes_no_more_than_fourteen_bytes_a_byte() {
        assert_eq!(size_of::<Word>(), 56);
    }

    #[test]
    fn a_write_races_with_an_unordered_read_and_not_with_an_ordered_one() {
        let (mut clocks, mut shadow) = (Clocks::new(0, 64), Shadow::default());
        assert!(touch(&mut shadow, &clocks, 5, 0, 15, WRITE).is_none());
        assert!(touch(&mut shadow, &clocks, 5, 40, 15, READ).is_some(), "no barrier between");
        meet(&mut clocks, 0..64);
        assert!(touch(&mut shadow, &clocks, 5, 41, 15, READ).is_none());
        assert!(touch(&mut shadow, &clocks, 5, 0, 15, WRITE).is_some(), "write after read, no barrier");
    }

    #[test]
    fn every_reader_is_remembered() {
        let (mut clocks, mut shadow) = (Clocks::new(0, 64), Shadow::default());
        for thread in 0..64 {
            assert!(touch(&mut shadow, &clocks, 0, thread, 15, READ).is_none());
        }
        // Thread 3 meets all but thread 50, then writes.
        meet(&mut clocks, (0..64).filter(|&thread| thread != 50));
        let (earlier, _) = touch(&mut shadow, &clocks, 0, 3, 15, WRITE).expect("thread 50 read it");
        assert_eq!((earlier.warp(), earlier.first()), (1, 18));
    }

    #[test]
    fn bytes_of_a_word_are_apart() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        for thread in 0..4 {
            assert!(touch(&mut shadow, &clocks, 9, thread, 1 << thread, WRITE).is_none());
        }
        assert!(touch(&mut shadow, &clocks, 9, 3, 2, READ).is_some());
        assert!(touch(&mut shadow, &clocks, 9, 3, 8, READ).is_none());
    }

    #[test]
    fn atomics_meet_each_other_but_no_plain_write() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        assert!(touch(&mut shadow, &clocks, 1, 0, 15, ATOMIC).is_none());
        assert!(touch(&mut shadow, &clocks, 1, 1, 15, ATOMIC).is_none());
        assert!(touch(&mut shadow, &clocks, 1, 2, 15, WRITE).is_some());
    }

    #[test]
    fn a_block_scope_atomic_does_not_order_with_another_blocks() {
        let (mut shadow, narrow) = (Shadow::default(), Touch { wide: false, ..ATOMIC });
        assert!(touch(&mut shadow, &Clocks::new(3, 4), 1, 0, 15, narrow).is_none());
        assert!(touch(&mut shadow, &Clocks::new(0, 4), 1, 1, 15, narrow).is_some());
    }

    #[test]
    fn writes_of_equal_values_are_told_apart() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        assert!(touch_with(&mut shadow, &clocks, 1, 0, 15, WRITE, Some(7)).is_none());
        let equal = touch_with(&mut shadow, &clocks, 1, 1, 15, WRITE, Some(7)).unwrap();
        assert_eq!(equal.1, Clash::Equal);
        let other = touch_with(&mut shadow, &clocks, 1, 2, 15, WRITE, Some(8)).unwrap();
        assert_eq!(other.1, Clash::Unordered);
    }

    #[test]
    fn an_asynchronous_copy_races_until_it_has_landed() {
        let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
        let copy = Touch { asynchronous: true, ..WRITE };
        assert!(touch(&mut shadow, &clocks, 2, 0, 15, copy).is_none());
        assert!(touch(&mut shadow, &clocks, 2, 0, 15, READ).is_some(), "even for the thread itself");
        shadow.land(2, &Stamp::new(0, clocks.step(0), 0, 0, (0, 0), WRITE));
        assert!(touch(&mut shadow, &clocks, 2, 0, 15, READ).is_none());
    }
}
