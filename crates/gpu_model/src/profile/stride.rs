//! How far neighbouring lanes are apart, where that costs something: it says which remedy fits.

use std::ops::{AddAssign, Mul};

use serde::{Deserialize, Serialize};

use crate::{LaneAddresses, active_lanes};

/// The distances between neighbouring lanes of many accesses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Strides {
    /// Accesses whose lanes were equally far apart, or nearly all of them.
    pub regular: u64,
    /// Accesses whose lanes followed no stride.
    pub irregular: u64,
    /// The least stride of the regular ones, in bytes.
    pub least: u64,
    /// The largest.
    pub most: u64,
}

impl Strides {
    /// Those of one access.
    pub fn of(lanes: u32, addresses: &LaneAddresses) -> Self {
        let active = active_lanes(lanes).map(|lane| addresses[lane]);
        let distances = active.clone().zip(active.skip(1)).map(|(one, next)| one.abs_diff(next));
        // If most are alike, it is they who are left when each other one has cancelled one of them.
        let mut candidate = (0, 0);
        for distance in distances.clone() {
            candidate = match candidate {
                (_, 0) => (distance, 1),
                (known, votes) if known == distance => (known, votes + 1),
                (known, votes) => (known, votes - 1),
            };
        }
        let (stride, _) = candidate;
        let (all, alike) =
            distances.fold((0, 0), |(all, alike), distance| (all + 1, alike + u32::from(distance == stride)));
        // A tile of 16 columns has one jump among 31 distances.
        match stride > 0 && 4 * alike >= 3 * all {
            true => Self { regular: 1, irregular: 0, least: stride, most: stride },
            false => Self { irregular: 1, ..Self::default() },
        }
    }

    /// The one stride of all accesses.
    pub fn only(&self) -> Option<u64> {
        (self.regular > 0 && self.irregular == 0 && self.least == self.most).then_some(self.least)
    }

    /// Whether the stride changes from access to access, as it does on the way up or down a tree.
    pub fn varies(&self) -> bool {
        self.regular > self.irregular && self.least < self.most
    }
}

/// Counters of a number of equal accesses.
impl Mul<u64> for Strides {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self { regular: self.regular * times, irregular: self.irregular * times, ..self }
    }
}

impl AddAssign for Strides {
    fn add_assign(&mut self, other: Self) {
        self.least = match (self.regular, other.regular) {
            (_, 0) => self.least,
            (0, _) => other.least,
            _ => self.least.min(other.least),
        };
        self.most = self.most.max(other.most);
        self.regular += other.regular;
        self.irregular += other.irregular;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lanes: u32, address: impl Fn(u64) -> u64) -> Strides {
        Strides::of(lanes, &std::array::from_fn(|lane| address(lane as u64)))
    }

    #[test]
    fn a_stride_is_that_of_nearly_all_lanes() {
        assert_eq!(of(u32::MAX, |lane| 128 * lane).only(), Some(128));
        // Down the columns of a tile of 16 columns: a jump in the middle.
        assert_eq!(of(u32::MAX, |lane| 64 * (lane % 16) + 4 * (lane / 16)).only(), Some(64));
        assert_eq!(of(u32::MAX, |lane| lane * lane % 37 * 4).only(), None);
        assert_eq!(of(u32::MAX, |_| 64), Strides { irregular: 1, ..Strides::default() });
        assert_eq!(of(1, |_| 64).only(), None);
    }

    #[test]
    fn strides_of_a_tree_vary() {
        let mut all = Strides::default();
        for level in 1..5 {
            all += of(u32::MAX >> level, |lane| (8 << level) * lane);
        }
        assert_eq!((all.regular, all.least, all.most, all.only()), (4, 16, 128, None));
        assert!(all.varies());
    }
}
