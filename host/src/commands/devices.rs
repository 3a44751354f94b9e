//! `warpsmith devices`: what there is to run on.

use std::fmt::Write;

use gpu_model::chips::{self, Chip};
use report::unit::{bytes, rate};
use serde::Serialize;

use anyhow::Context as _;
use cust::device::{Device, DeviceAttribute};
use warpsmith_launch::DevicePreference;

use crate::answer::{Context, Outcome, Output};
use crate::links::{self, Link};
use crate::terminal;

/// Arguments of `devices`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Devices {
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith devices
  WARPSMITH_MODEL=t4 warpsmith devices --device virtual
  WARPSMITH_DEVICES=4 warpsmith devices --device virtual
  warpsmith devices --json      {\"devices\": [Device], \"links\", \"real_driver\", \"execution\", \"models\": [Model]}";

#[derive(Serialize)]
struct Model {
    #[serde(flatten)]
    chip: &'static Chip,
    memory_bytes_per_second: f64,
    fp32_flops: f64,
}

/// The NVIDIA driver of this machine.
#[derive(Serialize)]
struct RealDriver {
    path: Option<String>,
    devices: Option<i32>,
    /// Why it gives no device.
    reason: Option<String>,
}

/// A device that kernels run on now, as the driver API describes it.
#[derive(Serialize)]
struct Taken {
    name: String,
    is_virtual: bool,
    capability: String,
    sms: i32,
    clock_khz: i32,
    memory_bytes: usize,
    threads_per_sm: i32,
    threads_per_block: i32,
    registers_per_sm: i32,
    shared_per_sm: i32,
    shared_per_block: i32,
    warp_lanes: i32,
    l2_bytes: i32,
}

#[derive(Serialize)]
struct Answer {
    devices: Vec<Taken>,
    links: Vec<Link>,
    real_driver: RealDriver,
    /// How the virtual GPU runs programs, and why.
    execution: String,
    models: Vec<Model>,
}

impl Devices {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let models = chips::ALL
            .into_iter()
            .map(|chip| Model {
                chip,
                memory_bytes_per_second: chip.memory_bandwidth(),
                fp32_flops: chip.fp32_flops(),
            })
            .collect();
        let devices = taken(context.device)?;
        let links = links::all(devices.iter().any(|device| device.is_virtual))
            .context("the driver does not tell how the devices are linked")?;
        let execution = warpsmith_cuda::Execution::of_environment()?.to_string();
        let answer = Answer { devices, links, real_driver: real_driver(), execution, models };
        self.output.print(&answer, text)?;
        Ok(Outcome::Well)
    }
}

fn real_driver() -> RealDriver {
    match warpsmith_cuda::RealDriver::get() {
        Err(missing) => RealDriver { path: None, devices: None, reason: Some(missing.to_string()) },
        Ok(driver) => {
            let path = Some(driver.path().display().to_string());
            match driver.devices() {
                Ok(devices) => RealDriver { path, devices: Some(devices), reason: None },
                Err((call, code)) => {
                    let reason = format!("{call} answers {code}");
                    RealDriver { path, devices: None, reason: Some(reason) }
                }
            }
        }
    }
}

fn taken(preference: DevicePreference) -> anyhow::Result<Vec<Taken>> {
    let is_virtual = warpsmith_cuda::choose(Some(preference), None)?.is_virtual();
    cust::init(cust::CudaFlags::empty()).context("the driver does not start")?;
    let describe = |device: Device| -> anyhow::Result<Taken> {
        let attribute = |attribute| device.get_attribute(attribute);
        Ok(Taken {
            name: device.name()?,
            is_virtual,
            capability: format!(
                "{}.{}",
                attribute(DeviceAttribute::ComputeCapabilityMajor)?,
                attribute(DeviceAttribute::ComputeCapabilityMinor)?
            ),
            sms: attribute(DeviceAttribute::MultiprocessorCount)?,
            clock_khz: attribute(DeviceAttribute::ClockRate)?,
            memory_bytes: device.total_memory()?,
            threads_per_sm: attribute(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
            threads_per_block: attribute(DeviceAttribute::MaxThreadsPerBlock)?,
            registers_per_sm: attribute(DeviceAttribute::MaxRegistersPerMultiprocessor)?,
            shared_per_sm: attribute(DeviceAttribute::MaxSharedMemoryPerMultiprocessor)?,
            shared_per_block: attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?,
            warp_lanes: attribute(DeviceAttribute::WarpSize)?,
            l2_bytes: attribute(DeviceAttribute::L2CacheSize)?,
        })
    };
    Device::devices()?.map(|device| describe(device?)).collect()
}

/// A line for each kind of link, with the pairs that it is between.
fn linked(links: &[Link]) -> String {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for link in links {
        let (words, pair) = (link.words(), format!("{}-{}", link.between.0, link.between.1));
        match kinds.iter_mut().find(|(other, _)| *other == words) {
            Some((_, pairs)) => pairs.push(pair),
            None => kinds.push((words, vec![pair])),
        }
    }
    let line = |(words, pairs): (String, Vec<String>)| {
        let between = match pairs.len() {
            all if all == links.len() && all > 1 => "every two devices".to_owned(),
            _ => format!("devices {}", pairs.join(", ")),
        };
        terminal::wrapped(&format!("Between {between}: "), &words)
    };
    kinds.into_iter().map(line).collect()
}

fn text(answer: &Answer) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", terminal::heading("Kernels run on"));
    for device in &answer.devices {
        let what = format!(
            "capability {}, {} SMs, {:.1} GiB, {} of shared memory an SM, {} of L2",
            device.capability,
            device.sms,
            device.memory_bytes as f64 / (1u64 << 30) as f64,
            bytes(u64::try_from(device.shared_per_sm).unwrap_or(0)),
            bytes(u64::try_from(device.l2_bytes).unwrap_or(0)),
        );
        out.push_str(&terminal::wrapped(&format!("{}: ", device.name), &what));
    }
    out.push_str(&linked(&answer.links));
    let real = &answer.real_driver;
    let path = real.path.as_deref().unwrap_or_default();
    out.push_str(&match (&real.reason, real.devices) {
        (Some(reason), _) => terminal::wrapped("No real GPU: ", reason),
        (None, devices) => {
            let devices = u64::try_from(devices.unwrap_or(0)).unwrap_or(0);
            terminal::wrapped(
                &format!("NVIDIA driver {path}: "),
                &report::text::counted(devices, "GPU", "GPUs"),
            )
        }
    });
    out.push('\n');
    let execution = format!("{} (WARPSMITH_EXECUTION)", answer.execution);
    out.push_str(&terminal::wrapped("Programs on the virtual GPU are ", &execution));
    out.push_str(&terminal::wrapped("", "It stands for one of these (WARPSMITH_MODEL):"));
    let rows: Vec<Vec<String>> = answer
        .models
        .iter()
        .map(|model| {
            let chip = model.chip;
            vec![
                chip.key.to_owned(),
                chip.capability().to_string(),
                chip.sms.to_string(),
                chip.sm.threads.to_string(),
                bytes(chip.sm.shared_per_block_optin.into()),
                format!("{:.1} GiB", chip.memory_bytes as f64 / (1u64 << 30) as f64),
                rate(model.memory_bytes_per_second, "B/s"),
                rate(model.fp32_flops, "FLOP/s"),
            ]
        })
        .collect();
    let header = ["model", "capability", "SMs", "threads/SM", "shared/block", "memory", "bandwidth", "f32"];
    let _ = writeln!(out, "{}", terminal::table(&header, &rows));
    out
}
