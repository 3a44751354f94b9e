//! Races that may be none: what comes later tells.
//!
//! The hardware has no atomics of a byte. The library's is a first look at the word, a compare-and-swap that starts from what
//! it saw, and another try if that fails; so a plain store to another byte of the word does no harm to either. In code that is
//! compiled without inlining the look lies several calls away from the swap, too far to follow in the code. So a strong read
//! of a word beside a plain store to some of its bytes is kept back until its thread swaps the word, which explains it, or
//! the launch is over.

use virtual_gpu::observer::{Access, At, MemorySpace};

use crate::reached::lanes;
use crate::shadow::{Race, Stamp};

/// More than these are not kept back.
const MOST: usize = 1 << 12;

/// A race between a strong read of a word and a plain store to some of its bytes.
#[derive(Debug)]
pub struct Doubt {
    /// The later access.
    pub at: At,
    pub block: u32,
    /// Where it went.
    pub space: MemorySpace,
    /// What there is to tell, if nothing explains it.
    pub race: Race,
    reader: Stamp,
}

impl Doubt {
    /// If this race may be explained yet.
    pub fn of(at: At, space: MemorySpace, race: Race) -> Option<Self> {
        let Race { earlier, later, .. } = race;
        let (reader, store) = if later.writes() { (earlier, later) } else { (later, earlier) };
        let looks = !reader.writes() && reader.is_strong() && !reader.is_narrow();
        let narrow = store.writes() && !store.is_strong() && !store.is_asynchronous() && store.is_narrow();
        (looks && narrow).then_some(Doubt { at, block: later.block, space, race, reader })
    }

    fn is_explained(&self, block: u32, at: At, access: &Access<'_>) -> bool {
        let here = |lane: u32| {
            self.reader.has_lane(lane) && access.addresses[lane as usize] & !3 == self.race.address
        };
        (self.space, self.reader.block, self.reader.warp()) == (access.space, block, at.warp)
            && lanes(access.lanes).any(here)
    }
}

/// A compare-and-swap explains what its threads saw before; new doubts are kept back.
pub fn settle(
    doubts: &mut Vec<Doubt>,
    (block, at, access): (u32, At, &Access<'_>),
    new: Vec<Doubt>,
    mut report: impl FnMut(Race),
) {
    if access.swap.is_some() {
        doubts.retain(|doubt| !doubt.is_explained(block, at, access));
    }
    for doubt in new {
        if doubts.len() < MOST { doubts.push(doubt) } else { report(doubt.race) }
    }
}
