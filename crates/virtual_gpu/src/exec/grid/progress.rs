//! How far a launch has come: its operations, what was written, how long it takes, and when it is to be ended.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::merge::Tally;
use super::{Grid, MAX_RESIDENT};
use crate::exec::block::Block;
use crate::fault::{Fault, FaultKind};
use crate::observer::LaunchObserver;

/// When a launch that runs on is mentioned.
const NOTICE_AFTER: Duration = Duration::from_secs(10);

impl<O: LaunchObserver> Grid<'_, O> {
    /// Adds a thread's operations to those of all; how many there are then.
    pub(super) fn count(&self, tally: &mut Tally<O::Block>) -> u64 {
        let steps = std::mem::take(&mut tally.instructions);
        let total = self.instructions.fetch_add(steps, Ordering::Relaxed) + steps;
        if steps > 0 {
            self.context.count(steps);
            // A block has ended.
            self.progressed(total);
        }
        total
    }

    /// Something was written that others may wait for.
    pub(super) fn progressed(&self, total: u64) {
        self.last_progress.store(total, Ordering::Relaxed);
        let writes = self.context.quota.memory().writes().fetch_add(1, Ordering::Relaxed) + 1;
        self.seen_writes.store(writes, Ordering::Relaxed);
    }

    /// Operations in which nothing was written.
    fn idle(&self, total: u64) -> u64 {
        // Blocks run in turn: a grid of many that wait for one comes round to it late.
        let share = self.clusters.min(MAX_RESIDENT as u64) / 16 + 1;
        total.saturating_sub(self.last_progress.load(Ordering::Relaxed)) / share
    }

    /// Half of the way to the limit the warps are looked at more closely.
    pub(super) fn is_suspicious(&self) -> bool {
        let limit = self.context.gpu.options().spin_limit;
        limit.is_some_and(|limit| self.idle(self.instructions.load(Ordering::Relaxed)) > limit / 2)
    }

    /// Whether another launch, of this device or of a peer, has written something since this was last asked: what the blocks
    /// wait for may come from there.
    fn others_write(&self, total: u64) -> bool {
        let now = self.context.quota.memory().writes().load(Ordering::Relaxed);
        let wrote = self.seen_writes.swap(now, Ordering::Relaxed) != now;
        if wrote {
            self.last_progress.store(total, Ordering::Relaxed);
        }
        wrote
    }

    /// Ends a launch that has run beyond the watchdog's limit, and mentions one that takes long.
    pub(super) fn watch(&self, block: &Block<O::Block>, total: u64) -> Result<(), Box<Fault>> {
        if self.context.gpu.options().watchdog.is_some_and(|limit| total > limit) {
            let hottest = self.hottest(block);
            return Err(block.stopped(self.context, FaultKind::Timeout { instructions: total, hottest }));
        }
        if self.context.gpu.options().spin_limit.is_some_and(|limit| self.idle(total) > limit)
            && !self.others_write(total)
        {
            return Err(block.deadlock(self.context));
        }
        if self.lookout.is_out() {
            return Err(block.stopped(self.context, FaultKind::OutOfMemory));
        }
        let seconds = self.started.elapsed().as_secs();
        let last = self.notice.load(Ordering::Relaxed);
        if seconds >= (2 * last).max(NOTICE_AFTER.as_secs())
            && self.notice.compare_exchange(last, seconds, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            let place = self.hottest(block);
            let name = ptx::rust_name(&self.context.kernel.name);
            let ended = self.merge.lock().unwrap_or_else(PoisonError::into_inner).ended;
            // What stands there already is a progress line, which will be written again.
            let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
            eprintln!(
                "{clear}virtual GPU: kernel `{name}` has run for {seconds} s, {} % of its blocks have ended, {total} warp \
                 instructions so far{place} (WARPSMITH_WATCHDOG=N ends a launch after N instructions)",
                ended * 100 / self.clusters.max(1)
            );
        }
        Ok(())
    }

    /// Where most of a block's lanes are now.
    fn hottest(&self, block: &Block<O::Block>) -> String {
        let mut places = BTreeMap::<u32, usize>::new();
        block.counters().for_each(|pc| *places.entry(pc).or_default() += 1);
        let hottest = places.into_iter().max_by_key(|p| p.1).map(|p| self.context.code.location(p.0));
        hottest.map_or_else(String::new, |location| format!(", now at {location}"))
    }
}
