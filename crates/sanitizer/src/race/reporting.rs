//! Findings of the race check.

use virtual_gpu::observer::{At, MemorySpace};

use super::cure::cure;
use crate::finding::{Action, Finding, Key};
use crate::kind::{Conflict, Kind};
use crate::report::Reporter;
use crate::shadow::{Clash, Race, Stamp};

impl Reporter {
    /// A race, unless it is one that any outcome is right for: a load that only guesses what a compare-and-swap will
    /// find, beside the atomics of others, or their stores to other bytes of the word.
    pub fn race(&mut self, at: At, space: MemorySpace, race: Race) {
        let Race { earlier, later, clash, .. } = race;
        // A store to another byte of the word makes the swap fail; one to its own races with the swap, too.
        let (read, store) = match (later.writes(), earlier.writes()) {
            (false, true) => (Some(later.pc), earlier),
            (true, false) => (Some(earlier.pc), later),
            _ => (None, later),
        };
        let harmless = store.is_strong() || store.is_narrow();
        if harmless && read.is_some_and(|pc| self.launched.code.guesses(pc)) {
            return;
        }
        let same_warp = (earlier.block, earlier.warp()) == (later.block, later.warp());
        let how = match clash {
            Clash::Gone => return self.block_gone(&earlier),
            Clash::Unordered => Conflict::Unordered,
            Clash::NoProxyFence => Conflict::NoProxyFence,
            Clash::NoAcquire => Conflict::NoAcquire,
            Clash::Stale => Conflict::Stale,
            // The programming guide says what comes of it: one of the lanes' stores, and they are the same.
            Clash::Equal if same_warp && earlier.pc == later.pc => Conflict::EqualInWarp,
            Clash::Equal => Conflict::Equal,
            Clash::OrderDependent => Conflict::Volatile,
        };
        let cure = cure(&race, space, &self.launched);
        self.note(Key::of_race(how, cure, [later.pc, earlier.pc]), |reporter| {
            let (lane, before) = race.lanes();
            Finding {
                object: Some(reporter.accessed(at.pc, space, race.address)),
                sites: vec![
                    reporter.site(action(&later), later.pc, later.block, later.warp(), lane),
                    reporter.site(action(&earlier), earlier.pc, earlier.block, earlier.warp(), before),
                ],
                cure: Some(cure),
                ..Finding::new(Kind::Race { how })
            }
        });
    }

    /// A register was read that a product may still have to write.
    pub fn result_too_early(&mut self, at: At) {
        self.note_at(at.pc, Kind::EarlyResult, |reporter, finding| Finding {
            sites: vec![reporter.here(Action::Read, at)],
            ..finding
        });
    }

    /// A thread has ended, and has not waited for an asynchronous copy that it started.
    pub fn copy_forgotten(&mut self, warp: u32, lane: u32, pc: u32, address: u64) {
        self.note_at(pc, Kind::UnawaitedCopy, |reporter, finding| Finding {
            object: Some(reporter.object(MemorySpace::Shared, address)),
            sites: vec![reporter.site(Action::Copy, pc, reporter.block, warp, lane)],
            ..finding
        });
    }

    /// The shared memory of another block of the cluster was used by this access, and that block may have ended before.
    pub fn block_gone(&mut self, access: &Stamp) {
        let what = if access.writes() { Action::Write } else { Action::Read };
        self.note_at(access.pc, Kind::EndedBlock, |reporter, finding| Finding {
            sites: vec![reporter.site(what, access.pc, access.block, access.warp(), access.first())],
            ..finding
        });
    }
}

/// The action of an access.
fn action(access: &Stamp) -> Action {
    match (access.is_volatile(), access.is_strong(), access.writes()) {
        (true, _, true) => Action::VolatileWrite,
        (true, _, false) => Action::VolatileRead,
        (_, true, true) => Action::AtomicWrite,
        (_, true, false) => Action::AtomicRead,
        (_, false, true) => Action::Write,
        (_, false, false) => Action::Read,
    }
}
