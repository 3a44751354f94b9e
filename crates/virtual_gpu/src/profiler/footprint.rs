//! The bytes of global memory that were read, each counted once however often it was read.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes per page: one bit each fills a line of the host's cache.
const PAGE: u64 = 512;

/// Bytes represented by one word of bits.
const WORD: u64 = u64::BITS as u64;

/// A set of bytes: bit maps of the pages that contain any.
#[derive(Debug, Default)]
pub(super) struct Footprint {
    index: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    pages: Vec<(u64, [u64; (PAGE / WORD) as usize])>,
}

impl Footprint {
    /// Adds what each lane reads.
    pub fn add_lanes(&mut self, lanes: u32, addresses: &[u64; 32], bytes: u32) {
        let mut known = None;
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            self.add_near(addresses[lane], bytes.into(), &mut known);
        }
    }

    /// Adds consecutive bytes.
    pub fn add(&mut self, address: u64, bytes: u64) {
        self.add_near(address, bytes, &mut None);
    }

    /// The same; `known` saves looking up the last page again.
    fn add_near(&mut self, mut address: u64, mut bytes: u64, known: &mut Option<(u64, usize)>) {
        while bytes > 0 {
            let page = address / PAGE;
            let at = match *known {
                Some((of, at)) if of == page => at,
                _ => self.page(page),
            };
            *known = Some((page, at));
            let within = address % WORD;
            let here = bytes.min(WORD - within);
            let bits = if here == WORD { u64::MAX } else { (1 << here) - 1 };
            self.pages[at].1[(address % PAGE / WORD) as usize] |= bits << within;
            address = address.wrapping_add(here);
            bytes -= here;
        }
    }

    fn page(&mut self, page: u64) -> usize {
        let next = self.pages.len();
        let at = *self.index.entry(page).or_insert(next as u32) as usize;
        if at == next {
            self.pages.push((page, Default::default()));
        }
        at
    }

    /// How many bytes it contains.
    pub fn bytes(&self) -> u64 {
        self.pages.iter().flat_map(|(_, words)| words).map(|word| u64::from(word.count_ones())).sum()
    }

    /// Adds all bytes of another set.
    pub fn extend(&mut self, other: &Self) {
        for (page, words) in &other.pages {
            let at = self.page(*page);
            for (into, word) in self.pages[at].1.iter_mut().zip(words) {
                *into |= word;
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Clears it, keeping its memory for reuse.
    pub fn clear(&mut self) {
        self.index.clear();
        self.pages.clear();
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

    fn write_u64(&mut self, number: u64) {
        // The bits of the golden ratio; the table uses the lowest bits, which the product mixes least.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What one line reads: in the current block, and in all blocks so far.
#[derive(Debug, Default)]
pub(super) struct Reads {
    pub block: Footprint,
    pub launch: Footprint,
    /// For blocks that have ended; each byte counts once per block.
    pub by_block: u64,
}

impl Reads {
    /// A block has ended.
    pub fn end_block(&mut self) {
        self.by_block += self.block.bytes();
        self.launch.extend(&self.block);
        self.block.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_counts_once() {
        let mut footprint = Footprint::default();
        footprint.add(1000, 40);
        footprint.add(1020, 40);
        assert_eq!(footprint.bytes(), 60);
        footprint.add_lanes(0b111, &std::array::from_fn(|lane| 4 * (lane as u64 % 2)), 4);
        assert_eq!(footprint.bytes(), 68);
        let mut other = Footprint::default();
        other.add(0, 16);
        other.extend(&footprint);
        assert_eq!(other.bytes(), 60 + 16);
        // No one can read there, but an access is reported before that is found out.
        other.add(u64::MAX - 1, 4);
        assert_eq!(other.bytes(), 60 + 16 + 2);
    }

    #[test]
    fn blocks_are_told_apart_from_the_launch() {
        let mut reads = Reads::default();
        for _ in 0..3 {
            reads.block.add(0, 100);
            reads.end_block();
        }
        assert_eq!((reads.by_block, reads.launch.bytes()), (300, 100));
    }
}
