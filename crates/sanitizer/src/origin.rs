//! Where the host's code asked for an allocation, or made a call: the first frame of the call that is neither the driver's nor a
//! library's on top of it.

use std::backtrace::Backtrace;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A place in the host's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSite {
    /// The function, when its name is known.
    pub function: Option<String>,
    /// The file, when the program has line tables.
    pub file: Option<String>,
    /// The line, from 1; 0 without a file.
    pub line: u32,
}

impl fmt::Display for HostSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, &self.function) {
            (Some(file), Some(function)) => write!(f, "{file}:{} (`{function}`)", self.line),
            (Some(file), None) => write!(f, "{file}:{}", self.line),
            (None, Some(function)) => write!(f, "`{function}`"),
            (None, None) => f.write_str("an unknown place"),
        }
    }
}

impl HostSite {
    /// A backtrace names files from the folder that the process is in, such as a package's; who reads the report is in another.
    fn with_whole_path(mut self) -> Self {
        if let Some(file) = &mut self.file
            && let Some(below) = file.strip_prefix("./")
            && let Ok(folder) = std::env::current_dir()
        {
            *file = folder.join(below).display().to_string();
        }
        self
    }
}

/// The calls that led to an allocation. Addresses only: names are looked up when a report wants them.
#[derive(Debug, Clone)]
pub(crate) struct Calls(Arc<Backtrace>);

impl Calls {
    /// Those that led here.
    pub fn here() -> Self {
        Calls(Arc::new(Backtrace::force_capture()))
    }

    /// The program's own place among them.
    pub fn site(&self) -> Option<HostSite> {
        own_place(&self.0.to_string()).map(HostSite::with_whole_path)
    }
}

/// One frame of the text of a backtrace.
struct Written<'a> {
    function: &'a str,
    place: Option<(&'a str, u32)>,
}

/// The frames of `   7: function` and `             at file:line:column`, of which the second line may be missing.
fn frames(text: &str) -> Vec<Written<'_>> {
    let mut frames: Vec<Written<'_>> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(place) = line.strip_prefix("at ") {
            let mut parts = place.rsplitn(3, ':');
            let (column, line, file) = (parts.next(), parts.next(), parts.next());
            // C compilers may leave out the column.
            let (file, line) = match (file, line, column) {
                (Some(file), Some(line), _) if line.parse::<u32>().is_ok() => (file, line),
                _ => place.rsplit_once(':').unwrap_or((place, "0")),
            };
            if let Some(frame) = frames.last_mut() {
                frame.place = line.parse().ok().map(|line| (file, line));
            }
        } else {
            let function = match line.split_once(": ") {
                Some((number, function)) if number.parse::<u32>().is_ok() => function,
                _ => line,
            };
            frames.push(Written { function, place: None });
        }
    }
    frames
}

/// Whether a frame belongs to the driver, to what wraps it, or to the language.
fn is_foreign(frame: &Written<'_>) -> bool {
    const CRATES: [&str; 11] = [
        "sanitizer",
        "warpsmith_cuda",
        "cust",
        "cust_core",
        "cust_raw",
        "cudarc",
        "std",
        "core",
        "alloc",
        "backtrace_rs",
        "rustc_demangle",
    ];
    let name = frame.function;
    // `<cust::memory::DeviceBuffer<T>>::zeroed`, `cust::memory::…`, and also `std::backtrace_rs::…`.
    let path = name.trim_start_matches(['<', '&', '[', '*']).trim_start_matches("dyn ");
    let first = path.split("::").next().unwrap_or_default();
    let crates = path.contains("::") && CRATES.contains(&first) || name.starts_with("__rust");
    let library = frame.place.is_some_and(|(file, _)| {
        ["/registry/src/", "/rustc/", "/library/std/", "/library/core/", "/sysdeps/", "/csu/"]
            .iter()
            .any(|part| file.contains(part))
    });
    // The C library has line tables where the program may have none.
    let nothing =
        matches!(name, "<unknown>" | "_start" | "start_thread" | "clone" | "clone3" | "__clone3" | "")
            || name.starts_with("__libc_start_");
    crates || library || is_entry_point(frame) || nothing
}

