//! Which bytes of an address space were ever written: a bit each, and for the few that are undefined in part (a bit
//! field set in a byte that was never written) which of their bits are.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::init::Origin;
use crate::launched::Launched;
use crate::numbered::Numbered;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
const SLOTS: usize = (PAGE / 64) as usize;

#[derive(Debug)]
struct Page {
    bits: [u64; SLOTS],
    /// How many bits are set: most pages are soon full, and then need no look at their bits.
    set: u32,
    /// Bytes of the widest element that a kernel stored here.
    widest: u8,
    /// A kernel's latest store here.
    storer: Option<Storer>,
}

/// A kernel's store.
#[derive(Debug, Clone, Copy)]
pub struct Storer {
    /// Which of the launches that were told.
    pub launch: u32,
    pub pc: u32,
    pub block: u32,
    pub warp: u32,
    pub lane: u32,
    pub address: u64,
}

/// Which bytes were ever written.
#[derive(Debug, Default)]
pub struct Written {
    index: Numbered<u32>,
    pages: Vec<Page>,
    last: Option<(u64, u32)>,
    /// Ranges of pages that were spoken of as a whole, by their first, each with its end and whether it was written. Pages
    /// within are made when a part of them is touched: a program may allocate more than it uses.
    regions: BTreeMap<u64, (u64, bool)>,
    /// Pages that were never set count as written: of global memory, what the host allocated is tracked, and a
    /// module's own variables are not.
    unknown_is_written: bool,
    /// Of bytes that do not count as written: the bits that are undefined, where these are not all.
    parts: Numbered<u8>,
    /// The launches that stored.
    launches: Vec<Arc<Launched>>,
    /// Who stored values that were never written, by 64 bytes.
    left: Numbered<Storer>,
    /// Origins of undefined values that were stored, by 4 bytes.
    origins: Numbered<Origin>,
    /// Counts the times that something ceased to count as written.
    unset: Arc<AtomicU64>,
}

impl Written {
    /// Of global memory.
    pub fn of_global() -> Self {
        Written { unknown_is_written: true, ..Written::default() }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.pages.len() * size_of::<Page>()
    }

    /// A counter that grows whenever something ceases to count as written: as long as it stands, what was found to be
    /// written still is.
    pub fn unset(&self) -> Arc<AtomicU64> {
        self.unset.clone()
    }

    #[inline]
    fn page(&mut self, number: u64) -> Option<&mut Page> {
        let index = match self.last {
            Some((last, index)) if last == number => index,
            _ => {
                let index = *self.index.get(&number)?;
                self.last = Some((number, index));
                index
            }
        };
        Some(&mut self.pages[index as usize])
    }

    /// Whether the bytes of a page count as written that has none of its own.
    fn default_of(&self, number: u64) -> bool {
        let region = self.regions.range(..=number).next_back();
        region
            .filter(|(_, (end, _))| number < *end)
            .map_or(self.unknown_is_written, |(_, (_, written))| *written)
    }

    /// The same of pages that there are, and of those that will be made.
    fn set_pages(&mut self, first: u64, end: u64, written: bool) {
        // What is left of ranges that this one cuts.
        let cut: Vec<(u64, (u64, bool))> = self
            .regions
            .range(..end)
            .rev()
            .take_while(|(_, (stop, _))| *stop > first)
            .map(|(&start, &region)| (start, region))
            .collect();
        for (start, (stop, was)) in cut {
            self.regions.remove(&start);
            if start < first {
                self.regions.insert(start, (first, was));
            }
            if stop > end {
                self.regions.insert(end, (stop, was));
            }
        }
        self.regions.insert(first, (end, written));
        let (bits, set) = if written { (u64::MAX, PAGE as u32) } else { (0, 0) };
        let fill = |page: &mut Page| (page.bits, page.set) = ([bits; SLOTS], set);
        if end - first > self.index.len() as u64 {
            let within = self.index.iter().filter(|(number, _)| (first..end).contains(number));
            within.for_each(|(_, &index)| fill(&mut self.pages[index as usize]));
        } else {
            let within = (first..end).filter_map(|number| self.index.get(&number));
            within.for_each(|&index| fill(&mut self.pages[index as usize]));
        }
    }

