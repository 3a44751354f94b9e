//! Advice on a line: its wastes, the dearest first, or the bound of a line that wastes nothing.
//!
//! The same counts have several causes, and each has a remedy of its own: the strides between lanes tell them apart.

use std::fmt;

use super::cost::{LOCAL_SECTORS, cache_clocks};
use super::{InstructionCounts, Ranked, Rates, SharedCounters, Strides, Unit};

/// Fetches of a byte by a block from which they are a waste.
const REFETCHED: f64 = 2.0;

/// Sectors that a block reads before refetching is a waste: what few of them cost, no tile gives back.
const WORTH_A_TILE: u64 = 64;

/// Lanes of 32 below which a line has diverged.
const DIVERGED: f64 = 24.0;

/// Lanes up to which one lane was meant to act, as for a bulk copy.
const ALONE: f64 = 1.5;

/// Share of the cost from which a lane that acts alone is a waste.
const ALONE_SHARE: f64 = 0.1;

/// Share of the cost below which advice on a line helps nothing.
pub const LEAST_SHARE: f64 = 0.01;

/// Shared loads for each multiply-add from which registers are the cure.
const LOADS_A_PRODUCT: f64 = 1.0;

/// Bytes that a bank hands out.
const WORD: u64 = 4;

/// Bytes after which the banks come round again.
const ALL_BANKS: u64 = 128;

