//! Lower bound of a line's cost, by which lines are ranked.
//!
//! Each unit of a multiprocessor needs a number of clocks for a line's requests, at the rates that are published: an
//! instruction for each scheduler, 128 bytes of shared memory or of the first cache, the chip's bandwidth over its
//! multiprocessors, the tensor cores' peak. The units work side by side, so a line costs what the busiest takes. That ranks
//! lines; it is no forecast of time, in which latency, caches and other lines have their part.

use std::collections::BTreeMap;

use super::{InstructionCounts, LineProfile};
use crate::Chip;
use crate::roofline::{Arithmetic, Roofline};

/// Who works on a line longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// The schedulers, which issue instructions.
    Issue,
    /// Shared memory: a wavefront a clock.
    Shared,
    /// The first cache, which every sector passes.
    Cache,
    /// Global memory: what is read for the first time, and what is written.
    Memory,
    /// Matrix products.
    Tensor,
}

impl Unit {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "instructions",
            Self::Shared => "shared memory",
            Self::Cache => "L1 traffic",
            Self::Memory => "global memory",
            Self::Tensor => "tensor cores",
        }
    }
}

/// Rates of one multiprocessor, per clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    schedulers: f64,
    memory_bytes: f64,
    /// By arithmetic on tensor cores.
    tensor: [f64; 5],
}

/// Bytes that shared memory and the first cache hand out in a clock.
const BYTES_A_CLOCK: f64 = 128.0;

const SECTOR: f64 = 32.0;

/// Sectors of an access to local memory: four bytes a lane.
pub(super) const LOCAL_SECTORS: u64 = 4;

const TENSOR: [Arithmetic; 5] = [
    Arithmetic::TensorF16,
    Arithmetic::TensorTf32,
    Arithmetic::TensorF64,
    Arithmetic::TensorF8,
    Arithmetic::TensorS8,
];

impl Rates {
    /// Those of a chip.
    pub fn of(chip: &Chip) -> Self {
        let clocks = f64::from(chip.sms) * f64::from(chip.clock_khz) * 1e3;
        let tensor = |arithmetic| {
            Roofline::for_arithmetic(chip, arithmetic).map_or(f64::INFINITY, |r| r.flops / clocks)
        };
        Self {
            schedulers: chip.sm.warp_granularity.into(),
            memory_bytes: chip.memory_bandwidth() / clocks,
            tensor: TENSOR.map(tensor),
        }
    }

    /// Clocks of the schedulers for instructions.
    pub(super) fn issue_clocks(&self, instructions: u64) -> f64 {
        instructions as f64 / self.schedulers
    }
}

/// Clocks of the first cache for sectors.
pub(super) fn cache_clocks(sectors: f64) -> f64 {
    sectors * SECTOR / BYTES_A_CLOCK
}

/// The clocks that a line takes of its busiest unit, in sum over the multiprocessors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    pub clocks: f64,
    pub unit: Unit,
}

impl InstructionCounts {
    /// Lower bound of its cost.
    pub fn cost(&self, rates: &Rates) -> Cost {
        let (read, counters) = (self.counters.global_read(), &self.counters);
        let cached = [counters.global_load, counters.global_store, counters.global_atomic];
        let cached: u64 = cached.iter().map(|global| global.sectors).sum();
        let cached = cached + LOCAL_SECTORS * self.local_accesses;
        // A profile of an older version does not say how many bytes were distinct.
        let first = match self.distinct.by_launch {
            0 => read.sectors as f64 * SECTOR,
            bytes => bytes as f64,
        };
        let moved = first + counters.global_written().sectors as f64 * SECTOR;
        let tensor = self.operations.tensor;
        let products = [tensor.f16, tensor.tf32, tensor.f64, tensor.f8, tensor.s8];
        let products = products.iter().zip(rates.tensor).map(|(&operations, rate)| operations as f64 / rate);
        [
            (Unit::Issue, rates.issue_clocks(self.warp_instructions)),
            (Unit::Shared, counters.shared().wavefronts as f64),
            (Unit::Cache, cache_clocks(cached as f64)),
            (Unit::Memory, moved / rates.memory_bytes),
            (Unit::Tensor, products.sum()),
        ]
        .into_iter()
        .map(|(unit, clocks)| Cost { clocks, unit })
        .fold(Cost { clocks: 0.0, unit: Unit::Issue }, |most, each| {
            if each.clocks > most.clocks { each } else { most }
        })
    }
}

