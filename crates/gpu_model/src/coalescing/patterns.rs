//! Access patterns that the teaching commands draw.

use serde::Serialize;

/// A warp's access to global memory: bytes a lane, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pattern {
    /// A description in a few words.
    pub name: String,
    /// Bytes of each lane.
    pub bytes: u32,
    /// First byte of each lane; `None` is inactive.
    pub addresses: Vec<Option<u64>>,
}

/// Lane *i* takes element *i* × `stride`, from byte `base` on.
pub fn strided(bytes: u32, stride: u64, base: u64) -> Pattern {
    let address = |lane: u64| base.wrapping_add(lane.wrapping_mul(stride).wrapping_mul(u64::from(bytes)));
    Pattern {
        name: format!("lane i takes {bytes} bytes at {base} + {} × i", stride.wrapping_mul(bytes.into())),
        bytes,
        addresses: (0..32).map(|lane| Some(address(lane))).collect(),
    }
}

/// 128 contiguous bytes that begin `elements` 4-byte elements behind the start of a line.
pub fn misaligned(elements: u64) -> Pattern {
    Pattern {
        name: format!("128 contiguous bytes, {} bytes off their line", elements * 4),
        ..strided(4, 1, elements * 4)
    }
}

/// 128 bytes scattered over three lines: 32 words out of six sectors, in a fixed shuffled order.
pub fn scattered() -> Pattern {
    // Two sectors of each line, five or six words of each: 6 + 5 + 5 + 6 + 5 + 5 = 32.
    const SECTORS: [(u64, u64); 6] = [(0, 6), (2, 5), (5, 5), (7, 6), (8, 5), (11, 5)];
    let words: Vec<u64> =
        SECTORS.iter().flat_map(|&(sector, used)| (0..used).map(move |word| sector * 8 + word)).collect();
    // 11 has no common factor with 32, so this visits every word once.
    let addresses = (0..words.len()).map(|lane| Some(words[lane * 11 % words.len()] * 4)).collect();
    Pattern { name: "128 bytes scattered over 384".to_owned(), bytes: 4, addresses }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Coalescing, Rule},
        *,
    };

    fn efficiency(rule: Rule, pattern: &Pattern) -> f64 {
        Coalescing::new(rule, pattern.bytes, &pattern.addresses).efficiency
    }

    #[test]
    fn utilisation_of_the_two_examples() {
        assert_eq!(efficiency(Rule::Lines, &misaligned(1)), 0.5);
        assert_eq!(efficiency(Rule::Sectors, &misaligned(1)), 0.8);
        assert_eq!(efficiency(Rule::Lines, &scattered()), 128.0 / 384.0);
        assert_eq!(efficiency(Rule::Sectors, &scattered()), 128.0 / 192.0);
    }

    #[test]
    fn scattered_words_are_distinct() {
        let mut words = scattered().addresses;
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 32);
    }

    /// A shift by whole sectors costs nothing by sectors; everything between costs one.
    #[test]
    fn every_misalignment() {
        for shift in 0..=32 {
            let sectors = Coalescing::new(Rule::Sectors, 4, &misaligned(shift).addresses).transactions.len();
            assert_eq!(sectors, if shift % 8 == 0 { 4 } else { 5 }, "{shift}");
        }
    }
}
