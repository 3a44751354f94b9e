//! One suite for both devices: every case runs on the virtual GPU, and on the real one where there is one.
//!
//! A process has one device, so cases for the GPU run in a process of their own each, started from here. Without a GPU
//! they are reported as ignored, with the reason. `WARPSMITH_REQUIRE=gpu` makes that a failure.

mod blocks;
mod counters;
mod demos;
mod hopper_blocks;
#[cfg(feature = "ladder")]
mod ladder;
mod launches;
mod matmul;
mod mistakes;
mod product;
mod random;
mod records;
mod tensor;
mod transpose;

use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use host::cli::DeviceWish;
use host::device::Device;
use host::terminal::Progress;
use libtest_mimic::{Arguments, Failed, Trial};

/// What a case does.
type Run = Box<dyn Fn(&Device) -> anyhow::Result<()> + Send + Sync>;

/// A case: what it is called, whether it makes sense on a real GPU, and what it does.
pub struct Case {
    name: String,
    on_gpu: bool,
    run: Run,
}

impl Case {
    /// A case for both devices.
    pub fn new(
        name: impl Into<String>,
        run: impl Fn(&Device) -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), on_gpu: true, run: Box::new(run) }
    }

    /// A case about what only the virtual GPU has, such as counters.
    pub fn virtual_only(
        name: impl Into<String>,
        run: impl Fn(&Device) -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { on_gpu: false, ..Self::new(name, run) }
    }
}

/// The variable by which this program starts itself for one case on the GPU.
const ONE_CASE: &str = "WARPSMITH_SUITE_CASE";

fn cases() -> Vec<Case> {
    [
        matmul::cases(),
        product::cases(),
        transpose::cases(),
        records::cases(),
        demos::cases(),
        hopper_blocks::cases(),
        counters::cases(),
        launches::cases(),
        #[cfg(feature = "ladder")]
        ladder::cases(),
        random::cases(),
        mistakes::cases(),
        tensor::cases(),
        blocks::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A progress line that nobody sees.
pub fn quiet() -> Progress {
    Progress::new("", false)
}

/// The virtual device, shared by all cases: its context is current in the thread that asks.
fn virtual_device() -> Result<&'static Device, Failed> {
    static DEVICE: OnceLock<Result<Device, String>> = OnceLock::new();
    let device = DEVICE
        .get_or_init(|| Device::open(DeviceWish::Virtual).map_err(|error| error.to_string()))
        .as_ref()
        .map_err(Failed::from)?;
    device.enter()?;
    Ok(device)
}

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(ONE_CASE) {
        return one_on_the_gpu(&name);
    }
    let arguments = Arguments::from_args();
    let no_gpu = why_no_gpu();
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|what| what.split(',').any(|word| word == "gpu"));
    let mut trials = Vec::new();
    for case in cases() {
        if case.on_gpu {
            let name = case.name.clone();
            let trial = match (&no_gpu, required) {
                (None, _) => Trial::test(format!("gpu::{name}"), move || in_a_process(&name)),
                (Some(reason), true) => {
                    let reason = format!("WARPSMITH_REQUIRE asks for a GPU: {reason}");
                    Trial::test(format!("gpu::{name}"), move || Err(reason.into()))
                }
                (Some(reason), false) => {
                    Trial::test(format!("gpu::{name}"), || Ok(())).with_ignored_flag(true).with_kind(reason)
                }
            };
            trials.push(trial);
        }
        let run = case.run;
        trials.push(Trial::test(format!("virtual::{}", case.name), move || Ok(run(virtual_device()?)?)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Why cases cannot run on a GPU; `None` if they can.
fn why_no_gpu() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).env(ONE_CASE, "").env("WARPSMITH_DEVICE", "gpu").output().ok()?;
    if output.status.success() {
        return None;
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Some(reason.lines().next().unwrap_or("no GPU").trim().to_owned())
}

fn in_a_process(name: &str) -> Result<(), Failed> {
    let program = std::env::current_exe()?;
    let output = Command::new(program).env(ONE_CASE, name).env("WARPSMITH_DEVICE", "gpu").output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// Runs the case of that name on the GPU; with no name, only opens it.
fn one_on_the_gpu(name: &str) -> ExitCode {
    let run = || -> anyhow::Result<()> {
        let device = Device::open(DeviceWish::Gpu)?;
        match cases().into_iter().find(|case| case.name == name) {
            Some(case) => (case.run)(&device),
            None => Ok(()),
        }
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
