//! Work that was issued and is not done: one lane per stream, run by a few host threads.
//!
//! The order of CUDA: work of one stream runs in the order of issue; work on the legacy default stream waits for what
//! was issued before on every blocking stream, and the other way round; `after` adds what events ask for. All else
//! may run in any order, on whatever device, and a kernel that waits for the host, or a host function that waits for a lock, holds up
//! nothing that does not depend on it.
//!
//! A thread that waits for a stream runs its work itself if no other thread has taken it yet: waiting right after a
//! launch costs no thread switch.

mod waits;

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::abi::{Answer, CUdevice, CUresult, Handle};
use crate::check::{self, host_pages};
use crate::objects::order::{Mark, Order};
use crate::objects::registry::new_handle;

pub use waits::{rest, settle};

/// Threads per context: each may be blocked by a host function.
const MOST_WORKERS: usize = 16;
/// How often a condition in memory is checked.
const POLL: Duration = Duration::from_micros(50);

pub struct Task {
    pub run: Box<dyn FnOnce() + Send>,
    /// Calls the program's own code, so only one of our threads may run it.
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
    /// Its predecessors, for the race check across streams.
    order: Option<sanitizer::Issued>,
    /// Its condition is checked at any time.
    polled: Option<host_pages::OpenPages>,
}

struct Lane {
    /// The legacy default stream of the context that the stream is of.
    legacy: Handle,
    blocking: bool,
    retired: bool,
    running: bool,
    /// The program's own code runs.
    runs_host: bool,
    pending: VecDeque<Item>,
    issued: u64,
    done: u64,
}

impl Lane {
    fn is_unfinished(&self) -> bool {
        self.issued > self.done
    }
}

#[derive(Default)]
struct State {
    lanes: HashMap<Handle, Lane>,
    next_ticket: u64,
    /// Contexts that are there.
    contexts: usize,
    workers: usize,
    idle: usize,
    order: Option<Order>,
    /// How often work went on for longer than a call of a checked program waited for it.
    impatience: u32,
}

/// The work of all contexts: one context's may wait for another's.
#[derive(Default)]
pub struct Lanes {
    state: Mutex<State>,
    wake: Condvar,
    done: Condvar,
}

/// The work of one context.
pub struct Queue {
    lanes: Arc<Lanes>,
    /// The context's legacy default stream, which no other has.
    pub legacy: Handle,
    device: CUdevice,
    stopped: AtomicBool,
}

thread_local! {
    static WORKING: Cell<bool> = const { Cell::new(false) };
}

/// Fails inside a piece of work, which is one of the program's functions: its stream waits for it.
pub fn refuse_in_work() -> Answer {
    if WORKING.get() { Err(CUresult::NOT_PERMITTED) } else { Ok(()) }
}

impl State {
    fn is_done(&self, &(lane, ticket): &Mark) -> bool {
        self.lanes.get(&lane).is_none_or(|lane| lane.done >= ticket)
    }

    /// Predecessors of a stream's work by the legacy default stream's rules.
    fn by_rule(&self, stream: Handle) -> Vec<Mark> {
        let Some(own) = self.lanes.get(&stream) else { return Vec::new() };
        let mark = |(&handle, lane): (&Handle, &Lane)| (handle, lane.issued);
        if stream == own.legacy {
            let others = self.lanes.iter().filter(|&(&handle, lane)| {
                handle != stream && lane.legacy == stream && lane.blocking && lane.is_unfinished()
            });
            return others.map(mark).collect();
        }
        let legacy =
            self.lanes.get_key_value(&own.legacy).filter(|(_, lane)| own.blocking && lane.is_unfinished());
        legacy.map(mark).into_iter().collect()
    }

    fn close(&mut self, stream: Handle) {
        if let Some(lane) = self.lanes.get_mut(&stream) {
            lane.retired = true;
            if lane.pending.is_empty() && !lane.running {
                self.lanes.remove(&stream);
            }
        }
    }

    fn is_runnable(&self, lane: &Lane) -> bool {
        !lane.running
            && lane.pending.front().is_some_and(|item| {
                item.after.iter().all(|mark| self.is_done(mark))
                    && item.task.ready.as_ref().is_none_or(|ready| ready())
            })
    }