/// `cuMemAlloc_v2`, `cudaMalloc`, with or without a path.
fn is_entry_point(frame: &Written<'_>) -> bool {
    let name = frame.function.rsplit("::").next().unwrap_or_default();
    ["cuda", "cu"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    })
}

fn own_place(text: &str) -> Option<HostSite> {
    let frames = frames(text);
    // What the driver does inside often has no more than short names, of functions that were inlined.
    let outside = match frames.iter().position(|frame| frame.function.contains("on_closed_page")) {
        // The next is the signal's frame, and then comes the code that was stopped.
        Some(handler) => frames.len().min(handler + 2),
        None => frames.iter().rposition(is_entry_point).map_or(0, |entry| entry + 1),
    };
    let own = || frames[outside..].iter().filter(|frame| !is_foreign(frame));
    // Without line tables the nearest name is the best there is.
    let frame = own().find(|frame| frame.place.is_some()).or_else(|| own().next())?;
    let mut function = frame.function.to_owned();
    // Rust's older names end in a hash.
    if let Some(at) = function.rfind("::h").filter(|&at| function.len() - at == 19) {
        function.truncate(at);
    }
    let (file, line) = frame.place.map_or((None, 0), |(file, line)| (Some(file.to_owned()), line));
    Some(HostSite { function: Some(function), file, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "   0: sanitizer::origin::Calls::here
             at /w/crates/sanitizer/src/origin.rs:36:24
   1: {closure#1}
             at ./src/device/memory.rs:33:5
   2: cuMemAlloc_v2
   3: <cust::memory::device::DeviceBuffer<f32>>::uninitialized
             at /home/a/.cargo/registry/src/index/cust-0.3.2/src/memory/device.rs:80:9
   4: core::result::Result<T,E>::and_then
             at /rustc/abc/library/core/src/result.rs:1:1
   5: my_app::upload
             at ./src/main.rs:12:34
   6: my_app::main
             at ./src/main.rs:20:5
";

    #[test]
    fn the_programs_own_frame_is_told() {
        let site = own_place(TEXT).unwrap();
        assert_eq!(site.to_string(), "./src/main.rs:12 (`my_app::upload`)");
        let without_lines: String = TEXT
            .lines()
            .filter(|line| !line.trim().starts_with("at "))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(own_place(&without_lines).unwrap().to_string(), "`my_app::upload`");
        assert_eq!(own_place("   0: cuMemAlloc_v2\n   1: <unknown>\n"), None);
        let stripped = "   0: cuMemAlloc_v2\n   1: upload\n   2: main\n   3: __libc_start_call_main\n             at \
                        ./csu/../sysdeps/nptl/libc_start_call_main.h:58:16\n   4: __libc_start_main_impl\n             at \
                        ./csu/../csu/libc-start.c:360:3\n   5: _start\n";
        assert_eq!(own_place(stripped).unwrap().to_string(), "`upload`");
        let stopped = "   0: here\n             at ./src/origin.rs:52:26\n   1: on_closed_page\n   2: killpg\n   3: sum\n             at \
                       /w/sum.c:7:3\n   4: cuLaunchHostFunc\n";
        assert_eq!(own_place(stopped).unwrap().to_string(), "/w/sum.c:7 (`sum`)");
        let c = own_place("   0: cuMemAlloc_v2\n   1: main\n             at /src/app.c:9\n").unwrap();
        assert_eq!(c.to_string(), "/src/app.c:9 (`main`)");
    }

    #[test]
    fn frames_of_this_crate_are_foreign() {
        // Every frame of this test is the sanitizer's or the test harness's.
        let site = Calls::here().site();
        assert!(site.is_none_or(|site| !site.function.unwrap_or_default().starts_with("sanitizer::")));
    }
}
