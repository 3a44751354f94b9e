//! Happens-before among streams, whatever the time at which work happens to be done: for the check of races across
//! streams, and kept only while that is on.
//!
//! A stream's work comes after what the stream did before, what the host has waited for when it is issued, what events
//! ask for, and what the legacy default stream's rules say.

use std::collections::HashMap;
use std::sync::Arc;

use sanitizer::Before;

use crate::abi::{CUdevice, Handle};

/// A position in a stream: the work with this ticket and everything before it.
pub type Mark = (Handle, u64);

/// The host's own actions count as a stream.
const HOST: Handle = 0;

#[derive(Debug)]
struct Lane {
    /// The legacy default stream of this stream's context.
    legacy: Handle,
    device: CUdevice,
    blocking: bool,
    last: u64,
    before: Arc<Before>,
    /// It has waited for a value in memory: what comes before its work is no longer known.
    unknown: bool,
}

#[derive(Debug, Default)]
pub struct Order {
    lanes: HashMap<Handle, Lane>,
    host: Before,
    /// The predecessors of each mark that the host has not waited for.
    known: HashMap<Mark, Arc<Before>>,
    /// Of work that is not done.
    pending: HashMap<Mark, Arc<Before>>,
    by_host: u64,
}

fn join(before: &mut Before, (stream, ticket): Mark, known: Option<&Arc<Before>>) {
    let mut put = |stream: usize, ticket: u64| {
        let mine = before.entry(stream).or_insert(0);
        *mine = (*mine).max(ticket);
    };
    put(stream, ticket);
    known.into_iter().flat_map(|known| known.iter()).for_each(|(&stream, &ticket)| put(stream, ticket));
}

impl Order {
    pub fn opened(&mut self, stream: Handle, legacy: Handle, blocking: bool, device: CUdevice) {
        let (last, before, unknown) = (0, Arc::default(), false);
        self.lanes.insert(stream, Lane { legacy, device, blocking, last, before, unknown });
    }

    /// A context is gone, after the host has waited for its streams.
    pub fn closed(&mut self, legacy: Handle) {
        self.lanes.retain(|_, lane| lane.legacy != legacy);
    }

    /// Other predecessors of a stream's work, by the legacy default stream's rules.
    fn by_rule(&self, stream: Handle) -> Vec<Mark> {
        let Some(own) = self.lanes.get(&stream) else { return Vec::new() };
        let others = self.lanes.iter().filter(|&(&other, lane)| {
            let legacy = stream == own.legacy && lane.blocking || other == own.legacy && own.blocking;
            other != stream && lane.last != 0 && lane.legacy == own.legacy && legacy
        });
        others.map(|(&other, lane)| (other, lane.last)).collect()
    }

    /// Work was issued. `None` if there is only one stream, or if this one's order is not known.
    pub fn issued(
        &mut self,
        (stream, ticket): Mark,
        after: &[Mark],
        waits_for_value: bool,
    ) -> Option<sanitizer::Issued> {
        let rules = self.by_rule(stream);
        let single = self.lanes.len() < 2;
        let lane = self.lanes.get_mut(&stream)?;
        lane.last = ticket;
        lane.unknown |= waits_for_value;
        if single {
            return None;
        }
        let mut before = Before::clone(&lane.before);
        for &mark in rules.iter().chain(after) {
            join(&mut before, mark, self.known.get(&mark));
        }
        self.host.iter().for_each(|(&stream, &ticket)| join(&mut before, (stream, ticket), None));
        if before != *lane.before {
            lane.before = Arc::new(before);
        }
        let before = lane.before.clone();
        self.known.insert((stream, ticket), before.clone());
        self.pending.insert((stream, ticket), before.clone());
        let (device, default) = (lane.device as u32, stream == lane.legacy);
        (!lane.unknown).then_some(sanitizer::Issued { device, default, stream, ticket, before })
    }

    pub fn done(&mut self, mark: Mark) {
        self.pending.remove(&mark);
    }

