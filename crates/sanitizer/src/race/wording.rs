//! Races put into words, with what usually mends them.

use virtual_gpu::observer::{At, MemorySpace};

use super::mend::mend;
use crate::checks::Check;
use crate::finding::Severity;
use crate::report::{Reporter, Told};
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
        if clash == Clash::Gone {
            return self.block_gone(&earlier);
        }
        let same_warp = (earlier.block, earlier.warp()) == (later.block, later.warp());
        // The programming guide says what comes of it: one of the lanes' stores, and they are the same.
        let one_instruction = clash == Clash::Equal && same_warp && earlier.pc == later.pc;
        let kind = match (clash, earlier.writes(), later.writes()) {
            (Clash::NoAcquire, ..) => "use without acquire",
            (Clash::NoProxyFence, ..) => "read without a proxy fence",
            (Clash::Luck, ..) => "volatile",
            (Clash::Stale, ..) => "read-only path",
            (Clash::Equal, ..) if one_instruction => "writes of equal values by lanes of one warp",
            (Clash::Equal, ..) => "writes of equal values",
            (_, true, true) => "write after write",
            (_, true, false) => "read after write",
            (_, false, _) => "write after read",
        };
        let mut pcs = [later.pc, earlier.pc];
        pcs.sort_unstable();
        let mend = mend(&race, space, &self.launched);
        self.note_race(kind, pcs, mend, |reporter| {
            let object = reporter.accessed(at.pc, space, race.address);
            let (severity, message) = match clash {
                Clash::Unordered | Clash::Gone => (Severity::Error, format!("{kind}, and nothing orders the two")),
                Clash::NoProxyFence => (
                    Severity::Error,
                    "a bulk copy or `wgmma` reads what plain stores wrote, and no fence between the proxies is behind them"
                        .to_owned(),
                ),
                Clash::NoAcquire => (Severity::Error, "a flag was read, and no fence makes it count".to_owned()),
                Clash::Stale => (
                    Severity::Error,
                    "a load that takes the data for read-only (`ld.global.nc`, a texture) reads what the kernel has written"
                        .to_owned(),
                ),
                Clash::Equal => (Severity::Warning, format!("{kind}, and nothing orders the two")),
                Clash::Luck => (
                    Severity::Warning,
                    "PTX takes volatile accesses for strong ones, which do not race; in CUDA C++ they order nothing, and \
                     nothing else orders these two"
                        .to_owned(),
                ),
            };
            let space = &object.space;
            let (severity, message) = match one_instruction {
                true => (
                    Severity::Note,
                    format!("lanes of one warp store the same value to one place of {space} memory"),
                ),
                false => (severity, format!("race in {space} memory: {message}")),
            };
            let (lane, before) = race.lanes();
            Told {
                severity,
                message,
                object: Some(object),
                sites: vec![
                    reporter.site(verb(&later), later.pc, later.block, later.warp(), lane),
                    reporter.site(verb(&earlier), earlier.pc, earlier.block, earlier.warp(), before),
                ],
                help: mend.help(),
            }
        });
    }

    /// A register was read that a product may still have to write.
    pub fn result_too_early(&mut self, at: At) {
        self.note(Check::Race, "result", [at.pc, at.pc], |reporter| Told {
            severity: Severity::Error,
            message: "the result of a `wgmma` is read, and nobody has waited for it".to_owned(),
            object: None,
            sites: vec![reporter.here("read", at)],
            help: "commit the product's group and wait for it (`wgmma.wait_group`) before its registers are used",
        });
    }

    /// A thread has ended, and has not waited for an asynchronous copy that it started.
    pub fn copy_forgotten(&mut self, warp: u32, lane: u32, pc: u32, address: u64) {
        self.note(Check::Race, "forgotten", [pc, pc], |reporter| Told {
            severity: Severity::Warning,
            message: "a thread ends while its asynchronous copy may still write shared memory".into(),
            object: Some(reporter.object(MemorySpace::Shared, address)),
            sites: vec![reporter.site("copy", pc, reporter.block, warp, lane)],
            help: "wait for all groups before the kernel ends (`cp.async.wait_all`): the memory may be another block's by then",
        });
    }

    /// The shared memory of another block of the cluster was used by this access, and that block may have ended before.
    pub fn block_gone(&mut self, access: &Stamp) {
        let what = if access.writes() { "write" } else { "read" };
        self.note(Check::Race, "ended", [access.pc, access.pc], |reporter| Told {
            severity: Severity::Error,
            message: format!(
                "{what} of the shared memory of another block of the cluster, which may have ended"
            ),
            object: None,
            sites: vec![reporter.site(what, access.pc, access.block, access.warp(), access.first())],
            help: "let the blocks of the cluster meet behind the last such access, before any of them ends",
        });
    }
}

/// What an access is called.
fn verb(access: &Stamp) -> &'static str {
    match (access.is_volatile(), access.is_strong(), access.writes()) {
        (true, _, true) => "volatile write",
        (true, _, false) => "volatile read",
        (_, true, true) => "atomic write",
        (_, true, false) => "atomic read",
        (_, false, true) => "write",
        (_, false, false) => "read",
    }
}