/// A waste of a line with its remedy, or its bound. Displays as a sentence without a full stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Advice {
    /// Lanes of a warp meet in a bank.
    BankConflicts { access: &'static str, degree: f64, strides: Strides },
    /// Lanes of a warp meet in a word or bank with atomics.
    SharedAtomics { degree: f64 },
    /// Lanes of a warp meet in a word of global memory with atomics.
    GlobalAtomics { sectors: f64 },
    /// Sectors move bytes that no lane asked for.
    PartSectors { access: &'static str, used: f64, strides: Strides },
    /// A block reads the same bytes again and again.
    Refetched { fetches: f64 },
    /// Products wait for operands from shared memory.
    SharedOperands { loads: f64 },
    /// Part of the lanes is idle.
    Diverged { lanes: f64 },
    /// One lane works, for long.
    OneLane,
    /// A thread's own array or spilled registers.
    LocalMemory { accesses: u64 },
    /// No waste: the unit that decides.
    Bound(Unit),
}

impl Ranked {
    /// Advice on this line, what saves most first. The dearest line of a kernel always has some.
    pub fn advice(&self, rates: &Rates) -> Vec<Advice> {
        if self.share < LEAST_SHARE {
            return Vec::new();
        }
        let mut wastes = self.line.work.wastes(rates);
        // One lane starts a bulk copy, which keeps the memory busy and not the schedulers.
        let is_alone = self.line.work.active_lanes().is_some_and(|lanes| lanes < ALONE);
        if is_alone && self.share >= ALONE_SHARE && self.cost.unit == Unit::Issue {
            wastes.push((rates.issue_clocks(self.line.work.warp_instructions), Advice::OneLane));
        }
        wastes.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let mut advice: Vec<Advice> = wastes.into_iter().map(|(_, advice)| advice).collect();
        if advice.is_empty() && self.dearest {
            advice.push(Advice::Bound(self.cost.unit));
        }
        advice
    }

    /// Whether there is advice on a waste.
    pub fn wastes(&self, rates: &Rates) -> bool {
        self.advice(rates).iter().any(|advice| !matches!(advice, Advice::Bound(_)))
    }
}

impl InstructionCounts {
    /// Wastes, each with the clocks of its unit that a cure may save.
    fn wastes(&self, rates: &Rates) -> Vec<(f64, Advice)> {
        let counters = &self.counters;
        let mut wastes = Vec::new();
        for (access, shared) in [("loads", counters.shared_load), ("stores", counters.shared_store)] {
            if shared.bank_conflicts > 0 {
                let advice =
                    Advice::BankConflicts { access, degree: shared.degree(), strides: self.shared_strides };
                wastes.push((shared.bank_conflicts as f64, advice));
            }
        }
        let atomic = counters.shared_atomic;
        if atomic.bank_conflicts > 0 {
            wastes.push((atomic.bank_conflicts as f64, Advice::SharedAtomics { degree: atomic.degree() }));
        }
        for (access, global) in [("loads", counters.global_load), ("stores", counters.global_store)] {
            if let Some(used) = global.efficiency().filter(|_| global.excess_sectors() > 0) {
                let advice = Advice::PartSectors { access, used, strides: self.global_strides };
                wastes.push((cache_clocks(global.excess_sectors() as f64), advice));
            }
        }
        let atomic = counters.global_atomic;
        if atomic.excess_sectors() > atomic.requests {
            let sectors = atomic.sectors as f64 / atomic.requests as f64;
            wastes.push((cache_clocks(atomic.excess_sectors() as f64), Advice::GlobalAtomics { sectors }));
        }
        if let Some(fetches) = self.refetched() {
            let saved = counters.global_read().sectors as f64 * (1.0 - 1.0 / fetches);
            wastes.push((cache_clocks(saved), Advice::Refetched { fetches }));
        }
        if let Some(loads) = self.shared_operands() {
            let saved = counters.shared_load.wavefronts as f64 * (1.0 - 1.0 / (2.0 * loads));
            wastes.push((saved, Advice::SharedOperands { loads }));
        }
        if let Some(lanes) = self.divergence() {
            let saved = rates.issue_clocks(self.warp_instructions) * (1.0 - lanes / 32.0);
            wastes.push((saved, Advice::Diverged { lanes }));
        }
        if self.local_accesses > 0 {
            let saved = cache_clocks((LOCAL_SECTORS * self.local_accesses) as f64);
            wastes.push((saved, Advice::LocalMemory { accesses: self.local_accesses }));
        }
        wastes
    }

    /// How often a block fetches the same bytes, if a tile would save it.
    pub fn refetched(&self) -> Option<f64> {
        let fetches = self.fetches().filter(|&fetches| fetches >= REFETCHED)?;
        let read = self.counters.global_read();
        // Unused parts of sectors are a waste of their own.
        (read.sectors >= WORTH_A_TILE && read.excess_sectors() <= read.ideal_sectors()).then_some(fetches)
    }

    /// The lanes at work, if a part is idle: of a launch that wastes nothing else it may be what costs.
    pub fn divergence(&self) -> Option<f64> {
        self.active_lanes().filter(|&lanes| (ALONE..DIVERGED).contains(&lanes))
    }

    /// Shared loads for each multiply-add of a line that sums up products in registers.
    fn shared_operands(&self) -> Option<f64> {
        let Self { counters, operations, .. } = self;
        let products = (operations.f16 + operations.f32 + operations.f64) / 64;
        let loads = counters.shared_load.instructions;
        (products > 0 && counters.shared_store.instructions == 0)
            .then(|| loads as f64 / products as f64)
            .filter(|&loads| loads >= LOADS_A_PRODUCT)
    }
}

impl SharedCounters {
    /// Passes for each that the bytes need.
    fn degree(&self) -> f64 {
        self.wavefronts as f64 / self.ideal_wavefronts.max(1) as f64
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BankConflicts { access, degree, strides } => {
                write!(f, "shared {access} take {degree:.1} times the wavefronts they need: ")?;
                bank_remedy(f, strides)
            }
            Self::SharedAtomics { degree } => write!(
                f,
                "shared atomics take {degree:.1} times the wavefronts they need, as lanes of a warp meet in one word or bank: \
                 sum within the warp first, or give each warp a copy"
            ),
            Self::GlobalAtomics { sectors } => write!(
                f,
                "global atomics touch {sectors:.1} sectors a warp: sum within the warp or the block first, then add once"
            ),
            Self::PartSectors { access, used, strides } => {
                write!(f, "global {access} use {:.0} % of the bytes they move: ", used * 100.0)?;
                sector_remedy(f, used, strides)
            }
            Self::Refetched { fetches } => write!(
                f,
                "each block fetches its bytes {fetches:.1} times: load them once, into a tile in shared memory or into registers \
                 (the first cache may serve some of it; how much is not estimated)"
            ),
            Self::SharedOperands { loads } => write!(
                f,
                "{loads:.1} shared loads for each multiply-add: let a thread sum up several results in registers, such as 4 × 4, \
                 so that each load serves several products"
            ),
            Self::Diverged { lanes } => write!(
                f,
                "{lanes:.1} of 32 lanes take part: let whole warps take one way (a condition on the warp, not on the lane), or \
                 give idle lanes work"
            ),
            Self::OneLane => write!(
                f,
                "one lane of 32 works: divide it among the lanes, or combine their values with shuffles instead of a loop"
            ),
            Self::LocalMemory { accesses } => write!(
                f,
                "{accesses} accesses to local memory, an array indexed at run time or registers that did not suffice: index with \
                 constants (unroll the loop), keep it in shared memory, or make it smaller"
            ),
            Self::Bound(unit) => f.write_str(bound(unit)),
        }
    }
}

