//! The rule of each generation: from lanes and addresses to memory transactions.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Capability, SmLimits, UnknownCapability};

/// How a generation joins the lanes of a warp into transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// 1.0 and 1.1: a half-warp is served at once if lane *k* wants word *k* of a segment aligned to 16 × the access
    /// size (missing lanes are harmless); otherwise each lane is a transaction of its own.
    InOrder,
    /// 1.2 and 1.3: the fewest aligned segments of a half-warp, each cut to the half or quarter in use.
    Segments,
    /// 2.x through L1: aligned lines of 128 bytes, for the warp at once up to 4 bytes a lane, for each half of it at 8 and
    /// for each quarter at 16 (programming guide, 2.x, global memory).
    Lines,
    /// 2.x without L1, and everything since: aligned sectors of 32 bytes over the whole warp.
    Sectors,
}

impl Rule {
    /// The rule of a generation. `l1` says whether global loads go through L1; it matters to 2.x only.
    pub fn of(capability: Capability, l1: bool) -> Result<Self, UnknownCapability> {
        let known = SmLimits::known(capability)?.capability;
        Ok(match (known.major, known.minor) {
            (1, 0 | 1) => Self::InOrder,
            (1, _) => Self::Segments,
            (2, _) if l1 => Self::Lines,
            _ => Self::Sectors,
        })
    }

    pub const fn sentence(self) -> &'static str {
        match self {
            Self::InOrder => {
                "each half-warp: one transaction if lane k takes word k of an aligned segment, else one a lane"
            }
            Self::Segments => {
                "each half-warp: the fewest aligned segments, each cut to the half that is in use"
            }
            Self::Lines => {
                "the warp, each half of it at 8 bytes a lane or each quarter at 16, fetches every aligned 128-byte line that it touches"
            }
            Self::Sectors => "the warp moves every aligned 32-byte sector that it touches",
        }
    }

    /// Lanes that are joined, by the bytes that each takes.
    pub const fn lanes(self, bytes: u32) -> usize {
        match (self, bytes) {
            (Self::InOrder | Self::Segments, _) | (Self::Lines, 8) => 16,
            (Self::Lines, 16) => 8,
            (Self::Lines | Self::Sectors, _) => 32,
        }
    }
}

/// One piece of memory that moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transaction {
    /// First byte.
    pub address: u64,
    pub bytes: u32,
    /// Lanes it serves, in order.
    pub lanes: Vec<usize>,
}

/// One access of a warp to global memory, taken apart by a rule.
///
/// ```
/// use gpu_model::coalescing::{Coalescing, Rule};
///
/// let shifted: Vec<_> = (0..32).map(|lane| Some(4 + lane * 4)).collect();
/// assert_eq!(Coalescing::new(Rule::Lines, 4, &shifted).efficiency, 0.5);
/// assert_eq!(Coalescing::new(Rule::Sectors, 4, &shifted).efficiency, 0.8);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coalescing {
    /// The rule applied.
    pub rule: Rule,
    /// Bytes of each lane.
    pub bytes: u32,
    /// Transactions, in the order of the rule.
    pub transactions: Vec<Transaction>,
    /// Distinct bytes that lanes asked for.
    pub useful_bytes: u64,
    /// Bytes that move.
    pub moved_bytes: u64,
    /// Useful ÷ moved; 1 if nothing moves.
    pub efficiency: f64,
}

impl Coalescing {
    /// Takes apart an access of `bytes` a lane; `None` stands for an inactive lane.
    pub fn new(rule: Rule, bytes: u32, addresses: &[Option<u64>]) -> Self {
        let mut transactions = Vec::new();
        let joined = rule.lanes(bytes);
        for start in (0..addresses.len()).step_by(joined) {
            let lanes: Vec<(usize, u64)> = (start..(start + joined).min(addresses.len()))
                .filter_map(|lane| Some((lane, addresses[lane]?)))
                .collect();
            match rule {
                Rule::InOrder => in_order(bytes, start, &lanes, &mut transactions),
                Rule::Segments => segments(bytes, &lanes, &mut transactions),
                Rule::Lines => aligned(128, bytes, &lanes, &mut transactions),
                Rule::Sectors => aligned(32, bytes, &lanes, &mut transactions),
            }
        }
        let moved_bytes = transactions.iter().map(|transaction| u64::from(transaction.bytes)).sum();
        let useful_bytes = distinct_bytes(bytes, addresses);
        let efficiency = if moved_bytes == 0 { 1.0 } else { useful_bytes as f64 / moved_bytes as f64 };
        Self { rule, bytes, transactions, useful_bytes, moved_bytes, efficiency }
    }
}

