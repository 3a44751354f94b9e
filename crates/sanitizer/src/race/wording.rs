//! Races put into words, with what usually mends them.

use virtual_gpu::observer::{At, MemorySpace};

use super::Race;
use crate::checks::Check;
use crate::finding::Severity;
use crate::report::{Reporter, Told};
use crate::shadow::{Clash, Stamp};

impl Reporter {
    /// A race, unless it is one that any outcome is right for: a load that only guesses what a compare-and-swap will
    /// find, beside the atomics of others, or their stores to other bytes of the word.
    pub fn race(&mut self, at: At, space: MemorySpace, race: Race, strong: bool) {
        // A store to another byte of the word makes the swap fail; one to its own races with the swap, too.
        let (read, harmless) = match (race.write, race.earlier.writes()) {
            (false, true) => (Some(at.pc), race.earlier.is_strong() || race.earlier.is_narrow()),
            (true, false) => (Some(race.earlier.pc), strong || race.narrow),
            _ => (None, false),
        };
        if harmless && read.is_some_and(|pc| self.launched.code.guesses(pc)) {
            return;
        }
        if race.clash == Clash::Gone {
            return self.block_gone(&race.earlier);
        }
        let verb = |write: bool, strong: bool| match (write, strong) {
            (true, true) => "atomic write",
            (true, false) => "write",
            (false, true) => "atomic read",
            (false, false) => "read",
        };
        let earlier = race.earlier;
        let same_warp = (earlier.block, earlier.warp()) == (self.block, at.warp);
        // The programming guide says what comes of it: one of the lanes' stores, and they are the same.
        let one_instruction = race.clash == Clash::Equal && same_warp && earlier.pc == at.pc;
        let kind = match (race.clash, earlier.writes(), race.write) {
            (Clash::NoAcquire, ..) => "read without acquire",
            (Clash::NoProxyFence, ..) => "read without a proxy fence",
            (Clash::Equal, ..) if one_instruction => "writes of equal values by lanes of one warp",
            (Clash::Equal, ..) => "writes of equal values",
            (_, true, true) => "write after write",
            (_, true, false) => "read after write",
            (_, false, _) => "write after read",
        };
        let mut pcs = [at.pc, earlier.pc];
        pcs.sort_unstable();
        let help = if race.clash == Clash::NoProxyFence {
            "put `fence.proxy.async` behind the stores, by the threads that make them, before the barrier that comes before \
             the copy or product"
        } else if earlier.is_asynchronous() && !earlier.writes() {
            "what was issued may still read its source: wait for its group (`cp.async.bulk.wait_group.read`, \
             `wgmma.wait_group`), and meet at a barrier if another thread writes, first"
        } else if earlier.is_asynchronous() {
            "the copy may not have landed: wait for its group (and meet at a barrier, if another thread reads) first"
        } else if race.clash == Clash::NoAcquire {
            "put a fence between reading the flag and reading what it stands for, or read the flag with `acquire`"
        } else if one_instruction {
            "the outcome is defined; let one lane write to say so"
        } else if race.clash == Clash::Equal {
            "the outcome is the same, yet undefined: let one thread write, or use an atomic"
        } else if earlier.block != self.block && space == MemorySpace::Shared {
            "let the blocks of the cluster meet between the two: `barrier.cluster`, and not only the block's own barrier"
        } else if earlier.block != self.block {
            "nothing orders blocks of one launch: use an atomic, or a device fence and a flag, or a second launch"
        } else if same_warp && earlier.pc == at.pc {
            "several lanes store to one place: give each its own, or use an atomic"
        } else if same_warp {
            "lanes of a warp need not run together: put `warp::sync_warp` between the two"
        } else {
            "put `thread::sync_threads()` between the two"
        };
        self.note(Check::Race, kind, pcs, |reporter| {
            let now = verb(race.write, false);
            let before = verb(earlier.writes(), earlier.is_strong());
            let object = reporter.accessed(at.pc, space, race.address);
            let (severity, message) = match race.clash {
                Clash::Unordered | Clash::Gone => (Severity::Error, format!("{kind}, and nothing orders the two")),
                Clash::NoProxyFence => (
                    Severity::Error,
                    "a bulk copy or `wgmma` reads what plain stores wrote, and no fence between the proxies is behind them"
                        .to_owned(),
                ),
                Clash::NoAcquire => (Severity::Error, "a flag was read, and no fence makes it count".to_owned()),
                Clash::Equal => (Severity::Warning, format!("{kind}, and nothing orders the two")),
            };
            let space = &object.space;
            let (severity, message) = match one_instruction {
                true => (
                    Severity::Note,
                    format!("lanes of one warp store the same value to one place of {space} memory"),
                ),
                false => (severity, format!("race in {space} memory: {message}")),
            };
            Told {
                severity,
                message,
                object: Some(object),
                sites: vec![
                    reporter.site(now, at.pc, reporter.block, at.warp, race.lane),
                    reporter.site(before, earlier.pc, earlier.block, earlier.warp(), earlier.first()),
                ],
                help,
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