    /// Takes the oldest work that may start, from the lanes that `wanted` accepts.
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
        let item = lane.pending.pop_front()?;
        lane.runs_host = item.task.host;
        Some((handle, item))
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

impl Lanes {
    fn process() -> &'static Arc<Self> {
        static PROCESS: LazyLock<Arc<Lanes>> = LazyLock::new(|| {
            let lanes = Lanes::default();
            if check::sanitizer().is_some_and(|sanitizer| sanitizer.checks().has(sanitizer::Check::Race)) {
                lanes.state().order = Some(Order::default());
            }
            Arc::new(lanes)
        });
        &PROCESS
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Work runs outside the lock; the code under it does not panic half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ensures that a thread takes what may run now, or checks the conditions that work waits for.
    ///
    /// Must follow whenever work was issued or taken: what was taken may last until other work has begun. A worker that
    /// was notified and has not woken still counts as idle; when it takes work, it calls the next one.
    fn call_a_worker(self: &Arc<Self>, state: &mut State) {
        if !state.has_polls() && !state.has_runnable() {
            return;
        }
        if state.idle > 0 {
            self.wake.notify_one();
        } else if state.workers < MOST_WORKERS * state.contexts.max(1) {
            let lanes = self.clone();
            let started =
                std::thread::Builder::new().name("warpsmith-stream".to_owned()).spawn(move || lanes.work());
            match started {
                Ok(_) => state.workers += 1,
                // A waiting thread runs the work itself; workers only add asynchrony.
                Err(error) => eprintln!("warpsmith: no thread for a stream's work: {error}"),
            }
        }
    }

