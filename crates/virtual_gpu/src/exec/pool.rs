//! The host threads that run a device's blocks.
//!
//! The launching thread runs blocks itself, and helpers join while there are some. A helper that has not come is not awaited:
//! where other programs are busy it may find no processor before all blocks have run.

mod sleeper;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use sleeper::Sleeper;

/// How long a thread looks for what it waits for before it sleeps: to be woken takes it about as long.
const LOOKS: Duration = Duration::from_micros(50);
/// Helpers that a helper wakes when it joins: soon all have joined, and the launching thread is not held up.
const WAKES: usize = 2;

/// These threads; they start with the first launch of several blocks.
#[derive(Debug)]
pub(crate) struct Pool {
    threads: usize,
    helpers: OnceLock<Arc<Helpers>>,
}

/// State that helpers share with launching threads.
#[derive(Default)]
struct Helpers {
    state: Mutex<State>,
    /// Whether there are offers.
    is_wanted: AtomicBool,
}

#[derive(Default)]
struct State {
    offers: Vec<Open>,
    asleep: Vec<Arc<Sleeper>>,
    is_over: bool,
}

/// Work with the number of helpers that may still join.
struct Open {
    places: usize,
    offer: Arc<Offer>,
}

/// The work of a launch.
struct Offer {
    work: Work,
    /// Helpers that have joined and are not done.
    helping: AtomicUsize,
    launching: Thread,
    panicked: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A function of the launching thread, and how it is called.
struct Work {
    function: *const (),
    call: unsafe fn(*const ()),
}

// SAFETY: `Work::of` takes only what all threads may call at once.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

impl Work {
    fn of<W: Fn() + Sync>(work: &W) -> Self {
        unsafe fn call<W: Fn()>(function: *const ()) {
            // SAFETY: it is the function, and the caller's promise that it is still there.
            unsafe { (*function.cast::<W>())() }
        }
        Work { function: (&raw const *work).cast(), call: call::<W> }
    }

    /// # Safety
    /// The function is still there.
    unsafe fn run(&self) {
        // SAFETY: the caller's.
        unsafe { (self.call)(self.function) }
    }
}

impl fmt::Debug for Helpers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helpers").finish_non_exhaustive()
    }
}

impl Pool {
    pub fn new(threads: usize) -> Self {
        Pool { threads: threads.max(1), helpers: OnceLock::new() }
    }

    /// How many there are, with the one that launches.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` here and on up to `threads - 1` helpers that arrive in time.
    pub fn run(&self, threads: usize, work: impl Fn() + Sync) {
        if threads < 2 {
            return work();
        }
        let helpers = self.helpers.get_or_init(|| Helpers::start(self.threads - 1));
        let offer = Arc::new(Offer {
            work: Work::of(&work),
            helping: AtomicUsize::new(0),
            launching: thread::current(),
            panicked: Mutex::default(),
        });
        helpers.offer(Open { places: threads - 1, offer: offer.clone() });
        let own = catch_unwind(AssertUnwindSafe(&work));
        helpers.withdraw(&offer);
        let is_done = || offer.helping.load(Ordering::Acquire) == 0;
        while !comes_soon(is_done) {
            thread::park();
        }
        let panicked = offer.panicked.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = own.err().or(panicked) {
            resume_unwind(panic);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(helpers) = self.helpers.get() {
            let mut state = helpers.state();
            state.is_over = true;
            state.asleep.drain(..).for_each(|sleeper| sleeper.call());
        }
    }
}

impl Helpers {
    /// Starts this many; fewer if the system has no more threads.
    fn start(count: usize) -> Arc<Self> {
        let helpers = Arc::new(Helpers::default());
        for i in 0..count {
            let own = helpers.clone();
            let _ = thread::Builder::new().name(format!("virtual-gpu-{i}")).spawn(move || own.help());
        }
        helpers
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offer(&self, open: Open) {
        let mut state = self.state();
        state.offers.push(open);
        self.is_wanted.store(true, Ordering::Relaxed);
        Self::call(state, 1);
    }

    fn withdraw(&self, offer: &Arc<Offer>) {
        let mut state = self.state();
        state.offers.retain(|open| !Arc::ptr_eq(&open.offer, offer));
        self.is_wanted.store(!state.offers.is_empty(), Ordering::Relaxed);
    }

    /// Wakes up to this many sleepers.
    fn call(mut state: MutexGuard<'_, State>, count: usize) {
        let rest = state.asleep.len().saturating_sub(count);
        let called = state.asleep.split_off(rest);
        drop(state);
        called.iter().for_each(|sleeper| sleeper.call());
    }

    /// A helper's life.
    fn help(&self) {
        let mut state = self.state();
        while !state.is_over {
            if let Some(open) = state.offers.first_mut() {
                let offer = open.offer.clone();
                offer.helping.fetch_add(1, Ordering::Relaxed);
                open.places -= 1;
                let wanted = open.places;
                if wanted == 0 {
                    state.offers.remove(0);
                    self.is_wanted.store(!state.offers.is_empty(), Ordering::Relaxed);
                }
                Self::call(state, wanted.min(WAKES));
                offer.help();
                comes_soon(|| self.is_wanted.load(Ordering::Relaxed));
                state = self.state();
                continue;
            }
            let sleeper = Arc::new(Sleeper::here());
            state.asleep.push(sleeper.clone());
            drop(state);
            sleeper.sleep();
            state = self.state();
        }
    }
}

impl Offer {
    /// Does it as a helper that has joined.
    fn help(&self) {
        // SAFETY: the launching thread waits until no helper is left.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| unsafe { self.work.run() })) {
            *self.panicked.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        if self.helping.fetch_sub(1, Ordering::Release) == 1 {
            self.launching.unpark();
        }
    }
}

/// Looks whether something comes for about as long as a thread takes to be woken. Any other thread that wants the processor gets it.
fn comes_soon(is_there: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if is_there() {
            return true;
        }
        if begun.elapsed() > LOOKS {
            return false;
        }
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of work, and how often each was done.
    fn done_by(pool: &Pool, threads: usize, pieces: usize) -> Vec<usize> {
        let (next, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let done: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
        pool.run(threads, || {
            running.fetch_add(1, Ordering::SeqCst);
            while let Some(piece) = done.get(next.fetch_add(1, Ordering::SeqCst)) {
                piece.fetch_add(1, Ordering::SeqCst);
            }
            running.fetch_sub(1, Ordering::SeqCst);
        });
        assert_eq!(running.load(Ordering::SeqCst), 0);
        done.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn all_is_done_once_when_several_launch_at_a_time() {
        let pool = Pool::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for pieces in 0..200 {
                        assert_eq!(done_by(&pool, 2 + pieces % 3, pieces), vec![1; pieces]);
                    }
                });
            }
        });
    }

    #[test]
    fn as_many_join_as_are_wanted() {
        let pool = Pool::new(4);
        for threads in 1..=4 {
            let (arrived, all) = (AtomicUsize::new(0), std::sync::Barrier::new(threads));
            pool.run(threads, || {
                all.wait();
                arrived.fetch_add(1, Ordering::SeqCst);
            });
            assert_eq!(arrived.into_inner(), threads);
        }
    }

    #[test]
    fn a_panic_of_a_helper_reaches_whoever_launches_and_the_helper_goes_on() {
        let pool = Pool::new(2);
        for _ in 0..3 {
            let (launching, both) = (thread::current().id(), std::sync::Barrier::new(2));
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                pool.run(2, || {
                    both.wait();
                    assert_eq!(thread::current().id(), launching);
                });
            }));
            assert!(panicked.is_err());
        }
    }
}
