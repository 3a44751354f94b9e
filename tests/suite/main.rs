//! One suite for both devices: every case runs on the virtual GPU, and on the real one where there is one.
//!
//! A process has one device, so cases for the GPU run in processes of their own, started from here ([`on_gpu`]). Without a
//! GPU they are reported as ignored, with the reason. `WARPSMITH_REQUIRE=gpu` makes that a failure.

mod answers;
mod blocks;
mod blockwise;
mod counters;
mod demos;
mod examples;
mod goldens;
mod histograms;
mod hopper_blocks;
mod images;
#[cfg(feature = "ladder")]
mod ladder;
mod launches;
mod matmul;
mod mistakes;
mod on_gpu;
mod primitives;
mod product;
mod random;
mod records;
mod rows;
mod scans;
mod sorts;
mod tensor;
mod tiles;
mod transpose;

use std::process::ExitCode;
use std::sync::OnceLock;

use host::terminal::Progress;
use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_launch::{Device, DevicePreference};

/// What a case does.
type Run = Box<dyn Fn(&Device) -> anyhow::Result<()> + Send + Sync>;

/// The compute capability that a case needs.
#[derive(Clone, Copy)]
pub enum Needs {
    /// Any that the suite's other cases run on.
    Any,
    /// This one or a later one.
    AtLeast((u32, u32)),
    /// This one: code of its own (`compute_90a`) runs on no other.
    Exactly((u32, u32)),
}

impl Needs {
    /// Why a device of such a capability is not for the case.
    fn missed_by(self, (major, minor): (u32, u32)) -> Option<String> {
        let (how, needed) = match self {
            Self::AtLeast(needed) if (major, minor) < needed => ("", needed),
            Self::Exactly(needed) if (major, minor) != needed => (" exactly", needed),
            _ => return None,
        };
        Some(format!(
            "it needs compute capability {}.{}{how}, the device has {major}.{minor}",
            needed.0, needed.1
        ))
    }
}

/// A case: what it is called, whether it makes sense on a real GPU, what it needs of a device, and what it does.
pub struct Case {
    name: String,
    on_gpu: bool,
    on_virtual: bool,
    needs: Needs,
    run: Run,
}

impl Case {
    /// A case for both devices.
    pub fn new(
        name: impl Into<String>,
        run: impl Fn(&Device) -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), on_gpu: true, on_virtual: true, needs: Needs::Any, run: Box::new(run) }
    }

    /// A case about what only the virtual GPU has, such as counters.
    pub fn virtual_only(
        name: impl Into<String>,
        run: impl Fn(&Device) -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { on_gpu: false, ..Self::new(name, run) }
    }

    /// A case that would take the virtual GPU long to tell what another case tells, too.
    pub fn gpu_only(
        name: impl Into<String>,
        run: impl Fn(&Device) -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { on_virtual: false, ..Self::new(name, run) }
    }

    /// The same case for devices of this capability; on others it is ignored, with that as the reason.
    pub fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }
}

fn cases() -> Vec<Case> {
    [
        matmul::cases(),
        product::cases(),
        transpose::cases(),
        records::cases(),
        primitives::cases(),
        scans::cases(),
        histograms::cases(),
        sorts::cases(),
        rows::cases(),
        demos::cases(),
        hopper_blocks::cases(),
        counters::cases(),
        launches::cases(),
        #[cfg(feature = "ladder")]
        ladder::cases(),
        random::cases(),
        mistakes::cases(),
        tensor::cases(),
        tiles::cases(),
        blocks::cases(),
        blockwise::cases(),
        answers::cases(),
        examples::cases(),
        goldens::cases(),
        images::cases(),
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
        .get_or_init(|| Device::open(DevicePreference::Virtual).map_err(|error| error.to_string()))
        .as_ref()
        .map_err(Failed::from)?;
    device.enter()?;
    Ok(device)
}

/// A case that is reported by name with the reason why it does not run.
fn ignored(name: String, reason: &str) -> Trial {
    Trial::test(name, || Ok(())).with_ignored_flag(true).with_kind(reason)
}

fn main() -> ExitCode {
    if on_gpu::is_worker() {
        return on_gpu::work(cases());
    }
    let arguments = Arguments::from_args();
    let gpu = on_gpu::capability();
    // Where it cannot be opened, each case says so.
    let virtual_capability = virtual_device().map(|device| device.limits().capability).ok();
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|what| what.split(',').any(|word| word == "gpu"));
    let mut trials = Vec::new();
    for case in cases() {
        if case.on_gpu {
            let name = case.name.clone();
            let trial = match (&gpu, required) {
                (Ok(capability), _) => match case.needs.missed_by(*capability) {
                    None => Trial::test(format!("gpu::{name}"), move || on_gpu::run(&name)),
                    Some(reason) => ignored(format!("gpu::{name}"), &reason),
                },
                (Err(reason), true) => {
                    let reason = format!("WARPSMITH_REQUIRE asks for a GPU: {reason}");
                    Trial::test(format!("gpu::{name}"), move || Err(reason.into()))
                }
                (Err(reason), false) => ignored(format!("gpu::{name}"), reason),
            };
            trials.push(trial);
        }
        if case.on_virtual {
            let (name, run) = (format!("virtual::{}", case.name), case.run);
            trials.push(match virtual_capability.and_then(|capability| case.needs.missed_by(capability)) {
                None => Trial::test(name, move || Ok(run(virtual_device()?)?)),
                Some(reason) => ignored(name, &reason),
            });
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