fn bank_remedy(f: &mut fmt::Formatter<'_>, strides: Strides) -> fmt::Result {
    match strides.only() {
        _ if strides.varies() => write!(
            f,
            "lanes are {} to {} words apart, as the stride of a tree doubles, and padding rows does not cure that: let the \
             lanes that work be neighbours, and halve the distance to their partner instead",
            strides.least / WORD,
            strides.most / WORD
        ),
        Some(stride) if stride.is_multiple_of(ALL_BANKS) || stride >= ALL_BANKS / 2 => write!(
            f,
            "lanes are {} words apart, down a column of the tile: pad each row by one element, swizzle its columns, or let \
             neighbouring lanes walk along a row",
            stride / WORD
        ),
        Some(stride) => write!(
            f,
            "lanes are {stride} bytes apart, and an odd number of words never conflicts: keep each field in an array of its \
             own, or pad what a lane owns to an odd number of words"
        ),
        None => f.write_str(
            "lanes follow no stride, as in a histogram or a table: spread hot words over copies, one for each warp, or let \
             lanes take neighbouring words",
        ),
    }
}

fn sector_remedy(f: &mut fmt::Formatter<'_>, used: f64, strides: Strides) -> fmt::Result {
    match strides.only() {
        // Contiguous rows that begin or end inside a sector waste up to half of what short ones move, no more.
        _ if used > 0.5 => f.write_str(
            "rows that begin or end inside a sector of 32 bytes, such as a tile's rim, cost this much and no more; else let \
             neighbouring lanes take neighbouring elements",
        ),
        Some(stride) if stride <= ALL_BANKS => write!(
            f,
            "lanes are {stride} bytes apart: keep each field in an array of its own, or copy whole structs through shared \
             memory, neighbouring lanes taking neighbouring words"
        ),
        Some(stride) => write!(
            f,
            "lanes are {stride} bytes apart, down a column: let `threadIdx.x` follow the rows instead, or stage the tile \
             through shared memory"
        ),
        None => f.write_str(
            "let neighbouring lanes take neighbouring elements, sort what they go through, or stage the tile through shared \
             memory",
        ),
    }
}

