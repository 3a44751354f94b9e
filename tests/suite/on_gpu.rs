//! Cases on the real GPU: in processes of this same program, each of which runs one case after the other.
//!
//! To open a GPU and to compile the kernels for it takes seconds, most cases take milliseconds. A process that has seen a
//! case fail, or whose device is lost, gets no further case.

use std::any::Any;
use std::io::{BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Failed;
use serde::{Deserialize, Serialize};
use warpsmith_launch::{Device, DevicePreference};

use crate::Case;

/// The variable that makes this program a worker.
const WORKER: &str = "WARPSMITH_SUITE_WORKER";
/// What an answer's line begins with; kernels may print others.
const ANSWER: &str = "warpsmith suite: ";

/// A process that runs cases.
struct Worker {
    process: Child,
    cases: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The GPU's compute capability.
    capability: (u32, u32),
}

/// Those that wait for a case.
static IDLE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

impl Worker {
    /// Starts a process and waits until it has opened the GPU, or tells why not.
    fn start() -> Result<Self, String> {
        let unreachable = |error: std::io::Error| format!("no process for the GPU: {error}");
        let program = std::env::current_exe().map_err(unreachable)?;
        let mut process = Command::new(program)
            .env(WORKER, "1")
            .env("WARPSMITH_DEVICE", "gpu")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(unreachable)?;
        let (Some(cases), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no way to talk to the process for the GPU".into());
        };
        let mut worker = Self { process, cases, answers: BufReader::new(answers), capability: (0, 0) };
        match worker.answer()? {
            Answer { error: None, capability: Some(capability), .. } => {
                worker.capability = capability;
                Ok(worker)
            }
            Answer { error, .. } => {
                worker.end();
                Err(error.unwrap_or_else(|| "the process for the GPU does not say which GPU it has".into()))
            }
        }
    }

    /// Has a case run; an error means that the process is lost.
    fn run(&mut self, name: &str) -> Result<Answer, String> {
        writeln!(self.cases, "{name}")
            .map_err(|error| format!("the process for the GPU is gone: {error}"))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Answer, String> {
        for line in self.answers.by_ref().lines().map_while(Result::ok) {
            let Some(answer) = line.strip_prefix(ANSWER) else { continue };
            return serde_json::from_str(answer)
                .map_err(|error| format!("the process for the GPU answers {answer}: {error}"));
        }
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        Err(format!("the process for the GPU ended without an answer: {status}"))
    }

    /// Lets the process end, now that no case comes any more.
    fn end(self) {
        let Self { mut process, cases, .. } = self;
        drop(cases);
        // It has nothing to say any more.
        let _ = process.wait();
    }
}

/// What a worker tells of a case.
#[derive(Serialize, Deserialize)]
struct Answer {
    /// Why the case failed, if it did.
    error: Option<String>,
    /// Whether it was this worker's last.
    last: bool,
    /// The GPU's compute capability, in the first answer.
    capability: Option<(u32, u32)>,
}

/// The GPU's compute capability, or why cases cannot run on one.
pub fn capability() -> Result<(u32, u32), String> {
    match Worker::start() {
        Ok(worker) => {
            let capability = worker.capability;
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
            Ok(capability)
        }
        Err(reason) => Err(reason.lines().next().unwrap_or("no GPU").trim().to_owned()),
    }
}

/// Runs the case of that name on the GPU.
pub fn run(name: &str) -> Result<(), Failed> {
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let mut worker = idle.map_or_else(Worker::start, Ok)?;
    let Answer { error, last, .. } = worker.run(name)?;
    match last {
        true => worker.end(),
        false => IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(worker),
    }
    error.map_or(Ok(()), |error| Err(error.into()))
}

/// Whether this process was started by another of the same program.
pub fn is_worker() -> bool {
    std::env::var_os(WORKER).is_some()
}

/// Opens the GPU, and runs the cases whose names come in, until no more do or one has failed.
pub fn work(all: Vec<Case>) -> ExitCode {
    let device = match Device::open(DevicePreference::Gpu) {
        Ok(device) => device,
        Err(error) => {
            answer(&Answer { error: Some(error.to_string()), last: true, capability: None });
            return ExitCode::FAILURE;
        }
    };
    answer(&Answer { error: None, last: false, capability: Some(device.limits().capability) });
    for name in std::io::stdin().lines().map_while(Result::ok) {
        let outcome = match all.iter().find(|case| case.name == name) {
            Some(case) => catch_unwind(AssertUnwindSafe(|| (case.run)(&device)))
                .unwrap_or_else(|panic| Err(anyhow::anyhow!("{}", said(panic.as_ref())))),
            None => Err(anyhow::anyhow!("there is no case `{name}`")),
        };
        // A fault takes the device from all cases after it, also one that the case meant to make.
        let last = outcome.is_err() || device.synchronize().is_err();
        let error = outcome.err().map(|error| format!("{error:#}"));
        answer(&Answer { error, last, capability: None });
        if last {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The text of a panic.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}

fn answer(answer: &Answer) {
    match serde_json::to_string(answer) {
        // What a kernel printed may have no end of line.
        Ok(answer) => println!("\n{ANSWER}{answer}"),
        Err(error) => eprintln!("{error}"),
    }
}
