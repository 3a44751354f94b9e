//! The fault that ended a launch: printed once on stderr, and kept for the program.

use std::sync::{Mutex, PoisonError};

use virtual_gpu::{Error, Fault};

static LAST: Mutex<Option<Fault>> = Mutex::new(None);

pub(crate) fn report(error: &Error) {
    eprintln!("warpsmith: {error}");
    if let Error::Fault(fault) = error {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some((**fault).clone());
    }
}

/// The fault that ended the latest failed launch on the virtual device: kernel, block, thread, PTX and source line.
pub fn last_fault() -> Option<Fault> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
