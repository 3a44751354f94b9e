//! Happens-before between threads: vector clocks with epochs (FastTrack, Flanagan and Freund, PLDI 2009), by block and scope as
//! in iGUARD (Kamath and Basu, SOSP 2021) and ScoRD (Kamath, George and Basu, ISCA 2020), cut down to what a grid of blocks needs.
//!
//! Every thread counts its own *steps*: a step ends where the thread may hand knowledge to another (a barrier, a fence,
//! an atomic). An access is stamped with thread and step; a later access by another thread is ordered after it exactly
//! when that thread has come to know of the step.
//!
//! A full vector for each thread would be a million entries a block. But all threads that leave a barrier know the
//! same, so they share one [`Known`] behind an `Arc`, and only their own count differs. What a thread knows of other
//! blocks comes through atomics, rarely, and is kept by block.

mod gathered;

use std::sync::Arc;

use crate::numbered::Numbered;
pub use gathered::Gathered;

/// A step of a thread. 0 is before everything.
pub type Step = u32;

/// By block, then thread: the last step that is known of.
type Blocks = Numbered<Arc<[Step]>, u32>;

/// A thread's vector clock: for each thread of its block, and of other blocks it has heard of, the last step
/// that lies in its past.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// By thread of the own block.
    own: Box<[Step]>,
    /// Of every thread of the block at least this step is known: most questions are answered by it.
    floor: Step,
    others: Arc<Blocks>,
}

impl Known {
    /// Takes in everything that `other` knows (of the same block).
    fn join(&mut self, other: &Known) {
        for (mine, &theirs) in self.own.iter_mut().zip(&other.own) {
            *mine = (*mine).max(theirs);
        }
        join_blocks(&mut self.others, &other.others);
    }

    fn holds(&self, other: &Known, compared: &mut Compared) -> bool {
        covers(&self.own, &other.own) && compared.holds(&self.others, &other.others)
    }

    fn settle(mut self) -> Arc<Known> {
        self.floor = self.own.iter().copied().min().unwrap_or(0);
        Arc::new(self)
    }
}

/// Whether these steps are no less than those, of the same threads.
fn covers(mine: &[Step], theirs: &[Step]) -> bool {
    // No branch within a piece, so that it becomes vector instructions: a block has a thousand threads, and each of them may ask.
    let mut pieces = mine.chunks(64).zip(theirs.chunks(64));
    pieces.all(|(mine, theirs)| mine.iter().zip(theirs).fold(true, |all, (m, t)| all & (m >= t)))
}

/// Clocks of other blocks, compared lately and found to hold the other: the lanes of a warp come with the same, one after
/// the other.
#[derive(Debug, Default)]
struct Compared {
    holds: [Option<[Arc<Blocks>; 2]>; 4],
    next: usize,
}

impl Compared {
    /// Whether `mine` has all that `theirs` has.
    fn holds(&mut self, mine: &Arc<Blocks>, theirs: &Arc<Blocks>) -> bool {
        let same = |pair: &[Arc<Blocks>; 2]| Arc::ptr_eq(&pair[0], mine) && Arc::ptr_eq(&pair[1], theirs);
        if Arc::ptr_eq(mine, theirs) || self.holds.iter().flatten().any(same) {
            return true;
        }
        let holds = theirs.iter().all(|(block, theirs)| {
            mine.get(block).is_some_and(|mine| Arc::ptr_eq(mine, theirs) || covers(mine, theirs))
        });
        if holds {
            self.holds[self.next % 4] = Some([mine.clone(), theirs.clone()]);
            self.next += 1;
        }
        holds
    }
}

/// A thread's release at one moment: its clock, and its own step.
#[derive(Debug, Clone)]
pub struct Snapshot {
    block: u32,
    thread: u32,
    step: Step,
    known: Arc<Known>,
}

/// Clocks that a thread has read by relaxed accesses and no fence has acquired yet.
#[derive(Debug, Clone, Default)]
struct Pending {
    /// Released at block scope by its own block: a fence of any scope makes it count.
    narrow: Option<Arc<Known>>,
    /// Released at a wider scope by any block: a fence of the block's scope does not.
    wide: Option<Arc<Known>>,
}

impl Pending {
    /// The part that a fence of this scope, or a barrier, acquires.
    fn take(&mut self, wide: bool) -> impl Iterator<Item = Arc<Known>> + use<> {
        self.narrow.take().into_iter().chain(if wide { self.wide.take() } else { None })
    }

    fn iter(&self) -> impl Iterator<Item = &Known> {
        [&self.narrow, &self.wide].into_iter().flatten().map(|known| &**known)
    }
}

