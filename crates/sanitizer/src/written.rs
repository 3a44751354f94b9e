//! Which bytes of an address space were ever written: a bit each.

use crate::shadow::Numbered;

const PAGE: u64 = 4096;
const SLOTS: usize = (PAGE / 64) as usize;

/// One page.
#[derive(Debug)]
struct Page {
    bits: [u64; SLOTS],
    /// How many bits are set: most pages are soon full, and then need no look at their bits.
    set: u32,
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
            true => Page { bits: [u64::MAX; SLOTS], set: PAGE as u32 },
            false => Page { bits: [0; SLOTS], set: 0 },
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

    /// Whether all that lanes reach was written, where that can be told at once: it lies in one page that is full.
    #[inline]
    pub fn holds_all(&mut self, addresses: &[u64; 32], lanes: u32, bytes: u32) -> bool {
        let (mut low, mut high) = (u64::MAX, 0);
        for lane in 0..32 {
            let inside = lanes >> lane & 1 != 0;
            low = low.min(if inside { addresses[lane] } else { u64::MAX });
            high = high.max(if inside { addresses[lane] } else { 0 });
        }
        let (first, last) = (low / PAGE, high.saturating_add(bytes.into()).saturating_sub(1) / PAGE);
        last.wrapping_sub(first) <= 1
            && (first..=last).all(|number| {
                let unknown = self.unknown_is_written;
                self.page(number).map_or(unknown, |page| page.set == PAGE as u32)
            })
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
    fn a_full_page_is_known_at_once() {
        let mut written = Written::default();
        let mut addresses = [0; 32];
        (0..32).for_each(|i| addresses[i] = 4 * i as u64);
        assert!(!written.holds_all(&addresses, !0, 4));
        written.set(0, PAGE, true);
        assert!(written.holds_all(&addresses, !0, 4));
        addresses[7] = PAGE;
        assert!(!written.holds_all(&addresses, !0, 4));
        assert!(written.holds_all(&addresses, !0x80, 4));
    }
}
