//! The bytes of global memory that were read, each counted once in a block and once in the launch, however often it was read: by
//! one source line, and by all of them.
//!
//! Most of what a warp reads is whole sectors, which take a bit each; only of others the bytes are kept. And most memory is read
//! by one line: then what that line has read of a page is what all have.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// Bytes of a page: a bit for each of its sectors fills a word.
const PAGE: u64 = SECTOR * u64::BITS as u64;

/// Bytes that blocks have read.
#[derive(Debug, Default)]
pub(super) struct Footprint {
    index: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    pages: Vec<Page>,
    /// By page and line: what lines have read of a page that several have read.
    shared: HashMap<(u32, u32), Read, BuildHasherDefault<Spread>>,
    lines: Vec<Line>,
    /// Bytes that all lines have read, each counted once per block.
    of_all: u64,
}

#[derive(Debug, Clone)]
struct Line {
    /// Bytes that it has read, each counted once per block.
    bytes: u64,
    /// The number of the page that it has read last, and where that is among the pages.
    last: (u64, u32),
}

impl Default for Line {
    fn default() -> Self {
        Line { bytes: 0, last: (u64::MAX, 0) }
    }
}

#[derive(Debug)]
struct Page {
    number: u64,
    /// The one line that has read of it.
    line: Option<u32>,
    /// By all lines.
    read: Read,
}

/// Bytes that were read of a page.
#[derive(Debug, Default, Clone)]
struct Read {
    /// The last block that did. So nothing has to be done when a block ends.
    block: u64,
    in_block: Bytes,
    in_launch: Bytes,
}

/// Some bytes of a page.
#[derive(Debug, Default, Clone)]
struct Bytes {
    /// Sectors of which all are among them.
    sectors: u64,
    /// For other sectors, a bit for each byte.
    others: Option<Box<[u32; 64]>>,
}

impl Footprint {
    /// A line reads consecutive bytes in a block, whose number is not 0.
    #[inline]
    pub fn add(&mut self, line: u32, block: u64, mut address: u64, bytes: u64) {
        let mut rest = bytes;
        while rest > 0 {
            let within = address % PAGE;
            let here = rest.min(PAGE - within);
            self.add_in(address / PAGE, line, block, within..within + here);
            (address, rest) = (address.wrapping_add(here), rest - here);
        }
    }

    #[inline]
    fn add_in(&mut self, number: u64, line: u32, block: u64, bytes: Range<u64>) {
        if line as usize >= self.lines.len() {
            self.lines.resize(line as usize + 1, Line::default());
        }
        let by = &mut self.lines[line as usize];
        if by.last.0 != number {
            let next = self.pages.len() as u32;
            let at = *self.index.entry(number).or_insert(next);
            if at == next {
                self.pages.push(Page { number, line: Some(line), read: Read::default() });
            }
            by.last = (number, at);
        }
        let at = by.last.1;
        let Page { line: only, read, .. } = &mut self.pages[at as usize];
        if *only != Some(line) {
            if let Some(before) = only.take() {
                self.shared.insert((at, before), read.clone());
            }
            let own = self.shared.entry((at, line)).or_default().add(block, bytes.clone());
            by.bytes += own;
            // What the line has read before in this block, all lines have.
            if own > 0 {
                self.of_all += read.add(block, bytes);
            }
            return;
        }
        let new = read.add(block, bytes);
        by.bytes += new;
        self.of_all += new;
    }

    /// How many bytes a line has read, or all have, each counted once per block.
    pub fn by_block(&self, line: Option<u32>) -> u64 {
        match line {
            Some(line) => self.lines.get(line as usize).map_or(0, |line| line.bytes),
            None => self.of_all,
        }
    }

    /// Bytes that a line, or all lines, have read, by page.
    fn by_launch(&self, line: Option<u32>) -> impl Iterator<Item = (u64, &Bytes)> {
        let shared = self.shared.iter().filter(move |((_, by), _)| line == Some(*by));
        let shared = shared.map(|((at, _), read)| (self.pages[*at as usize].number, &read.in_launch));
        let own = self.pages.iter().filter(move |page| line.is_none() || page.line == line);
        own.map(|page| (page.number, &page.read.in_launch)).chain(shared)
    }

    /// How many bytes a line, or all, have read in several parts of a launch.
    pub fn distinct<'a>(parts: impl Iterator<Item = (&'a Footprint, Option<u32>)>) -> u64 {
        let mut all: HashMap<u64, Bytes, BuildHasherDefault<Spread>> = HashMap::default();
        for (page, bytes) in parts.flat_map(|(part, line)| part.by_launch(line)) {
            all.entry(page).or_default().extend(bytes);
        }
        all.values().map(Bytes::count).sum()
    }
}

impl Read {
    /// How many bytes of a range, within the page, the block has not read before.
    #[inline]
    fn add(&mut self, block: u64, range: Range<u64>) -> u64 {
        if self.block != block {
            self.block = block;
            self.in_block.clear();
        }
        let new = self.in_block.add(range.clone());
        if new > 0 {
            self.in_launch.add(range);
        }
        new
    }
}