    fn page_or_new(&mut self, number: u64) -> &mut Page {
        let written = self.default_of(number);
        let pages = &mut self.pages;
        let (bits, set) = if written { (u64::MAX, PAGE as u32) } else { (0, 0) };
        let page = Page { bits: [bits; SLOTS], set, widest: 0, storer: None };
        let index = *self.index.entry(number).or_insert_with(|| {
            pages.push(page);
            pages.len() as u32 - 1
        });
        self.last = Some((number, index));
        &mut self.pages[index as usize]
    }

    /// Marks `bytes` bytes from `address` as written, or as never written.
    pub fn set(&mut self, address: u64, bytes: u64, written: bool) {
        let end = address.saturating_add(bytes);
        if !written {
            self.unset.fetch_add(1, Ordering::Relaxed);
            if !self.parts.is_empty() {
                self.parts.retain(|at, _| !(address..end).contains(at));
            }
            // What a store leaves undefined is told of behind this.
            forget(&mut self.left, address.div_ceil(64)..end.div_ceil(64));
            forget(&mut self.origins, address.div_ceil(4)..end.div_ceil(4));
        }
        let mut at = address;
        while at < end {
            if at.is_multiple_of(PAGE) && end - at >= PAGE {
                let stop = end / PAGE * PAGE;
                self.set_pages(at / PAGE, stop / PAGE, written);
                at = stop;
                continue;
            }
            // To the end of the range, or of the 64 bytes that one number keeps.
            let stop = end.min((at / 64 + 1).saturating_mul(64));
            let mask = (u64::MAX >> (64 - (stop - at))) << (at % 64);
            let page = self.page_or_new(at / PAGE);
            let slot = &mut page.bits[(at % PAGE / 64) as usize];
            let before = slot.count_ones();
            if written {
                *slot |= mask
            } else {
                *slot &= !mask
            }
            page.set = page.set + slot.count_ones() - before;
            at = stop;
        }
    }

    /// Marks a byte of which these bits are undefined.
    pub fn set_bits(&mut self, address: u64, undefined: u8) {
        self.set(address, 1, undefined == 0);
        if !matches!(undefined, 0 | 0xFF) {
            self.parts.insert(address, undefined);
        }
    }

    /// The undefined bits of an element of at most 16 bytes.
    pub fn missing_bits(&mut self, address: u64, bytes: u32) -> u128 {
        let missing = self.missing(address, bytes.min(16));
        (0..bytes.min(16)).filter(|byte| missing >> byte & 1 != 0).fold(0, |all, byte| {
            let part = self.parts.get(&address.wrapping_add(byte.into())).copied().unwrap_or(0xFF);
            all | u128::from(part) << (8 * byte)
        })
    }

    /// A launch is about to store: its number.
    pub fn launched(&mut self, launch: &Arc<Launched>) -> u32 {
        if self.launches.last().is_none_or(|last| !Arc::ptr_eq(last, launch)) {
            self.launches.push(launch.clone());
        }
        self.launches.len() as u32 - 1
    }

    /// A kernel stores there; `undefined`: a value that was never written.
    pub fn stored_by(&mut self, storer: Storer, undefined: bool) {
        self.page_or_new(storer.address / PAGE).storer = Some(storer);
        if undefined {
            self.left.insert(storer.address / 64, storer);
        }
    }

    /// The store that put an undefined byte there, or else the latest one to the bytes around it, and its launch.
    pub fn left_by(&mut self, address: u64) -> Option<(Arc<Launched>, Storer, bool)> {
        let left = self.left.get(&(address / 64)).copied();
        let storer = left.or_else(|| self.page(address / PAGE)?.storer)?;
        Some((self.launches[storer.launch as usize].clone(), storer, left.is_some()))
    }

    /// An undefined value is stored there that comes from this.
    pub fn came_from(&mut self, address: u64, origin: Origin) {
        /// More are not kept: the load tells of itself.
        const MOST: usize = 1 << 16;
        if self.origins.len() < MOST {
            self.origins.insert(address / 4, origin);
        } else {
            self.origins.remove(&(address / 4));
        }
    }

