//! The current call: which stream its null stream means, and what is said about unsupported calls.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};

use crate::abi::{Answer, CUresult};
use crate::check::host_pages;
use crate::failed::Before;
use crate::fork;
use crate::objects::queue;

/// The virtual device's answer to what it does not support.
pub fn unsupported<T>(name: &'static str) -> Answer<T> {
    say_once(name, || format!("`{name}` is not supported by the virtual GPU"));
    Err(CUresult::NOT_SUPPORTED)
}

/// The same for what CUDA itself has retired.
pub fn retired(name: &'static str, successor: &str) -> Answer {
    say_once(name, || {
        format!("`{name}` is retired by CUDA and not supported by the virtual GPU: use `{successor}`")
    });
    Err(CUresult::NOT_SUPPORTED)
}

/// The same for what this build omits.
#[cfg(not(feature = "foreign"))]
pub fn left_out(name: &'static str) -> Answer {
    say_once(name, || format!("`{name}` is not in this build of cuda_driver: its feature `foreign` is off"));
    Err(CUresult::NOT_SUPPORTED)
}

/// Tells the user something about an entry point, once.
pub fn say_once(name: &'static str, text: impl FnOnce() -> String) {
    static SAID: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&name) {
        said.push(name);
        eprintln!("warpsmith: {}", text());
    }
}

thread_local! {
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current call's null stream is the thread's own.
pub fn null_stream_is_per_thread() -> bool {
    PER_THREAD.get()
}

/// Runs the virtual device's side of a call.
pub fn serve(name: &'static str, per_thread: bool, call: impl FnOnce() -> Answer) -> CUresult {
    let mut call = Some(call);
    served(name, per_thread, &mut || call.take().map_or(Err(CUresult::UNKNOWN), |call| call()))
}

/// The same for calls that need no device.
pub fn serve_anywhere(name: &'static str, call: impl FnOnce() -> Answer) -> CUresult {
    let mut call = Some(call);
    caught(name, &mut || call.take().map_or(Err(CUresult::UNKNOWN), |call| call()))
}

// One instance of this code, instead of one for each of hundreds of entry points.

fn served(name: &'static str, per_thread: bool, call: &mut dyn FnMut() -> Answer) -> CUresult {
    if fork::is_child() {
        // Threads that do not exist here may hold locks.
        return CUresult::NOT_INITIALIZED;
    }
    let before = PER_THREAD.replace(per_thread);
    let open = host_pages::open();
    let told = Before::now();
    let answer = caught(name, call);
    PER_THREAD.set(before);
    let answer = told.answered(name, answer);
    if open.is_some() && host_pages::has_memory() {
        // The pages are closed behind work that has ended: that must not depend on time.
        queue::rest();
    }
    answer
}

/// A panic is a bug of ours; it must not unwind into C.
fn caught(name: &'static str, call: &mut dyn FnMut() -> Answer) -> CUresult {
    std::panic::catch_unwind(AssertUnwindSafe(call)).map_or_else(
        |_| {
            eprintln!("warpsmith: the virtual GPU failed inside `{name}`; this is a bug in Warpsmith");
            CUresult::UNKNOWN
        },
        CUresult::from,
    )
}
