//! Work that was issued and is not done: one queue a stream, run by a few threads of the host.
//!
//! The order of CUDA: work of one stream runs in the order of issue; work on the legacy default stream waits for what
//! was issued before on every blocking stream, and the other way round; `after` adds what events ask for. All else
//! may run in any order, and a kernel that waits for the host, or a host function that waits for a lock, holds up
//! nothing that does not depend on it.
//!
//! Who waits for a stream runs its work himself when no other thread has taken it yet: a launch that is waited for
//! at once pays no change of threads.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::abi::{Answer, CUresult, Handle};
use crate::check;
use crate::objects::order::{LEGACY, Mark, Order};

/// Threads of one context: each may be held up by a host function.
const MOST_WORKERS: usize = 16;
/// How often a condition in memory is looked at.
const POLL: Duration = Duration::from_micros(50);

pub struct Task {
    pub run: Box<dyn FnOnce() + Send>,
    /// Calls the program's own code, so that only a thread of ours may run it.
    pub host: bool,
    /// Not to be started before this holds.
    pub ready: Option<Box<dyn Fn() -> bool + Send>>,
}

impl Task {
    #[cfg(test)]
    fn device(run: impl FnOnce() + Send + 'static) -> Self {
        Self { run: Box::new(run), host: false, ready: None }
    }
}

struct Item {
    ticket: u64,
    after: Vec<Mark>,
    task: Task,
    /// What comes before it, for the check of races across streams.
    order: Option<sanitizer::Work>,
}

#[derive(Default)]
struct Lane {
    blocking: bool,
    retired: bool,
    running: bool,
    pending: VecDeque<Item>,
    issued: u64,
    done: u64,
}

#[derive(Default)]
struct State {
    lanes: HashMap<Handle, Lane>,
    next_ticket: u64,
    workers: usize,
    idle: usize,
    stopped: bool,
    order: Option<Order>,
}

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    done: Condvar,
}

thread_local! {
    static WORKING: Cell<bool> = const { Cell::new(false) };
}

/// Fails inside a piece of work, which is a function of the program's: its stream waits for it.
pub fn refuse_in_work() -> Answer {
    if WORKING.get() { Err(CUresult::NOT_PERMITTED) } else { Ok(()) }
}

impl State {
    fn is_done(&self, &(lane, ticket): &Mark) -> bool {
        self.lanes.get(&lane).is_none_or(|lane| lane.done >= ticket)
    }

    fn is_runnable(&self, lane: &Lane) -> bool {
        !lane.running
            && lane.pending.front().is_some_and(|item| {
                item.after.iter().all(|mark| self.is_done(mark))
                    && item.task.ready.as_ref().is_none_or(|ready| ready())
            })
    }

    /// Takes the oldest work that may start, from lanes that `wanted` admits.
    fn take(&mut self, wanted: impl Fn(Handle, &Item) -> bool) -> Option<(Handle, Item)> {
        let (handle, _) = self
            .lanes
            .iter()
            .filter(|&(&handle, lane)| {
                lane.pending.front().is_some_and(|item| wanted(handle, item)) && self.is_runnable(lane)
            })
            .filter_map(|(&handle, lane)| Some((handle, lane.pending.front()?.ticket)))
            .min_by_key(|&(_, ticket)| ticket)?;
        let lane = self.lanes.get_mut(&handle)?;
        lane.running = true;
        lane.pending.pop_front().map(|item| (handle, item))
    }

    fn finish(&mut self, handle: Handle, ticket: u64) {
        if let Some(lane) = self.lanes.get_mut(&handle) {
            lane.running = false;
            lane.done = ticket;
            if lane.retired && lane.pending.is_empty() {
                self.lanes.remove(&handle);
            }
        }
    }

    fn has_polls(&self) -> bool {
        self.lanes.values().any(|lane| lane.pending.front().is_some_and(|item| item.task.ready.is_some()))
    }

    fn has_runnable(&self) -> bool {
        self.lanes.values().any(|lane| self.is_runnable(lane))
    }
}