fn distinct_bytes(bytes: u32, addresses: &[Option<u64>]) -> u64 {
    let mut starts: Vec<u64> = addresses.iter().flatten().copied().collect();
    starts.sort_unstable();
    let mut end = 0;
    let mut total = 0;
    for start in starts {
        let stop = start.saturating_add(u64::from(bytes));
        total += stop.saturating_sub(start.max(end));
        end = end.max(stop);
    }
    total
}

fn in_order(bytes: u32, first_lane: usize, lanes: &[(usize, u64)], out: &mut Vec<Transaction>) {
    let Some(&(lane, address)) = lanes.first() else { return };
    let size = u64::from(bytes);
    let base = address.wrapping_sub((lane - first_lane) as u64 * size);
    let regular = matches!(bytes, 4 | 8 | 16)
        && base % (16 * size) == 0
        && lanes
            .iter()
            .all(|&(lane, address)| address == base.wrapping_add((lane - first_lane) as u64 * size));
    if regular {
        // 16 bytes a lane take two transactions of 128 bytes.
        let piece = (16 * bytes).min(128);
        let pieces = 16 * bytes / piece;
        for index in 0..u64::from(pieces) {
            let from = base + index * u64::from(piece);
            let served = lanes.iter().filter(|lane| (from..from + u64::from(piece)).contains(&lane.1));
            let lanes = served.map(|lane| lane.0).collect();
            out.push(Transaction { address: from, bytes: piece, lanes });
        }
    } else {
        for &(lane, address) in lanes {
            let piece = bytes.next_power_of_two().max(32);
            let address = address / u64::from(piece) * u64::from(piece);
            out.push(Transaction { address, bytes: piece, lanes: vec![lane] });
        }
    }
}

fn segments(bytes: u32, lanes: &[(usize, u64)], out: &mut Vec<Transaction>) {
    let widest = match bytes {
        1 => 32,
        2 => 64,
        _ => 128,
    };
    let mut left = lanes.to_vec();
    while let Some(&(_, address)) = left.first() {
        let mut size: u64 = widest;
        let mut start = address / size * size;
        let (inside, outside): (Vec<_>, Vec<_>) =
            left.iter().copied().partition(|lane| (start..start + size).contains(&lane.1));
        let low = inside.iter().map(|lane| lane.1).min().unwrap_or(address);
        let high = inside.iter().map(|lane| lane.1 + u64::from(bytes) - 1).max().unwrap_or(address);
        while size > 32 {
            let half = size / 2;
            if high < start + half {
                size = half;
            } else if low >= start + half {
                start += half;
                size = half;
            } else {
                break;
            }
        }
        let lanes = inside.iter().map(|lane| lane.0).collect();
        out.push(Transaction { address: start, bytes: size as u32, lanes });
        left = outside;
    }
}