    pub fn directly(&mut self) -> sanitizer::Issued {
        self.by_host += 1;
        let before = Arc::new(self.host.clone());
        self.host.insert(HOST, self.by_host);
        sanitizer::Issued { device: 0, default: false, stream: HOST, ticket: self.by_host, before }
    }

    pub fn host_waited(&mut self, marks: &[Mark]) {
        for &mark in marks {
            join(&mut self.host, mark, self.known.get(&mark));
        }
        let host = &self.host;
        self.known.retain(|(stream, ticket), _| host.get(stream).is_none_or(|known| known < ticket));
    }

    pub fn host_waited_for(&mut self, stream: Handle) {
        let mut marks = self.by_rule(stream);
        marks.extend(self.lanes.get(&stream).map(|lane| (stream, lane.last)));
        self.host_waited(&marks);
    }

    /// For all streams of a context.
    pub fn host_waited_for_all(&mut self, legacy: Handle) {
        let of_context = self.lanes.iter().filter(|(_, lane)| lane.legacy == legacy);
        let marks: Vec<Mark> = of_context.map(|(&stream, lane)| (stream, lane.last)).collect();
        self.host_waited(&marks);
    }

    /// Whether all work that is pending, or will be issued, comes after a piece of work.
    pub fn is_over(&self, work: &sanitizer::Issued) -> bool {
        let knows = |before: &Before| before.get(&work.stream).is_some_and(|&ticket| ticket >= work.ticket);
        knows(&self.host)
            && self.pending.iter().all(|(&(stream, _), before)| stream == work.stream || knows(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEGACY: Handle = 50;
    const A: Handle = 100;
    const B: Handle = 200;

    fn order(blocking: bool) -> Order {
        let mut order = Order::default();
        order.opened(LEGACY, LEGACY, true, 0);
        order.opened(A, LEGACY, blocking, 0);
        order.opened(B, LEGACY, blocking, 0);
        order
    }

    fn after(later: &sanitizer::Issued, earlier: &sanitizer::Issued) -> bool {
        later.before.get(&earlier.stream).is_some_and(|&ticket| ticket >= earlier.ticket)
    }

    #[test]
    fn two_streams_have_no_order_but_by_an_event() {
        let mut order = order(false);
        let first = order.issued((A, 1), &[], false).unwrap();
        let beside = order.issued((B, 2), &[], false).unwrap();
        assert!(!after(&beside, &first));
        let behind = order.issued((B, 3), &[(A, 1)], false).unwrap();
        assert!(after(&behind, &first));
        assert!(after(&order.issued((B, 4), &[], false).unwrap(), &first));
    }

    #[test]
    fn the_legacy_stream_stands_between_blocking_streams_though_they_be_done() {
        let mut order = order(true);
        let first = order.issued((A, 1), &[], false).unwrap();
        order.done((A, 1));
        let between = order.issued((LEGACY, 2), &[], false).unwrap();
        order.done((LEGACY, 2));
        let last = order.issued((B, 3), &[], false).unwrap();
        assert!(after(&between, &first) && after(&last, &between) && after(&last, &first));
    }

    #[test]
    fn what_the_host_waited_for_is_over_when_all_under_way_comes_after_it() {
        let mut order = order(false);
        let first = order.issued((A, 1), &[], false).unwrap();
        order.issued((B, 2), &[], false).unwrap();
        order.done((A, 1));
        order.host_waited_for(A);
        assert!(!order.is_over(&first), "the other stream's work is still to be compared");
        order.done((B, 2));
        assert!(order.is_over(&first));
        assert!(after(&order.issued((B, 3), &[], false).unwrap(), &first));
        assert!(after(&order.directly(), &first));
    }

    #[test]
    fn one_stream_alone_is_not_followed() {
        let mut order = Order::default();
        order.opened(LEGACY, LEGACY, true, 0);
        assert!(order.issued((LEGACY, 1), &[], false).is_none());
    }
}
