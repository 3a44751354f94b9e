//! Profiles of launches: recorded for the program itself, or written where `WARPSMITH_PROFILE` says.
//!
//! `WARPSMITH_PROFILE=FILE` works for any program on the virtual GPU; `{pid}` in the name becomes the process' number.
//! The file is written when a context is destroyed, when a launch fails, and when the process ends:
//! `{"version":1,"model":…,"view":"ptx","launches":[…]}`, each launch as [`LaunchProfile`] serialises.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};

pub use virtual_gpu::profiler::LaunchProfile;

use crate::device::gpu;

/// Launches since the start of the process, if a file asks for them.
static KEPT: Mutex<Vec<LaunchProfile>> = Mutex::new(Vec::new());
/// Launches of the recording under way.
static RECORDED: Mutex<Vec<LaunchProfile>> = Mutex::new(Vec::new());
static RECORDING: AtomicBool = AtomicBool::new(false);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Lists that only grow by whole elements: good after a panic elsewhere.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `program` and gives the profile of each kernel that ended on the virtual GPU meanwhile, in the order of their
/// ends. The program must wait for its own launches. One recording runs at a time: a second waits for the first.
///
/// On a real GPU nothing is recorded.
pub fn record<T>(program: impl FnOnce() -> T) -> (T, Vec<LaunchProfile>) {
    /// Ends the recording also when the program panics.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            RECORDING.store(false, Ordering::SeqCst);
            lock(&RECORDED).clear();
        }
    }
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = lock(&ONE_AT_A_TIME);
    lock(&RECORDED).clear();
    let ends = Ends;
    RECORDING.store(true, Ordering::SeqCst);
    let result = program();
    let launches = std::mem::take(&mut *lock(&RECORDED));
    drop(ends);
    (result, launches)
}

/// The document that `WARPSMITH_PROFILE` writes.
pub fn document(model: &str, launches: &[LaunchProfile]) -> Value {
    json!({ "version": 1, "model": model, "view": "ptx", "launches": launches })
}

/// Whether somebody wants launches to be profiled.
pub(crate) fn wanted() -> bool {
    RECORDING.load(Ordering::SeqCst) || file().is_some()
}

/// Keeps the profile of a launch for whoever wants it. A failed one is written at once: little may follow it.
pub(crate) fn keep(launch: LaunchProfile) {
    let failed = launch.fault.is_some();
    if file().is_some() {
        lock(&KEPT).push(launch.clone());
    }
    if RECORDING.load(Ordering::SeqCst) {
        lock(&RECORDED).push(launch);
    }
    if failed {
        write();
    }
}

fn file() -> Option<&'static PathBuf> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    FILE.get_or_init(|| {
        let name = std::env::var("WARPSMITH_PROFILE").ok().filter(|name| !name.is_empty())?;
        // SAFETY: the handler is a plain function that lives as long as the process.
        unsafe { libc::atexit(write_at_exit) };
        Some(PathBuf::from(name.replace("{pid}", &std::process::id().to_string())))
    })
    .as_ref()
}

extern "C" fn write_at_exit() {
    write();
}

/// Writes what was kept, if a file asks for it. What goes wrong is said once; the program goes on.
pub(crate) fn write() {
    static TOLD: OnceLock<()> = OnceLock::new();
    let Some(path) = file() else { return };
    let text = document(gpu().chip().key, &lock(&KEPT)).to_string();
    if let Err(error) = std::fs::write(path, text) {
        TOLD.get_or_init(|| eprintln!("warpsmith: WARPSMITH_PROFILE={}: {error}", path.display()));
    }
}
