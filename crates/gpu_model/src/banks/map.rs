//! One access explained: which lane wants which word of which bank, and who waits for whom.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Access, BankSystem, Sharing, Wavefronts};

/// Lanes that want one word of one bank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WordUse {
    /// The word, counted within its bank.
    pub word: u64,
    /// Lanes that want it, in order.
    pub lanes: Vec<usize>,
}

/// One bank's requests by one group of lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BankUse {
    pub bank: u32,
    /// Its distinct words, in order; each beyond the first is another pass.
    pub words: Vec<WordUse>,
}

/// Lanes that are served together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The active lanes of the group.
    pub lanes: Vec<usize>,
    /// The banks they want something of, in order.
    pub banks: Vec<BankUse>,
    /// Passes that the group takes.
    pub passes: u32,
}

/// One access of a warp (or a textbook's handful of lanes) taken apart.
///
/// ```
/// use gpu_model::banks::{Access, BankMap, BankSystem};
///
/// let stride_2: Vec<_> = (0..32).map(|lane| Some(lane * 8)).collect();
/// let map = BankMap::new(&BankSystem::MODERN, Access::Load, 4, &stride_2);
/// assert_eq!(map.cost.wavefronts, 2);
/// let first = &map.groups[0].banks[0];
/// assert_eq!((first.words[0].lanes[0], first.words[1].lanes[0]), (0, 16), "lanes 0 and 16 meet in bank 0");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BankMap {
    /// The banks that were asked.
    pub system: BankSystem,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The groups with an active lane, in lane order.
    pub groups: Vec<Group>,
    /// The access's cost.
    pub cost: Wavefronts,
    /// Bytes that lanes receive.
    pub useful_bytes: u64,
    /// Bytes per clock that lanes receive, conflicts included.
    pub bytes_per_clock: f64,
    /// Bytes per clock that the same lanes would receive without conflicts.
    pub ideal_bytes_per_clock: f64,
}

impl BankMap {
    /// Takes apart an access of `bytes` a lane; `None` stands for an inactive lane.
    pub fn new(system: &BankSystem, access: Access, bytes: u32, addresses: &[Option<u64>]) -> Self {
        let mut groups = Vec::new();
        for lanes in group_ranges(system, access, bytes, addresses) {
            let lanes: Vec<usize> = lanes.filter(|&lane| addresses[lane].is_some()).collect();
            // Chips of 1.x serve a wide access as one request for each 4-byte piece.
            let piece = if system.sharing == Sharing::BroadcastOne { bytes.min(4) } else { bytes };
            for offset in (0..bytes.max(1)).step_by(piece.max(1) as usize) {
                groups.extend(group(system, &lanes, piece, |lane| {
                    addresses[lane].unwrap_or_default() + u64::from(offset)
                }));
            }
        }
        let mut cost = Wavefronts::default();
        for group in &groups {
            cost.wavefronts += group.passes;
            cost.ideal += 1;
            cost.degree = cost.degree.max(group.passes);
            cost.conflicts = cost.wavefronts - cost.ideal;
        }
        let useful_bytes = addresses.iter().flatten().count() as u64 * u64::from(bytes);
        let rate = |passes: u32| match passes {
            0 => 0.0,
            passes => useful_bytes as f64 / f64::from(passes * system.clocks_per_pass),
        };
        Self {
            system: *system,
            bytes,
            groups,
            cost,
            useful_bytes,
            bytes_per_clock: rate(cost.wavefronts),
            ideal_bytes_per_clock: rate(cost.ideal),
        }
    }

    /// The bank that a lane's first byte lies in, and the number of the pass that serves it, if the lane is active.
    pub fn lane(&self, lane: usize) -> Option<(u32, usize)> {
        self.groups.iter().flat_map(|group| &group.banks).find_map(|bank| {
            let pass = bank.words.iter().position(|word| word.lanes.contains(&lane))?;
            Some((bank.bank, pass))
        })
    }

    /// Whether any lane waits for another.
    pub fn has_conflict(&self) -> bool {
        self.cost.bank_conflicts() > 0
    }

