//! Who touched each word last: the shadow of memory that the race check keeps.
//!
//! A word is 4 aligned bytes; what touches only some of them says so in a mask. Each word has room for its latest write
//! and two reads, 56 bytes in all; what these cannot hold (more readers that do not know of each other, writes to
//! different bytes) lies in a side table. Lanes of one warp that read a word by one instruction take one stamp, which
//! keeps the first and the last of them.

mod clash;
mod past;
mod stamp;

use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Step;
use crate::numbered::Numbered;
pub use clash::{Asking, Clash, Race};
pub use past::words_of;
use stamp::{ASYNCHRONOUS, IDLE, NON_COHERENT, WRITE};
pub use stamp::{Stamp, Touch};

#[derive(Debug, Clone, Copy)]
struct Word {
    write: Stamp,
    reads: [Stamp; 2],
    /// Warps whose same lanes made the first of these reads, too, at the same step: in a tile that all warps read.
    also: u32,
    /// The last write.
    value: u32,
    /// Index into the side table, from 1.
    more: u32,
}

const EMPTY: Word = Word { write: Stamp::EMPTY, reads: [Stamp::EMPTY; 2], also: 0, value: 0, more: 0 };

/// Words of a page: small, because each block has pages of its own for its shared memory.
const PAGE: u64 = 64;

/// Stamps in the side table of one word; beyond it the oldest is dropped: a race with one reader is as good as another.
const MOST: usize = 40;

/// Pages that are not in use, for the next block or launch: the system takes longer to give memory than a block that
/// does little takes to run.
#[derive(Debug, Clone, Default)]
pub struct Spare(Arc<Mutex<Vec<Box<[Word]>>>>);

impl Spare {
    /// More than these go back to the system: 60 MB.
    const MOST: usize = 1 << 14;

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Box<[Word]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Box<[Word]> {
        let page = self.lock().pop();
        page.map_or_else(
            || vec![EMPTY; PAGE as usize].into(),
            |mut page| {
                page.fill(EMPTY);
                page
            },
        )
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        let mut spare = self.spare.lock();
        let room = Spare::MOST.saturating_sub(spare.len());
        spare.extend(self.pages.drain(..).take(room));
    }
}

/// The shadow of one address space.
#[derive(Debug)]
pub struct Shadow {
    spare: Spare,
    index: Numbered<u32>,
    pages: Vec<Box<[Word]>>,
    /// Pages that were asked for lately, each at its number modulo their count: a product reads two tiles in turn.
    lately: [(u64, u32); 16],
    more: Vec<Vec<(Stamp, u32)>>,
    free: Vec<u32>,
    /// Whether it is shared memory, where volatile accesses of one warp's lanes are meant to be in step, and are not.
    shared: bool,
}

impl Default for Shadow {
    fn default() -> Self {
        Shadow::of_global(Spare::default())
    }
}

impl Shadow {
    /// Of a block's shared memory.
    pub fn of_shared(spare: Spare) -> Self {
        Shadow::new(spare, true)
    }

    /// Of global memory.
    pub fn of_global(spare: Spare) -> Self {
        Shadow::new(spare, false)
    }

    fn new(spare: Spare, shared: bool) -> Self {
        let (index, pages, lately) = (Numbered::default(), Vec::new(), [(u64::MAX, 0); 16]);
        Shadow { spare, index, pages, lately, more: Vec::new(), free: Vec::new(), shared }
    }

    #[inline]
    fn page(&mut self, number: u64) -> u32 {
        match self.lately[number as usize % 16] {
            (lately, index) if lately == number => index,
            _ => self.find_page(number),
        }
    }

    fn find_page(&mut self, number: u64) -> u32 {
        let (pages, spare) = (&mut self.pages, &self.spare);
        let index = *self.index.entry(number).or_insert_with(|| {
            pages.push(spare.take());
            pages.len() as u32 - 1
        });
        self.lately[number as usize % 16] = (number, index);
        index
    }

    pub fn bytes(&self) -> usize {
        let side: usize = self.more.iter().map(|side| size_of_val(side.as_slice())).sum();
        self.pages.len() * PAGE as usize * size_of::<Word>() + side
    }

