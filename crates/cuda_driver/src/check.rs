//! The sanitizer for any program on the virtual device: `WARPSMITH_CHECK=memory,race,init,barrier,api[:FILE]`.
//!
//! When the process ends, findings go to stderr or to the file, and the process ends with a failure. If the file's name
//! ends in `.json` or `.sarif`, it has that format. `{pid}` in the name becomes the process id, `{n}` the first number of
//! which there is no file.
//!
//! A file is also written whenever there is something new: a process may be killed, or go on as another program (`exec`).
//! Launches that are in flight when the program ends are waited for; SIGTERM ends it with a report of what was found by then.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use sanitizer::{Checks, Finding, Format, Sanitizer, Severity, UnknownCheck, render};

use virtual_gpu::Options;

use crate::choice::setting;
use crate::fork;
use crate::objects::queue;
use crate::per_process::of_this_process;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod host_fault;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "check/no_host_fault.rs"]
pub(crate) mod host_fault;
pub(crate) mod host_pages;
#[cfg(unix)]
mod terminated;

struct Running {
    sanitizer: Sanitizer,
    file: Option<PathBuf>,
    reports: bool,
    /// Whether the file tells of a launch, and of how many findings.
    kept: Mutex<(bool, usize)>,
    /// Kernels that have ended since the program has; `None` before.
    late: Mutex<Option<Vec<String>>>,
}

impl Running {
    fn new(checks: Checks, file: Option<PathBuf>, reports: bool) -> Self {
        let (kept, late) = Default::default();
        Self { sanitizer: Sanitizer::new(checks), file, reports, kept, late }
    }
}

static RUNNING: OnceLock<Option<Running>> = OnceLock::new();

/// The checks requested by the environment; `None` if the variable is not set.
fn asked() -> Result<Option<(Checks, Option<PathBuf>)>, UnknownCheck> {
    match setting("WARPSMITH_CHECK") {
        value if value.is_empty() => Ok(None),
        value => sanitizer::from_env(&value).map(Some),
    }
}

/// Starts the requested checks when the device is chosen, so that a mistyped word can be reported.
pub(crate) fn start() -> Result<(), UnknownCheck> {
    let asked = asked()?;
    RUNNING.get_or_init(|| {
        let (checks, file) = asked?;
        let file = file.map(|file| of_this_process(&file.to_string_lossy()));
        #[cfg(all(unix, not(target_os = "linux")))]
        // SAFETY: the handler is a plain function that lives as long as the process.
        unsafe {
            libc::atexit(at_exit)
        };
        #[cfg(unix)]
        terminated::report_first();
        Some(Running::new(checks, file, true))
    });
    Ok(())
}

/// Starts the sanitizer for [`crate::checked`], which reports by itself, unless the device was chosen before.
pub(crate) fn start_in_tests(checks: Checks) {
    RUNNING.get_or_init(|| Some(Running::new(checks, None, false)));
}

pub(crate) fn sanitizer() -> Option<&'static Sanitizer> {
    RUNNING.get()?.as_ref().map(|running| &running.sanitizer)
}

/// Tells the sanitizer, if there is one, what the host did.
pub(crate) fn tell(what: impl FnOnce(&Sanitizer)) {
    if let Some(sanitizer) = sanitizer() {
        what(sanitizer);
    }
}

/// Writes the file if there is something new. A call of the driver's has ended: what was waited for has been checked.
pub(crate) fn keep() {
    if let Some(Some(running)) = RUNNING.get()
        && let Some(file) = &running.file
        && !fork::is_child()
    {
        running.keep(file);
    }
}

/// A checked launch has ended: its findings are kept, whatever becomes of the process.
pub(crate) fn launch_has_ended(kernel: &str) {
    if let Some(Some(running)) = RUNNING.get()
        && let Some(late) = &mut *running.late.lock().unwrap_or_else(PoisonError::into_inner)
        && !late.iter().any(|known| known == kernel)
    {
        late.push(kernel.to_owned());
    }
    keep();
}

/// Whether a file can be written time and again: not a pipe, a terminal, or the standard output of the program.
fn is_rewritable(file: &Path) -> bool {
    file.symlink_metadata().map_or(true, |found| found.is_file())
}

/// Runs after everything registered with `atexit`: by then, static C++ objects have freed their buffers.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

#[cfg(unix)]
extern "C" fn at_exit() {
    let Some(Some(running)) = RUNNING.get() else { return };
    if !running.reports || fork::is_child() {
        return;
    }
    // A panic must not cross into C.
    let failed = std::panic::catch_unwind(|| {
        running.settle();
        running.report()
    })
    .unwrap_or(true);
    if failed {
        // SAFETY: flushing all streams has no preconditions; ending here is the last thing the process does.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(1);
        }
    }
}

impl Running {
    /// Waits for what is in flight, and tells of it.
    fn settle(&self) {
        let late = || self.late.lock().unwrap_or_else(PoisonError::into_inner);
        *late() = Some(Vec::new());
        queue::settle();
        let ended = host_pages::not_awaited();
        for kernel in late().take().unwrap_or_default().into_iter().chain(ended) {
            self.sanitizer.not_awaited(&kernel);
        }
    }

    /// Reports the findings, and returns whether one of them is an error.
    fn report(&self) -> bool {
        self.sanitizer.program_ends();
        let findings = self.findings();
        match &self.file {
            Some(file) => {
                let _no_other = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                let text = render(&findings, format_of(file));
                if let Err(error) = std::fs::write(file, &text) {
                    eprintln!("warpsmith: WARPSMITH_CHECK: cannot write {}: {error}\n{text}", file.display());
                }
            }
            None => {
                let (launches, tools) = (self.sanitizer.launches(), self.sanitizer.checks());
                let several = if launches == 1 { "" } else { "es" };
                let found = render(&findings, Format::Text);
                // If nothing was found, one line says so, and what was checked: a program may launch nothing at all.
                let by = if findings.is_empty() { "warpsmith: " } else { "" };
                eprintln!("{by}{}; {launches} launch{several} checked ({tools})", found.trim_end());
            }
        }
        findings.iter().any(|finding| finding.severity() == Severity::Error)
    }

    fn findings(&self) -> Vec<Finding> {
        host_pages::tell();
        let mut findings = self.sanitizer.findings();
        let seed = Options::from_env().seed;
        findings.iter_mut().for_each(|finding| finding.seed = seed);
        findings
    }

    fn keep(&self, file: &Path) {
        let now = (self.sanitizer.launches() > 0, self.sanitizer.found());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept != now && is_rewritable(file) {
            *kept = now;
            // Where it cannot be written, the end of the process says so.
            let _ = std::fs::write(file, render(&self.findings(), format_of(file)));
        }
    }
}

fn format_of(file: &Path) -> Format {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Format::Json,
        Some("sanitizer") => Format::ComputeSanitizer,
        Some("sarif") => Format::Sarif,
        _ => Format::Text,
    }
}
