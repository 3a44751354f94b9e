//! Runs the lowering in a process of its own where the system has `fork`.
//!
//! Some of LLVM's errors abort the process, and its command-line options are global to it. In a child, the first is an
//! error of the build like any other, and the second ends with the child.

use crate::error::CudaBuilderError;
use crate::lower::Output;
#[cfg(unix)]
use crate::parcel;
#[cfg(unix)]
use crate::pass;

/// Runs `lower` in a child; elsewhere than on unix, here.
#[cfg(not(unix))]
pub fn run(lower: impl FnOnce() -> Result<Output, String>) -> Result<Output, CudaBuilderError> {
    lower().map_err(CudaBuilderError::Lowering)
}

/// Runs `lower` in a child and brings its result back through a pipe.
#[cfg(unix)]
pub fn run(lower: impl FnOnce() -> Result<Output, String>) -> Result<Output, CudaBuilderError> {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    let failed = |cause| CudaBuilderError::CannotRun { program: "the lowering".into(), cause };
    let (mut results, to_results) = std::io::pipe().map_err(failed)?;
    let (mut messages, to_messages) = std::io::pipe().map_err(failed)?;
    // SAFETY: the child touches nothing that another thread may hold but the allocator, which the C library keeps
    // usable across `fork`; it ends with `_exit`, so no destructor or exit handler of the parent runs twice.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    if child == 0 {
        let (mut to_results, results) = (to_results, results);
        drop((results, messages));
        // SAFETY: both are open descriptors of this process.
        unsafe { libc::dup2(to_messages.as_raw_fd(), libc::STDERR_FILENO) };
        drop(to_messages);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(lower));
        let code = match result {
            Ok(result) => {
                let sent = to_results.write_all(&encode(&result)).and_then(|()| to_results.flush());
                i32::from(sent.is_err())
            }
            Err(_) => 101,
        };
        // SAFETY: ends this process, the child.
        unsafe { libc::_exit(code) };
    }
    drop((to_results, to_messages));
    // Messages are read beside the results, or a child that says much would wait for ever.
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = messages.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut bytes = Vec::new();
    let read = results.read_to_end(&mut bytes);
    let stderr = reader.join().unwrap_or_default();
    let mut status = 0;
    // SAFETY: `child` is our child and has not been waited for.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    match decode(&bytes) {
        Some(result) if read.is_ok() && status == 0 => result.map_err(CudaBuilderError::Lowering),
        _ => {
            let how = if libc::WIFSIGNALED(status) {
                format!("signal {}", libc::WTERMSIG(status))
            } else {
                format!("exit code {}", libc::WEXITSTATUS(status))
            };
            Err(unselectable(&stderr)
                .unwrap_or(CudaBuilderError::Crashed { how, stderr: last_words(&stderr) }))
        }
    }
}

/// A lowering's messages, and of the passes that it named only the last.
#[cfg(unix)]
fn last_words(stderr: &str) -> String {
    let is_mark = |line: &&str| line.starts_with(pass::MARK);
    let said = stderr.lines().filter(|line| !is_mark(line)).chain(stderr.lines().rfind(is_mark));
    said.collect::<Vec<_>>().join("\n")
}

/// LLVM's words for an operation that the chosen architecture lacks, as an error of the user's code.
#[cfg(unix)]
fn unselectable(stderr: &str) -> Option<CudaBuilderError> {
    let (_, what) = stderr.split_once("Cannot select: ")?;
    let function =
        stderr.split_once("In function: ").map_or("?", |(_, name)| name.lines().next().unwrap_or(name));
    Some(CudaBuilderError::Lowering(format!(
        "the chosen architecture has no instruction for `{}`, in `{}`: compile for a newer one, or guard the code with \
         `#[cfg(target_feature = \"compute_XX\")]`",
        what.lines().next().unwrap_or(what).trim(),
        crate::bitcode::names::readable(function.trim())
    )))
}

/// The first part tells success from failure.
#[cfg(unix)]
fn encode(result: &Result<Output, String>) -> Vec<u8> {
    match result {
        Ok(output) => parcel::pack(&[b"ok", &output.encode()]),
        Err(message) => parcel::pack(&[b"error", message.as_bytes()]),
    }
}

#[cfg(unix)]
fn decode(bytes: &[u8]) -> Option<Result<Output, String>> {
    match parcel::unpack(bytes)?[..] {
        [b"ok", output] => Output::decode(output).map(Ok),
        [b"error", message] => Some(Err(String::from_utf8_lossy(message).into_owned())),
        _ => None,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn results_and_errors_come_back() {
        let output =
            run(|| Ok(Output { ptx: "p".into(), bitcode: vec![1; 200_000], ..Output::default() })).unwrap();
        assert_eq!((output.ptx.as_str(), output.bitcode.len()), ("p", 200_000));
        assert!(matches!(run(|| Err("why".into())), Err(CudaBuilderError::Lowering(text)) if text == "why"));
    }

    #[test]
    fn an_abort_is_an_error_with_its_last_words() {
        let error = run(|| {
            // As LLVM does: past the capture of the test harness.
            let said = b"in the pass `first`\nin the pass `second`\nLLVM ERROR: cannot select\n";
            std::io::Write::write_all(&mut std::io::stderr(), said).unwrap();
            std::process::abort()
        });
        let text = error.unwrap_err().to_string();
        assert!(text.contains("signal 6") && text.contains("cannot select"), "{text}");
        assert!(text.contains("in the pass `second`") && !text.contains("`first`"), "{text}");
    }
}
