//! Resources of a multiprocessor by generation, and their units of allocation.
//!
//! From the tables of technical specifications in NVIDIA's programming guides and the published occupancy
//! calculator. A generation is found by its exact capability; a capability without a row has no limits rather than
//! a neighbour's.

use serde::Serialize;

use super::Capability;

/// To whom the registers of a block are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterUnit {
    /// To the whole block at once (1.x).
    Block,
    /// To each warp (2.x and later).
    Warp,
}

/// Limits of one multiprocessor and of one block on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SmLimits {
    /// The generation that this row describes.
    pub capability: Capability,
    /// Resident threads.
    pub threads: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident blocks.
    pub blocks: u32,
    pub threads_per_block: u32,
    /// 32-bit registers of the multiprocessor.
    pub registers: u32,
    /// Registers that one block may own.
    pub registers_per_block: u32,
    /// Registers that one thread may own.
    pub registers_per_thread: u32,
    /// To whom registers are handed out.
    pub register_unit: RegisterUnit,
    /// Registers are handed out in multiples of this, to [`Self::register_unit`].
    pub register_granularity: u32,
    /// Warps are handed out in multiples of this: one for each scheduler that owns a share of the registers.
    pub warp_granularity: u32,
    /// Bytes of shared memory, with the largest carve-out.
    pub shared: u32,
    /// Bytes of shared memory that a block has without asking (static, and dynamic without opt-in).
    pub shared_per_block: u32,
    /// Bytes of dynamic shared memory that a block may opt in to; equals [`Self::shared_per_block`] before 7.0.
    pub shared_per_block_optin: u32,
    /// Bytes of shared memory that the system keeps for itself in each block (8.0 and later).
    pub shared_reserved_per_block: u32,
    /// Shared memory is handed out in multiples of this many bytes.
    pub shared_granularity: u32,
    /// Single-precision multiply-adds per clock.
    pub fp32_lanes: u32,
}

const KIB: u32 = 1024;

/// The row that the others are changed from: Maxwell 5.0.
const BASE: SmLimits = SmLimits {
    capability: Capability::new(5, 0),
    threads: 2048,
    warps: 64,
    blocks: 32,
    threads_per_block: 1024,
    registers: 64 * KIB,
    registers_per_block: 64 * KIB,
    registers_per_thread: 255,
    register_unit: RegisterUnit::Warp,
    register_granularity: 256,
    warp_granularity: 4,
    shared: 64 * KIB,
    shared_per_block: 48 * KIB,
    shared_per_block_optin: 48 * KIB,
    shared_reserved_per_block: 0,
    shared_granularity: 256,
    fp32_lanes: 128,
};

const fn tesla(minor: u8, warps: u32, registers: u32, granularity: u32) -> SmLimits {
    SmLimits {
        capability: Capability::new(1, minor),
        threads: warps * 32,
        warps,
        blocks: 8,
        threads_per_block: 512,
        registers,
        registers_per_block: registers,
        registers_per_thread: 124,
        register_unit: RegisterUnit::Block,
        register_granularity: granularity,
        warp_granularity: 2,
        shared: 16 * KIB,
        shared_per_block: 16 * KIB,
        shared_per_block_optin: 16 * KIB,
        shared_granularity: 512,
        fp32_lanes: 8,
        ..BASE
    }
}

const fn fermi(minor: u8, fp32_lanes: u32) -> SmLimits {
    SmLimits {
        capability: Capability::new(2, minor),
        threads: 1536,
        warps: 48,
        blocks: 8,
        registers: 32 * KIB,
        registers_per_block: 32 * KIB,
        registers_per_thread: 63,
        register_granularity: 64,
        warp_granularity: 2,
        shared: 48 * KIB,
        shared_granularity: 128,
        fp32_lanes,
        ..BASE
    }
}

const fn kepler(minor: u8, registers_per_thread: u32) -> SmLimits {
    SmLimits {
        capability: Capability::new(3, minor),
        blocks: 16,
        registers_per_thread,
        shared: 48 * KIB,
        fp32_lanes: 192,
        ..BASE
    }
}

/// Volta and later, whose blocks may opt in to more than 48 KiB of shared memory.
const fn modern(major: u8, minor: u8, warps: u32, blocks: u32, shared_kib: u32, fp32_lanes: u32) -> SmLimits {
    let reserved = if major >= 8 { KIB } else { 0 };
    SmLimits {
        capability: Capability::new(major, minor),
        threads: warps * 32,
        warps,
        blocks,
        shared: shared_kib * KIB,
        shared_per_block_optin: shared_kib * KIB - reserved,
        shared_reserved_per_block: reserved,
        shared_granularity: if major >= 8 { 128 } else { 256 },
        fp32_lanes,
        ..BASE
    }
}