/// The clock of one thread, with what it has read and fenced.
#[derive(Debug, Clone)]
struct Clock {
    known: Arc<Known>,
    /// Clocks read by relaxed accesses; they count from the next fence or barrier on.
    pending: Pending,
    /// The clock at its last fence, for relaxed writes that follow: at block scope, and at wider ones.
    narrow: Option<Snapshot>,
    wide: Option<Snapshot>,
    /// Clocks that others had fenced for the whole device before a barrier at which they met.
    acquired: Option<Arc<Known>>,
    /// The clock at its last fence between the proxies.
    proxied: Option<Snapshot>,
}

/// The clocks of one block's threads.
#[derive(Debug)]
pub struct Clocks {
    block: u32,
    clocks: Vec<Clock>,
    /// By thread: its current step, and the floor of what it knows. Apart from the rest, because every access of a warp
    /// asks for those of its lanes.
    steps: Vec<Step>,
    floors: Vec<Step>,
    compared: Compared,
}

/// Clocks that threads bring to a barrier.
#[derive(Debug)]
pub struct Meet {
    known: Known,
    last: Option<Arc<Known>>,
    acquired: Option<Known>,
    last_acquired: Option<Arc<Known>>,
}

/// Clocks that they acquire from it.
#[derive(Debug, Clone)]
pub struct Met {
    known: Arc<Known>,
    acquired: Option<Arc<Known>>,
}

impl Clocks {
    /// Clocks of a block at its start: no thread knows of another. Warps are whole here, and of a lane beyond the block's threads
    /// everybody knows, since it does nothing: who asks for all lanes of a warp asks for it, too.
    pub fn new(block: u32, threads: usize) -> Self {
        let mut own = vec![0; threads];
        own.resize(threads.next_multiple_of(32), Step::MAX);
        let threads = own.len();
        let known = Arc::new(Known { own: own.into(), floor: 0, others: Arc::default() });
        let clock = Clock {
            known,
            pending: Pending::default(),
            narrow: None,
            wide: None,
            acquired: None,
            proxied: None,
        };
        let (steps, floors, compared) = (vec![1; threads], vec![0; threads], Compared::default());
        Clocks { block, clocks: vec![clock; threads], steps, floors, compared }
    }

    /// Whose clocks they are.
    #[inline]
    pub fn block(&self) -> u32 {
        self.block
    }

    /// How many threads there are.
    pub fn threads(&self) -> u32 {
        self.clocks.len() as u32
    }

    /// The thread's current step.
    #[inline]
    pub fn step(&self, thread: u32) -> Step {
        self.steps[thread as usize]
    }

    /// Up to this step the thread knows of all threads of its block.
    #[inline]
    pub fn floor(&self, thread: u32) -> Step {
        self.floors[thread as usize]
    }

    /// The step and the floor of all lanes of a warp, where these are the same for all.
    #[inline]
    pub fn of_warp(&self, warp: u32) -> Option<(Step, Step)> {
        let first = warp as usize * 32;
        let (steps, floors) = (self.steps.get(first..first + 32)?, self.floors.get(first..first + 32)?);
        let mut apart = 0;
        for lane in 0..32 {
            apart |= steps[lane] ^ steps[0] | floors[lane] ^ floors[0];
        }
        (apart == 0).then_some((steps[0], floors[0]))
    }

    /// Up to this step every thread knows of all threads of the block.
    pub fn floor_of_all(&self) -> Step {
        self.floors.iter().copied().min().unwrap_or(0)
    }

    /// Whether `thread` knows of step `step` of thread `of` in block `block`.
    #[inline]
    pub fn knows(&self, thread: u32, block: u32, of: u32, step: Step) -> bool {
        let known = &self.clocks[thread as usize].known;
        if block == self.block {
            of == thread || known.own[of as usize] >= step
        } else {
            known.others.get(&block).is_some_and(|steps| steps[of as usize] >= step)
        }
    }

    /// Whether the thread has read of that step, and only lacks the fence that makes it count.
    pub fn has_read_of(&self, thread: u32, block: u32, of: u32, step: Step) -> bool {
        self.clocks[thread as usize].pending.iter().any(|pending| {
            if block == self.block {
                pending.own[of as usize] >= step
            } else {
                pending.others.get(&block).is_some_and(|steps| steps[of as usize] >= step)
            }
        })
    }

