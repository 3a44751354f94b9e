//! The file that `WARPSMITH_PROFILE` names.
//!
//! A regular file is a whole document after every launch: each is written over the brackets that close the document, and
//! closes it again. So the profile is there after a return from `main`, `exit`, `_exit`, a panic, an abort or a signal.
//! A pipe or a terminal, which cannot be written in place, gets the document when the process ends.
//!
//! One process writes a file at a time; another that names the same is told to put `{pid}` into the name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use virtual_gpu::profiler::LaunchProfile;

use crate::objects::device::first;
use crate::per_process::of_this_process;

/// Closes the list of launches and the document.
const END: &str = "]}";

enum Sink {
    /// A document that grows in place.
    Growing {
        file: File,
        /// Bytes of the document without [`END`].
        length: u64,
    },
    /// A document that is written when the process ends.
    AtEnd { text: String },
    /// Nowhere any more; the reason was given.
    Failed(String),
    /// Nowhere any more; the document was handed over.
    Ended,
}

struct Profile {
    path: PathBuf,
    sink: Sink,
    /// A process that was forked off is another one.
    pid: u32,
    launches: usize,
}

static PROFILE: Mutex<Option<Profile>> = Mutex::new(None);

fn profile() -> MutexGuard<'static, Option<Profile>> {
    // Whole after a panic elsewhere: nothing here panics half way.
    PROFILE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of this process, which `WARPSMITH_PROFILE` says. Chosen once: by then others of the name may be there.
fn named() -> Option<PathBuf> {
    static CHOSEN: Mutex<Option<(u32, PathBuf)>> = Mutex::new(None);
    let name = std::env::var("WARPSMITH_PROFILE").ok().filter(|name| !name.is_empty())?;
    let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    let (_, path) = match chosen.take().filter(|(of, _)| *of == pid) {
        Some(known) => chosen.insert(known),
        None => chosen.insert((pid, of_this_process(&name))),
    };
    Some(path.clone())
}

/// Whether a file asks for launches.
pub fn is_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| named().is_some())
}

fn beginning() -> String {
    format!(r#"{{"version":1,"model":"{}","view":"ptx","launches":["#, first().chip().key)
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("WARPSMITH_PROFILE={} cannot be written: {error}", path.display())
}

/// Opens the file for this process alone.
fn open(path: &Path) -> Result<Sink, String> {
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = opened.map_err(|error| cannot(path, &error))?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(Sink::AtEnd { text: beginning() });
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            return Err(cannot(path, &"another process is writing it; put {pid} into the name"));
        }
        // A file system without locks: the last to write wins.
        Err(TryLockError::Error(_)) | Ok(()) => {}
    }
    file.set_len(0).map_err(|error| cannot(path, &error))?;
    Ok(Sink::Growing { file, length: 0 })
}

impl Profile {
    fn start(path: PathBuf) -> Self {
        let sink = open(&path).unwrap_or_else(|reason| {
            eprintln!("warpsmith: {reason}");
            Sink::Failed(reason)
        });
        if matches!(sink, Sink::AtEnd { .. }) {
            static HANDLER: OnceLock<()> = OnceLock::new();
            HANDLER.get_or_init(|| {
                // SAFETY: the handler is a plain function that lives as long as the process.
                unsafe { libc::atexit(write_at_exit) };
            });
        }
        Self { path, sink, pid: std::process::id(), launches: 0 }
    }

    fn add(&mut self, launch: &LaunchProfile) {
        let Ok(launch) = serde_json::to_string(launch) else { return };
        let comma = if self.launches == 0 { "" } else { "," };
        self.launches += 1;
        match &mut self.sink {
            Sink::Growing { file, length } => {
                let before = if *length == 0 { beginning() } else { String::new() };
                let text = format!("{before}{comma}{launch}{END}");
                match write_at(file, *length, text.as_bytes()) {
                    Ok(()) => *length += (text.len() - END.len()) as u64,
                    Err(error) => self.fail(&error),
                }
            }
            Sink::AtEnd { text } => {
                text.push_str(comma);
                text.push_str(&launch);
            }
            Sink::Failed(_) | Sink::Ended => {}
        }
    }

    fn fail(&mut self, error: &std::io::Error) {
        let reason = cannot(&self.path, error);
        eprintln!("warpsmith: {reason}");
        self.sink = Sink::Failed(reason);
    }

    fn end(&mut self) -> Result<(), String> {
        match std::mem::replace(&mut self.sink, Sink::Ended) {
            Sink::AtEnd { text } => {
                let opened = OpenOptions::new().write(true).open(&self.path);
                let written = opened.and_then(|mut file| file.write_all((text + END).as_bytes()));
                written.map_err(|error| cannot(&self.path, &error))
            }
            Sink::Failed(reason) => Err(reason),
            growing => {
                self.sink = growing;
                Ok(())
            }
        }
    }
}

#[cfg(unix)]
fn write_at(file: &File, at: u64, bytes: &[u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, at: u64, bytes: &[u8]) -> std::io::Result<()> {
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Adds a launch to the file, if one asks for it. What goes wrong is said once; the program goes on.
pub fn add(launch: &LaunchProfile) {
    if !is_wanted() {
        return;
    }
    let mut profile = profile();
    if profile.as_ref().is_none_or(|profile| profile.pid != std::process::id()) {
        *profile = named().map(Profile::start);
    }
    if let Some(profile) = &mut *profile {
        profile.add(launch);
    }
}

extern "C" fn write_at_exit() {
    if let Some(profile) = profile().as_mut().filter(|profile| profile.pid == std::process::id()) {
        // An earlier failure was reported then.
        let told = matches!(profile.sink, Sink::Failed(_));
        match profile.end() {
            Err(reason) if !told => eprintln!("warpsmith: {reason}"),
            _ => {}
        }
    }
}

/// Whether the file that `WARPSMITH_PROFILE` names can be written, before anybody waits for what would be in it.
///
/// # Errors
/// The variable, the file, and why it cannot be written.
pub fn check_file() -> Result<(), String> {
    let Some(path) = named() else { return Ok(()) };
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    opened.map(drop).map_err(|error| cannot(&path, &error))
}

/// Ends the file that `WARPSMITH_PROFILE` names, for a program that wants to know whether that went well. What goes wrong
/// here is not said again when the process ends.
///
/// # Errors
/// The variable, the file, and why it cannot be written.
pub fn finish() -> Result<(), String> {
    profile().as_mut().map_or(Ok(()), Profile::end)
}
