//! Who knows of whose past: vector clocks, cut down to what a grid of blocks needs.
//!
//! Every thread counts its own *steps*: a step ends where the thread may hand knowledge to another (a barrier, a fence,
//! an atomic). An access is stamped with thread and step; a later access by another thread is ordered after it exactly
//! when that thread has come to know of the step.
//!
//! A full vector for each thread would be a million entries a block. But all threads that leave a barrier know the
//! same, so they share one [`Known`] behind an `Arc`, and only their own count differs. What a thread knows of other
//! blocks comes through atomics, rarely, and is kept by block.

use std::collections::HashMap;
use std::sync::Arc;

/// A step of a thread. 0 is before everything.
pub type Step = u32;

/// What a thread knows of all others: for each thread of its block, and of other blocks it has heard of, the last step
/// that lies in its past.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// By thread of the own block.
    pub own: Box<[Step]>,
    /// By block, then thread.
    pub others: Arc<HashMap<u32, Arc<[Step]>>>,
}

/// What a thread passes on at one moment: what it knows, and its own step.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its block.
    pub block: u32,
    /// Thread in the block.
    pub thread: u32,
    /// Its step, which is included.
    pub step: Step,
    /// The rest.
    pub known: Arc<Known>,
}

/// The clocks of one block's threads.
#[derive(Debug)]
pub struct Clocks {
    block: u32,
    steps: Vec<Step>,
    known: Vec<Arc<Known>>,
}

impl Clocks {
    /// Clocks of a block at its start: nobody knows of anybody.
    pub fn new(block: u32, threads: usize) -> Self {
        let known = Arc::new(Known { own: vec![0; threads].into(), others: Arc::default() });
        Clocks { block, steps: vec![1; threads], known: vec![known; threads] }
    }

    /// The thread's current step.
    #[inline]
    pub fn step(&self, thread: u32) -> Step {
        self.steps[thread as usize]
    }

    /// Whether `thread` knows of step `step` of thread `of` in block `block`.
    #[inline]
    pub fn knows(&self, thread: u32, block: u32, of: u32, step: Step) -> bool {
        if block == self.block {
            of == thread || self.known[thread as usize].own[of as usize] >= step
        } else {
            let others = &self.known[thread as usize].others;
            others.get(&block).is_some_and(|steps| steps[of as usize] >= step)
        }
    }

    /// What the thread would pass on now. Its next access belongs to a new step.
    pub fn publish(&mut self, thread: u32) -> Snapshot {
        let at = thread as usize;
        let step = self.steps[at];
        self.steps[at] += 1;
        Snapshot { block: self.block, thread, step, known: self.known[at].clone() }
    }

    /// The thread comes to know all that `gathered` holds.
    pub fn learn(&mut self, thread: u32, gathered: &Arc<Known>) {
        let mine = &mut self.known[thread as usize];
        if Arc::ptr_eq(mine, gathered) {
            return;
        }
        let mut joined = Known::clone(mine);
        joined.join(gathered);
        if joined == **gathered {
            *mine = gathered.clone();
        } else if joined != **mine {
            *mine = Arc::new(joined);
        }
    }

    /// As [`Clocks::learn`], for knowledge gathered in terms of any block.
    pub fn learn_from(&mut self, thread: u32, foreign: &Gathered) {
        if foreign.is_empty() {
            return;
        }
        let threads = self.steps.len();
        let known = foreign.for_block(self.block, threads);
        self.learn(thread, &Arc::new(known));
    }

    /// An empty vessel for the knowledge of threads that meet in this block.
    pub fn nothing(&self) -> Known {
        Known { own: vec![0; self.steps.len()].into(), others: Arc::default() }
    }
}

impl Known {
    /// Takes in everything that `other` knows (of the same block).
    pub fn join(&mut self, other: &Known) {
        for (mine, &theirs) in self.own.iter_mut().zip(&other.own) {
            *mine = (*mine).max(theirs);
        }
        join_blocks(&mut self.others, &other.others);
    }

