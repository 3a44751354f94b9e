//! `warpsmith bench`: our kernels against nvcc's, cuBLAS and the driver's own copy, side by side in one run.
//!
//! Both sides of a pair are captured into graphs of several launches over rotating buffers, warmed up together, and
//! replayed in turn. What is published is the ratio of the medians with its 95 % interval, never two runs' times.

mod call;
mod clock;
mod cublas;
mod cublaslt;
mod graph;
mod nvcc;
mod pairs;
mod statistics;
mod suites;

use cust::module::Module;
use serde::Serialize;
use warpsmith_launch::{Device, Doing};

pub use pairs::Plan;
pub use statistics::{SpeedRatio, Spread};
pub use suites::{Suite, TensorCases};

use crate::error::Error;
use crate::verify::Verdict;

/// Whom to measure against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Against {
    /// The same algorithm in CUDA C++, compiled by nvcc -O3.
    Nvcc,
    /// cuBLAS in full f32, cuBLASLt on tensor cores.
    Cublas,
}

/// One comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The suite.
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
    /// What we do in a second.
    pub rate: f64,
    /// `GB/s` or `GFLOP/s`.
    pub unit: &'static str,
    /// Our share of the chip's own limit, where that is known.
    pub share_of_limit: Option<f64>,
    /// SM clock after the pair, in MHz.
    pub sm_mhz: Option<u32>,
    /// Whether our result is right.
    pub ok: bool,
    /// How it was checked.
    pub checked: String,
}

/// All comparisons of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Shape of this JSON.
    pub version: u32,
    /// The device.
    pub device: String,
    /// cuBLAS's version, when it was measured against.
    pub cublas: Option<i32>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// The comparisons.
    pub results: Vec<Comparison>,
}

/// What a suite needs.
pub(crate) struct Bench<'d> {
    pub device: &'d Device,
    pub plan: Plan,
    pub nvcc: bool,
    pub cublas: Option<cublas::Cublas>,
    pub lt: Option<cublaslt::CublasLt>,
    pub tensor: TensorCases,
    twins: Vec<(&'static str, Module)>,
    nvml: Option<clock::Nvml>,
    fp32_limit: Option<f64>,
    bandwidth_limit: Option<f64>,
    progress: crate::terminal::Progress,
    /// What a suite could not compare, and why.
    left_out: std::cell::RefCell<Vec<String>>,
}

/// Work done by one launch.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Bytes(f64),
    Operations(f64),
    /// On tensor cores, whose limit is another for each type, and the power limit comes first.
    TensorOperations(f64),
}

impl<'d> Bench<'d> {
    fn new(
        device: &'d Device,
        plan: Plan,
        against: &[Against],
        left_out: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let mut twins = Vec::new();
        if against.contains(&Against::Nvcc) {
            let (major, minor) = device.limits().capability;
            for (family, source) in nvcc::TWINS {
                match nvcc::compile(family, source, &format!("sm_{major}{minor}")) {
                    Ok(cubin) => {
                        let module =
                            Module::from_cubin(cubin, &[]).doing(format!("load the twins of {family}"))?;
                        twins.push((*family, module));
                    }
                    Err(error) => {
                        left_out.push(error.to_string());
                        if matches!(error, nvcc::NvccError::Missing) {
                            break;
                        }
                    }
                }
            }
        }
        let name = &device.limits().name;
        let chip = gpu_model::chips::ALL.iter().find(|chip| chip.name == name);
        let bus =
            cust::device::Device::get_device(0).ok().and_then(|device| clock::pci_bus_id(device.as_raw()));
        Ok(Self {
            device,
            plan,
            nvcc: !twins.is_empty(),
            cublas: None,
            lt: None,
            tensor: TensorCases::default(),
            twins,
            nvml: bus.and_then(|bus| clock::Nvml::open(&bus)),
            fp32_limit: chip.map(|chip| chip.fp32_flops() / 1e9),
            bandwidth_limit: chip.map(|chip| chip.memory_bandwidth() / 1e9),
            progress: crate::terminal::Progress::new("bench", true),
            left_out: std::cell::RefCell::default(),
        })
    }

    /// Notes what is not measured, and why.
    fn leave_out(&self, what: impl Into<String>) {
        self.left_out.borrow_mut().push(what.into());
    }