    /// Notes a plain read of a whole word where all that was done to it is known to everybody, or was such a read by
    /// another warp: most reads of a tile. False if it takes a closer look; nothing was done then.
    #[inline(always)]
    pub fn read_at_once(&mut self, page: u32, word: u64, stamp: &Stamp, floor: Step) -> bool {
        let at = &mut self.pages[page as usize][(word % PAGE) as usize];
        let [slot, other] = &mut at.reads;
        // Bytes of a write that are not these do no harm here.
        let quiet = at.write.who & ASYNCHRONOUS == 0
            && at.write.step <= floor
            && (at.write.block == stamp.block || at.write.step == 0)
            && (stamp.who & NON_COHERENT == 0 || at.write.step == 0)
            && at.more == 0
            && (slot.who | other.who) & WRITE == 0;
        if !quiet {
            return false;
        }
        if slot.step == stamp.step && slot.pc == stamp.pc && slot.block == stamp.block {
            if slot.joins(stamp) {
                slot.widen(stamp);
                return true;
            }
            let across = slot.joins_across(stamp);
            at.also |= u32::from(across) << stamp.warp();
            return across;
        }
        let free = slot.step == 0 || slot.step <= floor && slot.block == stamp.block;
        if free && other.step == 0 {
            *slot = *stamp;
            at.also = 0;
            return true;
        }
        false
    }

    /// Notes a plain write of a whole word where all that was done to it is known to everybody. False as above.
    #[inline(always)]
    pub fn write_at_once(&mut self, page: u32, word: u64, stamp: &Stamp, floor: Step, value: u32) -> bool {
        let at = &mut self.pages[page as usize][(word % PAGE) as usize];
        let known = |old: &Stamp| old.step == 0 || old.step <= floor && old.block == stamp.block;
        let quiet = at.write.who & ASYNCHRONOUS == 0
            && known(&at.write)
            && known(&at.reads[0])
            && known(&at.reads[1])
            && at.more == 0;
        if quiet {
            *at = Word { write: *stamp, value, ..EMPTY };
        }
        quiet
    }

    #[inline]
    pub fn page_holding(&mut self, word: u64) -> u32 {
        self.page(word / PAGE)
    }

    /// The page that holds all words of a range, if there is one such.
    #[inline]
    pub fn page_of(&mut self, first: u64, last: u64) -> Option<u32> {
        (first / PAGE == last / PAGE).then(|| self.page(first / PAGE))
    }

    /// Notes a read of the word; an earlier write that it races with.
    #[inline]
    pub fn read(&mut self, word: u64, asking: &Asking<'_>) -> Option<(Stamp, Clash)> {
        let page = self.page(word / PAGE);
        self.read_in(page, word, asking)
    }

    /// The same where the word's page is known.
    #[inline]
    pub fn read_in(&mut self, page: u32, word: u64, asking: &Asking<'_>) -> Option<(Stamp, Clash)> {
        let (page, shared) = (page as usize, self.shared);
        let at = &mut self.pages[page][(word % PAGE) as usize];
        let found = asking.clash(&at.write, shared).or_else(|| asking.is_stale(&at.write));
        let found = found.map(|clash| (at.write, clash));
        if at.more != 0 || (at.reads[0].who | at.reads[1].who) & WRITE != 0 {
            return self.read_more(page, word, asking, found);
        }
        let stamp = &asking.stamp;
        // The reader's last visit, or one that it knows of, gives way.
        let [slot, other] = &mut at.reads;
        if slot.joins(stamp) {
            slot.widen(stamp);
            return found;
        }
        if slot.joins_across(stamp) {
            at.also |= 1 << stamp.warp();
            return found;
        }
        let known = |slot: &Stamp| {
            slot.is_empty() || slot.bytes() & !stamp.bytes() == 0 && slot.is_old(stamp, asking.floor)
        };
        if other.is_empty() && known(slot) && (at.also == 0 || slot.step <= asking.floor) {
            *slot = *stamp;
            at.also = 0;
            return found;
        }
        // Readers of other blocks are many and alike: the first and the latest will do.
        if slot.block != stamp.block && (other.block != stamp.block || known(other)) {
            *other = *stamp;
            return found;
        }
        self.read_more(page, word, asking, found)
    }

