//! The measured rule of today's chips: 32 banks of 4 bytes.
//!
//! A warp instruction is served in groups that fetch at most 128 bytes: 32 lanes of up to 4 bytes, 16 lanes of 8, or
//! 8 lanes of 16. Loads whose neighbouring lanes agree on their address join two groups into one. A group costs as
//! many wavefronts as its most wanted bank has distinct words.
//!
//! Atomics and asynchronous copies do not share words: lanes that want the same word come one after the other.

use serde::{Deserialize, Serialize};

use crate::{LaneAddresses, WARP_LANES};

/// Kind of a warp instruction's shared access; only loads may join groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// `ld.shared`.
    Load,
    /// `ld` at generic addresses that lie in shared memory: its groups never join.
    GenericLoad,
    /// `st.shared`.
    Store,
    /// `stmatrix` and `ldmatrix`: the lanes that give rows of one matrix are a group, and groups never join.
    Matrix,
    /// `atom.shared` and `red.shared` that the chip has an instruction for.
    Atomic,
    /// `atom.shared.cas`: each pass takes two wavefronts.
    CompareAndSwap,
    /// `red.shared.add` of the constant 1, or `atom` whose result is unused: the chip counts the lanes of a word
    /// and adds once.
    Count,
    /// A write of `cp.async.ca`.
    AsyncCopy,
}

/// Cost of one warp instruction in shared memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wavefronts {
    /// Passes through shared memory, as `l1tex__data_pipe_lsu_wavefronts_mem_shared` counts them.
    pub wavefronts: u32,
    /// Passes that the same lanes would take without any conflict.
    pub ideal: u32,
    /// Passes of the worst group: the *n* of an *n*-way conflict. 1 is free of conflicts, 0 means no active lane.
    pub degree: u32,
    /// Passes lost to conflicts, as `l1tex__data_bank_conflicts_pipe_lsu_mem_shared` counts them.
    pub conflicts: u32,
}

impl Access {
    /// Whether lanes that want the same word get it at once.
    const fn shares_words(self) -> bool {
        matches!(self, Access::Load | Access::GenericLoad | Access::Store | Access::Matrix | Access::Count)
    }
}

impl Wavefronts {
    /// Passes lost to conflicts, as `l1tex__data_bank_conflicts_pipe_lsu_mem_shared` counts them.
    pub const fn bank_conflicts(self) -> u32 {
        self.conflicts
    }
}

/// Counts the wavefronts of one warp instruction that moves `bytes` (1, 2, 4, 8 or 16) a lane at `addresses`,
/// relative to the start of shared memory. Lanes outside `mask` are ignored.
///
/// Addresses are taken as naturally aligned, as the hardware demands.
///
/// ```
/// use gpu_model::banks::{Access, shared_wavefronts};
///
/// // A column of a 32×32 array of f32: every lane hits bank 0.
/// let column = std::array::from_fn(|lane| lane as u64 * 128);
/// let cost = shared_wavefronts(Access::Load, 4, u32::MAX, &column);
/// assert_eq!((cost.wavefronts, cost.ideal, cost.bank_conflicts()), (32, 1, 31));
///
/// // One padding column spreads the lanes over all banks.
/// let padded = std::array::from_fn(|lane| lane as u64 * 132);
/// assert_eq!(shared_wavefronts(Access::Load, 4, u32::MAX, &padded).wavefronts, 1);
/// ```
#[inline]
pub fn shared_wavefronts(access: Access, bytes: u32, mask: u32, addresses: &LaneAddresses) -> Wavefronts {
    if mask == 0 {
        return Wavefronts::default();
    }
    // Most accesses of a good kernel are settled by one comparison that vectorises: words of one row of banks, as of a
    // tile whose lanes share elements, or words that follow each other.
    if mask == u32::MAX && bytes <= 4 && access.shares_words() && is_one_row(addresses) {
        return Wavefronts { wavefronts: 1, ideal: 1, degree: 1, conflicts: 0 };
    }
    if mask == u32::MAX && bytes >= 4 && access != Access::CompareAndSwap && is_contiguous(bytes, addresses) {
        let groups = bytes / 4;
        return Wavefronts { wavefronts: groups, ideal: groups, degree: 1, conflicts: 0 };
    }
    count_groups(access, bytes, mask, addresses)
}

#[inline]
fn is_contiguous(bytes: u32, addresses: &LaneAddresses) -> bool {
    let first = addresses[0];
    let mut differs = 0;
    for (lane, &address) in addresses.iter().enumerate() {
        differs |= address ^ first.wrapping_add(lane as u64 * u64::from(bytes));
    }
    differs == 0
}

#[inline]
fn is_one_row(addresses: &LaneAddresses) -> bool {
    addresses.iter().fold(0, |differs, address| differs | (address ^ addresses[0])) < 128
}