    /// The thread's release now. Its next access belongs to a new step.
    pub fn publish(&mut self, thread: u32) -> Snapshot {
        let clock = &mut self.clocks[thread as usize];
        let step = self.steps[thread as usize];
        self.steps[thread as usize] += 1;
        Snapshot { block: self.block, thread, step, known: clock.known.clone() }
    }

    /// A fence: what was read before it counts now, and relaxed writes after it pass on what comes before it.
    pub fn fence(&mut self, thread: u32, wide: bool) {
        for pending in self.clocks[thread as usize].pending.take(wide) {
            self.learn(thread, &pending);
        }
        let snapshot = self.publish(thread);
        let clock = &mut self.clocks[thread as usize];
        if wide {
            clock.wide = Some(snapshot.clone());
        }
        clock.narrow = Some(snapshot);
    }

    /// A fence between plain accesses and those of bulk copies and products.
    pub fn proxy_fence(&mut self, thread: u32) {
        let snapshot = self.publish(thread);
        self.clocks[thread as usize].proxied = Some(snapshot);
    }

    /// Whether a fence between the proxies, by any thread of the block, covers this step of one of its threads. Which
    /// thread makes it does not matter, as long as it lies on the way from the store to the copy; that it does is taken
    /// for granted.
    pub fn is_proxied(&self, of: u32, step: Step) -> bool {
        let covers = |clock: &Clock| {
            clock.proxied.as_ref().is_some_and(|fence| {
                fence.known.own[of as usize] >= step || fence.thread == of && fence.step >= step
            })
        };
        covers(&self.clocks[of as usize]) || self.clocks.iter().any(covers)
    }

    /// Whether a relaxed write of the thread would pass anything on.
    #[inline]
    pub fn has_fenced(&self, thread: u32) -> bool {
        let clock = &self.clocks[thread as usize];
        clock.narrow.is_some() || clock.acquired.is_some()
    }

    /// Puts what a relaxed write passes on.
    pub fn pass_on(&self, thread: u32, wide: bool, to: &mut Gathered) {
        let clock = &self.clocks[thread as usize];
        if let Some(snapshot) = if wide { &clock.wide } else { &clock.narrow } {
            to.put(snapshot);
        }
        if let Some(acquired) = &clock.acquired {
            to.put_known(self.block, acquired);
        }
    }

    /// The thread comes to know all that `gathered` holds.
    fn learn(&mut self, thread: u32, gathered: &Arc<Known>) {
        let mine = &mut self.clocks[thread as usize].known;
        if Arc::ptr_eq(mine, gathered) || mine.holds(gathered, &mut self.compared) {
            return;
        }
        take_in(mine, gathered, &mut self.compared);
        self.floors[thread as usize] = self.clocks[thread as usize].known.floor;
    }

    /// The thread reads what lies at a location, released for all blocks (`wide`) or for its own. Without `acquire` it counts
    /// from its next fence of that scope on.
    pub fn read_of(&mut self, thread: u32, foreign: &mut Gathered, wide: bool, acquire: bool) {
        if foreign.is_empty() {
            return;
        }
        let known = foreign.for_block(self.block, self.clocks.len());
        if acquire {
            return self.learn(thread, &known);
        }
        let clock = &mut self.clocks[thread as usize];
        let pending = if wide { &mut clock.pending.wide } else { &mut clock.pending.narrow };
        match pending {
            Some(pending) if Arc::ptr_eq(pending, &known) => {}
            Some(pending) => take_in(pending, &known, &mut self.compared),
            None => *pending = Some(known),
        }
    }

    /// Lanes of a warp exchange values: what one of them has come to know of other warps counts for all, since they go
    /// on from what it saw. Cooperative groups rely on that: one lane waits for the other warps and tells its own by a
    /// shuffle. What the lanes themselves have done is not ordered.
    pub fn exchange(&mut self, threads: impl Iterator<Item = u32> + Clone) {
        let mut knowns = threads.clone().map(|thread| &self.clocks[thread as usize].known);
        let Some(first) = knowns.next() else { return };
        let mut last = first;
        // Most often all of them come from the same barrier.
        let apart = knowns.any(|known| {
            let apart = !Arc::ptr_eq(last, known) && last != known;
            last = known;
            apart
        });
        if !apart {
            return;
        }
        let mut all = Known::clone(first);
        let warp = threads.clone().next().unwrap_or(0) as usize / 32 * 32;
        for thread in threads.clone() {
            all.join(&self.clocks[thread as usize].known);
        }
        for thread in threads {
            let mut mine = all.clone();
            let end = mine.own.len().min(warp + 32);
            mine.own[warp..end].copy_from_slice(&self.clocks[thread as usize].known.own[warp..end]);
            self.learn(thread, &mine.settle());
        }
    }

