//! Changes that let a multiprocessor hold more warps of a kernel.

use std::fmt;

use serde::Serialize;

use super::{BlockNeeds, Occupancy};
use crate::SmLimits;

/// One thing to change about a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Use at most this number of registers a thread.
    Registers(u32),
    /// Use at most this number of bytes of shared memory a block, static and dynamic together.
    SharedMemory(u32),
    /// Use this number of threads a block.
    Threads(u32),
}

/// A change and what it brings, everything else as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Advice {
    pub change: Change,
    /// Resident warps afterwards.
    pub warps: u32,
    /// Resident warps ÷ warp slots afterwards.
    pub fraction: f64,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.change {
            Change::Registers(count) => write!(f, "{count} registers a thread or fewer")?,
            Change::SharedMemory(bytes) => write!(f, "{bytes} bytes of shared memory a block or fewer")?,
            Change::Threads(count) => write!(f, "{count} threads a block")?,
        }
        write!(f, " would hold {} warps ({:.0} %)", self.warps, self.fraction * 100.0)
    }
}

impl Occupancy {
    /// The smallest change of each kind that brings more resident warps. Empty at full occupancy.
    ///
    /// A block size is only proposed where shared memory is not tied to it by the asker, that is with the same
    /// shared memory a block.
    pub fn advice(&self, sm: &'static SmLimits) -> Vec<Advice> {
        let try_change = |change, needs| {
            let changed = Occupancy::new(sm, needs).ok()?;
            (changed.warps > self.warps).then_some(Advice {
                change,
                warps: changed.warps,
                fraction: changed.fraction,
            })
        };
        let needs = self.needs;
        let registers = (1..needs.registers_per_thread).rev().find_map(|count| {
            try_change(Change::Registers(count), BlockNeeds { registers_per_thread: count, ..needs })
        });
        let total = needs.static_shared + needs.dynamic_shared;
        // Every whole allocation unit below what is taken now, largest first.
        let unit = sm.shared_granularity;
        let shared = (1..=self.shared_per_block / unit).rev().find_map(|units| {
            let bytes = (units * unit).checked_sub(sm.shared_reserved_per_block)?;
            (bytes < total).then_some(())?;
            try_change(
                Change::SharedMemory(bytes),
                BlockNeeds { static_shared: bytes, dynamic_shared: 0, ..needs },
            )
        });
        let threads = (1..=sm.threads_per_block / 32)
            .filter_map(|warps| {
                try_change(Change::Threads(warps * 32), BlockNeeds { threads: warps * 32, ..needs })
            })
            .max_by_key(|advice| {
                let Change::Threads(count) = advice.change else { return (0, 0) };
                (advice.warps, u32::MAX - count.abs_diff(needs.threads))
            });
        [registers, shared, threads].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chips::H200;

    #[test]
    fn registers_are_named_at_the_step_of_the_hardware() {
        let needs =
            BlockNeeds { threads: 256, registers_per_thread: 66, static_shared: 0, dynamic_shared: 0 };
        let occupancy = Occupancy::new(H200.sm, needs).unwrap();
        assert_eq!(occupancy.blocks, 3);
        let advice = occupancy.advice(H200.sm);
        // 64 registers × 32 lanes = 2,048 a warp, 65,536 / 2,048 = 32 warps.
        assert_eq!(advice[0], Advice { change: Change::Registers(64), warps: 32, fraction: 0.5 });
    }

    #[test]
    fn full_occupancy_needs_no_advice() {
        let needs =
            BlockNeeds { threads: 256, registers_per_thread: 32, static_shared: 2048, dynamic_shared: 0 };
        let occupancy = Occupancy::new(H200.sm, needs).unwrap();
        assert_eq!(occupancy.fraction, 1.0);
        assert!(occupancy.advice(H200.sm).is_empty());
    }

    #[test]
    fn shared_memory_is_named_with_the_systems_share_taken_off() {
        let needs =
            BlockNeeds { threads: 256, registers_per_thread: 32, static_shared: 0, dynamic_shared: 100_000 };
        let occupancy = Occupancy::new(H200.sm, needs).unwrap();
        assert_eq!(occupancy.blocks, 2);
        // 233,472 / 3 = 77,824 bytes a block, of which the system keeps 1,024.
        assert_eq!(occupancy.advice(H200.sm)[0].change, Change::SharedMemory(76_800));
    }
}