    /// All that is kept of a word.
    fn stamps_mut(&mut self, word: u64) -> impl Iterator<Item = &mut Stamp> {
        let page = self.page(word / PAGE) as usize;
        let Word { write, reads, more, .. } = &mut self.pages[page][(word % PAGE) as usize];
        let side = match *more {
            0 => [].iter_mut(),
            more => self.more[more as usize - 1].iter_mut(),
        };
        std::iter::once(write).chain(reads).chain(side.map(|(stamp, _)| stamp))
    }

    /// Who wrote a word last.
    pub fn last_write(&mut self, word: u64) -> Option<Stamp> {
        let page = self.page(word / PAGE) as usize;
        let write = self.pages[page][(word % PAGE) as usize].write;
        (!write.is_empty()).then_some(write)
    }

    /// The write that a read of the word would race with, without a note of the read.
    pub fn look(&mut self, word: u64, asking: &Asking<'_>) -> Option<(Stamp, Clash)> {
        let (page, shared) = (self.page(word / PAGE) as usize, self.shared);
        let at = &self.pages[page][(word % PAGE) as usize];
        let side = if at.more == 0 { &[][..] } else { &self.more[at.more as usize - 1] };
        let slots = [at.write, at.reads[0], at.reads[1]];
        let all = slots.into_iter().chain(side.iter().map(|(stamp, _)| *stamp));
        all.filter(Stamp::writes).find_map(|old| asking.clash(&old, shared).map(|clash| (old, clash)))
    }

