//! Waits that the checks make of themselves: after a call of a checked program, and at its end.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{Lane, Lanes, State, WORKING, refuse_in_work};
use crate::objects::device::memory;

/// Waits after a call of a checked program until what was issued has ended, unless that takes long.
pub fn rest() {
    Lanes::process().rest();
}

/// Waits for the work of all contexts when a checked program ends: what is in flight is checked, too.
pub fn settle() {
    Lanes::process().settle();
}

impl Lanes {
    /// Waits until nothing is unfinished, or nothing that is can go on: it waits for the program, which has ended.
    fn settle(self: &Arc<Self>) {
        /// Looks without progress after which work counts as stuck.
        const STUCK: u32 = 20;
        const LOOK: Duration = Duration::from_millis(50);
        if refuse_in_work().is_err() {
            return;
        }
        let mut state = self.state();
        let mut stuck = 0;
        while stuck < STUCK && state.lanes.values().any(Lane::is_unfinished) {
            self.call_a_worker(&mut state);
            let moves = state.has_runnable() || state.lanes.values().any(|lane| lane.running);
            stuck = if moves { 0 } else { stuck + 1 };
            state = self.done.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until no work of devices can go on, but not for long: it may wait for the program.
    fn rest(&self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        const LEAST: Duration = Duration::from_millis(1);
        const LOOK: Duration = Duration::from_millis(20);
        if WORKING.get() {
            return;
        }
        let mut state = self.state();
        let start = Instant::now();
        let patience = (PATIENCE / 2u32.saturating_pow(state.impatience)).max(LEAST);
        let mut waited = false;
        while state.workers > 0 && state.has_device_work() {
            let Some(left) = patience.checked_sub(start.elapsed()) else {
                state.impatience = (state.impatience + 1).min(16);
                return;
            };
            waited = true;
            memory().count_write();
            state = self.done.wait_timeout(state, left.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
        if waited {
            state.impatience = state.impatience.saturating_sub(1);
        }
    }
}

impl State {
    /// Tells whether work of devices runs, or may start.
    fn has_device_work(&self) -> bool {
        self.lanes.values().any(|lane| match lane.running {
            true => !lane.runs_host,
            false => self.is_runnable(lane) && lane.pending.front().is_some_and(|item| !item.task.host),
        })
    }
}
