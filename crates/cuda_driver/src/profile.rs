//! Profiles of launches: recorded for the program itself, or written where `WARPSMITH_PROFILE` says.
//!
//! `WARPSMITH_PROFILE=FILE` works for any program on the virtual GPU; `{pid}` in the name becomes the process' number, `{n}`
//! the first of which there is no file.
//! It holds `{"version":1,"model":…,"view":"ptx","launches":[…]}`, each launch as [`LaunchProfile`] serialises, and is
//! whole after every launch, so that nothing is lost however the process ends. See [`file`].

mod file;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use file::{check_file, finish};
use virtual_gpu::profiler::LineProfile;

pub use virtual_gpu::profiler::LaunchProfile;

thread_local! {
    /// Recordings of this host thread that are under way, outermost first. Never dropped: a launch may come as late as from
    /// the destructor of another such variable.
    static RECORDINGS: RefCell<ManuallyDrop<Vec<Recording>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
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
            RECORDINGS.with_borrow_mut(|all| all.pop());
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

/// Adds the text of each line whose file is here, so that a later profile can be compared after an edit.
fn add_texts(lines: &mut [LineProfile]) {
    /// Lines of the files that were read.
    static FILES: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());
    let mut files = lock(&FILES);
    for line in lines.iter_mut().filter(|line| !line.file.is_empty()) {
        let texts = files.entry(line.file.clone()).or_insert_with_key(|file| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let text = (line.line as usize).checked_sub(1).and_then(|at| texts.get(at));
        line.text = text.cloned().unwrap_or_default();
    }
}

/// Who wants to know of a launch: taken when it is asked for, kept until it has run.
#[derive(Clone, Default)]
pub(crate) struct Wanted(Vec<Recording>);

impl Wanted {
    /// The recordings of this host thread.
    pub fn here() -> Self {
        Self(RECORDINGS.with_borrow(|all| all.to_vec()))
    }

    /// Whether the launch is to be profiled.
    pub fn any(&self) -> bool {
        !self.0.is_empty() || file::is_wanted()
    }

    pub fn keep(&self, mut launch: LaunchProfile) {
        add_texts(&mut launch.lines);
        for recording in &self.0 {
            lock(recording).push(launch.clone());
        }
        file::add(&launch);
    }
}
