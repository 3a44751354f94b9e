//! Programs of several devices, virtual and real: on 1 to 4 virtual ones, and on real ones where there are several.
//!
//! A process has its devices for life, so each case runs in a process of its own, started from here. Without two GPUs the cases
//! for real ones are ignored, with the reason; `WARPSMITH_REQUIRE=gpus` makes that a failure.

mod checked;
mod copies;
#[path = "../driver/mod.rs"]
mod driver;
mod machine;
mod peers;
mod profiled;
mod queries;
mod shared;
mod streams;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_cuda::RealDriver;

use checked::Checked;
use machine::Machine;

/// The variable that makes this program run one case.
const CASE: &str = "WARPSMITH_DEVICES_CASE";
const COUNTS: [usize; 4] = [1, 2, 3, 4];

/// What is tested with any number of devices.
pub struct Case {
    name: &'static str,
    run: fn(&Machine),
    /// Whether it makes sense on real GPUs.
    on_gpus: bool,
    /// Which virtual devices it is about, where it is not about any number of them.
    models: Option<&'static str>,
}

impl Case {
    pub const fn new(name: &'static str, run: fn(&Machine)) -> Self {
        Self { name, run, on_gpus: true, models: None }
    }

    /// A case about what only virtual devices have, or tell.
    pub const fn virtual_only(name: &'static str, run: fn(&Machine)) -> Self {
        Self { on_gpus: false, ..Self::new(name, run) }
    }

    /// The same on these devices alone.
    pub const fn of_models(self, models: &'static str) -> Self {
        Self { models: Some(models), ..self }
    }
}

fn cases() -> impl Iterator<Item = &'static Case> {
    let all = [queries::CASES, copies::CASES, peers::CASES, streams::CASES, shared::CASES, profiled::CASES];
    all.into_iter().flatten()
}

fn main() -> ExitCode {
    if let Ok(wanted) = std::env::var(CASE) {
        let checked = checked::CASES.iter().find(|case| case.name == wanted).map(|case| case.run);
        let run = cases().find(|case| case.name == wanted).map(|case| case.run);
        (run.or(checked).expect("the name is one of ours"))(&Machine::new());
        return ExitCode::SUCCESS;
    }
    let gpus = gpus();
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|list| list.split(',').any(|name| name == "gpus"));
    let mut trials = Vec::new();
    for case in cases() {
        let name = case.name;
        if let Some(models) = case.models {
            let own =
                [("WARPSMITH_DEVICE", "virtual"), ("WARPSMITH_DEVICES", ""), ("WARPSMITH_MODEL", models)];
            trials.push(Trial::test(format!("virtual::{name}"), move || alone(name, &own)));
        }
        for count in COUNTS.into_iter().filter(|_| case.models.is_none()) {
            trials.push(Trial::test(format!("virtual_{count}::{name}"), move || {
                let (device, model) = (("WARPSMITH_DEVICE", "virtual"), ("WARPSMITH_MODEL", "h200"));
                alone(name, &[device, model, ("WARPSMITH_DEVICES", &count.to_string())])
            }));
        }
        if case.on_gpus {
            let name_of_trial = format!("gpus::{name}");
            trials.push(match &gpus {
                Ok(()) => Trial::test(name_of_trial, move || alone(name, &[("WARPSMITH_DEVICE", "gpu")])),
                Err(reason) if required => {
                    let reason = format!("WARPSMITH_REQUIRE asks for several GPUs: {reason}");
                    Trial::test(name_of_trial, move || Err(reason.into()))
                }
                Err(reason) => {
                    Trial::test(format!("{name_of_trial}: {reason}"), || Ok(())).with_ignored_flag(true)
                }
            });
        }
    }
    for case in checked::CASES {
        for count in COUNTS.into_iter().filter(|&count| count > 1) {
            let name = format!("checked_{count}::{}", case.name);
            trials.push(Trial::test(name, move || checked(case, count)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Has a case checked, and compares what is said.
fn checked(case: &Checked, count: usize) -> Result<(), Failed> {
    let ended = Command::new(std::env::current_exe()?)
        .env(CASE, case.name)
        .env("WARPSMITH_DEVICE", "virtual")
        .env("WARPSMITH_DEVICES", count.to_string())
        .env("WARPSMITH_CHECK", "memory,race,init,barrier")
        .output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    let found_as_told = case.says.iter().all(|words| said.contains(words));
    if found_as_told && ended.status.success() == case.says.is_empty() {
        return Ok(());
    }
    Err(format!("{}, and of {:?} it says:\n{said}", ended.status, case.says).into())
}

/// Whether there are several GPUs; why not.
fn gpus() -> Result<(), String> {
    let devices = RealDriver::get().map_err(|missing| missing.to_string())?.devices();
    match devices {
        Ok(devices) if devices > 1 => Ok(()),
        Ok(devices) => Err(format!("it takes two GPUs, and there are {devices}")),
        Err((call, code)) => Err(format!("{call} answers {code}")),
    }
}

/// Runs a case in a process of its own.
fn alone(name: &str, environment: &[(&str, &str)]) -> Result<(), Failed> {
    let program = std::env::current_exe()?;
    let ended = Command::new(program).env(CASE, name).envs(environment.iter().copied()).output()?;
    if ended.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}\n{}{}", ended.status, text(&ended.stdout), text(&ended.stderr)).into())
}
