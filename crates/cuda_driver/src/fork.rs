//! Detects whether this process was forked from one that had initialised the driver. It then has the driver's memory
//! and locks but none of its threads, so it can do nothing.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use crate::check::host_fault;

static CHILD: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the handler is a plain function that lives as long as the process, stores a flag, and opens pages.
        unsafe {
            libc::pthread_atfork(None, None, Some(note));
        }
    });
}

#[cfg(unix)]
extern "C" fn note() {
    CHILD.store(true, Ordering::Relaxed);
    host_fault::open_all();
}

/// Whether the driver was initialised before this process was forked off.
pub(crate) fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}
