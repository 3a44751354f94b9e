//! Counters of kernels without `unsafe` beside those of their raw twins, on the virtual GPU. A kernel leaves in
//! memory what its twin leaves. Wavefronts, conflicts, sectors, atomics and barriers are the twin's. Executed instructions are
//! at most 1.03 times as many, but for the kernels that [`PAIRS`] gives a reason for. `cost.txt` holds the numbers;
//! `WARPSMITH_BLESS=1` writes it anew. `--ignored` compares at the middle sizes.

mod prepared;
mod twins;

use std::fmt::Write;

use gpu_model::chips::H200;
use virtual_gpu::observer::{At, BarrierStep, BlockInfo, BlockObserver, LaunchObserver};
use virtual_gpu::profiler::{LaunchProfile, Profiler};
use virtual_gpu::{Error, Gpu, Job, Options, Watch};

use prepared::prepare;
use twins::pairs::{AS_MANY, PAIRS, Parameter, Parameters, Shape, counted};

/// Counts how often warps arrive at barriers.
#[derive(Default)]
struct Barriers(u64);

impl Watch for Barriers {
    fn run(&mut self, job: Job<'_>) -> Result<(), Error> {
        job.under(self)
    }
}

impl LaunchObserver for Barriers {
    type Block = OfBlock;
    fn block(&self, _: &BlockInfo) -> OfBlock {
        OfBlock(0)
    }
    fn merge(&mut self, block: OfBlock) {
        self.0 += block.0;
    }
}

struct OfBlock(u64);

impl BlockObserver for OfBlock {
    const SYNCHRONISATION: bool = true;

    fn barrier(&mut self, _: At, _: u32, _: u32, step: BarrierStep, _: bool) {
        self.0 += u64::from(matches!(step, BarrierStep::ArriveAndWait));
    }
}

/// What was counted in a launch.
struct Run {
    profile: LaunchProfile,
    barriers: u64,
    /// What it left in memory.
    contents: Vec<Vec<u8>>,
}

fn run(ptx: &str, kernel: &str, parameters: (Shape, Vec<Parameter>)) -> Run {
    let gpu = Gpu::with_options(&H200, Options::default());
    let (kernel, launch, parameters, memory) = prepare(&gpu, ptx, kernel, parameters);
    let (mut profiler, mut barriers) = (Profiler::new(), Barriers::default());
    gpu.launch(&kernel, &launch, &parameters, &mut profiler).unwrap();
    let read = |(address, bytes): (u64, u64)| {
        let mut content = vec![0; bytes as usize];
        gpu.memory().read(address, &mut content).unwrap();
        content
    };
    let contents = memory.into_iter().map(read).collect();
    gpu.launch(&kernel, &launch, &parameters, &mut barriers).unwrap();
    Run { profile: profiler.finish(), barriers: barriers.0, contents }
}

/// The table at one size of each pair, and what is wrong with it.
fn table(which: usize) -> (String, Vec<String>) {
    let [safe_ptx, raw_ptx] = twins::modules();
    let mut table = format!(
        "{:36} {:24} {:>8} {:>12} {:>12} {:>6} {:>8}\n",
        "kernel", "twin", "extent", "instructions", "twin's", "ratio", "barriers"
    );
    let mut wrong = Vec::new();
    for pair in &PAIRS {
        let n = pair.counted[which];
        let safe = run(safe_ptx, pair.safe, pair.launch(pair.safe, n));
        // Twins that are nobody else's stand beside the kernels.
        let raw_ptx = if pair.raw.starts_with("raw_") { safe_ptx } else { raw_ptx };
        let raw = run(raw_ptx, pair.raw, pair.launch(pair.raw, n));
        if safe.contents != raw.contents {
            wrong.push(format!("{} at {n} leaves something else than its twin", pair.safe));
        }
        let (counters, twins) = (&safe.profile.counters, &raw.profile.counters);
        if counters != twins {
            wrong.push(format!("{} at {n}: {counters:?}, its twin {twins:?}", pair.safe));
        }
        let barriers = safe.barriers;
        if barriers != raw.barriers {
            wrong.push(format!("{} at {n}: {barriers} barriers, its twin {}", pair.safe, raw.barriers));
        }
        let (own, twin) = (safe.profile.warp_instructions, raw.profile.warp_instructions);
        let hundredths = (own * 100).div_ceil(twin);
        if hundredths > pair.most.0 {
            wrong.push(format!("{} at {n}: {own} instructions, its twin {twin}", pair.safe));
        }
        if !pair.most.1.is_empty() && hundredths <= AS_MANY.0 {
            wrong.push(format!("{} at {n} needs no reason any more: \"{}\"", pair.safe, pair.most.1));
        }
        let (name, twins, why) = (pair.safe, pair.raw, pair.most.1);
        let ratio = own as f64 / twin as f64;
        let line = format!("{name:36} {twins:24} {n:8} {own:12} {twin:12} {ratio:6.3} {barriers:8}  {why}");
        writeln!(table, "{}", line.trim_end()).unwrap();
    }
    (table, wrong)
}