fn aligned(piece: u64, bytes: u32, lanes: &[(usize, u64)], out: &mut Vec<Transaction>) {
    let mut touched: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for &(lane, address) in lanes {
        let last = address.saturating_add(u64::from(bytes.max(1)) - 1) / piece;
        for index in address / piece..=last {
            touched.entry(index).or_default().push(lane);
        }
    }
    out.extend(touched.into_iter().map(|(index, lanes)| Transaction {
        address: index * piece,
        bytes: piece as u32,
        lanes,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(address: impl Fn(u64) -> u64) -> Vec<Option<u64>> {
        (0..32).map(|lane| Some(address(lane))).collect()
    }

    fn sizes(rule: Rule, bytes: u32, addresses: &[Option<u64>]) -> Vec<u32> {
        Coalescing::new(rule, bytes, addresses).transactions.iter().map(|one| one.bytes).collect()
    }

    #[test]
    fn capability_1_0_wants_order_and_alignment() {
        let rule = Rule::of(Capability::new(1, 0), true).unwrap();
        assert_eq!(sizes(rule, 4, &lanes(|lane| lane * 4)), [64, 64]);
        assert_eq!(sizes(rule, 8, &lanes(|lane| lane * 8)), [128, 128]);
        assert_eq!(sizes(rule, 16, &lanes(|lane| lane * 16)), [128; 4]);
        let mut gap = lanes(|lane| lane * 4);
        gap[0] = None;
        gap[7] = None;
        assert_eq!(sizes(rule, 4, &gap), [64, 64], "a missing lane is harmless");
        assert_eq!(sizes(rule, 4, &lanes(|lane| lane * 4 + 4)), [32; 32], "shifted by one word");
        assert_eq!(sizes(rule, 4, &lanes(|lane| (lane ^ 1) * 4)), [32; 32], "two lanes swapped");
        assert_eq!(sizes(rule, 4, &lanes(|lane| lane * 12)), [32; 32], "12-byte structs");
    }

    /// Programming guide, 1.2 and 1.3: the worked cases of its figures.
    #[test]
    fn capability_1_2_cuts_segments() {
        let rule = Rule::of(Capability::new(1, 3), true).unwrap();
        assert_eq!(sizes(rule, 4, &lanes(|lane| lane * 4)), [64, 64]);
        // A half-warp shifted by one word stays inside one 128-byte segment; the second spills into the next.
        assert_eq!(sizes(rule, 4, &lanes(|lane| lane * 4 + 4)), [128, 64, 32]);
        assert_eq!(sizes(rule, 4, &lanes(|lane| (lane ^ 1) * 4)), [64, 64], "order does not matter");
        // 16 structs of 12 bytes span 192 bytes: three 64-byte segments, two of them in one transaction.
        assert_eq!(sizes(rule, 4, &lanes(|lane| lane * 12))[..2], [128, 64]);
        assert_eq!(sizes(rule, 1, &lanes(|lane| lane)), [32, 32]);
        assert_eq!(sizes(rule, 2, &lanes(|lane| lane * 2)), [32, 32]);
    }

    #[test]
    fn fermi_moves_lines_or_sectors() {
        let fermi = Capability::new(2, 0);
        let shifted = lanes(|lane| lane * 4 + 4);
        assert_eq!(sizes(Rule::of(fermi, true).unwrap(), 4, &shifted), [128, 128]);
        assert_eq!(sizes(Rule::of(fermi, false).unwrap(), 4, &shifted), [32; 5]);
        // Wide accesses are requests of 128 bytes each: halves and quarters of the warp that share a line both fetch it.
        assert_eq!(sizes(Rule::Lines, 8, &lanes(|lane| lane * 8)), [128; 2]);
        assert_eq!(sizes(Rule::Lines, 8, &lanes(|lane| lane * 8 + 8)), [128; 4]);
        assert_eq!(sizes(Rule::Lines, 16, &lanes(|lane| lane * 16)), [128; 4]);
        assert_eq!(sizes(Rule::Lines, 16, &lanes(|lane| lane * 16 + 64)), [128; 8]);
        assert_eq!(Rule::of(Capability::new(9, 0), true), Ok(Rule::Sectors));
        assert!(Rule::of(Capability::new(4, 0), true).is_err());
    }

    #[test]
    fn no_active_lane_moves_nothing() {
        for rule in [Rule::InOrder, Rule::Segments, Rule::Lines, Rule::Sectors] {
            let none = Coalescing::new(rule, 4, &[None; 32]);
            assert_eq!((none.transactions.len(), none.moved_bytes, none.efficiency), (0, 0, 1.0));
        }
    }
}
