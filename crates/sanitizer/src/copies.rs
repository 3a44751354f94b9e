//! Asynchronous copies that are under way.

use std::collections::HashMap;

use crate::clock::Snapshot;
use crate::shadow::Stamp;

/// A `cp.async` of one thread.
#[derive(Debug)]
struct Copy {
    /// `None` until it is committed.
    group: Option<u32>,
    /// The `mbarrier` and the parity of its phase, if it is to land there.
    tied: Option<(u64, bool)>,
    shared: u64,
    bytes: u32,
    /// The instruction that started it.
    pc: u32,
}

#[derive(Debug, Default)]
struct OfThread {
    started: Vec<Copy>,
    committed: u32,
}

/// A bulk copy into shared memory that is under way.
#[derive(Debug)]
pub struct Bulk {
    /// Whose write it is when it has landed.
    pub by: Stamp,
    /// Its thread's clock when it issued the copy.
    pub passes_on: Snapshot,
    /// Where to.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// The `mbarrier` that it completes on.
    pub barrier: u64,
}

/// The copies of one block.
#[derive(Debug, Default)]
pub struct Copies {
    by_thread: HashMap<u32, OfThread>,
    /// Copies that are to land in a phase of an `mbarrier`.
    tied: usize,
}

impl Copies {
    /// A thread has started a copy.
    pub fn started(&mut self, thread: u32, shared: u64, bytes: u32, pc: u32) {
        self.by_thread.entry(thread).or_default().started.push(Copy {
            group: None,
            tied: None,
            shared,
            bytes,
            pc,
        });
    }

    /// A thread ends: the instruction and the destination of the first copy that it has not waited for. Those that are to land in
    /// a phase of an `mbarrier` are for others to wait for.
    pub fn forgotten(&self, thread: u32) -> Option<(u32, u64)> {
        let copies = self.by_thread.get(&thread)?;
        copies.started.iter().find(|copy| copy.tied.is_none()).map(|copy| (copy.pc, copy.shared))
    }

    /// It closes what it started into a group.
    pub fn committed(&mut self, thread: u32) {
        let copies = self.by_thread.entry(thread).or_default();
        let group = copies.committed;
        copies.started.iter_mut().for_each(|copy| copy.group = copy.group.or(Some(group)));
        copies.committed += 1;
    }

    /// It waits until at most `pending` groups are under way: where the others have landed, and how many bytes.
    pub fn landed(&mut self, thread: u32, pending: u32) -> Vec<(u64, u32)> {
        let Some(copies) = self.by_thread.get_mut(&thread) else { return Vec::new() };
        let groups = copies.committed.saturating_sub(pending);
        let mut landed = Vec::new();
        copies.started.retain(|copy| {
            let done = copy.group.is_some_and(|group| group < groups);
            if done {
                self.tied -= usize::from(copy.tied.is_some());
                landed.push((copy.shared, copy.bytes));
            }
            !done
        });
        landed
    }

    /// Ties a thread's started copies to a phase of an `mbarrier`.
    pub fn tied(&mut self, thread: u32, barrier: u64, parity: bool) {
        let Some(copies) = self.by_thread.get_mut(&thread) else { return };
        for copy in copies.started.iter_mut().filter(|copy| copy.tied.is_none()) {
            copy.tied = Some((barrier, parity));
            self.tied += 1;
        }
    }

    /// A phase of an `mbarrier` is complete: which copies have landed with it, as thread, place and bytes.
    pub fn completed(&mut self, barrier: u64, parity: bool) -> Vec<(u32, u64, u32)> {
        let mut landed = Vec::new();
        if self.tied == 0 {
            return landed;
        }
        for (&thread, copies) in &mut self.by_thread {
            copies.started.retain(|copy| {
                let here = copy.tied == Some((barrier, parity));
                if here {
                    landed.push((thread, copy.shared, copy.bytes));
                }
                !here
            });
        }
        self.tied -= landed.len();
        landed
    }
}