/// Remedies of a line without waste: fewer operations or bytes.
fn bound(unit: Unit) -> &'static str {
    match unit {
        Unit::Issue => {
            "no waste found; its instructions are the bound: move what does not change out of the loop, unroll it, or load 8 \
             or 16 bytes at once"
        }
        Unit::Shared => {
            "no waste found; shared memory is the bound: keep in registers what a thread reads again, or load 8 or 16 bytes \
             at once"
        }
        Unit::Cache => {
            "no waste found; the first cache is the bound: load 8 or 16 bytes at once, and keep in registers what a thread \
             reads again"
        }
        Unit::Memory => {
            "no waste found; the memory's bandwidth is the bound: only fewer bytes help, by smaller types or by joining it \
             with the kernel that makes or uses them"
        }
        Unit::Tensor => {
            "no waste found; the tensor cores are the bound: only a smaller type or fewer products help"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chips::H200;
    use crate::profile::{Counters, Distinct, GlobalCounters, LineProfile, Operations, rank};

    fn advice(work: InstructionCounts) -> Vec<Advice> {
        let rates = Rates::of(&H200);
        rank([&LineProfile { work, ..LineProfile::default() }], &rates)[0].advice(&rates)
    }

    fn conflicting(strides: Strides) -> String {
        let shared_load =
            SharedCounters { instructions: 10, wavefronts: 320, ideal_wavefronts: 10, bank_conflicts: 310 };
        let counters = Counters { shared_load, ..Counters::default() };
        let [told] =
            advice(InstructionCounts { counters, shared_strides: strides, ..Default::default() })[..]
        else {
            panic!()
        };
        assert!(matches!(told, Advice::BankConflicts { degree: 32.0, .. }), "{told:?}");
        told.to_string()
    }

    #[test]
    fn the_remedy_is_that_of_the_pattern() {
        let regular = |least, most| Strides { regular: 10, irregular: 0, least, most };
        assert!(conflicting(regular(128, 128)).contains("pad each row"));
        let tree = conflicting(regular(8, 512));
        assert!(tree.contains("2 to 128 words") && tree.contains("does not cure"), "{tree}");
        assert!(conflicting(regular(8, 8)).contains("odd number of words"));
        assert!(conflicting(Strides { irregular: 10, ..Strides::default() }).contains("no stride"));
    }

    #[test]
    fn idle_lanes_are_told() {
        let told = |lane_instructions| {
            advice(InstructionCounts { warp_instructions: 10, lane_instructions, ..Default::default() })
        };
        assert_eq!(told(10), [Advice::OneLane]);
        assert_eq!(told(80), [Advice::Diverged { lanes: 8.0 }]);
        assert_eq!(told(320), [Advice::Bound(Unit::Issue)]);
    }

    /// One lane that starts a bulk copy or counts its warp in costs little.
    #[test]
    fn cheap_lines_have_no_advice() {
        let rates = Rates::of(&H200);
        let line = |line, lane_instructions, warp_instructions| {
            let work = InstructionCounts { warp_instructions, lane_instructions, ..Default::default() };
            LineProfile { file: "a.rs".into(), line, work, ..LineProfile::default() }
        };
        let ranked = rank([&line(1, 32_000, 1000), &line(2, 50, 50), &line(3, 40, 5)], &rates);
        let told: Vec<usize> = ranked.iter().map(|ranked| ranked.advice(&rates).len()).collect();
        assert_eq!(told, [1, 0, 0]);
    }

    #[test]
    fn bytes_fetched_again_are_told() {
        let reading = |sectors: u64, by_block: u64| {
            let global_load =
                GlobalCounters { requests: sectors / 4, sectors, bytes: 32 * sectors, ..Default::default() };
            let counters = Counters { global_load, ..Counters::default() };
            let distinct = Distinct { by_block, by_launch: by_block };
            advice(InstructionCounts { counters, distinct, ..Default::default() })
        };
        assert_eq!(reading(1000, 32_000), [Advice::Bound(Unit::Memory)]);
        assert_eq!(reading(1000, 2000), [Advice::Refetched { fetches: 16.0 }]);
        // A constant that every warp reads.
        assert_eq!(reading(8, 4), [Advice::Bound(Unit::Cache)]);
    }

    #[test]
    fn operands_from_shared_memory_are_told_of_products_only() {
        let told = |stores| {
            let shared = |instructions| SharedCounters {
                instructions,
                wavefronts: instructions,
                ideal_wavefronts: instructions,
                bank_conflicts: 0,
            };
            let counters =
                Counters { shared_load: shared(200), shared_store: shared(stores), ..Counters::default() };
            let operations = Operations { f32: 6400, ..Operations::default() };
            advice(InstructionCounts { counters, operations, ..Default::default() })
        };
        assert_eq!(told(0), [Advice::SharedOperands { loads: 2.0 }]);
        assert_eq!(told(100), [Advice::Bound(Unit::Shared)]);
    }

    #[test]
    fn local_memory_is_told() {
        let work = InstructionCounts { local_accesses: 7, ..Default::default() };
        assert!(matches!(
            advice(InstructionCounts { warp_instructions: 1, lane_instructions: 32, ..work })[..],
            [Advice::LocalMemory { accesses: 7 }]
        ));
    }
}