#[test]
fn kernels_cost_what_their_twins_cost() {
    let (table, wrong) = table(0);
    println!("{table}");
    let blessed = std::env::var_os("WARPSMITH_BLESS").is_some();
    if blessed {
        std::fs::write(format!("{}/tests/cost.txt", env!("CARGO_MANIFEST_DIR")), &table).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let held = include_str!("cost.txt");
    assert!(blessed || table == held, "cost.txt has other numbers: WARPSMITH_BLESS=1 writes it anew");
}

#[test]
#[ignore = "takes many minutes: the middle sizes"]
fn kernels_cost_what_their_twins_cost_at_a_middle_size() {
    let (table, wrong) = table(1);
    println!("{table}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A thread's window begins at its number: going there takes one step, not one for each element before it.
#[test]
fn skipping_elements_takes_no_time() {
    let (safe_ptx, window, n) = (&twins::modules()[0], 1, 256);
    let mut shape = Shape::line(1, 256);
    shape.shared = 4 * (256 + window);
    let parameters = Parameters::default().number(window).slice(n, 4).output(n, 4, true);
    let ran = run(safe_ptx, "safe_windows", (shape, parameters.made()));
    let [from, to] = &ran.contents[..] else { panic!("two buffers") };
    assert_eq!(from, to, "windows of one element are the elements");
    let of_a_warp = ran.profile.warp_instructions / 8;
    assert!(of_a_warp < 150, "{of_a_warp} instructions a warp");
}

/// `h100-counters.csv` is what Nsight Compute 2025.3.1 counted on an H100 (driver 580.159.04) for `blockwise --once`: the PTX compiled
/// without optimisation. Instructions and requests, and their wavefronts (`smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_*`)
/// and sectors (`l1tex__t_sectors_pipe_lsu_mem_global_op_*`).
#[test]
fn counters_are_those_of_hardware() {
    let measured: Vec<&str> = include_str!("h100-counters.csv").lines().skip(1).collect();
    let all = counted();
    assert_eq!(measured.len(), all.len());
    let mut wrong = Vec::new();
    for (kernel, launch) in all {
        let line = measured.iter().find(|line| line.split(',').next() == Some(kernel));
        let line = line.unwrap_or_else(|| panic!("{kernel} was not measured"));
        let counters = run(&twins::modules()[0], kernel, launch).profile.counters;
        let shared = [counters.shared_load, counters.shared_store, counters.shared_atomic]
            .map(|counters| [counters.instructions, counters.wavefronts]);
        let global = [counters.global_load, counters.global_store, counters.global_atomic]
            .map(|counters| [counters.requests, counters.sectors]);
        let [load, store, atomic] = shared;
        let [from, to, added] = global;
        let own = [load, store, from, to, atomic, added].concat();
        let own: Vec<String> = own.iter().map(u64::to_string).collect();
        let expected: Vec<&str> = line.split(',').skip(1).collect();
        if own != expected {
            wrong.push(format!("{kernel}: {own:?}, Nsight Compute {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