static GENERATIONS: &[SmLimits] = &[
    tesla(0, 24, 8 * KIB, 256),
    tesla(1, 24, 8 * KIB, 256),
    tesla(2, 32, 16 * KIB, 512),
    tesla(3, 32, 16 * KIB, 512),
    fermi(0, 32),
    fermi(1, 48),
    kepler(0, 63),
    SmLimits { registers_per_block: 32 * KIB, ..kepler(2, 255) },
    kepler(5, 255),
    SmLimits { registers: 128 * KIB, shared: 112 * KIB, ..kepler(7, 255) },
    BASE,
    SmLimits { capability: Capability::new(5, 2), shared: 96 * KIB, ..BASE },
    SmLimits { capability: Capability::new(5, 3), registers_per_block: 32 * KIB, ..BASE },
    SmLimits { capability: Capability::new(6, 0), warp_granularity: 2, fp32_lanes: 64, ..BASE },
    SmLimits { capability: Capability::new(6, 1), shared: 96 * KIB, ..BASE },
    SmLimits { capability: Capability::new(6, 2), registers_per_block: 32 * KIB, ..BASE },
    modern(7, 0, 64, 32, 96, 64),
    modern(7, 2, 64, 32, 96, 64),
    modern(7, 5, 32, 16, 64, 64),
    modern(8, 0, 64, 32, 164, 64),
    modern(8, 6, 48, 16, 100, 128),
    modern(8, 7, 48, 16, 164, 128),
    modern(8, 9, 48, 24, 100, 128),
    modern(9, 0, 64, 32, 228, 128),
    modern(10, 0, 64, 32, 228, 128),
    modern(10, 3, 64, 32, 228, 128),
    modern(11, 0, 48, 24, 228, 128),
    modern(12, 0, 48, 24, 100, 128),
    modern(12, 1, 48, 24, 100, 128),
];

/// Every generation with published limits, oldest first.
pub fn generations() -> &'static [SmLimits] {
    GENERATIONS
}

impl SmLimits {
    /// Bytes of shared memory that a block takes which asks for `asked`: the system's share and the rounding included.
    pub fn shared_of_block(&self, asked: u32) -> u32 {
        (asked + self.shared_reserved_per_block).next_multiple_of(self.shared_granularity)
    }

    /// The limits of a generation, if it has published ones.
    ///
    /// ```
    /// use gpu_model::{Capability, SmLimits};
    ///
    /// let hopper = SmLimits::of(Capability::new(9, 0)).unwrap();
    /// assert_eq!((hopper.threads, hopper.shared_per_block_optin), (2048, 232_448));
    /// assert!(SmLimits::of(Capability::new(4, 0)).is_none());
    /// ```
    pub const fn of(capability: Capability) -> Option<&'static Self> {
        let mut index = 0;
        while index < GENERATIONS.len() {
            let row = &GENERATIONS[index];
            if row.capability.major == capability.major && row.capability.minor == capability.minor {
                return Some(row);
            }
            index += 1;
        }
        None
    }

    /// The limits of a generation, or an error that says which are known.
    pub fn known(capability: Capability) -> Result<&'static Self, UnknownCapability> {
        Self::of(capability).ok_or(UnknownCapability(capability))
    }
}

/// A generation that does not exist, or of which nothing is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no chip has compute capability {0}; known are {list}", list = all_generations())]
pub struct UnknownCapability(pub Capability);

fn all_generations() -> String {
    let all: Vec<String> = GENERATIONS.iter().map(|row| row.capability.to_string()).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_ordered_and_consistent() {
        assert!(GENERATIONS.is_sorted_by(|a, b| a.capability < b.capability));
        for row in GENERATIONS {
            let name = row.capability;
            assert_eq!(row.threads, row.warps * 32, "{name}");
            assert!(row.shared_per_block <= row.shared_per_block_optin, "{name}");
            assert!(row.shared_per_block_optin + row.shared_reserved_per_block <= row.shared, "{name}");
            assert!(row.registers_per_block <= row.registers, "{name}");
        }
    }

    /// `sharedMemPerBlockOptin` as `deviceQuery` prints it on chips of each generation.
    #[test]
    fn opt_in_limits_are_the_published_ones() {
        for (major, minor, bytes) in [
            (6, 1, 49_152),
            (7, 0, 98_304),
            (7, 5, 65_536),
            (8, 0, 166_912),
            (8, 6, 101_376),
            (8, 9, 101_376),
            (9, 0, 232_448),
            (10, 0, 232_448),
            (12, 0, 101_376),
        ] {
            let row = SmLimits::of(Capability::new(major, minor)).unwrap();
            assert_eq!(row.shared_per_block_optin, bytes, "{}", row.capability);
        }
    }
}