/// A line with its part in the cost of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub line: LineProfile,
    pub cost: Cost,
    /// From 0 to 1.
    pub share: f64,
    /// Whether no other line costs more.
    pub dearest: bool,
}

/// The lines of any number of launches, each once, the most expensive first.
pub fn rank<'a>(lines: impl IntoIterator<Item = &'a LineProfile>, rates: &Rates) -> Vec<Ranked> {
    let mut by_place: BTreeMap<(&str, u32), InstructionCounts> = BTreeMap::new();
    for line in lines {
        *by_place.entry((&line.file, line.line)).or_default() += line.work;
    }
    let costs = by_place.values().map(|work| work.cost(rates).clocks);
    let all: f64 = costs.sum();
    let ranked = by_place.into_iter().map(|((file, line), work)| {
        let cost = work.cost(rates);
        let share = if all > 0.0 { cost.clocks / all } else { 0.0 };
        let line = LineProfile { file: file.to_owned(), line, work, ..LineProfile::default() };
        Ranked { line, cost, share, dearest: false }
    });
    let mut ranked: Vec<Ranked> = ranked.collect();
    // Equal ones stay in the order of the source.
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share));
    ranked.iter_mut().take(1).for_each(|first| first.dearest = first.cost.clocks > 0.0);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chips::H200;
    use crate::profile::{Counters, Distinct, GlobalCounters, SharedCounters};

    #[test]
    fn the_busiest_unit_decides() {
        let rates = Rates::of(&H200);
        let mut work = InstructionCounts { warp_instructions: 400, ..InstructionCounts::default() };
        assert_eq!(work.cost(&rates), Cost { clocks: 100.0, unit: Unit::Issue });
        work.counters.shared_load = SharedCounters { wavefronts: 3200, ..SharedCounters::default() };
        assert_eq!(work.cost(&rates), Cost { clocks: 3200.0, unit: Unit::Shared });
    }

    /// A product that asks for each of its numbers again and again meets the first cache; one that reads it once, memory.
    #[test]
    fn what_is_read_again_is_asked_of_the_first_cache() {
        let rates = Rates::of(&H200);
        let global_load =
            GlobalCounters { requests: 1000, sectors: 4000, bytes: 128_000, ..Default::default() };
        let counters = Counters { global_load, ..Counters::default() };
        let again = Distinct { by_block: 1024, by_launch: 1024 };
        let work = InstructionCounts { counters, distinct: again, ..InstructionCounts::default() };
        assert_eq!(work.cost(&rates), Cost { clocks: 1000.0, unit: Unit::Cache });
        let once = Distinct { by_block: 128_000, by_launch: 128_000 };
        let work = InstructionCounts { counters, distinct: once, ..InstructionCounts::default() };
        assert_eq!(work.cost(&rates).unit, Unit::Memory);
        assert!(work.cost(&rates).clocks > 1000.0);
    }
    #[test]
    fn lines_of_several_launches_are_one_each_the_most_expensive_first() {
        let line = |line, warp_instructions| LineProfile {
            file: "a.rs".into(),
            line,
            work: InstructionCounts { warp_instructions, ..InstructionCounts::default() },
            ..LineProfile::default()
        };
        let ranked = rank(&[line(1, 10), line(2, 40), line(1, 20), line(3, 30)], &Rates::of(&H200));
        let shares: Vec<_> = ranked.iter().map(|ranked| (ranked.line.line, ranked.share)).collect();
        assert_eq!(shares, [(2, 0.4), (1, 0.3), (3, 0.3)]);
        assert!(rank(&[line(1, 0)], &Rates::of(&H200))[0].share == 0.0);
    }
}
