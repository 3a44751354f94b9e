//! Output and observers of ended blocks, in the order of the schedule.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::sync::PoisonError;

use super::team::Team;
use super::{Grid, MOST_TAKEN};
use crate::fault::Fault;
use crate::observer::{BlockObserver, LaunchObserver};

/// Observers of ended blocks that a thread keeps.
const MOST_KEPT: usize = 16;

/// Blocks that have ended, given out in the order of the schedule.
pub(super) struct Merge<B> {
    next: u64,
    /// How many have ended, in any order.
    pub ended: u64,
    /// Runs of them, by their first places.
    waiting: BTreeMap<u64, Ended<B>>,
    /// Bytes of output among them.
    output: usize,
    /// The first fault of them that a lane went on from.
    skipped: Option<Box<Fault>>,
}

/// Clusters in a row that have ended.
pub(super) struct Ended<B> {
    places: Range<u64>,
    observers: Vec<B>,
    output: Vec<u8>,
    skipped: Option<Box<Fault>>,
}

/// A thread's own results, until it has enough for a look at the shared ones. Results that no block waits for are short:
/// starting it costs no more than a few words that others write as well.
pub(super) struct Tally<B> {
    /// The places of clusters that it has taken, and not begun.
    pub taken: Range<u64>,
    /// Operations of clusters that ended in their first slice.
    pub instructions: u64,
    /// These clusters, as far as they follow each other.
    ended: Ended<B>,
}

impl<B> Tally<B> {
    pub fn new() -> Self {
        Tally { taken: 0..0, instructions: 0, ended: Ended::none() }
    }
}

impl<B> Merge<B> {
    pub fn new() -> Self {
        Merge { next: 0, ended: 0, waiting: BTreeMap::new(), output: 0, skipped: None }
    }
}

impl<B> Ended<B> {
    fn none() -> Self {
        Ended { places: 0..0, observers: Vec::new(), output: Vec::new(), skipped: None }
    }
}

impl<O: LaunchObserver> Grid<'_, O> {
    /// Takes note of an ended cluster.
    pub(super) fn end(&self, team: &mut Team<O::Block>, tally: &mut Tally<O::Block>) {
        if tally.ended.places.end != team.place {
            self.give_out(tally);
            tally.ended.places = team.place..team.place;
        }
        let ended = &mut tally.ended;
        ended.places.end += 1;
        for block in &mut team.blocks {
            ended.output.append(&mut block.state.output);
            if !<O::Block as BlockObserver>::ADDS_UP {
                ended.observers.extend(block.take_observer());
            }
            ended.skipped = ended.skipped.take().or(block.state.skipped.take());
        }
        let many = ended.places.end - ended.places.start >= MOST_TAKEN || ended.observers.len() >= MOST_KEPT;
        if many || !self.keeps_tallies || !ended.output.is_empty() || ended.skipped.is_some() {
            self.give_out(tally);
        }
    }

    /// Gives out what ended clusters printed and observed, when all before them have ended, and counts their operations.
    pub(super) fn give_out(&self, tally: &mut Tally<O::Block>) {
        self.count(tally);
        let ended = std::mem::replace(&mut tally.ended, Ended::none());
        if ended.places.is_empty() {
            return;
        }
        let mut merge = self.merge.lock().unwrap_or_else(PoisonError::into_inner);
        merge.ended += ended.places.end - ended.places.start;
        merge.output += ended.output.len();
        merge.waiting.insert(ended.places.start, ended);
        while let Some(ended) = {
            let next = merge.next;
            merge.waiting.remove(&next)
        } {
            merge.next = ended.places.end;
            merge.output -= ended.output.len();
            merge.skipped = merge.skipped.take().or(ended.skipped);
            self.take_back(ended.observers);
            print(&ended.output);
        }
        // No more waits behind a block that runs on than a device would hold; what is beyond comes before that block's.
        if merge.output > self.context.quota.printf_limit() {
            merge.output = 0;
            merge.waiting.values_mut().for_each(|ended| print(&std::mem::take(&mut ended.output)));
        }
    }

    /// Ends the observers that have added up what all blocks of a thread did.
    pub(super) fn retire(&self, spare: impl IntoIterator<Item = Box<Team<O::Block>>>) {
        let blocks = spare.into_iter().flat_map(|team| team.blocks);
        self.take_back(blocks.filter_map(|mut block| block.take_observer()).collect());
    }

    fn take_back(&self, observers: Vec<O::Block>) {
        if observers.is_empty() {
            return;
        }
        let mut observer = self.observer.write().unwrap_or_else(PoisonError::into_inner);
        observers.into_iter().for_each(|b| observer.merge(b));
    }

    /// The rest when all threads are done: blocks behind a gap that a fault made, the fault, and the first that lanes went
    /// on from.
    pub(in crate::exec) fn finish(self) -> (Option<Box<Fault>>, Option<Box<Fault>>) {
        let (waiting, mut skipped) = {
            let mut merge = self.merge.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut merge.waiting), merge.skipped.take())
        };
        for ended in waiting.into_values() {
            skipped = skipped.or(ended.skipped);
            self.take_back(ended.observers);
        }
        (self.fault.into_inner().unwrap_or_else(PoisonError::into_inner), skipped)
    }
}

fn print(output: &[u8]) {
    if !output.is_empty() {
        // A closed standard output is no fault of the kernel.
        let _ = std::io::stdout().lock().write_all(output);
    }
}