impl Bytes {
    /// Adds a range; how many of it are new.
    #[inline]
    fn add(&mut self, Range { start, end }: Range<u64>) -> u64 {
        let (first, behind) = (start.div_ceil(SECTOR), end / SECTOR);
        if first * SECTOR == start && behind * SECTOR == end {
            return self.add_sectors(first, behind);
        }
        if first > behind {
            return self.add_some(behind, start % SECTOR..end % SECTOR);
        }
        let mut new = self.add_sectors(first, behind);
        if first * SECTOR != start {
            new += self.add_some(first - 1, start % SECTOR..SECTOR);
        }
        if behind * SECTOR != end {
            new += self.add_some(behind, 0..end % SECTOR);
        }
        new
    }

    /// Adds whole sectors.
    #[inline]
    fn add_sectors(&mut self, first: u64, behind: u64) -> u64 {
        if first >= behind {
            return 0;
        }
        let new = (u64::MAX >> (64 - (behind - first))) << first & !self.sectors;
        if new == 0 {
            return 0;
        }
        self.sectors |= new;
        SECTOR * u64::from(new.count_ones()) - self.counted_in(new)
    }

    /// How many bytes of these sectors were among others.
    fn counted_in(&self, sectors: u64) -> u64 {
        let Some(others) = &self.others else { return 0 };
        let of = (0..64).filter(|sector| sectors >> sector & 1 != 0);
        of.map(|sector| u64::from(others[sector].count_ones())).sum()
    }

    /// Adds bytes of a sector.
    fn add_some(&mut self, sector: u64, bytes: Range<u64>) -> u64 {
        if self.sectors >> sector & 1 != 0 {
            return 0;
        }
        let known = &mut self.others.get_or_insert_with(|| Box::new([0; 64]))[sector as usize];
        let new = (u32::MAX >> (SECTOR - (bytes.end - bytes.start))) << bytes.start & !*known;
        *known |= new;
        if *known == u32::MAX {
            self.sectors |= 1 << sector;
        }
        new.count_ones().into()
    }

    fn extend(&mut self, other: &Self) {
        self.sectors |= other.sectors;
        if let Some(others) = &other.others {
            let own = self.others.get_or_insert_with(|| Box::new([0; 64]));
            own.iter_mut().zip(&**others).for_each(|(own, other)| *own |= other);
        }
    }

    fn count(&self) -> u64 {
        SECTOR * u64::from(self.sectors.count_ones()) + self.counted_in(!self.sectors)
    }

    /// Empties it, keeping its memory for reuse.
    fn clear(&mut self) {
        self.sectors = 0;
        if let Some(others) = &mut self.others {
            others.fill(0);
        }
    }
}

/// Distributes page numbers over the table: the standard library's secure hash would take half of the time.
#[derive(Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(self.0 ^ u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // The bits of the golden ratio; the table uses the lowest bits, which the product mixes least.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn whole(footprint: &Footprint) -> u64 {
        Footprint::distinct([(footprint, None)].into_iter())
    }

    proptest! {
        /// Ranges of all lengths, in three blocks of two threads, by three lines.
        #[test]
        fn a_byte_counts_once_for_each_block_and_line_and_once_for_all(
            reads in prop::collection::vec((0u32..3, 1u64..4, 0u64..5000, 1u64..200, any::<bool>(), 0usize..2), 1..60),
        ) {
            let mut parts = [Footprint::default(), Footprint::default()];
            let mut seen: BTreeSet<(usize, u64, Option<u32>, u64)> = BTreeSet::new();
            let mut blocks = reads;
            // A thread runs one block after the other.
            blocks.sort_by_key(|read| (read.5, read.1));
            for (line, block, start, bytes, is_aligned, thread) in blocks {
                let range = match is_aligned {
                    true => start / 32 * 32..start / 32 * 32 + bytes.next_multiple_of(32),
                    false => start..start + bytes,
                };
                parts[thread].add(line, block, range.start, range.end - range.start);
                for byte in range {
                    seen.insert((thread, block, Some(line), byte));
                    seen.insert((thread, block, None, byte));
                }
            }
            for line in [None, Some(0), Some(1), Some(2)] {
                let of_line = || seen.iter().filter(|seen| seen.2 == line);
                let by_block: u64 = parts.iter().map(|part| part.by_block(line)).sum();
                prop_assert_eq!(by_block, of_line().count() as u64);
                let bytes: BTreeSet<u64> = of_line().map(|seen| seen.3).collect();
                let distinct = Footprint::distinct(parts.iter().map(|part| (part, line)));
                prop_assert_eq!(distinct, bytes.len() as u64);
            }
        }
    }

    #[test]
    fn what_no_one_can_read_counts_before_that_is_found_out() {
        let mut footprint = Footprint::default();
        footprint.add(0, 1, u64::MAX - 1, 4);
        assert_eq!((footprint.by_block(Some(0)), whole(&footprint)), (4, 4));
    }
}
