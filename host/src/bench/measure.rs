//! A pair's measurement: our launches and a competitor's, on one device.

use std::cell::RefCell;

use cust::function::Function;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use serde::Serialize;
use warpsmith_launch::{Device, ErrorContext, extra};

use super::call::Call;
use super::clock;
use super::competitor::{Candidate, Competitor, Kind, Task};
use super::pairs::{Enqueue, Plan};
use super::statistics::{SpeedRatio, Spread};
use crate::error::Error;
use crate::modules::LEVELS;
use crate::terminal::Progress;
use crate::verify::Verdict;

/// Bytes handed to libraries, so that what they launch can be captured.
pub const WORKSPACE: usize = 32 << 20;

#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub suite: &'static str,
    /// Our kernel.
    pub kernel: String,
    /// The problem's size.
    pub size: String,
    /// `nvcc`, `cuBLAS`, `cuBLASLt` or `driver copy`.
    pub against: &'static str,
    /// Our times in milliseconds.
    pub ours_ms: Spread,
    /// The other's.
    pub other_ms: Spread,
    /// The other's median over ours: above 1 we are faster.
    pub speed_ratio: SpeedRatio,
    /// Our rate per second.
    pub rate: f64,
    /// `GB/s` or `GFLOP/s`.
    pub unit: &'static str,
    /// Our share of the chip's own limit, where that is known.
    pub share_of_limit: Option<f64>,
    /// Bytes that went from device to device, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicated: Option<u64>,
    /// Which share of the time that these take was hidden behind the arithmetic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<f64>,
    /// SM clock after the pair, in MHz.
    pub sm_mhz: Option<u32>,
    /// Whether our result is right.
    pub ok: bool,
    /// How it was checked.
    pub checked: String,
}

/// A suite's requirements.
pub struct Bench<'d> {
    pub device: &'d Device,
    /// How long to measure.
    pub plan: Plan,
    /// The kernels to measure; all if there are none.
    pub only: Vec<&'static str>,
    competitors: Vec<Box<dyn Competitor>>,
    workspace: DeviceBuffer<u8>,
    nvml: Option<clock::Nvml>,
    fp32_limit: Option<f64>,
    bandwidth_limit: Option<f64>,
    progress: Progress,
    /// Comparisons that a suite left out, and why.
    pub left_out: RefCell<Vec<String>>,
}

/// The work of one launch: a row's rate is this by its time.
#[derive(Clone, Copy)]
pub enum Throughput {
    /// Bytes moved.
    Bytes(f64),
    Operations(f64),
    /// On tensor cores, whose limit is another for each type, and the power limit comes first.
    TensorOperations(f64),
}

impl<'d> Bench<'d> {
    /// A bench without competitors.
    pub fn new(device: &'d Device, plan: Plan) -> Result<Self, Error> {
        let name = &device.limits().name;
        let chip = gpu_model::chips::ALL.iter().find(|chip| chip.name == name);
        let bus =
            cust::device::Device::get_device(0).ok().and_then(|device| clock::pci_bus_id(device.as_raw()));
        Ok(Self {
            device,
            plan,
            only: Vec::new(),
            competitors: Vec::new(),
            workspace: DeviceBuffer::zeroed(WORKSPACE).context("allocate the libraries' workspace")?,
            nvml: bus.and_then(|bus| clock::Nvml::open(&bus)),
            fp32_limit: chip.map(|chip| chip.fp32_flops() / 1e9),
            bandwidth_limit: chip.map(|chip| chip.memory_bandwidth() / 1e9),
            progress: Progress::new("bench", true),
            left_out: RefCell::default(),
        })
    }

    /// Lets a competitor take part, if it is installed.
    pub fn admit(&mut self, candidate: &Candidate) -> Result<(), Error> {
        let opened = (candidate.open)(self)?;
        self.competitors.extend(opened);
        Ok(())
    }

    /// Says what is done now.
    pub fn step(&self, what: &str) {
        self.progress.step(what);
    }

    /// The address and the size of what libraries may write to.
    pub fn workspace(&self) -> (u64, usize) {
        (self.workspace.as_device_ptr().as_raw(), WORKSPACE)
    }

    /// Notes what is not measured, and why.
    pub fn leave_out(&self, what: impl Into<String>) {
        self.left_out.borrow_mut().push(what.into());
    }

    /// The SM clock of this moment.
    pub fn sm_mhz(&self) -> Option<u32> {
        self.nvml.as_ref().and_then(clock::Nvml::read).map(|reading| reading.sm_mhz)
    }

    /// The version of the first library that has one.
    pub fn version(&self) -> Option<i32> {
        self.competitors.iter().find_map(|competitor| competitor.version())
    }

    /// Whether some competitor does such tasks.
    pub fn competes(&self, kind: Kind) -> bool {
        self.competitors.iter().any(|competitor| competitor.does() == kind)
    }

