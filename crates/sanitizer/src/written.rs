//! Which bytes of an address space were ever written: a bit each, and for the few that are undefined in part (a bit
//! field set in a byte that was never written) which of their bits are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::shadow::Numbered;

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
}

/// Which bytes were ever written.
#[derive(Debug, Default)]
pub struct Written {
    index: Numbered<u32>,
    pages: Vec<Page>,
    last: Option<(u64, u32)>,
    /// Pages that nobody has spoken of count as written: of global memory, what the host allocated is tracked, and a
    /// module's own variables are not.
    unknown_is_written: bool,
    /// Of bytes that do not count as written: the bits that are undefined, where these are not all.
    parts: Numbered<u8>,
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

    fn page_or_new(&mut self, number: u64) -> &mut Page {
        let pages = &mut self.pages;
        let page = match self.unknown_is_written {
            true => Page { bits: [u64::MAX; SLOTS], set: PAGE as u32, widest: 0 },
            false => Page { bits: [0; SLOTS], set: 0, widest: 0 },
        };
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
        }
        let mut at = address;
        while at < end {
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
        self.page(number).is_some_and(|page| page.set == PAGE as u32)
    }

    /// Whether all bytes of a range were written.
    #[inline]
    pub fn holds(&mut self, address: u64, end: u64) -> bool {
        let (first, last) = (address / PAGE, end.saturating_sub(1) / PAGE);
        if last.wrapping_sub(first) <= 1
            && (first..=last).all(|number| self.page(number).is_some_and(|page| page.set == PAGE as u32))
        {
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
            let unknown = if self.unknown_is_written { 0 } else { all as u32 };
            let Some(page) = self.page(address / PAGE) else { return unknown };
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
            let unknown = if self.unknown_is_written { u64::MAX } else { 0 };
            let set = self.page(at / PAGE).map_or(unknown, |page| page.bits[(at % PAGE / 64) as usize]);
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
