//! The thread that compiles while the interpreter goes on.
//!
//! One for the process: kernels are compiled one after another, and a second thread would take the processor from those
//! that run them. Nothing needs to wait for it: an answer that comes late, or never, changes no result.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Held while LLVM may work. Whoever ends the process takes it for good, because LLVM's own data is destroyed then.
static WORKING: Mutex<()> = Mutex::new(());

type Work = Box<dyn FnOnce() + Send>;

/// Has the thread do some work. If there can be no thread, the work is not done, and the interpreter continues.
pub fn hand_over(work: impl FnOnce() + Send + 'static) {
    static TASKS: OnceLock<Option<Mutex<Sender<Work>>>> = OnceLock::new();
    let tasks = TASKS.get_or_init(|| {
        let (sender, receiver) = channel::<Work>();
        let all = move || {
            for work in receiver {
                let _working = WORKING.lock().unwrap_or_else(PoisonError::into_inner);
                work();
            }
        };
        std::thread::Builder::new().name("compiler".into()).spawn(all).ok()?;
        Some(Mutex::new(sender))
    });
    if let Some(tasks) = tasks {
        // After a panic in there no one listens any more.
        let _ = tasks.lock().unwrap_or_else(PoisonError::into_inner).send(Box::new(work));
    }
}

/// Lets the process end only between two tasks. Called once LLVM has been opened, so that this runs before LLVM's own
/// data is destroyed.
pub fn end_before_llvm() {
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn wait() {
        // A forked process has no such thread, and may have a lock that no one releases.
        if PROCESS.load(Ordering::Relaxed) == std::process::id() {
            std::mem::forget(WORKING.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    // SAFETY: the function touches nothing that is gone when a process ends. If it cannot be registered, the end is as
    // before.
    unsafe { libc::atexit(wait) };
}
