//! The measured rule of today's chips: distinct 32-byte sectors over the whole warp.

use crate::{LaneAddresses, active_lanes};

/// Smallest transfer of global memory: an aligned piece of this many bytes.
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

/// Which of the four parts of a cache's tags a line belongs to: a bit of the part is the parity of these bits of the line's
/// number. Measured on an H200 for lines up to 8 GiB apart.
const TAG_BITS: [u64; 2] = [0x1ef_7ab5, 0x2ba_d5da];

fn tags_of(line: u64) -> u32 {
    let parity = |bits: u64| (line & bits).count_ones() & 1;
    parity(TAG_BITS[0]) | parity(TAG_BITS[1]) << 1
}

/// Counts the sectors of one warp's `atom.global` or `red.global` of `bytes` a lane. In each turn a part of the tags serves
/// one line, that of its first lane; each place of a line is the first lane's that wants it, also where that lane wants
/// it of another line and must wait. A sector counts in every turn in which some lane reaches it.
///
/// ```
/// use gpu_model::coalescing::atomic_sectors;
///
/// let words = std::array::from_fn(|lane| lane as u64 * 4);
/// assert_eq!(atomic_sectors(4, u32::MAX, &words), 4);
/// assert_eq!(atomic_sectors(4, u32::MAX, &[64; 32]), 32);
/// // Lines 1 and 32 share tags: the second lane waits for the first, the third for the second.
/// let mut apart = [0; 32];
/// apart[..3].copy_from_slice(&[32 * 128 + 4, 128, 32 * 128]);
/// assert_eq!(atomic_sectors(4, 0b111, &apart), 3);
/// ```
pub fn atomic_sectors(bytes: u32, mask: u32, addresses: &LaneAddresses) -> u32 {
    let bytes = u64::from(bytes.max(1));
    let mut waiting = mask;
    let mut count = 0;
    while waiting != 0 {
        let served = addresses[waiting.trailing_zeros() as usize] / LINE_BYTES;
        let (mut places, mut sectors) = (0u128, 0u32);
        for lane in active_lanes(waiting) {
            let (line, within) = (addresses[lane] / LINE_BYTES, addresses[lane] % LINE_BYTES);
            let place = 1 << (within / bytes);
            if tags_of(line) != tags_of(served) || places & place != 0 {
                continue;
            }
            places |= place;
            if line == served {
                sectors |= 1 << (within / SECTOR_BYTES);
                waiting &= !(1 << lane);
            }
        }
        count += sectors.count_ones();
    }
    count
}

/// Counts the sectors of one warp's `cp.async.cg`, which goes past the first cache, 16 bytes a lane: one for two
/// neighbouring lanes, the first of them even, that share a sector half and half, and else one for each lane.
///
/// ```
/// use gpu_model::coalescing::copied_sectors;
///
/// let contiguous = std::array::from_fn(|lane| lane as u64 * 16);
/// assert_eq!(copied_sectors(u32::MAX, &contiguous), 16);
/// assert_eq!(copied_sectors(u32::MAX, &[0; 32]), 32);
/// ```
pub fn copied_sectors(mask: u32, addresses: &LaneAddresses) -> u32 {
    let shared = (0..32).step_by(2).filter(|&lane| {
        let (a, b) = (addresses[lane], addresses[lane + 1]);
        mask >> lane & 0b11 == 0b11 && a / SECTOR_BYTES == b / SECTOR_BYTES && a != b
    });
    mask.count_ones() - shared.count() as u32
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