    /// Lanes are about to compare and swap a word: what they saw there before was where they start from.
    pub fn explain(&mut self, word: u64, swap: &Stamp) {
        for read in self.stamps_mut(word) {
            let same = (read.block, read.warp()) == (swap.block, swap.warp());
            if same && read.is_strong() && !read.writes() && read.has_lane(swap.first()) {
                read.who |= IDLE;
            }
        }
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
        let stamp = &asking.stamp;
        let mut look = |old: &Stamp| {
            if found.is_none() && old.writes() {
                found = asking.clash(old, shared).map(|clash| (*old, clash));
            }
        };
        at.reads.iter().for_each(&mut look);
        if at.more != 0 {
            let side = &mut self.more[at.more as usize - 1];
            side.retain(|(old, _)| {
                look(old);
                old.writes() || !(old.bytes() & !stamp.bytes() == 0 && old.is_old(stamp, asking.floor))
            });
            if side.is_empty() {
                self.free.push(at.more);
                at.more = 0;
            }
        }
        for slot in &mut at.reads {
            if slot.joins(stamp) {
                slot.widen(stamp);
                return found;
            }
        }
        if at.reads[0].joins_across(stamp) {
            at.also |= 1 << stamp.warp();
            return found;
        }
        for (i, slot) in at.reads.iter_mut().enumerate() {
            let known = slot.bytes() & !stamp.bytes() == 0 && slot.is_old(stamp, asking.floor);
            let alone = i != 0 || at.also == 0 || slot.step <= asking.floor;
            if slot.is_empty() || known && alone && !slot.writes() {
                *slot = *stamp;
                at.also &= u32::from(i == 0).wrapping_sub(1);
                return found;
            }
        }
        // Readers of other blocks are many and alike: the first and the latest will do.
        let old = std::mem::replace(&mut at.reads[1], *stamp);
        if old.block == stamp.block || old.writes() {
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
        if let Some((same, _)) = side.iter_mut().find(|(old, _)| old.is_relieved_by(&stamp)) {
            return *same = stamp;
        }
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
        let page = self.page(word / PAGE);
        self.write_in(page, word, asking, value)
    }

    /// The same where the word's page is known.
    #[inline]
    pub fn write_in(
        &mut self,
        page: u32,
        word: u64,
        asking: &Asking<'_>,
        value: Option<u32>,
    ) -> Option<(Stamp, Clash)> {
        let (page, shared) = (page as usize, self.shared);
        let at = &mut self.pages[page][(word % PAGE) as usize];
        let stamp = &asking.stamp;
        let weigh = |old: &Stamp, was: Option<u32>| {
            let clash = asking.clash(old, shared)?;
            let both = mask_of(old.bytes() & stamp.bytes());
            let same = old.writes() && value.zip(was).is_some_and(|(value, was)| (value ^ was) & both == 0);
            // Cooperative groups let lanes that have nothing to copy copy what the last one does.
            if same && old.copies() && stamp.copies() {
                return None;
            }
            // Threads may all set a flag to one value.
            if same && clash == Clash::OrderDependent && !(old.is_update() || stamp.is_update()) {
                return None;
            }
            let equal = same && !(old.is_strong() || old.is_asynchronous() || stamp.is_strong());
            Some((*old, if equal { Clash::Equal } else { clash }))
        };
        let mut found = weigh(&at.write, Some(at.value));
        for read in &at.reads {
            if found.is_none_or(|(_, clash)| clash.is_minor()) {
                found = weigh(read, None).or(found);
            }
        }
        if at.also != 0
            && found.is_none()
            && (at.reads[0].block != stamp.block || at.reads[0].step > asking.floor)
        {
            let mut warps = crate::reached::lanes(at.also);
            found = warps.find_map(|warp| weigh(&at.reads[0].of_warp(warp), None));
        }
        if stamp.is_strong() {
            return self.write_strongly(page, word, asking, value.unwrap_or(0), found);
        }
        if at.more != 0 || at.write.bytes() & !stamp.bytes() != 0 {
            let value = value.unwrap_or(0);
            let side = at.more;
            if side != 0 {
                for (old, was) in &self.more[side as usize - 1] {
                    if found.is_none_or(|(_, clash)| clash.is_minor()) {
                        found = weigh(old, Some(*was)).or(found);
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
        if at.reads[0].is_empty() {
            at.also = 0;
        }
        at.write = *stamp;
        at.value = value.unwrap_or(0);
        found
    }

    /// An atomic or volatile write. Its like need no order with it, so what came before is not covered by it: a plain
    /// store, then an atomic of the same thread, then another thread's atomic, and the store and the last one race.
    #[inline(never)]
    fn write_strongly(
        &mut self,
        page: usize,
        word: u64,
        asking: &Asking<'_>,
        value: u32,
        mut found: Option<(Stamp, Clash)>,
    ) -> Option<(Stamp, Clash)> {
        let (shared, stamp) = (self.shared, &asking.stamp);
        let at = &mut self.pages[page][(word % PAGE) as usize];
        if at.more != 0 {
            for (old, was) in &self.more[at.more as usize - 1] {
                let same = (value ^ was) & mask_of(old.bytes() & stamp.bytes()) == 0;
                let clash =
                    |old| asking.clash(old, shared).filter(|clash| *clash != Clash::OrderDependent || !same);
                found = found.or_else(|| clash(old).map(|clash| (*old, clash)));
            }
        }
        let old = at.write;
        // A location has one order of its atomics: who comes after this one comes after that one, too.
        let covered = old.is_empty()
            || old.is_strong() && old.bytes() & !stamp.bytes() == 0
            // All who could touch this memory know of it.
            || shared
                && old.block == stamp.block
                && !old.is_asynchronous()
                && old.step <= asking.clocks.floor_of_all();
        let (before, was) = (old, at.value);
        at.write = *stamp;
        at.value = value;
        if covered {
            return found;
        }
        for (i, slot) in at.reads.iter_mut().enumerate() {
            if slot.is_empty() || (i != 0 || at.also == 0) && slot.is_relieved_by(&before) {
                *slot = before;
                return found;
            }
        }
        if before.block == stamp.block || !before.is_strong() {
            self.keep(page, word, before, was);
        }
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
        if at.reads[0].is_empty() {
            at.also = 0;
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
        for stamp in self.stamps_mut(word) {
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
pub fn mask_of(bytes: u32) -> u32 {
    (0..4).filter(|i| bytes >> i & 1 != 0).fold(0, |mask, i| mask | 0xFF << (8 * i))
}

#[cfg(test)]
mod tests;