    /// Whether the device has room for so many bytes, with a tenth to spare; if not, `what` is left out.
    fn has_room(&self, what: &str, bytes: usize) -> bool {
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

    fn twin(&self, family: &str) -> Option<&Module> {
        self.twins.iter().find(|(name, _)| *name == family).map(|(_, module)| module)
    }

    /// Measures a pair and makes its row.
    pub(crate) fn compare(
        &self,
        suite: &'static str,
        names: (&str, String, &'static str),
        work: Work,
        ours: pairs::Enqueue<'_>,
        other: pairs::Enqueue<'_>,
        verdict: &Verdict,
    ) -> Result<Comparison, Error> {
        // Memory's clock is fixed, and what waits for memory draws too little for the other to fall.
        let settled = self.plan.warm_up_ms.min(150.0);
        let warm_up_ms = if let Work::Bytes(_) = work { settled } else { self.plan.warm_up_ms };
        let plan = Plan { captured: names.2 != suites::DRIVER_COPY, warm_up_ms, ..self.plan };
        self.compare_by(plan, suite, names, work, ours, other, verdict)
    }

    /// The same, by a plan of the suite's own.
    pub(crate) fn compare_by(
        &self,
        plan: Plan,
        suite: &'static str,
        (kernel, size, against): (&str, String, &'static str),
        work: Work,
        ours: pairs::Enqueue<'_>,
        other: pairs::Enqueue<'_>,
        verdict: &Verdict,
    ) -> Result<Comparison, Error> {
        self.progress.step(&format!("{kernel} {size} against {against}"));
        let times = plan
            .pair(self.device.stream(), ours, other)
            .doing(format!("time `{kernel}` against {against}"))?;
        let per_second = |work: f64| work / times.ours.median / 1e6;
        let (rate, unit, limit) = match work {
            Work::Bytes(bytes) => (per_second(bytes), "GB/s", self.bandwidth_limit),
            Work::Operations(operations) => (per_second(operations), "GFLOP/s", self.fp32_limit),
            Work::TensorOperations(operations) => (per_second(operations), "GFLOP/s", None),
        };
        Ok(Comparison {
            suite,
            kernel: kernel.to_owned(),
            size,
            against,
            ours_ms: times.ours,
            other_ms: times.other,
            speed_ratio: times.ratio,
            rate,
            unit,
            share_of_limit: limit.map(|limit| rate / limit),
            sm_mhz: self.nvml.as_ref().and_then(clock::Nvml::read).map(|reading| reading.sm_mhz),
            ok: verdict.ok,
            checked: verdict.how.clone(),
        })
    }
}

/// Runs suites on a device.
pub fn run(
    device: &Device,
    plan: Plan,
    suites: &[Suite],
    sizes: &[crate::size::Size],
    against: &[Against],
    tensor: TensorCases,
) -> Result<Report, Error> {
    if device.is_virtual() {
        return Err(Error::NoTime);
    }
    let suites = &Suite::wanted(suites)[..];
    let mut left_out = Vec::new();
    let mut bench = Bench::new(device, plan, against, &mut left_out)?;
    // 32 MiB, handed to cuBLAS so that its products can be captured.
    const WORKSPACE: usize = 32 << 20;
    let workspace =
        cust::memory::DeviceBuffer::<u8>::zeroed(WORKSPACE).doing("allocate cuBLAS's workspace")?;
    if against.contains(&Against::Cublas) && suites.contains(&Suite::Matmul) {
        match cublas::Cublas::open(device.stream(), (workspace.as_device_ptr().as_raw(), WORKSPACE)) {
            Ok(cublas) => bench.cublas = Some(cublas),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    if against.contains(&Against::Cublas) && suites.contains(&Suite::Tensor) {
        match cublaslt::CublasLt::open(workspace.as_device_ptr().as_raw()) {
            Ok(lt) => bench.lt = Some(lt),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    bench.tensor = tensor;
    let mut results = Vec::new();
    for suite in suites {
        results.extend(suite.run(&bench, sizes)?);
    }
    left_out.append(&mut bench.left_out.borrow_mut());
    let version = |lt: &cublaslt::CublasLt| lt.version().map(|version| version as i32);
    let cublas = bench.cublas.as_ref().and_then(|cublas| cublas.version().ok());
    let cublas = cublas.or_else(|| bench.lt.as_ref().and_then(version));
    Ok(Report { version: 1, device: device.limits().name.clone(), cublas, left_out, results })
}
