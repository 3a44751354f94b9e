//! A thread that sleeps until it is called.
//!
//! A system on which all processors have something to do wakes a thread where it fell asleep, although the thread that calls it runs
//! there and goes on. On two processors, one of which ran a program of low priority, all of a launch ran on the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// A thread that sleeps.
pub struct Sleeper {
    thread: Thread,
    is_called: AtomicBool,
    #[cfg(target_os = "linux")]
    place: place::Place,
}

impl Sleeper {
    /// The calling thread, which is going to [sleep](Self::sleep).
    pub fn here() -> Self {
        Sleeper {
            thread: thread::current(),
            is_called: AtomicBool::new(false),
            #[cfg(target_os = "linux")]
            place: place::Place::here(),
        }
    }

    /// Sleeps until called.
    pub fn sleep(&self) {
        while !self.is_called.load(Ordering::Acquire) {
            thread::park();
        }
        #[cfg(target_os = "linux")]
        self.place.leave();
    }

    /// Wakes it, on another processor than the caller's if the system allows that.
    pub fn call(&self) {
        #[cfg(target_os = "linux")]
        self.place.give_up();
        self.is_called.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

#[cfg(target_os = "linux")]
mod place {
    use std::ffi::c_int;
    use std::mem;
    use std::sync::OnceLock;

    /// Where a thread falls asleep.
    pub struct Place {
        thread: libc::pid_t,
        processor: c_int,
        /// Where it may run, if that was changed for its waking.
        allowed: OnceLock<libc::cpu_set_t>,
    }

    impl Place {
        /// Of the calling thread.
        pub fn here() -> Self {
            // SAFETY: both only return a number.
            let (thread, processor) = unsafe { (libc::gettid(), libc::sched_getcpu()) };
            Place { thread, processor, allowed: OnceLock::new() }
        }

        /// If this is the caller's processor, the thread that sleeps there is going to wake on another.
        pub fn give_up(&self) {
            // SAFETY: the sets are as large as is said, and plain numbers; the processor is one of those that the first has.
            unsafe {
                let own = libc::sched_getcpu();
                let (mut allowed, bytes) = (mem::zeroed(), size_of::<libc::cpu_set_t>());
                if own < 0
                    || own != self.processor
                    || libc::sched_getaffinity(self.thread, bytes, &raw mut allowed) != 0
                {
                    return;
                }
                let mut others = allowed;
                libc::CPU_CLR(own as usize, &mut others);
                // Fails if there are no others.
                if libc::sched_setaffinity(self.thread, bytes, &raw const others) == 0 {
                    let _ = self.allowed.set(allowed);
                }
            }
        }

        /// The calling thread, which has woken, may go where it might before.
        pub fn leave(&self) {
            if let Some(allowed) = self.allowed.get() {
                // SAFETY: the set is as large as is said.
                unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), allowed) };
            }
        }
    }
}
