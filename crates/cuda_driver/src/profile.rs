//! Profiles of launches: recorded for the program itself, or written where `WARPSMITH_PROFILE` says.
//!
//! `WARPSMITH_PROFILE=FILE` works for any program on the virtual GPU; `{pid}` in the name becomes the process' number.
//! The file is written when a context is destroyed, when a launch fails, and when the process ends:
//! `{"version":1,"model":…,"view":"ptx","launches":[…]}`, each launch as [`LaunchProfile`] serialises.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
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
                write_early();
            }
        }
    }
}

/// The document that `WARPSMITH_PROFILE` writes.
pub fn document(model: &str, launches: &[LaunchProfile]) -> Value {
    json!({ "version": 1, "model": model, "view": "ptx", "launches": launches })
}

/// The file that `WARPSMITH_PROFILE` names, once a launch has asked for it.
static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
/// Whether it was said that the file cannot be written.
static TOLD: OnceLock<()> = OnceLock::new();

/// What `WARPSMITH_PROFILE` says.
fn named() -> Option<PathBuf> {
    let name = std::env::var("WARPSMITH_PROFILE").ok().filter(|name| !name.is_empty())?;
    Some(PathBuf::from(name.replace("{pid}", &std::process::id().to_string())))
}

fn file() -> Option<&'static PathBuf> {
    FILE.get_or_init(|| {
        let path = named()?;
        // SAFETY: the handler is a plain function that lives as long as the process.
        unsafe { libc::atexit(write_at_exit) };
        Some(path)
    })
    .as_ref()
}

extern "C" fn write_at_exit() {
    write();
}

/// Writes what was kept, if a file asks for it. When the process ends that is done again, and said if it goes wrong.
pub(crate) fn write_early() {
    let _ = try_write();
}

/// Writes what was kept, if a file asks for it. What goes wrong is said once; the program goes on.
fn write() {
    if let Err(error) = try_write() {
        TOLD.get_or_init(|| eprintln!("warpsmith: {error}"));
    }
}

fn try_write() -> Result<(), String> {
    let Some(Some(path)) = FILE.get() else { return Ok(()) };
    let text = document(gpu().chip().key, &lock(&KEPT)).to_string();
    std::fs::write(path, text).map_err(|error| cannot(path, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> String {
    format!("WARPSMITH_PROFILE={} cannot be written: {error}", path.display())
}

/// Whether the file that `WARPSMITH_PROFILE` names can be written, before anybody waits for what would be in it.
///
/// # Errors
/// The variable, the file, and why it cannot be written.
pub fn check_file() -> Result<(), String> {
    let Some(path) = named() else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    opened.map(drop).map_err(|error| cannot(&path, &error))
}

/// Writes the file that `WARPSMITH_PROFILE` names, if there were launches, for a program that wants to know whether that went
/// well. What goes wrong is not said again when the process ends.
///
/// # Errors
/// The variable, the file, and why it cannot be written.
pub fn finish() -> Result<(), String> {
    try_write().inspect_err(|_| {
        let _ = TOLD.set(());
    })
}