    /// Whether rows of this kernel are asked for.
    pub fn wants(&self, kernel: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| is_of(kernel, only))
    }

    /// Whether `bytes` fit into the device's memory, with a tenth to spare; if not, `what` is left out.
    pub fn has_room(&self, what: &str, bytes: usize) -> bool {
        let memory = self.device.limits().memory;
        let fits = bytes <= memory / 10 * 9;
        if !fits {
            let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
            self.leave_out(format!(
                "{what}: its buffers take {:.1} GiB, and the device has {:.1} in all",
                gib(bytes),
                gib(memory)
            ));
        }
        fits
    }

    /// Launches of our kernel.
    pub fn ours<'a>(&'a self, call: &'a Call) -> Result<Enqueue<'a>, Error> {
        self.launches_of(self.device.module(&LEVELS, call.kernel)?.function(call.kernel)?, call)
    }

    /// Launches of a kernel by a call that is made for its parameters.
    pub fn launches_of<'a>(&'a self, function: Function<'a>, call: &'a Call) -> Result<Enqueue<'a>, Error> {
        if call.shape.shared > self.device.limits().shared_per_block {
            extra::allow_dynamic_shared(&function, call.shape.shared)
                .context("allow dynamic shared memory")?;
        }
        // SAFETY: each suite makes its calls for buffers that are as long as the kernel asks for.
        Ok(Box::new(move |set| unsafe { call.launch(self.device.stream(), &function, set) }))
    }

    /// Runs our kernel once on the first buffer set, so that its result can be checked.
    pub fn once(&self, call: &Call) -> Result<(), Error> {
        self.ours(call)?(0).context(format!("launch `{}`", call.kernel))?;
        Ok(self.device.synchronize()?)
    }

    /// A row against each competitor that can do the task.
    pub fn against<'a>(
        &'a self,
        suite: &'static str,
        (kernel, size): (&str, &str),
        throughput: Throughput,
        task: &Task<'a>,
        ours: impl Fn() -> Result<Enqueue<'a>, Error>,
        verdict: &Verdict,
    ) -> Result<Vec<Comparison>, Error> {
        let mut rows = Vec::new();
        if !self.wants(kernel) {
            return Ok(rows);
        }
        for competitor in self.competitors.iter().filter(|competitor| competitor.does() == task.kind()) {
            if let Some(other) = competitor.launches(self, task)? {
                let plan = Plan { captured: competitor.is_captured(), ..self.plan };
                let names = (kernel, size, competitor.name());
                rows.push(self.compare(plan, suite, names, throughput, ours()?, other, verdict)?);
            }
        }
        Ok(rows)
    }

    /// A row for our kernel against another of ours.
    pub fn against_own(
        &self,
        suite: &'static str,
        names: (&str, &str, &'static str),
        throughput: Throughput,
        ours: Enqueue<'_>,
        other: Enqueue<'_>,
        verdict: &Verdict,
    ) -> Result<Comparison, Error> {
        self.compare(self.plan, suite, names, throughput, ours, other, verdict)
    }

    /// Measures a pair and makes its row.
    fn compare(
        &self,
        plan: Plan,
        suite: &'static str,
        (kernel, size, against): (&str, &str, &'static str),
        throughput: Throughput,
        ours: Enqueue<'_>,
        other: Enqueue<'_>,
        verdict: &Verdict,
    ) -> Result<Comparison, Error> {
        let warm_up_ms = match throughput {
            // The memory clock is fixed, and a kernel that waits for memory draws too little power for the SM
            // clock to fall.
            Throughput::Bytes(_) => plan.warm_up_ms.min(150.0),
            Throughput::Operations(_) => plan.warm_up_ms,
            // The clock settles under this load within a second or two; in a quick run the rows before have settled it.
            Throughput::TensorOperations(_) if plan.quick => 250.0,
            Throughput::TensorOperations(_) => plan.warm_up_ms.max(2000.0),
        };
        self.step(&format!("{kernel} {size} against {against}"));
        let times = Plan { warm_up_ms, ..plan }
            .pair(self.device.stream(), ours, other)
            .context(format!("time `{kernel}` against {against}"))?;
        let per_second = |work: f64| work / times.ours.median / 1e6;
        let (rate, unit, limit) = match throughput {
            Throughput::Bytes(bytes) => (per_second(bytes), "GB/s", self.bandwidth_limit),
            Throughput::Operations(operations) => (per_second(operations), "GFLOP/s", self.fp32_limit),
            Throughput::TensorOperations(operations) => (per_second(operations), "GFLOP/s", None),
        };
        Ok(Comparison {
            suite,
            kernel: kernel.to_owned(),
            size: size.to_owned(),
            against,
            ours_ms: times.ours,
            other_ms: times.other,
            speed_ratio: times.ratio,
            rate,
            unit,
            share_of_limit: limit.map(|limit| rate / limit),
            communicated: None,
            hidden: None,
            sm_mhz: self.sm_mhz(),
            ok: verdict.ok,
            checked: verdict.how.clone(),
        })
    }
}

/// Whether a row is of that kernel: behind its name may stand how it was launched.
pub fn is_of(row: &str, kernel: &str) -> bool {
    row.split(',').next() == Some(kernel)
}

/// Another buffer of the same bytes.
pub fn another<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> Result<DeviceBuffer<T>, Error> {
    let make = "allocate the next set of buffers";
    // SAFETY: written whole by the next line, before anything reads it.
    let mut other = unsafe { DeviceBuffer::uninitialized(buffer.len()) }.context(make)?;
    other.copy_from(&**buffer).context(make)?;
    Ok(other)
}
