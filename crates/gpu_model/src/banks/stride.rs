//! The rule behind strided access: the degree of conflict is a greatest common divisor.
//!
//! Lanes *i* and *i* + *d* meet in one bank when stride × *d* is a multiple of the number of banks. The smallest such
//! *d* is banks ÷ gcd(stride, banks), so gcd lanes of each row of lanes want different words of one bank.

use serde::Serialize;

use super::BankSystem;

/// Greatest common divisor; `gcd(0, n)` is `n`.
pub const fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The rule applied to one stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StrideRule {
    /// The stride counted in slots: one word of a bank, or as many as an element covers.
    pub slots: u64,
    /// Slots in one row through all banks.
    pub row_slots: u64,
    /// gcd of the two.
    pub gcd: u64,
    /// Lanes this far apart are the first to meet in one bank; 0 if all lanes want one word.
    pub distance: u64,
    /// The degree of conflict of a full group.
    pub degree: u64,
}

impl StrideRule {
    /// The rule for elements of `bytes` at every `stride`-th place, or `None` where no rule so simple holds: elements
    /// that share words unevenly, and Kepler's 4-byte layout.
    ///
    /// ```
    /// use gpu_model::banks::{BankSystem, StrideRule};
    ///
    /// let rule = StrideRule::new(&BankSystem::MODERN, 4, 6).unwrap();
    /// assert_eq!((rule.gcd, rule.distance, rule.degree), (2, 16, 2));
    /// ```
    pub fn new(system: &BankSystem, bytes: u32, stride: u64) -> Option<Self> {
        if system.stripe_bytes != system.bank_bytes || bytes == 0 {
            return None;
        }
        let slot_bytes = u64::from(bytes.max(system.bank_bytes));
        let row_bytes = u64::from(system.row_bytes());
        let stride_bytes = stride.checked_mul(u64::from(bytes))?;
        if stride_bytes % slot_bytes != 0 || row_bytes % slot_bytes != 0 {
            return None;
        }
        let slots = stride_bytes / slot_bytes;
        let row_slots = row_bytes / slot_bytes;
        let gcd = gcd(slots, row_slots);
        let lanes = u64::from(system.group_lanes(bytes));
        if slots == 0 {
            return Some(Self { slots, row_slots, gcd, distance: 0, degree: 1 });
        }
        let distance = row_slots / gcd;
        Some(Self { slots, row_slots, gcd, distance, degree: lanes.div_ceil(distance) })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Access, BankMap, BankWidth},
        *,
    };
    use crate::Capability;

    #[test]
    fn common_divisors() {
        assert_eq!(gcd(12, 18), 6);
        assert_eq!(gcd(0, 32), 32);
        assert_eq!(gcd(17, 32), 1);
    }

    /// The map counts words bank by bank; the rule is arithmetic alone.
    #[test]
    fn the_rule_predicts_every_map_it_applies_to() {
        let systems = [
            BankSystem::MODERN,
            BankSystem::of(Capability::new(3, 0), BankWidth::Eight).unwrap(),
            BankSystem::custom(8, 4).unwrap(),
            BankSystem::custom(10, 4).unwrap(),
            BankSystem::custom(7, 8).unwrap(),
        ];
        let mut checked = 0;
        for system in systems {
            for bytes in [1, 2, 4, 8, 16] {
                for stride in 0..70 {
                    let Some(rule) = StrideRule::new(&system, bytes, stride) else { continue };
                    let lanes = u64::from(system.request_lanes);
                    let addresses: Vec<_> =
                        (0..lanes).map(|lane| Some(lane * stride * u64::from(bytes))).collect();
                    let map = BankMap::new(&system, Access::Store, bytes, &addresses);
                    assert_eq!(
                        u64::from(map.cost.degree),
                        rule.degree,
                        "{system:?} {bytes} bytes stride {stride}"
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 800, "{checked}");
    }
}