    /// Takes in a snapshot of a thread of the same block.
    pub fn gather(&mut self, snapshot: &Snapshot) {
        self.join(&snapshot.known);
        let slot = &mut self.own[snapshot.thread as usize];
        *slot = (*slot).max(snapshot.step);
    }
}

fn join_blocks(mine: &mut Arc<HashMap<u32, Arc<[Step]>>>, theirs: &Arc<HashMap<u32, Arc<[Step]>>>) {
    if Arc::ptr_eq(mine, theirs) || theirs.is_empty() {
        return;
    }
    if mine.is_empty() {
        *mine = theirs.clone();
        return;
    }
    let mine = Arc::make_mut(mine);
    for (&block, steps) in theirs.iter() {
        join_steps(mine.entry(block).or_insert_with(|| steps.clone()), steps);
    }
}

fn join_steps(mine: &mut Arc<[Step]>, theirs: &Arc<[Step]>) {
    if Arc::ptr_eq(mine, theirs) || mine.iter().zip(theirs.iter()).all(|(m, t)| m >= t) {
        return;
    }
    *mine = mine.iter().zip(theirs.iter()).map(|(&m, &t)| m.max(t)).collect();
}

/// Knowledge that lies in a memory location (an atomic, an `mbarrier`) for whoever reads it, from any block.
#[derive(Debug, Clone, Default)]
pub struct Gathered(HashMap<u32, Arc<[Step]>>);

impl Gathered {
    /// Whether nothing was ever put in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts in a snapshot.
    pub fn put(&mut self, snapshot: &Snapshot) {
        let mut own: Arc<[Step]> = (&*snapshot.known.own).into();
        let slot = &mut Arc::make_mut(&mut own)[snapshot.thread as usize];
        *slot = (*slot).max(snapshot.step);
        self.join(snapshot.block, &own);
        for (&block, steps) in snapshot.known.others.iter() {
            self.join(block, steps);
        }
    }

    fn join(&mut self, block: u32, steps: &Arc<[Step]>) {
        join_steps(self.0.entry(block).or_insert_with(|| steps.clone()), steps);
    }

    fn for_block(&self, block: u32, threads: usize) -> Known {
        let own = self.0.get(&block).map_or_else(|| vec![0; threads].into(), |steps| (**steps).into());
        let others = self.0.iter().filter(|(b, _)| **b != block).map(|(&b, s)| (b, s.clone())).collect();
        Known { own, others: Arc::new(others) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_orders_what_came_before_it() {
        let mut clocks = Clocks::new(0, 2);
        let written = clocks.step(0);
        assert!(!clocks.knows(1, 0, 0, written));
        let mut met = clocks.nothing();
        for thread in 0..2 {
            met.gather(&clocks.publish(thread));
        }
        let met = Arc::new(met);
        clocks.learn(0, &met);
        clocks.learn(1, &met);
        assert!(clocks.knows(1, 0, 0, written));
        assert!(!clocks.knows(1, 0, 0, clocks.step(0)), "what thread 0 does next is not known");
    }

    #[test]
    fn knowledge_goes_from_block_to_block_through_an_atomic() {
        let (mut first, mut second) = (Clocks::new(0, 4), Clocks::new(7, 4));
        // Thread 3 of block 0 meets thread 0, which publishes; thread 1 of block 7 reads.
        let written = first.step(3);
        let mut met = first.nothing();
        met.gather(&first.publish(3));
        first.learn(0, &Arc::new(met));
        let mut atomic = Gathered::default();
        atomic.put(&first.publish(0));
        assert!(!second.knows(1, 0, 3, written));
        second.learn_from(1, &atomic);
        assert!(second.knows(1, 0, 3, written));
        assert!(!second.knows(2, 0, 3, written), "only the thread that read it knows");
        assert!(!second.knows(1, 0, 2, 1), "thread 2 of block 0 met nobody");
    }
}
