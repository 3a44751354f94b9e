//! Profiles of launches: recorded for the program itself, or written where `WARPSMITH_PROFILE` says.
//!
//! `WARPSMITH_PROFILE=FILE` works for any program on the virtual GPU; `{pid}` in the name becomes the process' number.
//! The file is written when a context is destroyed, when a launch fails, and when the process ends:
//! `{"version":1,"model":…,"view":"ptx","launches":[…]}`, each launch as [`LaunchProfile`] serialises.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Value, json};

pub use virtual_gpu::profiler::LaunchProfile;

use crate::device::gpu;

/// Launches since the start of the process, if a file asks for them.
static KEPT: Mutex<Vec<LaunchProfile>> = Mutex::new(Vec::new());

thread_local! {
    /// Recordings of this host thread that are under way, outermost first.
    static RECORDINGS: RefCell<Vec<Recording>> = const { RefCell::new(Vec::new()) };
}

type Recording = Arc<Mutex<Vec<LaunchProfile>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Lists that only grow by whole elements: good after a panic elsewhere.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `program` and gives the profile of each kernel that it launches on the virtual GPU from this host thread, in the
/// order of their ends. The program must wait for its own launches. Recordings may lie within each other; other
/// threads' launches are not seen. A graph's kernels belong to the recording in which they were captured.
///
/// On a real GPU nothing is recorded.
pub fn record<T>(program: impl FnOnce() -> T) -> (T, Vec<LaunchProfile>) {
    /// Ends the recording also when the program panics.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            RECORDINGS.with_borrow_mut(Vec::pop);
        }
    }
    let recording = Recording::default();
    RECORDINGS.with_borrow_mut(|all| all.push(recording.clone()));
    let ends = Ends;
    let result = program();
    drop(ends);
    let launches = std::mem::take(&mut *lock(&recording));
    (result, launches)
}

/// Who wants to know of a launch: taken when it is asked for, kept until it has run.
#[derive(Clone, Default)]
pub(crate) struct Wanted(Vec<Recording>);

impl Wanted {
    /// The recordings of this host thread.
    pub fn here() -> Self {
        Self(RECORDINGS.with_borrow(Vec::clone))
    }

    /// Whether the launch is to be profiled.
    pub fn any(&self) -> bool {
        !self.0.is_empty() || file().is_some()
    }

    /// Keeps the profile of the launch. A failed one is written at once: little may follow it.
    pub fn keep(&self, launch: LaunchProfile) {
        let failed = launch.fault.is_some();
        for recording in &self.0 {
            lock(recording).push(launch.clone());
        }
        if file().is_some() {
            lock(&KEPT).push(launch);
            if failed {
                write();
            }
        }
    }
}

/// The document that `WARPSMITH_PROFILE` writes.
pub fn document(model: &str, launches: &[LaunchProfile]) -> Value {
    json!({ "version": 1, "model": model, "view": "ptx", "launches": launches })
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
