//! The accesses of most kernels, most of the time: in each half of a warp all lanes go to one place, or side by side.

use std::ops::Range;

use crate::LaneAddresses;
use crate::coalescing::SECTOR_BYTES;

/// Lanes of a half.
const LANES: u32 = 16;

/// An access of all lanes of a warp. Blocks are often 16 threads wide, so the halves are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halves {
    /// The address of the first lane of each half.
    pub first: [u64; 2],
    /// How far its lanes are apart: not at all, or as many bytes as each of them accesses.
    pub step: u32,
}

impl Halves {
    /// An access of `bytes` a lane, if it is one of these.
    #[inline]
    pub fn of(bytes: u32, mask: u32, addresses: &LaneAddresses) -> Option<Self> {
        let first = [addresses[0], addresses[LANES as usize]];
        let step = addresses[1].wrapping_sub(first[0]);
        let ends = first.map(|first| first.checked_add(u64::from(LANES * bytes)));
        if mask != u32::MAX || (step != 0 && step != bytes.into()) || ends.contains(&None) {
            return None;
        }
        let (low, high) = addresses.split_at(LANES as usize);
        let differs = |half: &[u64], first: u64| {
            let expected = (0..u64::from(LANES)).map(|lane| first + lane * step);
            half.iter().zip(expected).fold(0, |differs, (address, expected)| differs | (address ^ expected))
        };
        let found = Halves { first, step: step as u32 };
        (differs(low, first[0]) | differs(high, first[1]) == 0).then_some(found)
    }

    /// The address of each lane.
    pub fn addresses(&self) -> LaneAddresses {
        let Halves { first, step } = *self;
        std::array::from_fn(|lane| first[lane / LANES as usize] + (lane as u32 % LANES * step) as u64)
    }

    /// Addresses of each half with `bytes` a lane.
    #[inline]
    pub fn ranges(&self, bytes: u32) -> [Range<u64>; 2] {
        let long = u64::from((LANES - 1) * self.step + bytes);
        self.first.map(|first| first..first + long)
    }

    /// [`sectors`](crate::coalescing::sectors) of the access.
    ///
    /// ```
    /// use gpu_model::Halves;
    ///
    /// assert_eq!(Halves { first: [0, 64], step: 4 }.sectors(4), 4);
    /// assert_eq!(Halves { first: [8, 4096], step: 0 }.sectors(4), 2);
    /// ```
    #[inline]
    pub fn sectors(&self, bytes: u32) -> u32 {
        let [low, high] =
            self.ranges(bytes).map(|range| range.start / SECTOR_BYTES..(range.end - 1) / SECTOR_BYTES + 1);
        let both = low.end.min(high.end).saturating_sub(low.start.max(high.start));
        (low.end - low.start + high.end - high.start - both) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::coalescing::sectors;

    proptest! {
        #[test]
        fn sectors_are_those_of_the_lanes(
            width in 0u32..5,
            first in prop::array::uniform2(0u64..100),
            row: bool,
        ) {
            let bytes = 1 << width;
            let halves = Halves { first: first.map(|unit| unit << width), step: if row { bytes } else { 0 } };
            let addresses = halves.addresses();
            prop_assert_eq!(halves.sectors(bytes), sectors(bytes, u32::MAX, &addresses));
            prop_assert_eq!(Halves::of(bytes, u32::MAX, &addresses), Some(halves));
        }

        #[test]
        fn one_lane_elsewhere_or_missing_makes_it_another_access(lane in 0usize..32, row: bool) {
            let mut addresses = Halves { first: [256, 64], step: if row { 4 } else { 0 } }.addresses();
            prop_assert_eq!(Halves::of(4, !(1 << lane), &addresses), None);
            // The first lanes of the second half say where it is.
            addresses[lane] += 8;
            prop_assert_eq!(Halves::of(4, u32::MAX, &addresses), None);
        }
    }

    #[test]
    fn what_would_wrap_around_is_none() {
        let addresses = std::array::from_fn(|lane| (4 * lane as u64).wrapping_sub(8));
        assert_eq!(Halves::of(4, u32::MAX, &addresses), None);
    }
}
