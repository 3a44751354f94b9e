//! Standard input for a program that runs several times: each run reads the same bytes from the beginning.
//!
//! The input is read as it comes, not whole before the first run: a pipe may stay open for ever. A terminal is left alone, since a
//! program that runs in the background must not read from it.

use std::io::{IsTerminal, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The input as far as it has been read.
#[derive(Default)]
struct Recorded {
    bytes: Vec<u8>,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    recorded: Mutex<Recorded>,
    more: Condvar,
}

impl Shared {
    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The standard input of this process, for each run of a program; by default, for its one run.
#[derive(Default)]
pub struct Input(Option<Arc<Shared>>);

impl Input {
    /// Begins to read standard input, unless it is a terminal.
    pub fn of_this_process() -> Self {
        if std::io::stdin().is_terminal() { Self(None) } else { Self::of(std::io::stdin()) }
    }

    fn of(mut source: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let reader = shared.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 1 << 16];
            loop {
                let read = match source.read(&mut piece) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    read => read.unwrap_or(0),
                };
                let mut recorded = reader.recorded();
                recorded.bytes.extend(&piece[..read]);
                recorded.ended = read == 0;
                reader.more.notify_all();
                if recorded.ended {
                    return;
                }
            }
        });
        Self(Some(shared))
    }

    /// Prepares the standard input of a run. A terminal is the first one's.
    pub fn give<'a>(&self, command: &'a mut Command, run: usize) -> &'a mut Command {
        match (&self.0, run) {
            (Some(_), _) => command.stdin(Stdio::piped()),
            (None, 0) => command,
            (None, _) => command.stdin(Stdio::null()),
        }
    }

    /// Writes the input to a run from its beginning on, beside it. The thread ends with the input, or at its next piece after the
    /// program has.
    pub fn feed(&self, to: Option<ChildStdin>) {
        let (Some(shared), Some(mut to)) = (self.0.clone(), to) else { return };
        std::thread::spawn(move || {
            let mut written = 0;
            loop {
                let mut recorded = shared.recorded();
                while recorded.bytes.len() == written && !recorded.ended {
                    recorded = shared.more.wait(recorded).unwrap_or_else(PoisonError::into_inner);
                }
                let piece = recorded.bytes[written..].to_vec();
                drop(recorded);
                if piece.is_empty() || to.write_all(&piece).is_err() {
                    return;
                }
                written += piece.len();
            }
        });
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The input of a run of `cat`.
    fn cat(input: &Input) -> String {
        let mut command = Command::new("cat");
        let mut child = input.give(&mut command, 1).stdout(Stdio::piped()).spawn().unwrap();
        input.feed(child.stdin.take());
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    #[test]
    fn each_run_reads_the_same() {
        let long = "line\n".repeat(100_000);
        let input = Input::of(std::io::Cursor::new(long.clone()));
        for _ in 0..3 {
            assert!(cat(&input) == long);
        }
    }

    #[test]
    fn a_run_that_reads_nothing_waits_for_no_input() {
        let (source, _kept_open) = std::io::pipe().unwrap();
        let input = Input::of(source);
        let mut child = input.give(&mut Command::new("true"), 1).spawn().unwrap();
        input.feed(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}
