//! Advice on the waste of a line.
//!
//! The same counts have several causes, and each has a remedy of its own: the strides between lanes tell them apart.

use super::{GlobalCounters, InstructionCounts, SharedCounters, Strides};

/// From here on it is worth a sentence how often a block fetches the same bytes.
const REFETCHED: f64 = 2.0;

/// Sectors that a block reads before that is told: what few of them cost, no tile gives back.
const WORTH_A_TILE: u64 = 64;

/// Below this many lanes of 32 a line is told to have diverged.
const DIVERGED: f64 = 24.0;

/// Up to this many, it was one lane that was meant to act.
const ALONE: f64 = 1.5;

/// Bytes that a bank hands out.
const WORD: u64 = 4;

/// Bytes after which the banks come round again.
const ALL_BANKS: u64 = 128;

impl InstructionCounts {
    /// Remedies, a sentence each.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let counters = &self.counters;
        for (what, shared) in [("loads", counters.shared_load), ("stores", counters.shared_store)] {
            advice.extend(of_shared(what, shared, self.shared_strides));
        }
        advice.extend(of_shared_atomics(counters.shared_atomic));
        for (what, global) in [("loads", counters.global_load), ("stores", counters.global_store)] {
            advice.extend(of_global(what, global, self.global_strides));
        }
        advice.extend(self.reuse_advice());
        advice
    }

    /// The saving of a tile in shared memory, if it is worth one.
    pub fn reuse_advice(&self) -> Option<String> {
        let fetches = self.fetches().filter(|&fetches| fetches >= REFETCHED)?;
        let read = self.counters.global_read();
        // Unused parts of sectors are told already.
        if read.sectors < WORTH_A_TILE || read.excess_sectors() > read.ideal_sectors() {
            return None;
        }
        Some(format!(
            "each block fetches its bytes {fetches:.1} times: load them once, into a tile in shared memory or into registers \
             (the first cache may serve some of it; how much is not estimated)"
        ))
    }

    /// How many lanes are idle, if it is many: of a launch that wastes nothing else it may be what costs.
    pub fn divergence(&self) -> Option<String> {
        // One lane alone starts a bulk copy, or counts a warp in, for all of them.
        let lanes = self.active_lanes().filter(|&lanes| (ALONE..DIVERGED).contains(&lanes))?;
        Some(format!(
            "{lanes:.1} of 32 lanes take part: let whole warps take one way (a condition on the warp, not on the lane), or give \
             idle lanes work"
        ))
    }
}

fn of_shared(what: &str, shared: SharedCounters, strides: Strides) -> Option<String> {
    if shared.bank_conflicts == 0 {
        return None;
    }
    let degree = shared.wavefronts as f64 / shared.ideal_wavefronts.max(1) as f64;
    let remedy = match strides.only() {
        _ if strides.varies() => format!(
            "lanes are {} to {} words apart, as the stride of a tree doubles, and padding rows does not cure that: let the \
             lanes that work be neighbours, and halve the distance to their partner instead",
            strides.least / WORD,
            strides.most / WORD
        ),
        Some(stride) if stride.is_multiple_of(ALL_BANKS) || stride >= ALL_BANKS / 2 => format!(
            "lanes are {} words apart, down a column of the tile: pad each row by one element, swizzle its columns, or let \
             neighbouring lanes walk along a row",
            stride / WORD
        ),
        Some(stride) => format!(
            "lanes are {stride} bytes apart, and an odd number of words never conflicts: keep each field in an array of its \
             own, or pad what a lane owns to an odd number of words"
        ),
        None => "lanes follow no stride, as in a histogram or a table: spread hot words over copies, one for each warp, or \
                 let lanes take neighbouring words"
            .to_owned(),
    };
    Some(format!("shared {what} take {degree:.1} times the wavefronts they need: {remedy}"))
}

fn of_shared_atomics(shared: SharedCounters) -> Option<String> {
    let degree = shared.wavefronts as f64 / shared.ideal_wavefronts.max(1) as f64;
    (shared.bank_conflicts > 0).then(|| {
        format!(
            "shared atomics take {degree:.1} times the wavefronts they need, as lanes of a warp meet in one word or bank: sum \
             within the warp first, or give each warp a copy"
        )
    })
}

fn of_global(what: &str, global: GlobalCounters, strides: Strides) -> Option<String> {
    let used = global.efficiency().filter(|_| global.excess_sectors() > 0)?;
    let remedy = match strides.only() {
        // Contiguous rows that begin or end inside a sector waste up to half of what short ones move, no more.
        _ if used > 0.5 => {
            "rows that begin or end inside a sector of 32 bytes, such as a tile's rim, cost this much and no more; else let \
             neighbouring lanes take neighbouring elements"
                .to_owned()
        }
        Some(stride) if stride <= ALL_BANKS => format!(
            "lanes are {stride} bytes apart: keep each field in an array of its own, or copy whole structs through shared \
             memory, neighbouring lanes taking neighbouring words"
        ),
        Some(stride) => format!(
            "lanes are {stride} bytes apart, down a column: let `threadIdx.x` follow the rows instead, or stage the tile through \
             shared memory"
        ),
        None => "let neighbouring lanes take neighbouring elements, sort what they go through, or stage the tile through \
                 shared memory"
            .to_owned(),
    };
    Some(format!("global {what} use {:.0} % of the bytes they move: {remedy}", used * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Counters, Distinct};

    fn conflicting(strides: Strides) -> String {
        let shared_load =
            SharedCounters { instructions: 10, wavefronts: 320, ideal_wavefronts: 10, bank_conflicts: 310 };
        let counters = Counters { shared_load, ..Counters::default() };
        let work = InstructionCounts { counters, shared_strides: strides, ..InstructionCounts::default() };
        let [advice] = &work.advice()[..] else { panic!() };
        assert!(advice.starts_with("shared loads take 32.0 times"), "{advice}");
        advice.clone()
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
    fn a_lane_that_acts_for_its_warp_has_not_diverged() {
        let told = |lanes| {
            InstructionCounts {
                warp_instructions: 10,
                lane_instructions: lanes,
                ..InstructionCounts::default()
            }
            .divergence()
        };
        assert_eq!((told(10), told(320)), (None, None));
        assert!(told(80).unwrap().starts_with("8.0 of 32 lanes"));
    }

    fn reading(sectors: u64, by_block: u64) -> Vec<String> {
        let global_load =
            GlobalCounters { requests: sectors / 4, sectors, bytes: 32 * sectors, ..Default::default() };
        let counters = Counters { global_load, ..Counters::default() };
        InstructionCounts {
            counters,
            distinct: Distinct { by_block, by_launch: by_block },
            ..InstructionCounts::default()
        }
        .advice()
    }

    #[test]
    fn what_a_block_fetches_again_is_told() {
        assert_eq!(reading(1000, 32_000), Vec::<String>::new());
        assert!(reading(1000, 2000)[0].contains("16.0 times"));
        // A constant that every warp reads.
        assert_eq!(reading(8, 4), Vec::<String>::new());
    }
}
