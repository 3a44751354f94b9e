//! Whether this process was forked off one that had initialised the driver: it has the driver's memory and locks, and none of
//! its threads, so that nothing can be done here.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static CHILD: AtomicBool = AtomicBool::new(false);

pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the handler is a plain function that lives as long as the process, and only stores a flag.
        unsafe {
            libc::pthread_atfork(None, None, Some(note));
        }
    });
}

#[cfg(unix)]
extern "C" fn note() {
    CHILD.store(true, Ordering::Relaxed);
}

/// Whether the driver was initialised before this process was forked off.
pub(crate) fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}
