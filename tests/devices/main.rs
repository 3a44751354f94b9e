//! Several devices of one or several processes: the same cases on 1 to 4 virtual ones, and on real ones where there are
//! several.
//!
//! How many devices there are is a process's own: so each count's cases run in processes that this one starts. Without several
//! GPUs those on real ones are reported as ignored, with the reason. `WARPSMITH_REQUIRE=gpus` makes that a failure.

mod calls;
mod faults;
mod job;
mod spread;

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_collectives::{Communicator, Job};
use warpsmith_launch::{Device, DevicePreference};

/// How long ranks wait for each other where none is to be missed: long enough for a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// The variable that makes this program one of those that run cases, and says on what.
const WORKER: &str = "WARPSMITH_DEVICES_WORKER";
/// What a case's answer begins with.
const ANSWER: &str = "warpsmith devices: ";

/// A case: all ranks of a process, or its only one.
pub type Case = (&'static str, fn(&[Communicator<'_>]) -> anyhow::Result<()>);

fn cases() -> Vec<Case> {
    [calls::CASES, spread::CASES].concat()
}

/// What devices are: virtual or real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Virtual,
    Gpus,
}

impl On {
    const ALL: [Self; 2] = [Self::Virtual, Self::Gpus];

    fn word(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Gpus => "gpu",
        }
    }

    /// This program, to run cases on so many devices.
    pub fn worker(self, devices: usize, what: &str) -> std::io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(WORKER, format!("{} {devices} {what}", self.word()));
        command.env("WARPSMITH_DEVICE", self.word()).env("NCCL_NVLS_ENABLE", "0");
        for variable in
            ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "WARPSMITH_PROFILE"]
        {
            command.env_remove(variable);
        }
        if self == Self::Virtual {
            command.env("WARPSMITH_DEVICES", devices.to_string());
        }
        Ok(command)
    }
}

/// What became of each case of a process.
type Answers = BTreeMap<String, Result<(), String>>;

/// All cases on so many devices of one process.
fn in_one_process(on: On, devices: usize) -> Result<Answers, String> {
    let output = on.worker(devices, "cases").and_then(|mut worker| worker.output());
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let answers: Answers = said
        .lines()
        .filter_map(|line| line.strip_prefix(ANSWER)?.split_once(": "))
        .map(|(name, answer)| {
            (name.to_owned(), if answer == "ok" { Ok(()) } else { Err(answer.replace("\\n", "\n")) })
        })
        .collect();
    if answers.is_empty() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(answers)
}

/// Runs the cases of this process and answers.
fn work(ranks: &[Communicator<'_>]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (name, case) in cases() {
        let outcome = case(ranks);
        if let Err(error) = &outcome {
            println!("{ANSWER}{name}: {}", format!("{error:#}").replace('\n', "\\n"));
            code = ExitCode::FAILURE;
        } else {
            println!("{ANSWER}{name}: ok");
        }
    }
    code
}

/// What this program does as one of those that run cases.
fn worker(task: &str) -> anyhow::Result<ExitCode> {
    let mut words = task.split(' ');
    let (Some(on), Some(devices), Some(what)) = (words.next(), words.next(), words.next()) else {
        anyhow::bail!("`{task}` is no task");
    };
    let wish = if on == "gpu" { DevicePreference::Gpu } else { DevicePreference::Virtual };
    let wanted: usize = devices.parse()?;
    if let Some(job) = Job::from_environment()? {
        let device = Device::open_at(wish, if on == "gpu" { job.local_rank as u32 } else { 0 })?;
        return job::work(what, &device, &job);
    }
    let has = Device::count(wish)? as usize;
    anyhow::ensure!(has >= wanted, "{wanted} devices are asked for, and there are {has}");
    let devices =
        (0..wanted as u32).map(|index| Device::open_at(wish, index)).collect::<Result<Vec<_>, _>>()?;
    let ranks = Communicator::all(&devices, PATIENCE)?;
    Ok(work(&ranks))
}

/// How many real devices there are, asked in a process of its own.
fn gpus() -> Result<usize, String> {
    let count = On::Gpus.worker(1, "count").and_then(|mut worker| worker.output());
    let count = count.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&count.stdout);
    match said.lines().find_map(|line| line.strip_prefix(ANSWER)?.parse::<usize>().ok()) {
        Some(count) if count >= 2 => Ok(count),
        Some(count) => Err(format!("it needs several GPUs, and there is {count}")),
        None => {
            let why = String::from_utf8_lossy(&count.stderr);
            Err(format!("it needs several GPUs: {}", why.lines().last().unwrap_or("none is here").trim()))
        }
    }
}

/// What a test does.
type Run = Arc<dyn Fn(On, usize) -> Result<(), Failed> + Send + Sync>;

fn main() -> ExitCode {
    if let Ok(task) = std::env::var(WORKER) {
        if task.ends_with(" count") {
            return match Device::count(DevicePreference::Gpu) {
                Ok(count) => {
                    println!("{ANSWER}{count}");
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            };
        }
        return worker(&task).unwrap_or_else(|error| {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        });
    }
    let arguments = Arguments::from_args();
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|what| what.split(',').any(|word| word == "gpus"));
    let gpus = gpus();
    let mut trials = Vec::new();
    for on in On::ALL {
        let counts: Vec<usize> = match (on, &gpus) {
            (On::Virtual, _) => vec![1, 2, 3, 4],
            (On::Gpus, Ok(count)) => {
                (1..=*count).filter(|count| count.is_power_of_two() || *count == 3).collect()
            }
            (On::Gpus, Err(_)) => vec![2],
        };
        for count in counts {
            for (name, run) in tests() {
                let name = format!("{}::{count}::{name}", on.word());
                trials.push(match (on, &gpus) {
                    (On::Gpus, Err(reason)) if required => {
                        let reason = format!("WARPSMITH_REQUIRE asks for GPUs: {reason}");
                        Trial::test(name, move || Err(reason.into()))
                    }
                    (On::Gpus, Err(reason)) => {
                        Trial::test(name, || Ok(())).with_ignored_flag(true).with_kind(reason.as_str())
                    }
                    _ => Trial::test(name, move || run(on, count)),
                });
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What is tested on each count of devices.
fn tests() -> Vec<(String, Run)> {
    type Counts = OnceLock<std::sync::Mutex<BTreeMap<(bool, usize), Arc<OnceLock<Result<Answers, String>>>>>>;
    static ANSWERS: Counts = OnceLock::new();
    let mut tests: Vec<(String, Run)> = Vec::new();
    for (name, _) in cases() {
        // The first that asks for a count starts its process; the others wait for that.
        let run: Run = Arc::new(move |on, count| {
            let answers = {
                let all = ANSWERS.get_or_init(Default::default);
                let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                all.entry((on == On::Virtual, count)).or_default().clone()
            };
            match answers.get_or_init(|| in_one_process(on, count)) {
                Err(error) => Err(error.into()),
                Ok(answers) => match answers.get(name) {
                    Some(Ok(())) => Ok(()),
                    Some(Err(error)) => Err(error.into()),
                    None => Err("the process ended before it".into()),
                },
            }
        });
        tests.push((name.to_owned(), run));
    }
    for (name, test) in faults::TESTS {
        tests.push((format!("processes_{name}"), Arc::new(|on, count| Ok(test(on, count)?))));
    }
    tests
}
