//! The fault that ended a launch: printed once on stderr, and kept for the program and for later failures.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use virtual_gpu::{Error, Fault, is_library};

use crate::abi::CUresult;
use crate::failed::is_lost;

static LAST: Mutex<Last> = Mutex::new(Last { fault: None, number: 0, noticed: false });

thread_local! {
    /// The number of the latest fault that this thread has met.
    static MET: Cell<u64> = const { Cell::new(0) };
}

struct Last {
    fault: Option<Fault>,
    /// Faults so far.
    number: u64,
    /// Whether a call has failed with it.
    noticed: bool,
}

pub(crate) fn report(error: &Error) {
    eprintln!("warpsmith: {error}");
    if let Error::Fault(fault) = error {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Last { fault: Some((**fault).clone()), number: last.number + 1, noticed: false };
    }
}

/// The fault that ended the latest failed launch on the virtual device: kernel, block, thread, PTX and source line.
pub fn last_fault() -> Option<Fault> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).fault.clone()
}

/// Names the kernel whose fault lost the context, and the line, if that is why calls fail with `code`.
pub fn context_lost(code: u32) -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).fault.as_ref().and_then(|fault| lost_by(fault, code))
}

fn lost_by(fault: &Fault, code: u32) -> Option<String> {
    (is_lost(CUresult(code)) && fault.kind.cuda_code() == code).then(|| {
        let frames = &fault.location.frames;
        let frame = frames.iter().find(|frame| !is_library(&frame.file)).or(frames.first());
        let place = frame.map(|frame| format!(" at {}:{}", frame.file, frame.line));
        format!(
            "the context was lost when kernel `{}` faulted{}",
            ptx::rust_name(&fault.kernel),
            place.unwrap_or_default()
        )
    })
}

/// Says once in each thread why a call failed, except in the thread that met the fault first: there the fault itself
/// was just printed. Tests of one process are such threads.
pub(crate) fn remind(name: &str, answer: CUresult) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(why) = last.fault.as_ref().and_then(|fault| lost_by(fault, answer.0)) else { return };
    let first = !std::mem::replace(&mut last.noticed, true);
    let known = MET.replace(last.number) == last.number;
    drop(last);
    if !first && !known {
        eprintln!("warpsmith: {name} fails with {answer}: {why}");
    }
}