    /// A worker's life.
    fn work(self: Arc<Self>) {
        let mut state = self.state();
        loop {
            if let Some((lane, item)) = state.take(|_, _| true) {
                self.call_a_worker(&mut state);
                drop(state);
                self.run(lane, item);
                state = self.state();
                continue;
            }
            if state.contexts == 0 {
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
        let open = host_pages::open();
        let Item { ticket, task, order, polled, .. } = item;
        if task.host {
            // The program's own code knows of everything that led to it.
            self.learn(|order| order.host_waited(&[(lane, ticket)]));
        }
        let run = || match check::sanitizer() {
            Some(sanitizer) => Some(sanitizer.work(order, task.run).1),
            None => {
                (task.run)();
                None
            }
        };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        WORKING.set(false);
        if outcome.is_err() {
            eprintln!("warpsmith: the virtual GPU failed inside a stream's work; this is a bug in Warpsmith");
        }
        let touches = outcome.ok().flatten().unwrap_or_default();
        let used = open.as_ref().map_or_else(Vec::new, |open| open.used(&touches));
        drop(polled);
        let mut state = self.state();
        // Before it counts as done: the next wait for it is to find it.
        if let Some(open) = open {
            let default = state.lanes.get(&lane).is_some_and(|known| known.legacy == lane);
            open.ended((lane, ticket), default, touches, used);
        }
        state.finish(lane, ticket);
        if let Some(order) = &mut state.order {
            order.done((lane, ticket));
        }
        drop(state);
        self.done.notify_all();
    }

    /// Waits until all marks are reached.
    ///
    /// Not possible from inside a host function, which the stream itself waits for.
    fn wait(self: &Arc<Self>, marks: &[Mark]) -> Answer {
        refuse_in_work()?;
        let mut state = self.state();
        loop {
            let done = marks.iter().all(|mark| state.is_done(mark));
            let wanted = |lane, item: &Item| {
                !item.task.host
                    && marks.iter().any(|&(waited, ticket)| waited == lane && item.ticket <= ticket)
            };
            let taken = match state.workers {
                _ if done => None,
                // No thread could be started: host work and polls are left to this one, too.
                0 => state.take(wanted).or_else(|| state.take(|_, _| true)),
                _ => state.take(wanted),
            };
            // Work of other streams may be runnable now.
            self.call_a_worker(&mut state);
            if done {
                drop(state);
                self.learn(|order| order.host_waited(marks));
                return Ok(());
            }
            state = match taken {
                Some((lane, item)) => {
                    drop(state);
                    self.run(lane, item);
                    self.state()
                }
                None if state.workers == 0 => {
                    self.done.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn learn(&self, what: impl FnOnce(&mut Order)) {
        let mut state = self.state();
        let Some(order) = &mut state.order else { return };
        what(order);
        let order: &Order = order;
        host_pages::waited();
        check::tell(|sanitizer| sanitizer.work_is_over(|work| order.is_over(work)));
    }
}

impl Queue {
    /// The queue of a new context of a device, with its legacy default stream.
    pub fn new(device: CUdevice) -> Arc<Self> {
        Self::among(Lanes::process().clone(), device)
    }

    fn among(lanes: Arc<Lanes>, device: CUdevice) -> Arc<Self> {
        lanes.state().contexts += 1;
        let queue = Self { lanes, legacy: new_handle(), device, stopped: AtomicBool::new(false) };
        queue.open(queue.legacy, true);
        Arc::new(queue)
    }

    /// Opens a stream's lane. Work on a `blocking` one is ordered with the legacy default stream.
    pub fn open(&self, stream: Handle, blocking: bool) {
        let mut state = self.lanes.state();
        let lane = Lane {
            legacy: self.legacy,
            blocking,
            retired: false,
            running: false,
            runs_host: false,
            pending: VecDeque::new(),
            issued: 0,
            done: 0,
        };
        state.lanes.insert(stream, lane);
        if let Some(order) = &mut state.order {
            order.opened(stream, self.legacy, blocking, self.device);
        }
    }

    /// Closes a stream's lane; its work still runs.
    pub fn close(&self, stream: Handle) {
        self.lanes.state().close(stream);
    }

    /// Appends work to a stream, to start not before `after`; returns the mark to wait for.
    pub fn issue(&self, stream: Handle, mut after: Vec<Mark>, task: Task) -> Answer<Mark> {
        let polled = if task.ready.is_some() { host_pages::open() } else { None };
        let mut state = self.lanes.state();
        if self.stopped.load(Ordering::Relaxed) {
            return Err(CUresult::CONTEXT_IS_DESTROYED);
        }
        let asked = after.clone();
        after.extend(state.by_rule(stream));
        after.retain(|mark| !state.is_done(mark));
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        let lane = state.lanes.get_mut(&stream).ok_or(CUresult::INVALID_HANDLE)?;
        lane.issued = ticket;
        let order = state.order.as_mut();
        let order = order.and_then(|order| order.issued((stream, ticket), &asked, task.ready.is_some()));
        let lane = state.lanes.get_mut(&stream).ok_or(CUresult::INVALID_HANDLE)?;
        lane.pending.push_back(Item { ticket, after, task, order, polled });
        self.lanes.call_a_worker(&mut state);
        Ok((stream, ticket))
    }

    /// Waits until all marks are reached, in any context.
    ///
    /// Not possible from inside a host function, which the stream itself waits for.
    pub fn wait(&self, marks: &[Mark]) -> Answer {
        self.lanes.wait(marks)
    }

    /// Tells the race check across streams what the host now knows to be done.
    pub fn learn(&self, what: impl FnOnce(&mut Order)) {
        self.lanes.learn(what);
    }

    /// Does something on the host's behalf, once its dependencies are done.
    pub fn directly<T>(&self, run: impl FnOnce() -> T) -> T {
        let work = self.lanes.state().order.as_mut().map(Order::directly);
        match (work, check::sanitizer()) {
            (Some(work), Some(sanitizer)) => sanitizer.work(Some(work), run).0,
            _ => run(),
        }
    }

    pub fn reached(&self, mark: &Mark) -> bool {
        self.lanes.state().is_done(mark)
    }

    #[cfg(test)]
    fn mark(&self, stream: Handle) -> Mark {
        (stream, self.lanes.state().lanes.get(&stream).map_or(0, |lane| lane.issued))
    }

    /// The marks that must be done before all work issued to a stream counts as done.
    pub fn marks_before(&self, stream: Handle) -> Vec<Mark> {
        let state = self.lanes.state();
        let own = state.lanes.get(&stream).filter(|lane| lane.is_unfinished());
        let own = own.map(|lane| (stream, lane.issued));
        own.into_iter().chain(state.by_rule(stream)).collect()
    }

    pub fn drain(&self) -> Answer {
        let marks: Vec<Mark> = {
            let state = self.lanes.state();
            state
                .lanes
                .iter()
                .filter(|(_, lane)| lane.legacy == self.legacy && lane.is_unfinished())
                .map(|(&handle, lane)| (handle, lane.issued))
                .collect()
        };
        if !marks.is_empty() {
            self.wait(&marks)?;
        }
        self.learn(|order| order.host_waited_for_all(self.legacy));
        Ok(())
    }

    /// Ends the workers when they have nothing left to do. No more work can be issued.
    pub fn stop(&self) {
        let mut state = self.lanes.state();
        if self.stopped.swap(true, Ordering::Relaxed) {
            return;
        }
        state.contexts -= 1;
        let own: Vec<Handle> = state
            .lanes
            .iter()
            .filter(|(_, lane)| lane.legacy == self.legacy)
            .map(|(&lane, _)| lane)
            .collect();
        own.into_iter().for_each(|lane| state.close(lane));
        if let Some(order) = &mut state.order {
            order.closed(self.legacy);
        }
        drop(state);
        self.lanes.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A context's queue that shares nothing with those of other tests.
    fn alone() -> Arc<Queue> {
        Queue::among(Arc::default(), 0)
    }

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
        let queue = alone();
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
        let queue = alone();
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
        let legacy = queue.issue(queue.legacy, Vec::new(), note(3)).unwrap();
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
        let queue = alone();
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
        assert_eq!(queue.issue(queue.legacy, vec![], note(9)).err(), Some(CUresult::CONTEXT_IS_DESTROYED));
    }

    #[test]
    fn waiting_inside_work_is_refused() {
        let queue = alone();
        let (sender, receiver) = mpsc::channel();
        let inner = queue.clone();
        let work = move || sender.send(inner.drain()).unwrap();
        queue.issue(queue.legacy, Vec::new(), Task { run: Box::new(work), host: true, ready: None }).unwrap();
        queue.drain().unwrap();
        assert_eq!(receiver.recv().unwrap(), Err(CUresult::NOT_PERMITTED));
        queue.stop();
    }

    #[test]
    fn conditions_hold_up_their_stream_alone() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let queue = alone();
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

    #[test]
    fn work_that_waits_for_other_streams_work_runs_beside_it() {
        const PATIENCE: Duration = Duration::from_secs(20);
        let queue = alone();
        queue.open(A, false);
        queue.open(B, false);
        for _ in 0..200 {
            let ((to_b, from_a), (to_a, from_b)) = (mpsc::channel(), mpsc::channel());
            let met = Arc::new(Mutex::new(Vec::new()));
            let meet = |other: mpsc::Sender<()>, own: mpsc::Receiver<()>| {
                let met = met.clone();
                Task::device(move || {
                    let _ = other.send(());
                    met.lock().unwrap().push(own.recv_timeout(PATIENCE));
                })
            };
            // A worker sleeps when the first is issued, and has not woken yet when the second is.
            queue.issue(A, Vec::new(), meet(to_b, from_b)).unwrap();
            queue.issue(B, Vec::new(), meet(to_a, from_a)).unwrap();
            queue.wait(&[queue.mark(A)]).unwrap();
            queue.drain().unwrap();
            assert_eq!(*met.lock().unwrap(), [Ok(()), Ok(())]);
        }
        queue.stop();
    }

    #[test]
    fn conditions_are_checked_while_all_workers_are_busy() {
        let queue = alone();
        queue.open(A, false);
        queue.open(B, false);
        let ((open, opened), (say, heard), (tell, told)) =
            (mpsc::channel(), mpsc::channel(), mpsc::channel());
        let flag = Arc::new(AtomicBool::new(false));
        let (look, set) = (flag.clone(), flag);
        let busy = Task::device(move || {
            opened.recv().unwrap();
            set.store(true, Ordering::Release);
            tell.send(heard.recv_timeout(Duration::from_secs(20))).unwrap();
        });
        let waiting = Task::device(move || say.send(()).unwrap());
        queue.issue(A, Vec::new(), busy).unwrap();
        let ready: Option<Box<dyn Fn() -> bool + Send>> =
            Some(Box::new(move || look.load(Ordering::Acquire)));
        queue.issue(B, Vec::new(), Task { ready, ..waiting }).unwrap();
        open.send(()).unwrap();
        assert_eq!(told.recv().unwrap(), Ok(()));
        queue.drain().unwrap();
        queue.stop();
    }
}