    /// A barrier that no thread has come to.
    pub fn meet(&self) -> Meet {
        let known = Known { own: vec![0; self.clocks.len()].into(), floor: 0, others: Arc::default() };
        Meet { known, last: None, acquired: None, last_acquired: None }
    }

    /// The thread comes to a barrier with its clock. What it read before counts from here on.
    pub fn arrive(&mut self, thread: u32, meet: &mut Meet) {
        for pending in self.clocks[thread as usize].pending.take(true) {
            self.learn(thread, &pending);
        }
        let threads = self.clocks.len();
        let clock = &mut self.clocks[thread as usize];
        if !meet.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &clock.known)) {
            meet.known.join(&clock.known);
            meet.last = Some(clock.known.clone());
        }
        meet.known.own[thread as usize] = self.steps[thread as usize];
        self.steps[thread as usize] += 1;
        if clock.wide.is_none() && clock.acquired.is_none() {
            return;
        }
        let acquired =
            meet.acquired.get_or_insert_with(|| Known { own: vec![0; threads].into(), ..Known::default() });
        if let Some(snapshot) = &clock.wide {
            acquired.join(&snapshot.known);
            let slot = &mut acquired.own[thread as usize];
            *slot = (*slot).max(snapshot.step);
        }
        if let Some(known) = &clock.acquired
            && !meet.last_acquired.as_ref().is_some_and(|last| Arc::ptr_eq(last, known))
        {
            acquired.join(known);
            meet.last_acquired = Some(known.clone());
        }
    }

    /// The thread leaves a barrier to which it came.
    #[inline]
    pub fn leave(&mut self, thread: u32, met: &Met) {
        let clock = &mut self.clocks[thread as usize];
        clock.known = met.known.clone();
        self.floors[thread as usize] = met.known.floor;
        if met.acquired.is_some() {
            clock.acquired = met.acquired.clone();
        }
    }
}

impl Meet {
    /// All have come.
    pub fn over(self) -> Met {
        Met { known: self.known.settle(), acquired: self.acquired.map(Known::settle) }
    }
}

/// Adds what is new. Who knew nothing else has the same as others then, and is soon done with it when it meets them again.
fn take_in(mine: &mut Arc<Known>, theirs: &Arc<Known>, compared: &mut Compared) {
    if theirs.holds(mine, compared) {
        *mine = theirs.clone();
        return;
    }
    let mut joined = Known::clone(mine);
    joined.join(theirs);
    *mine = joined.settle();
}