impl Queue {
    /// An empty queue with the legacy default stream.
    pub fn new() -> Arc<Self> {
        let queue = Self::default();
        if check::sanitizer().is_some_and(|sanitizer| sanitizer.checks().has(sanitizer::Check::Race)) {
            static QUEUES: AtomicUsize = AtomicUsize::new(0);
            queue.state().order = Some(Order::new(QUEUES.fetch_add(1, Ordering::Relaxed)));
        }
        queue.open(LEGACY, true);
        Arc::new(queue)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Work runs outside the lock; what is under it does not panic half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a stream's queue. Work on a `blocking` one keeps the legacy default stream's order.
    pub fn open(&self, stream: Handle, blocking: bool) {
        let mut state = self.state();
        state.lanes.insert(stream, Lane { blocking, ..Lane::default() });
        if let Some(order) = &mut state.order {
            order.opened(stream, blocking);
        }
    }

    /// Closes a stream's queue; what is in it still runs.
    pub fn close(&self, stream: Handle) {
        let mut state = self.state();
        if let Some(lane) = state.lanes.get_mut(&stream) {
            lane.retired = true;
            if lane.pending.is_empty() && !lane.running {
                state.lanes.remove(&stream);
            }
        }
    }

    /// Appends work to a stream, to start not before `after`; the mark it can be waited for by.
    pub fn issue(self: &Arc<Self>, stream: Handle, mut after: Vec<Mark>, task: Task) -> Answer<Mark> {
        let mut state = self.state();
        if state.stopped {
            return Err(CUresult::CONTEXT_IS_DESTROYED);
        }
        let asked = after.clone();
        let unfinished = |lane: &Lane| lane.issued > lane.done;
        if stream == LEGACY {
            let others = state
                .lanes
                .iter()
                .filter(|&(&handle, lane)| handle != LEGACY && lane.blocking && unfinished(lane));
            after.extend(others.map(|(&handle, lane)| (handle, lane.issued)));
        } else if state.lanes.get(&stream).is_some_and(|lane| lane.blocking)
            && let Some(legacy) = state.lanes.get(&LEGACY).filter(|lane| unfinished(lane))
        {
            after.push((LEGACY, legacy.issued));
        }
        after.retain(|mark| !state.is_done(mark));
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        let lane = state.lanes.get_mut(&stream).ok_or(CUresult::INVALID_HANDLE)?;
        lane.issued = ticket;
        let order = state.order.as_mut();
        let order = order.and_then(|order| order.issued((stream, ticket), &asked, task.ready.is_some()));
        let lane = state.lanes.get_mut(&stream).ok_or(CUresult::INVALID_HANDLE)?;
        lane.pending.push_back(Item { ticket, after, task, order });
        self.call_a_worker(&mut state);
        Ok((stream, ticket))
    }

    /// Sees that a thread will take what may run now.
    fn call_a_worker(self: &Arc<Self>, state: &mut State) {
        if state.idle > 0 {
            self.wake.notify_one();
        } else if state.workers < MOST_WORKERS
            && (state.has_runnable() || (state.workers == 0 && state.has_polls()))
        {
            let queue = self.clone();
            let started =
                std::thread::Builder::new().name("warpsmith-stream".to_owned()).spawn(move || queue.work());
            match started {
                Ok(_) => state.workers += 1,
                // Who waits runs the work himself; a worker is only asynchrony.
                Err(error) => eprintln!("warpsmith: no thread for a stream's work: {error}"),
            }
        }
    }

    /// A worker's life.
    fn work(self: Arc<Self>) {
        let mut state = self.state();
        loop {
            if let Some((lane, item)) = state.take(|_, _| true) {
                if state.idle > 0 && state.has_runnable() {
                    self.wake.notify_one();
                }
                drop(state);
                self.run(lane, item);
                state = self.state();
                continue;
            }
            if state.stopped {
                state.workers -= 1;
                return;
            }
            state.idle += 1;
            state = if state.has_polls() {
                self.wake.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.wake.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
            state.idle -= 1;
        }
    }

    fn run(&self, lane: Handle, item: Item) {
        WORKING.set(true);
        let Item { ticket, task, order, .. } = item;
        if task.host {
            // The program's own code knows of all that led to it.
            self.learn(|order| order.host_waited(&[(lane, ticket)]));
        }
        let run = || match (order, check::sanitizer()) {
            (Some(order), Some(sanitizer)) => sanitizer.work(order, task.run),
            _ => (task.run)(),
        };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        WORKING.set(false);
        if outcome.is_err() {
            eprintln!("warpsmith: the virtual GPU failed inside a stream's work; this is a bug in Warpsmith");
        }
        let mut state = self.state();
        state.finish(lane, ticket);
        if let Some(order) = &mut state.order {
            order.done((lane, ticket));
        }
        let more = state.idle > 0 && state.has_runnable();
        drop(state);
        self.done.notify_all();
        if more {
            self.wake.notify_one();
        }
    }

    /// Waits until all marks are reached.
    ///
    /// Not possible from inside a host function, which the stream itself waits for.
    pub fn wait(&self, marks: &[Mark]) -> Answer {
        refuse_in_work()?;
        let mut state = self.state();
        loop {
            if marks.iter().all(|mark| state.is_done(mark)) {
                drop(state);
                self.learn(|order| order.host_waited(marks));
                return Ok(());
            }
            let wanted = |lane, item: &Item| {
                !item.task.host
                    && marks.iter().any(|&(waited, ticket)| waited == lane && item.ticket <= ticket)
            };
            match state.take(wanted) {
                Some((lane, item)) => {
                    drop(state);
                    self.run(lane, item);
                    state = self.state();
                }
                None if state.workers == 0 => {
                    // No thread could be had: look again for what host work or polls left to this one.
                    match state.take(|_, _| true) {
                        Some((lane, item)) => {
                            drop(state);
                            self.run(lane, item);
                            state = self.state();
                        }
                        None => {
                            state =
                                self.done.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0
                        }
                    }
                }
                None => state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Tells the check of races across streams what the host now knows to be done.
    pub fn learn(&self, what: impl FnOnce(&mut Order)) {
        let mut state = self.state();
        let Some(order) = &mut state.order else { return };
        what(order);
        let order: &Order = order;
        check::tell(|sanitizer| sanitizer.work_is_over(|work| order.is_over(work)));
    }

    /// Does something on the host's own account, when what it depends on is done.
    pub fn directly<T>(&self, run: impl FnOnce() -> T) -> T {
        let work = self.state().order.as_mut().map(Order::directly);
        match (work, check::sanitizer()) {
            (Some(work), Some(sanitizer)) => sanitizer.work(work, run),
            _ => run(),
        }
    }

    pub fn reached(&self, mark: &Mark) -> bool {
        self.state().is_done(mark)
    }

    #[cfg(test)]
    fn mark(&self, stream: Handle) -> Mark {
        (stream, self.state().lanes.get(&stream).map_or(0, |lane| lane.issued))
    }

    pub fn marks_before(&self, stream: Handle) -> Vec<Mark> {
        let state = self.state();
        let blocking = state.lanes.get(&stream).is_some_and(|lane| lane.blocking);
        state
            .lanes
            .iter()
            .filter(|&(&handle, lane)| {
                handle == stream || (stream == LEGACY && lane.blocking) || (handle == LEGACY && blocking)
            })
            .filter(|(_, lane)| lane.issued > lane.done)
            .map(|(&handle, lane)| (handle, lane.issued))
            .collect()
    }

    pub fn drain(&self) -> Answer {
        let marks: Vec<Mark> = {
            let state = self.state();
            state
                .lanes
                .iter()
                .filter(|(_, lane)| lane.issued > lane.done)
                .map(|(&handle, lane)| (handle, lane.issued))
                .collect()
        };
        if !marks.is_empty() {
            self.wait(&marks)?;
        }
        self.learn(Order::host_waited_for_all);
        Ok(())
    }

    /// Ends the workers when they have nothing left to do. Nothing can be issued any more.
    pub fn stop(&self) {
        self.state().stopped = true;
        self.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const A: Handle = 100;
    const B: Handle = 200;

    fn log() -> (Arc<Mutex<Vec<u32>>>, impl Fn(u32) -> Task) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = log.clone();
        let note = move |value: u32| {
            let log = shared.clone();
            Task::device(move || log.lock().unwrap().push(value))
        };
        (log, note)
    }

    #[test]
    fn one_stream_keeps_its_order() {
        let queue = Queue::new();
        queue.open(A, true);
        let (log, note) = log();
        for value in 0..1000 {
            queue.issue(A, Vec::new(), note(value)).unwrap();
        }
        queue.wait(&[queue.mark(A)]).unwrap();
        assert_eq!(*log.lock().unwrap(), (0..1000).collect::<Vec<_>>());
        queue.stop();
    }

    #[test]
    fn the_legacy_stream_waits_for_blocking_streams_only() {
        let queue = Queue::new();
        queue.open(A, true);
        queue.open(B, false);
        let (release_a, hold_a) = mpsc::channel::<()>();
        let (release_b, hold_b) = mpsc::channel::<()>();
        let (log, note) = log();
        let held = |hold: mpsc::Receiver<()>, then: Task| Task {
            run: Box::new(move || {
                hold.recv().unwrap();
                (then.run)();
            }),
            host: true,
            ready: None,
        };
        queue.issue(A, Vec::new(), held(hold_a, note(1))).unwrap();
        let b = queue.issue(B, Vec::new(), held(hold_b, note(2))).unwrap();
        let legacy = queue.issue(LEGACY, Vec::new(), note(3)).unwrap();
        let behind = queue.issue(A, Vec::new(), note(4)).unwrap();
        assert!(!queue.reached(&legacy));
        release_a.send(()).unwrap();
        queue.wait(&[behind]).unwrap();
        assert_eq!(*log.lock().unwrap(), [1, 3, 4]);
        assert!(!queue.reached(&b));
        release_b.send(()).unwrap();
        queue.drain().unwrap();
        assert_eq!(*log.lock().unwrap(), [1, 3, 4, 2]);
        queue.stop();
    }

    #[test]
    fn marks_order_streams_and_closing_lets_work_end() {
        let queue = Queue::new();
        queue.open(A, false);
        queue.open(B, false);
        let (release, hold) = mpsc::channel::<()>();
        let (log, note) = log();
        let first = queue
            .issue(
                A,
                Vec::new(),
                Task { run: Box::new(move || hold.recv().unwrap()), host: true, ready: None },
            )
            .unwrap();
        queue.issue(B, vec![first], note(7)).unwrap();
        queue.close(A);
        queue.close(B);
        assert_eq!(queue.issue(A, vec![], note(8)).err(), None, "a stream is closed when its work is done");
        release.send(()).unwrap();
        queue.drain().unwrap();
        let mut seen = log.lock().unwrap().clone();
        seen.sort_unstable();
        assert_eq!(seen, [7, 8]);
        assert_eq!(queue.issue(B, vec![], note(9)).err(), Some(CUresult::INVALID_HANDLE));
        queue.stop();
        assert_eq!(queue.issue(LEGACY, vec![], note(9)).err(), Some(CUresult::CONTEXT_IS_DESTROYED));
    }

    #[test]
    fn waiting_inside_work_is_refused() {
        let queue = Queue::new();
        let (sender, receiver) = mpsc::channel();
        let inner = queue.clone();
        let work = move || sender.send(inner.drain()).unwrap();
        queue.issue(LEGACY, Vec::new(), Task { run: Box::new(work), host: true, ready: None }).unwrap();
        queue.drain().unwrap();
        assert_eq!(receiver.recv().unwrap(), Err(CUresult::NOT_PERMITTED));
        queue.stop();
    }

    #[test]
    fn conditions_hold_up_their_stream_alone() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let queue = Queue::new();
        queue.open(A, false);
        queue.open(B, false);
        let flag = Arc::new(AtomicBool::new(false));
        let (look, set) = (flag.clone(), flag.clone());
        let (log, note) = log();
        let waiting = Task { ready: Some(Box::new(move || look.load(Ordering::Acquire))), ..note(1) };
        queue.issue(A, Vec::new(), waiting).unwrap();
        queue.issue(B, Vec::new(), note(2)).unwrap();
        queue.issue(B, Vec::new(), Task::device(move || set.store(true, Ordering::Release))).unwrap();
        queue.drain().unwrap();
        assert_eq!(*log.lock().unwrap(), [2, 1]);
        queue.stop();
    }
}
