//! How on-chip memory is divided between L1 and shared memory, and what a program may wish for.

use serde::{Deserialize, Serialize};

use crate::{Capability, SmLimits};

/// A program's wish (`cuCtxSetCacheConfig`, `cuFuncSetCacheConfig`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// Whatever the driver finds best.
    #[default]
    None,
    /// More shared memory.
    Shared,
    /// More L1.
    L1,
    /// As much of one as of the other.
    Equal,
}

impl Preference {
    /// Every preference, in the driver's order.
    pub const ALL: [Self; 4] = [Self::None, Self::Shared, Self::L1, Self::Equal];

    /// The name that the command line takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Shared => "shared",
            Self::L1 => "l1",
            Self::Equal => "equal",
        }
    }
}

/// How a generation divides the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Division {
    /// No L1 for global memory: shared memory is what it is (1.x).
    SharedOnly,
    /// Two or three fixed divisions, chosen by preference (2.x, 3.x).
    Preference,
    /// Shared memory has its own array; preferences do nothing (5.x, 6.x).
    Separate,
    /// One array, divided by a carve-out in steps (7.0 and later).
    CarveOut,
}

impl Division {
    /// The division of a generation.
    pub const fn of(capability: Capability) -> Self {
        match capability.major {
            0 | 1 => Self::SharedOnly,
            2..=4 => Self::Preference,
            5 | 6 => Self::Separate,
            _ => Self::CarveOut,
        }
    }
}

/// The sizes of shared memory, in KiB, that a generation can be divided into; ascending.
pub const fn shared_steps_kib(capability: Capability) -> &'static [u32] {
    match (capability.major, capability.minor) {
        (0 | 1, _) => &[16],
        (2, _) => &[16, 48],
        (3, 7) => &[80, 96, 112],
        (3 | 4, _) => &[16, 32, 48],
        (5, 2) | (6, 1) => &[96],
        (5 | 6, _) => &[64],
        (7, 5) => &[32, 64],
        (7, _) => &[0, 8, 16, 32, 64, 96],
        (8, 0 | 7) => &[0, 8, 16, 32, 64, 100, 132, 164],
        (8, _) | (12, _) => &[0, 8, 16, 32, 64, 100],
        _ => &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
    }
}

/// Bytes of shared memory of one multiprocessor under a preference, before the driver steps in.
pub fn preferred_shared(limits: &SmLimits, preference: Preference) -> u32 {
    let steps = shared_steps_kib(limits.capability);
    let largest = limits.shared;
    match (Division::of(limits.capability), preference) {
        (Division::SharedOnly | Division::Separate, _) | (_, Preference::None | Preference::Shared) => {
            largest
        }
        (_, Preference::L1) => steps[0] * 1024,
        // Two steps have no middle: Fermi keeps its larger shared memory.
        (Division::Preference, Preference::Equal) => steps[steps.len() / 2] * 1024,
        (Division::CarveOut, Preference::Equal) => carve_out(limits, 50),
    }
}

/// Bytes of shared memory for a carve-out wish in percent of the largest: the next step up.
pub fn carve_out(limits: &SmLimits, percent: u32) -> u32 {
    let wish = u64::from(limits.shared) * u64::from(percent.min(100)) / 100;
    let step = shared_steps_kib(limits.capability)
        .iter()
        .map(|kib| kib * 1024)
        .find(|&bytes| u64::from(bytes) >= wish);
    step.unwrap_or(limits.shared)
}

/// The carve-out that the driver chooses when one block takes `block_bytes` (the system's share included): at least the
/// smallest step that holds a block.
pub fn effective_shared(limits: &SmLimits, wish: u32, block_bytes: u32) -> u32 {
    if wish >= block_bytes {
        return wish;
    }
    let step =
        shared_steps_kib(limits.capability).iter().map(|kib| kib * 1024).find(|&bytes| bytes >= block_bytes);
    step.unwrap_or(limits.shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(major: u8, minor: u8) -> &'static SmLimits {
        SmLimits::of(Capability::new(major, minor)).unwrap()
    }

    #[test]
    fn the_largest_step_is_the_limit_of_the_generation() {
        for row in crate::chips::generations() {
            let largest = shared_steps_kib(row.capability).last().unwrap() * 1024;
            assert_eq!(largest, row.shared, "{}", row.capability);
        }
    }

    #[test]
    fn preferences_of_fermi_and_kepler() {
        assert_eq!(preferred_shared(limits(2, 0), Preference::L1), 16 << 10);
        assert_eq!(preferred_shared(limits(2, 0), Preference::Shared), 48 << 10);
        assert_eq!(preferred_shared(limits(3, 5), Preference::Equal), 32 << 10);
        assert_eq!(preferred_shared(limits(3, 7), Preference::Equal), 96 << 10);
        assert_eq!(preferred_shared(limits(5, 0), Preference::L1), 64 << 10, "its own array");
    }

    #[test]
    fn carve_outs_go_up_to_the_next_step() {
        assert_eq!(carve_out(limits(9, 0), 50), 132 << 10);
        assert_eq!(carve_out(limits(9, 0), 0), 0);
        assert_eq!(carve_out(limits(8, 6), 33), 64 << 10);
        assert_eq!(carve_out(limits(7, 5), 10), 32 << 10);
        assert_eq!(carve_out(limits(9, 0), 1000), 228 << 10);
    }

    #[test]
    fn the_driver_gives_a_block_what_it_needs() {
        assert_eq!(effective_shared(limits(9, 0), 0, 2048), 8 << 10);
        assert_eq!(effective_shared(limits(9, 0), 132 << 10, 2048), 132 << 10);
        assert_eq!(effective_shared(limits(2, 0), 16 << 10, 20 << 10), 48 << 10);
    }
}