fn join_blocks(mine: &mut Arc<Blocks>, theirs: &Arc<Blocks>) {
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

/// Whether anything was new.
fn join_steps(mine: &mut Arc<[Step]>, theirs: &Arc<[Step]>) -> bool {
    if Arc::ptr_eq(mine, theirs) || covers(mine, theirs) {
        return false;
    }
    *mine = mine.iter().zip(theirs.iter()).map(|(&m, &t)| m.max(t)).collect();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_compared_one_by_one_wherever_they_are() {
        let all = [5; 130];
        assert!(covers(&all, &all));
        for place in [0, 63, 64, 127, 129] {
            let mut more = all;
            more[place] = 6;
            assert!(covers(&more, &all) && !covers(&all, &more), "{place}");
        }
    }

    #[test]
    fn what_was_compared_before_is_found_again_and_nothing_else() {
        let blocks = |step: Step| Arc::new(Blocks::from_iter([(3, Arc::from([step; 32]))]));
        let (low, high) = (blocks(1), blocks(2));
        let mut compared = Compared::default();
        for _ in 0..2 {
            assert!(compared.holds(&high, &low) && !compared.holds(&low, &high));
        }
    }

    fn meet(clocks: &mut Clocks, threads: impl Iterator<Item = u32> + Clone) {
        let mut meet = clocks.meet();
        threads.clone().for_each(|thread| clocks.arrive(thread, &mut meet));
        let met = meet.over();
        threads.for_each(|thread| clocks.leave(thread, &met));
    }

    #[test]
    fn a_barrier_orders_what_came_before_it() {
        let mut clocks = Clocks::new(0, 2);
        let written = clocks.step(0);
        assert!(!clocks.knows(1, 0, 0, written));
        meet(&mut clocks, 0..2);
        assert!(clocks.knows(1, 0, 0, written));
        assert!(!clocks.knows(1, 0, 0, clocks.step(0)), "what thread 0 does next is not known");
    }

    #[test]
    fn knowledge_goes_from_block_to_block_through_an_atomic() {
        let (mut first, mut second) = (Clocks::new(0, 4), Clocks::new(7, 4));
        // Thread 3 of block 0 meets thread 0, which publishes; thread 1 of block 7 reads.
        let written = first.step(3);
        meet(&mut first, [0, 3].into_iter());
        let mut atomic = Gathered::default();
        atomic.put(&first.publish(0));
        assert!(!second.knows(1, 0, 3, written));
        second.read_of(1, &mut atomic, true, true);
        assert!(second.knows(1, 0, 3, written));
        assert!(!second.knows(2, 0, 3, written), "only the thread that read it knows");
        assert!(!second.knows(1, 0, 2, 1), "thread 2 of block 0 met no other");
    }

    /// Whatever is kept of what was asked for and put in, a reader learns what everybody put in before, and no more.
    #[test]
    fn a_place_where_many_count_tells_each_of_all_before() {
        let mut blocks: Vec<Clocks> = (0..5).map(|block| Clocks::new(block, 64)).collect();
        let mut place = Gathered::default();
        let mut put: Vec<(u32, u32, Step)> = Vec::new();
        for turn in 0..400u32 {
            // Runs of one block's threads, and blocks that come back.
            let (block, thread) = (turn / 7 % 5, turn * 5 % 64);
            let clocks = &mut blocks[block as usize];
            if turn % 3 == 0 {
                clocks.fence(thread, true);
            }
            let acquires = turn % 4 != 0;
            clocks.read_of(thread, &mut place, true, acquires);
            for &(of_block, of, step) in &put {
                let knows = match acquires {
                    true => clocks.knows(thread, of_block, of, step),
                    false => {
                        clocks.knows(thread, of_block, of, step)
                            || clocks.has_read_of(thread, of_block, of, step)
                    }
                };
                assert!(knows, "turn {turn}: thread {of} of block {of_block}, step {step}");
            }
            let step = clocks.step(thread);
            assert!(!clocks.knows((thread + 1) % 64, block, thread, step));
            if turn % 5 == 0 {
                // What a fence covers goes on, and what was done since does not.
                clocks.fence(thread, true);
                let unfenced = clocks.step(thread);
                clocks.pass_on(thread, true, &mut place);
                let mut reader = Clocks::new(9, 64);
                reader.read_of(0, &mut place, true, true);
                assert!(reader.knows(0, block, thread, step) && !reader.knows(0, block, thread, unfenced));
            } else {
                place.put(&clocks.publish(thread));
            }
            put.push((block, thread, step));
        }
    }

    #[test]
    fn a_proxy_fence_covers_what_its_thread_knows() {
        let mut clocks = Clocks::new(0, 4);
        let written = [0, 1].map(|thread| clocks.step(thread));
        clocks.proxy_fence(0);
        assert!(clocks.is_proxied(0, written[0]) && !clocks.is_proxied(1, written[1]));
        meet(&mut clocks, 0..2);
        assert!(!clocks.is_proxied(1, written[1]));
        clocks.proxy_fence(0);
        assert!(clocks.is_proxied(1, written[1]), "the thread that met the writer made it");
        assert!(!clocks.is_proxied(0, clocks.step(0)));
    }

    #[test]
    fn a_relaxed_read_counts_from_the_next_fence_on() {
        let (mut first, mut second) = (Clocks::new(0, 4), Clocks::new(7, 4));
        let written = first.step(0);
        let mut flag = Gathered::default();
        flag.put(&first.publish(0));
        second.read_of(1, &mut flag, true, false);
        assert!(!second.knows(1, 0, 0, written));
        assert!(second.has_read_of(1, 0, 0, written));
        second.fence(1, false);
        assert!(!second.knows(1, 0, 0, written), "the fence is for the block, and the writer is of another");
        second.fence(1, true);
        assert!(second.knows(1, 0, 0, written));
    }

    #[test]
    fn what_others_fenced_before_a_barrier_is_passed_on_behind_it() {
        let mut clocks = Clocks::new(0, 4);
        let written = clocks.step(2);
        clocks.fence(2, true);
        let unfenced = clocks.step(3);
        meet(&mut clocks, 0..4);
        let mut counter = Gathered::default();
        clocks.pass_on(0, true, &mut counter);
        let mut other = Clocks::new(1, 4);
        other.read_of(0, &mut counter, true, true);
        assert!(other.knows(0, 0, 2, written));
        assert!(!other.knows(0, 0, 3, unfenced), "thread 3 made no fence");
    }
}