fn count_groups(access: Access, bytes: u32, mask: u32, addresses: &LaneAddresses) -> Wavefronts {
    let lanes = group_lanes(access, bytes, mask, addresses);
    // A lane's 8 or 16 aligned bytes lie in neighbouring banks, so whole units collide exactly when their words do.
    let unit_bytes = bytes.clamp(4, 16);
    let banks = 128 / unit_bytes;
    let shift = unit_bytes.trailing_zeros();

    let mut cost = Wavefronts::default();
    for start in (0..WARP_LANES).step_by(lanes) {
        let group = if lanes == WARP_LANES { mask } else { mask & (((1 << lanes) - 1) << start) };
        let degree = if access.shares_words() {
            passes(group, shift, banks, addresses)
        } else {
            turns(group, shift, banks, addresses)
        };
        cost.wavefronts += degree;
        cost.ideal += u32::from(degree != 0);
        cost.degree = cost.degree.max(degree);
    }
    cost.conflicts = cost.wavefronts - cost.ideal;
    if access == Access::CompareAndSwap {
        cost.wavefronts *= 2;
        cost.ideal *= 2;
    }
    cost
}

/// Lanes that are served together, after the joining of groups that loads enjoy.
pub(super) fn group_lanes(access: Access, bytes: u32, mask: u32, addresses: &LaneAddresses) -> usize {
    let lanes = match bytes {
        0..=4 => return WARP_LANES,
        5..=8 => 16,
        _ => 8,
    };
    let joins =
        access == Access::Load && (pairs_agree(1, mask, addresses) || pairs_agree(2, mask, addresses));
    if joins { lanes * 2 } else { lanes }
}

/// Whether every active lane finds its partner at distance `distance` (by exclusive or) inactive or at its own address.
fn pairs_agree(distance: usize, mask: u32, addresses: &LaneAddresses) -> bool {
    (0..WARP_LANES).all(|lane| {
        let partner = lane ^ distance;
        mask >> lane & mask >> partner & 1 == 0 || addresses[lane] == addresses[partner]
    })
}

/// The largest number of lanes of `group` that want one bank.
fn turns(group: u32, shift: u32, banks: u32, addresses: &LaneAddresses) -> u32 {
    let mut wanted = [0u8; WARP_LANES];
    let lanes = (0..WARP_LANES).filter(|lane| group >> lane & 1 != 0);
    lanes.for_each(|lane| wanted[((addresses[lane] >> shift) as u32 & (banks - 1)) as usize] += 1);
    u32::from(wanted.into_iter().max().unwrap_or(0))
}

/// The largest number of distinct units that the lanes of `group` want from one bank.
fn passes(group: u32, shift: u32, banks: u32, addresses: &LaneAddresses) -> u32 {
    const END: u8 = u8::MAX;
    // One list of lanes with distinct units for each bank: `newest` is its head, `older` its links.
    let mut newest = [END; WARP_LANES];
    let mut older = [END; WARP_LANES];
    let mut distinct = [0u8; WARP_LANES];
    let mut most = 0;
    let mut rest = group;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let unit = addresses[lane] >> shift;
        let bank = (unit as u32 & (banks - 1)) as usize;
        let mut other = newest[bank];
        while other != END && addresses[other as usize] >> shift != unit {
            other = older[other as usize];
        }
        if other == END {
            older[lane] = newest[bank];
            newest[bank] = lane as u8;
            distinct[bank] += 1;
            most = most.max(distinct[bank]);
        }
    }
    u32::from(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> LaneAddresses {
        std::array::from_fn(|lane| lane as u64 * stride)
    }

    #[test]
    fn no_active_lane_costs_nothing() {
        for access in [Access::Load, Access::Store, Access::Atomic, Access::CompareAndSwap] {
            assert_eq!(shared_wavefronts(access, 16, 0, &strided(128)), Wavefronts::default());
        }
    }

    #[test]
    fn a_group_without_an_active_lane_is_skipped() {
        // Lanes 0 to 7 are the first of four groups of a 16-byte access.
        let cost = shared_wavefronts(Access::Store, 16, 0xff, &strided(16));
        assert_eq!((cost.wavefronts, cost.ideal), (1, 1));
    }

    #[test]
    fn only_loads_join_groups() {
        let same = [64; WARP_LANES];
        assert_eq!(shared_wavefronts(Access::Load, 16, u32::MAX, &same).wavefronts, 2);
        assert_eq!(shared_wavefronts(Access::Store, 16, u32::MAX, &same).wavefronts, 4);
        assert_eq!(shared_wavefronts(Access::Load, 8, u32::MAX, &same).wavefronts, 1);
        assert_eq!(shared_wavefronts(Access::Store, 8, u32::MAX, &same).wavefronts, 2);
    }

    #[test]
    fn inactive_lanes_may_hold_any_address() {
        let mut addresses = strided(4);
        addresses[7] = u64::MAX;
        assert_eq!(shared_wavefronts(Access::Load, 4, !(1 << 7), &addresses).wavefronts, 1);
    }
}