    /// Whether some word goes to several lanes at once.
    pub fn has_shared_word(&self) -> bool {
        self.groups
            .iter()
            .flat_map(|group| &group.banks)
            .flat_map(|bank| &bank.words)
            .any(|word| word.lanes.len() > 1)
    }
}

fn group_ranges(
    system: &BankSystem,
    access: Access,
    bytes: u32,
    addresses: &[Option<u64>],
) -> Vec<std::ops::Range<usize>> {
    let mut lanes = match system.sharing {
        Sharing::BroadcastOne => system.request_lanes,
        Sharing::Multicast => system.group_lanes(bytes),
    } as usize;
    if system.joins_agreeing_pairs && access == Access::Load && bytes > 4 {
        let agree = |distance: usize| {
            (0..addresses.len()).all(|lane| match (addresses[lane], addresses.get(lane ^ distance)) {
                (Some(own), Some(&Some(other))) => own == other,
                _ => true,
            })
        };
        if agree(1) || agree(2) {
            lanes *= 2;
        }
    }
    (0..addresses.len()).step_by(lanes).map(|start| start..(start + lanes).min(addresses.len())).collect()
}

fn group(system: &BankSystem, lanes: &[usize], bytes: u32, address: impl Fn(usize) -> u64) -> Option<Group> {
    let mut wanted: BTreeMap<u32, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
    for &lane in lanes {
        let start = address(lane);
        for byte in start..start + u64::from(bytes.max(1)) {
            let lanes = wanted.entry(system.bank(byte)).or_default().entry(system.word(byte)).or_default();
            if lanes.last() != Some(&lane) {
                lanes.push(lane);
            }
        }
    }
    if wanted.is_empty() {
        return None;
    }
    let passes = match system.sharing {
        Sharing::Multicast => wanted.values().map(|words| words.len() as u32).max().unwrap_or(0),
        Sharing::BroadcastOne => passes_with_one_broadcast(&wanted),
    };
    let banks = wanted
        .into_iter()
        .map(|(bank, words)| BankUse {
            bank,
            words: words.into_iter().map(|(word, lanes)| WordUse { word, lanes }).collect(),
        })
        .collect();
    Some(Group { lanes: lanes.to_vec(), banks, passes })
}