    /// The origin of an undefined value that a launch reads: the read itself, if no other one of the launch is known.
    pub fn origin(&self, address: u64, read: Origin) -> Origin {
        let stored = self.origins.get(&(address / 4));
        stored.copied().filter(|origin| origin.launch == read.launch).unwrap_or(read)
    }

    /// A kernel stores elements of `width` bytes around an address.
    #[inline]
    pub fn stored(&mut self, address: u64, width: u32) {
        let width = width as u8;
        match self.page(address / PAGE) {
            Some(page) => page.widest = page.widest.max(width),
            None => self.page_or_new(address / PAGE).widest = width,
        }
    }

    /// Whether all bytes of a page were written.
    pub fn is_whole(&mut self, number: u64) -> bool {
        match self.page(number) {
            Some(page) => page.set == PAGE as u32,
            None => self.default_of(number),
        }
    }

    /// Whether all bytes of a range were written.
    #[inline]
    pub fn holds(&mut self, address: u64, end: u64) -> bool {
        let (first, last) = (address / PAGE, end.saturating_sub(1) / PAGE);
        if last.wrapping_sub(first) <= 1 && (first..=last).all(|number| self.is_whole(number)) {
            return true;
        }
        end.wrapping_sub(address) <= PAGE && self.first_missing(address, end.wrapping_sub(address)).is_none()
    }

    /// Whether what was not written of a range is padding: gaps that come again in each structure of an array, each
    /// shorter than the field behind it, which begins where it must. `widest` is known from what kernels stored: the
    /// odd elements of an array of words are no padding.
    pub fn is_padding(&mut self, address: u64, bytes: u64) -> bool {
        /// More structures than this are not looked at: they are like those before them.
        const MOST: usize = 1 << 16;
        let end = address.saturating_add(bytes);
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        let mut at = address;
        while gaps.len() < MOST
            && let Some(start) = self.first_missing(at, end.saturating_sub(at))
        {
            let mut stop = start + 1;
            while stop < end && stop - start <= 16 && self.missing(stop, 1) != 0 {
                stop += 1;
            }
            gaps.push((start, stop));
            at = stop;
        }
        let all_pad = gaps.iter().all(|&(start, stop)| {
            let widest = self.page(start / PAGE).map_or(0, |page| u64::from(page.widest));
            let before = start > address && self.missing(start - 1, 1) == 0;
            let fits = |field: u64| {
                field <= widest && field > stop - start && stop % field == 0 && start % field != 0
            };
            before && [2, 4, 8, 16].into_iter().any(fits)
        });
        if !all_pad {
            return false;
        }
        // One structure alone, or the same gaps again and again.
        let alike = |several: usize| {
            let Some(&(next, _)) = gaps.get(several) else { return bytes <= 64 };
            let size = next - gaps[0].0;
            let again = gaps.windows(several + 1).all(|gaps| {
                let (first, last) = (gaps[0], gaps[several]);
                last.0 - first.0 == size && last.1 - first.1 == size
            });
            let structures = (gaps.len() / several) as u64;
            again && (gaps.len() >= MOST || (structures + 1) * size > bytes)
        };
        (1..=8.min(gaps.len())).any(alike)
    }

    /// The bytes of an access of at most 32 bytes that were never written, as a mask.
    #[inline]
    pub fn missing(&mut self, address: u64, bytes: u32) -> u32 {
        let all = (1u64 << bytes) - 1;
        if address % 64 + u64::from(bytes) <= 64 {
            let number = address / PAGE;
            let Some(page) = self.page(number) else {
                return if self.default_of(number) { 0 } else { all as u32 };
            };
            return (!(page.bits[(address % PAGE / 64) as usize] >> (address % 64)) & all) as u32;
        }
        (0..bytes).fold(0, |mask, i| mask | self.missing(address.wrapping_add(i.into()), 1) << i)
    }

