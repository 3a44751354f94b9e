//! Races that may be none: what comes later tells.
//!
//! The hardware has no atomics of a byte. The library's is a first look at the word, a compare-and-swap that starts from what
//! it saw, and another try if that fails; so a plain store to another byte of the word does no harm to either. In code that is
//! compiled without inlining the look lies several calls away from the swap, too far to follow in the code. So a strong read
//! of a word beside a plain store to some of its bytes is kept back until its thread swaps the word, which explains it, or
//! the launch is over.
//!
//! Volatile accesses in no order are kept back to the end, too: a place that threads poll is a flag, to which any of them may
//! write.

use std::collections::HashSet;

use virtual_gpu::observer::{Access, At, MemorySpace};

use crate::history::GlobalRaces;
use crate::reached::lanes;
use crate::shadow::{Clash, Race, Stamp};

/// More than these are not kept back.
const MOST: usize = 1 << 12;

/// A race that a later access may explain.
#[derive(Debug)]
pub struct PendingRace {
    /// The later access.
    pub at: At,
    pub block: u32,
    /// Where it went.
    pub space: MemorySpace,
    /// The finding, if nothing explains it.
    pub race: Race,
    /// Whose compare-and-swap explains it; `None` if polling does.
    reader: Option<Stamp>,
}

impl PendingRace {
    /// If this race may be explained yet.
    pub fn of(at: At, space: MemorySpace, race: Race) -> Option<Self> {
        let Race { earlier, later, clash, .. } = race;
        let pending = |reader| PendingRace { at, block: later.block, space, race, reader };
        if clash == Clash::OrderDependent && !(earlier.is_update() || later.is_update()) {
            return Some(pending(None));
        }
        let (reader, store) = if later.writes() { (earlier, later) } else { (later, earlier) };
        let looks = !reader.writes() && reader.is_strong() && !reader.is_narrow();
        let narrow = store.writes() && !store.is_strong() && !store.is_asynchronous() && store.is_narrow();
        (looks && narrow).then(|| pending(Some(reader)))
    }

    fn is_explained(&self, block: u32, at: At, access: &Access<'_>) -> bool {
        self.reader.is_some_and(|reader| {
            let here = |lane: u32| {
                reader.has_lane(lane) && access.addresses[lane as usize] & !3 == self.race.address
            };
            (self.space, reader.block, reader.warp()) == (access.space, block, at.warp)
                && lanes(access.lanes).any(here)
        })
    }
}

/// Places that threads have polled.
#[derive(Debug, Default)]
pub struct Polled(HashSet<(Option<u32>, u64)>);

impl Polled {
    /// More than these are not kept.
    const MOST: usize = 1 << 16;

    /// A place of global memory, or of the block's shared memory.
    fn place(space: MemorySpace, block: u32, address: u64) -> (Option<u32>, u64) {
        ((space == MemorySpace::Shared).then_some(block), address & !3)
    }

    /// A thread of the block polls.
    pub fn add(&mut self, space: MemorySpace, block: u32, address: u64) {
        if self.0.len() < Self::MOST {
            self.0.insert(Self::place(space, block, address));
        }
    }

    /// Whether the place of a pending race is a flag.
    pub fn explains(&self, pending: &PendingRace) -> bool {
        let PendingRace { space, block, race, reader, .. } = pending;
        reader.is_none() && self.0.contains(&Self::place(*space, *block, race.address))
    }
}

/// A compare-and-swap explains what its threads saw before; new races are kept back.
pub fn settle(
    GlobalRaces { pending, polled, .. }: &mut GlobalRaces,
    (block, at, access): (u32, At, &Access<'_>),
    new: Vec<PendingRace>,
    mut report: impl FnMut(Race),
) {
    if access.swap.is_some() {
        pending.retain(|race| !race.is_explained(block, at, access));
    }
    for race in new {
        if pending.len() < MOST {
            pending.push(race);
        } else if !polled.explains(&race) {
            report(race.race);
        }
    }
}