/// Chips of 1.x choose one word a pass for everyone who wants it; each other bank serves one lane. Which word is
/// chosen is not documented: the most wanted one is taken.
fn passes_with_one_broadcast(wanted: &BTreeMap<u32, BTreeMap<u64, Vec<usize>>>) -> u32 {
    let mut left: BTreeMap<u32, Vec<usize>> =
        wanted.iter().map(|(&bank, words)| (bank, words.values().map(Vec::len).collect())).collect();
    let mut passes = 0;
    while left.values().flatten().any(|&lanes| lanes > 0) {
        passes += 1;
        let broadcast = left
            .iter()
            .flat_map(|(&bank, words)| {
                words.iter().enumerate().map(move |(word, &lanes)| (lanes, bank, word))
            })
            .max();
        let Some((_, chosen_bank, chosen_word)) = broadcast else { break };
        for (&bank, words) in &mut left {
            if bank == chosen_bank {
                words[chosen_word] = 0;
            } else if let Some(lanes) = words.iter_mut().find(|lanes| **lanes > 0) {
                *lanes -= 1;
            }
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{BankWidth, shared_wavefronts},
        *,
    };
    use crate::Capability;

    fn strided(lanes: u64, stride: u64) -> Vec<Option<u64>> {
        (0..lanes).map(|lane| Some(lane * stride)).collect()
    }

    fn of(major: u8, width: BankWidth) -> BankSystem {
        BankSystem::of(Capability::new(major, 0), width).unwrap()
    }

    proptest! {
        /// Two computations of the same rule: words in sets here, units in lists there.
        #[test]
        fn agrees_with_the_fast_count(
            width in 0u32..5,
            mask: u32,
            units in prop::array::uniform32(0u64..300),
            pair in 0usize..3,
            load: bool,
        ) {
            let bytes = 1 << width;
            let mut addresses = units.map(|unit| unit * u64::from(bytes));
            if pair > 0 {
                for lane in 0..32 {
                    addresses[lane] = addresses[lane & !pair];
                }
            }
            let access = if load { Access::Load } else { Access::Store };
            let lanes: Vec<_> =
                (0..32).map(|lane| (mask >> lane & 1 == 1).then_some(addresses[lane])).collect();
            let map = BankMap::new(&BankSystem::MODERN, access, bytes, &lanes);
            prop_assert_eq!(map.cost, shared_wavefronts(access, bytes, mask, &addresses));
        }
    }

    #[test]
    fn conflict_halves_the_bytes_per_clock() {
        let map = BankMap::new(&BankSystem::MODERN, Access::Load, 4, &strided(32, 8));
        assert_eq!((map.bytes_per_clock, map.ideal_bytes_per_clock), (64.0, 128.0));
        let fermi = BankMap::new(&of(2, BankWidth::Four), Access::Load, 4, &strided(32, 4));
        assert_eq!(fermi.bytes_per_clock, 64.0, "128 bytes in two clocks");
    }

    /// Programming guide, 3.x: doubles at stride 1 are free of conflicts in both modes; 4-byte words at stride 2 are
    /// free too, at stride 32 in 4-byte mode pairs share.
    #[test]
    fn kepler_modes() {
        for width in [BankWidth::Four, BankWidth::Eight] {
            let kepler = of(3, width);
            assert_eq!(BankMap::new(&kepler, Access::Load, 8, &strided(32, 8)).cost.wavefronts, 1);
            assert_eq!(BankMap::new(&kepler, Access::Load, 4, &strided(32, 8)).cost.wavefronts, 1);
        }
        let four = BankMap::new(&of(3, BankWidth::Four), Access::Load, 4, &strided(32, 128));
        assert_eq!(four.cost.wavefronts, 16);
        let eight = BankMap::new(&of(3, BankWidth::Eight), Access::Load, 4, &strided(32, 128));
        assert_eq!(eight.cost.wavefronts, 16);
        let four_wide = BankMap::new(&of(3, BankWidth::Four), Access::Load, 4, &strided(32, 12));
        assert_eq!(four_wide.cost.wavefronts, 1);
    }

    #[test]
    fn tesla_serves_half_warps_and_broadcasts_one_word() {
        let tesla = of(1, BankWidth::Four);
        let cost = |bytes, addresses: Vec<Option<u64>>| {
            BankMap::new(&tesla, Access::Load, bytes, &addresses).cost.wavefronts
        };
        assert_eq!(cost(4, strided(32, 4)), 2, "one pass for each half-warp");
        assert_eq!(cost(4, strided(32, 0)), 2, "one broadcast for each half-warp");
        assert_eq!(cost(4, strided(32, 8)), 4, "stride 2: two-way in each half");
        // Two words, eight lanes each: the broadcast takes one, the other serves its lanes one by one beside it.
        let two_words = (0..16).map(|lane| Some(lane % 2 * 4)).collect();
        assert_eq!(cost(4, two_words), 2);
        // Bytes next to each other: four lanes a word (programming guide, 1.x: four-way).
        assert_eq!(cost(1, strided(16, 1)), 4);
        // Doubles are two requests of stride 2.
        assert_eq!(cost(8, strided(16, 8)), 4);
    }

    #[test]
    fn textbook_banks_follow_the_lanes_given() {
        let eight = BankSystem::custom(8, 4).unwrap();
        let map = BankMap::new(&eight, Access::Load, 4, &strided(8, 8));
        assert_eq!(map.cost.degree, 2);
        assert_eq!(map.lane(4), Some((0, 1)));
        let ten = BankSystem::custom(10, 4).unwrap();
        assert_eq!(BankMap::new(&ten, Access::Load, 4, &strided(10, 20)).cost.degree, 5);
    }
}