    /// The first byte of a range that was never written.
    pub fn first_missing(&mut self, address: u64, bytes: u64) -> Option<u64> {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let stop = end.min((at / 64 + 1).saturating_mul(64));
            let number = at / PAGE;
            let Some(page) = self.page(number) else {
                if !self.default_of(number) {
                    return Some(at);
                }
                at = (number + 1).saturating_mul(PAGE);
                continue;
            };
            let set = page.bits[(at % PAGE / 64) as usize];
            let mask = (u64::MAX >> (64 - (stop - at))) << (at % 64);
            let missing = !set & mask;
            if missing != 0 {
                return Some(at / 64 * 64 + u64::from(missing.trailing_zeros()));
            }
            at = stop;
        }
        None
    }
}

/// Removes the entries of a range of keys.
fn forget<V>(entries: &mut Numbered<V>, keys: Range<u64>) {
    if keys.end.saturating_sub(keys.start) <= entries.len() as u64 {
        keys.for_each(|key| {
            entries.remove(&key);
        });
    } else {
        entries.retain(|key, _| !keys.contains(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_apart_and_across_pages() {
        let mut written = Written::default();
        written.set(PAGE - 2, 3, true);
        assert_eq!(written.missing(PAGE - 4, 8), 0b1110_0011);
        written.set(PAGE - 1, 1, false);
        assert_eq!(written.missing(PAGE - 4, 8), 0b1110_1011);
        assert_eq!(written.first_missing(PAGE - 2, 3), Some(PAGE - 1));
        assert_eq!(written.first_missing(PAGE, 1), None);
    }

    #[test]
    fn a_range_is_whole_or_not() {
        let mut written = Written::default();
        written.set(0, 256, true);
        assert!(written.holds(0, 256) && written.holds(100, 104));
        assert!(!written.holds(0, 257));
        written.set(7, 1, false);
        assert!(!written.holds(0, 256) && written.holds(8, 256));
        written.set(0, PAGE, true);
        assert!(written.holds(0, PAGE));
    }

    #[test]
    fn untouched_memory_takes_no_pages() {
        const WHOLE: u64 = 128 << 30;
        let mut written = Written::of_global();
        written.set(24, WHOLE, false);
        assert_eq!(written.first_missing(0, WHOLE), Some(24));
        written.set(PAGE + 8, WHOLE - 2 * PAGE, true);
        assert_eq!((written.first_missing(PAGE + 8, WHOLE - 2 * PAGE), written.pages.len()), (None, 4));
        written.set(9 * PAGE, 2 * PAGE, false);
        assert_eq!(written.first_missing(PAGE + 8, WHOLE / 2), Some(9 * PAGE));
        assert_eq!(written.first_missing(11 * PAGE, WHOLE / 2), None);
        assert!(written.is_whole(8) && !written.is_whole(9) && !written.is_whole(10) && written.is_whole(11));
        written.set(9 * PAGE + 4, 1, true);
        assert_eq!((written.missing(9 * PAGE, 8), written.missing(10 * PAGE, 4)), (0b1110_1111, 0b1111));
        written.set(9 * PAGE, 2 * PAGE, true);
        assert!(written.holds(9 * PAGE, 11 * PAGE) && written.pages.len() < 8);
    }

    #[test]
    fn bits_of_a_byte_are_kept() {
        let mut written = Written::default();
        written.set_bits(5, 0xFB);
        assert_eq!(written.missing_bits(4, 2), 0xFBFF);
        written.set_bits(5, 0);
        written.set(5, 1, false);
        assert_eq!(written.missing_bits(5, 1), 0xFF);
    }

    #[test]
    fn padding_is_told_from_elements_left_out() {
        // struct { u8, u32 }, 16 of them.
        let mut written = Written::default();
        for i in 0..16 {
            written.set(8 * i, 1, true);
            written.set(8 * i + 4, 4, true);
            written.stored(8 * i, 1);
            written.stored(8 * i + 4, 4);
        }
        assert!(written.is_padding(0, 128));
        written.set(4, 4, false);
        assert!(!written.is_padding(0, 128), "a field was left out");
        // Every other word of an array.
        let mut words = Written::default();
        (0..16).for_each(|i| words.set(8 * i, 4, true));
        words.stored(0, 4);
        assert!(!words.is_padding(0, 128));
    }
}
