//! The measured rule of today's chips: distinct 32-byte sectors over the whole warp.

use crate::{LaneAddresses, active_lanes};

/// What global memory moves at least: an aligned piece of this many bytes.
pub const SECTOR_BYTES: u64 = 32;

/// A line of the first cache.
const LINE_BYTES: u64 = 128;

/// Counts the sectors that one warp instruction touches which moves `bytes` a lane at `addresses`. Loads and stores
/// count alike; an instruction is one request, whatever its width. Lanes outside `mask` are ignored.
///
/// ```
/// use gpu_model::coalescing::sectors;
///
/// let contiguous = std::array::from_fn(|lane| lane as u64 * 4);
/// assert_eq!(sectors(4, u32::MAX, &contiguous), 4);
/// let shifted = std::array::from_fn(|lane| lane as u64 * 4 + 4);
/// assert_eq!(sectors(4, u32::MAX, &shifted), 5);
/// ```
#[inline]
pub fn sectors(bytes: u32, mask: u32, addresses: &LaneAddresses) -> u32 {
    if mask == 0 {
        return 0;
    }
    let bytes = u64::from(bytes.max(1));
    // Ascending addresses are the rule: one pass counts the sectors that begin beyond the last one seen.
    let mut next = 0;
    let mut count = 0;
    let mut rest = mask;
    while rest != 0 {
        let address = addresses[rest.trailing_zeros() as usize];
        rest &= rest - 1;
        let first = address / SECTOR_BYTES;
        let last = address.saturating_add(bytes - 1) / SECTOR_BYTES;
        if count != 0 && first + 1 < next {
            return count_unordered(bytes, mask, addresses);
        }
        count += (last + 1 - first.max(next)) as u32;
        next = last + 1;
    }
    count
}

/// Counts the sectors of one warp's `atom.global` or `red.global`. Lanes that want the same word of a sector come one
/// after the other, and each time the sector counts; lanes that want other words of it go with them.
///
/// ```
/// use gpu_model::coalescing::atomic_sectors;
///
/// let words = std::array::from_fn(|lane| lane as u64 * 4);
/// assert_eq!(atomic_sectors(u32::MAX, &words), 4);
/// assert_eq!(atomic_sectors(u32::MAX, &[64; 32]), 32);
/// ```
pub fn atomic_sectors(mask: u32, addresses: &LaneAddresses) -> u32 {
    let mut words = [0; 32];
    let mut used = 0;
    for lane in active_lanes(mask) {
        words[used] = addresses[lane];
        used += 1;
    }
    let words = &mut words[..used];
    words.sort_unstable();
    let turns = |sector: &[u64]| sector.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
    words.chunk_by(|a, b| a / SECTOR_BYTES == b / SECTOR_BYTES).map(|sector| turns(sector) as u32).sum()
}

/// Whether the chip may count more for one warp's `atom.global` or `red.global` of `bytes` a lane than [`atomic_sectors`]
/// does: a word at the same place of its line as a word of another line may have to wait, and its sector counts again when
/// other words of it went before. Which of the two waits was not found out.
///
/// ```
/// use gpu_model::coalescing::atomic_sectors_may_repeat;
///
/// let words = std::array::from_fn(|lane| lane as u64 * 4);
/// assert!(!atomic_sectors_may_repeat(4, u32::MAX, &words));
/// // Two words of a sector, and in the next line one at the place of the second.
/// let mut apart = [0; 32];
/// apart[..3].copy_from_slice(&[0, 128 + 8, 8]);
/// assert!(atomic_sectors_may_repeat(8, 0b111, &apart));
/// ```
pub fn atomic_sectors_may_repeat(bytes: u32, mask: u32, addresses: &LaneAddresses) -> bool {
    let bytes = u64::from(bytes.max(1));
    let place = |address: u64| address % LINE_BYTES / bytes;
    active_lanes(mask).any(|lane| {
        let here = addresses[lane];
        let others = || active_lanes(mask).map(|other| addresses[other]);
        others().any(|other| other / LINE_BYTES != here / LINE_BYTES && place(other) == place(here))
            && others().any(|other| other / SECTOR_BYTES == here / SECTOR_BYTES && other != here)
    })
}

fn count_unordered(bytes: u64, mask: u32, addresses: &LaneAddresses) -> u32 {
    let mut spans = [(0, 0); 32];
    let mut used = 0;
    for lane in active_lanes(mask) {
        let last = addresses[lane].saturating_add(bytes - 1) / SECTOR_BYTES;
        spans[used] = (addresses[lane] / SECTOR_BYTES, last);
        used += 1;
    }
    let spans = &mut spans[..used];
    spans.sort_unstable();
    let mut next = 0;
    let mut count = 0;
    for &(first, last) in &*spans {
        let first = first.max(next);
        if last + 1 > first {
            count += (last + 1 - first) as u32;
            next = last + 1;
        }
    }
    count
}

/// Share of the bytes moved that some lane asked for; each byte counts once, however many lanes want it.
pub fn efficiency(bytes: u32, mask: u32, addresses: &LaneAddresses) -> f64 {
    let mut spans: Vec<(u64, u64)> =
        active_lanes(mask).map(|lane| (addresses[lane], addresses[lane] + u64::from(bytes))).collect();
    spans.sort_unstable();
    let mut end = 0;
    let mut used = 0;
    for (from, to) in spans {
        used += to.saturating_sub(from.max(end));
        end = end.max(to);
    }
    let moved = u64::from(sectors(bytes, mask, addresses)) * SECTOR_BYTES;
    if moved == 0 { 1.0 } else { used as f64 / moved as f64 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_the_set_of_touched_sectors(
            width in 0u32..5,
            mask: u32,
            units in prop::array::uniform32(0u64..200),
            sort: bool,
        ) {
            let bytes = 1 << width;
            let mut addresses = units.map(|unit| unit * u64::from(bytes));
            if sort {
                addresses.sort_unstable();
            }
            let mut touched = BTreeSet::new();
            for lane in 0..32 {
                if mask & 1 << lane != 0 {
                    for byte in 0..u64::from(bytes) {
                        touched.insert((addresses[lane] + byte) >> 5);
                    }
                }
            }
            prop_assert_eq!(sectors(bytes, mask, &addresses), touched.len() as u32);
        }
    }

    #[test]
    fn efficiency_counts_each_byte_once() {
        assert_eq!(efficiency(4, u32::MAX, &[0; 32]), 0.125);
        assert_eq!(efficiency(4, u32::MAX, &std::array::from_fn(|lane| lane as u64 * 4)), 1.0);
        assert_eq!(efficiency(4, u32::MAX, &std::array::from_fn(|lane| lane as u64 * 4 + 4)), 0.8);
    }
}
