//! What the checks cost: kernels on the virtual GPU, plain, under each tool, and under all of them.
//!
//! ```text
//! cargo bench -p sanitizer --bench cost                      all kernels
//! cargo bench -p sanitizer --bench cost -- transpose_naive   those whose name holds a word
//! ```
//!
//! Plain and checked runs take turns, so that what else the machine does weighs on both, and each run is compared with the
//! plain one of its turn: the median of these ratios is shown, with the smallest and the largest. Plain execution has one
//! thread, because a checked launch has. The shadow is counted beside the bytes of memory that the kernel can touch.

use std::sync::OnceLock;
use std::time::Instant;

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Sanitizer};
use virtual_gpu::{Gpu, Kernel, Launch, Options};

const NVCC: &str = include_str!("cost/nvcc.ptx");
const OURS: &str = include_str!("cost/ours.ptx");
const CONTENDED: &str = include_str!("cost/contended.ptx");
/// Atomics of each warp in those.
const ATOMICS: u32 = 8;
/// Edge of the matrices.
const N: u32 = 128;
const RUNS: usize = 5;

/// A kernel, its grid and block, and how it takes its parameters.
struct Case {
    name: &'static str,
    from: &'static str,
    blocks: u32,
    block: (u32, u32),
    params: fn([u64; 3]) -> Vec<u8>,
}

/// `(n, a, b, c)`, as `cost.cu` has it.
fn plain([a, b, c]: [u64; 3]) -> Vec<u8> {
    [N.into(), a, b, c].into_iter().flat_map(u64::to_le_bytes).collect()
}

/// `(Gemm, a: &[f32], b: &[f32], c)`
fn gemm([a, b, c]: [u64; 3]) -> Vec<u8> {
    let length = u64::from(N) * u64::from(N);
    let shape = [N, N, N, 1f32.to_bits(), 0f32.to_bits(), 0].into_iter().flat_map(u32::to_le_bytes);
    shape.chain([a, length, b, length, c].into_iter().flat_map(u64::to_le_bytes)).collect()
}

/// `(rows, columns, a: &[f32], c)`
fn transpose([a, _, c]: [u64; 3]) -> Vec<u8> {
    let length = u64::from(N) * u64::from(N);
    let shape = [N, N].into_iter().flat_map(u32::to_le_bytes);
    shape.chain([a, length, c].into_iter().flat_map(u64::to_le_bytes)).collect()
}

const CASES: [Case; 15] = [
    Case { name: "product_16", from: "nvcc", blocks: N / 16, block: (16, 16), params: plain },
    Case { name: "product_32", from: "nvcc", blocks: N / 32, block: (32, 32), params: plain },
    Case { name: "transpose_naive", from: "nvcc", blocks: N / 32, block: (32, 8), params: plain },
    Case { name: "transpose", from: "nvcc", blocks: N / 32, block: (32, 8), params: plain },
    Case { name: "transpose_padded", from: "nvcc", blocks: N / 32, block: (32, 8), params: plain },
    Case { name: "histogram", from: "nvcc", blocks: N / 32, block: (32, 8), params: plain },
    Case { name: "matmul_tiled_16", from: "ours", blocks: N / 16, block: (16, 16), params: gemm },
    Case { name: "transpose_tile", from: "ours", blocks: N / 32, block: (32, 8), params: transpose },
    Case { name: "transpose_padded", from: "ours", blocks: N / 32, block: (32, 8), params: transpose },
    Case { name: "relaxed", from: "contended", blocks: 4, block: (1024, 1), params: plain },
    Case { name: "behind_a_fence", from: "contended", blocks: 4, block: (1024, 1), params: plain },
    Case { name: "ordered", from: "contended", blocks: 4, block: (1024, 1), params: plain },
    Case { name: "ordered", from: "contended", blocks: 16, block: (256, 1), params: plain },
    Case { name: "ordered", from: "contended", blocks: 32, block: (32, 1), params: plain },
    Case { name: "ordered_in_shared", from: "contended", blocks: 4, block: (1024, 1), params: plain },
];

/// Seconds on the processor of this thread, which does all the work; where the system does not tell, on the clock.
fn now() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = spent.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    spent.map_or_else(
        || START.get_or_init(Instant::now).elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds * 1e-9,
    )
}

/// How often a run is repeated for one measurement: the system counts in steps of up to four milliseconds.
fn times_each(run: &dyn Fn()) -> u32 {
    let start = Instant::now();
    run();
    (0.25 / start.elapsed().as_secs_f64()).clamp(1.0, 2000.0) as u32
}

/// Milliseconds of one run.
fn measure(run: &dyn Fn(), times: u32) -> f64 {
    let start = now();
    (0..times).for_each(|_| run());
    (now() - start) * 1e3 / f64::from(times)
}

/// The median, the smallest, the largest.
fn middle(mut of: Vec<f64>) -> [f64; 3] {
    of.sort_by(f64::total_cmp);
    [of[of.len() / 2], of[0], of[of.len() - 1]]
}

/// A sanitizer that knows the buffers.
fn sanitizer(checks: Checks, buffers: [u64; 3]) -> Sanitizer {
    let bytes = 4 * u64::from(N) * u64::from(N);
    let sanitizer = Sanitizer::new(checks);
    for buffer in buffers {
        sanitizer.host_allocated(buffer, bytes, None);
        sanitizer.host_wrote(buffer, bytes);
    }
    sanitizer
}

/// A launch under some checks; the shadow of the launch and of its largest block.
fn checked(
    sanitizer: &Sanitizer,
    gpu: &Gpu,
    kernel: &Kernel,
    launch: &Launch,
    params: &[u8],
) -> (usize, usize) {
    let mut observer = sanitizer.launch();
    gpu.launch(kernel, launch, params, &mut observer).expect("the kernels are right");
    assert_eq!(sanitizer.findings(), [], "{}: the kernels are clean", kernel.name());
    observer.shadow_bytes()
}

fn main() {
    // `cargo test --benches` only asks that it runs.
    let only_once = !std::env::args().any(|arg| arg == "--bench");
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let options = Options { threads: 1, ..Options::default() };
    let gpu = Gpu::with_options(&H200, options);
    let modules = [("nvcc", NVCC), ("ours", OURS), ("contended", CONTENDED)]
        .map(|(from, text)| (from, gpu.load(text).unwrap_or_else(|error| panic!("{from}: {error}"))));
    let bytes = 4 * u64::from(N) * u64::from(N);
    let buffers: [u64; 3] = std::array::from_fn(|_| gpu.memory().alloc(bytes).expect("a few megabytes"));
    for buffer in buffers {
        let words: Vec<u8> = (0..N * N).flat_map(|i| ((i % 1000) as f32).to_le_bytes()).collect();
        gpu.memory().write(buffer, &words).expect("as long as the buffer");
    }
    println!(
        "{:<24} {:>20}   {:>7} {:>7} {:>7} {:>7}   {:>20}  shadow",
        "kernel", "plain ms", "memory", "race", "init", "barrier", "all"
    );
    for case in
        CASES.iter().filter(|case| asked.is_empty() || asked.iter().any(|name| case.name.contains(name)))
    {
        let (_, module) = modules.iter().find(|(from, _)| *from == case.from).expect("one of them");
        let kernel = module.kernel(case.name).expect("it is in the PTX");
        let launch = Launch::new((case.blocks, case.blocks), case.block);
        let shared = u64::from(kernel.static_shared());
        let params = (case.params)(buffers);
        let all = sanitizer(Checks::ALL, buffers);
        let (of_launch, of_block) = checked(&all, &gpu, &kernel, &launch, &params);
        if only_once {
            continue;
        }
        let plain = || gpu.launch(&kernel, &launch, &params, &mut ()).expect("the kernels are right");
        let under = |checks| {
            let (sanitizer, gpu, kernel, launch, params) =
                (sanitizer(checks, buffers), &gpu, &kernel, &launch, &params);
            move || {
                checked(&sanitizer, gpu, kernel, launch, params);
            }
        };
        if case.from == "contended" {
            let all = under(Checks::ALL);
            let [before, under] = [measure(&plain, times_each(&plain)), measure(&all, times_each(&all))];
            let blocks = case.blocks * case.blocks;
            let atomics = blocks * (case.block.0 * case.block.1).div_ceil(32) * ATOMICS;
            println!(
                "{:<32} {before:>6.1} ms plain, {under:>7.1} under all tools, {:>5.1} us for an atomic of a warp",
                format!("contended {}, {blocks} x {}", case.name, case.block.0),
                1e3 * under / f64::from(atomics),
            );
            continue;
        }
        let runs = [
            Checks::NONE.with(Check::Memory),
            Checks::NONE.with(Check::Race),
            Checks::NONE.with(Check::Init),
            Checks::NONE.with(Check::Barrier),
            Checks::ALL,
        ]
        .map(under);
        let (often, each) = (times_each(&plain), runs.each_ref().map(|run| times_each(run)));
        let mut times = Vec::new();
        let mut ratios: [Vec<f64>; 5] = Default::default();
        for _ in 0..RUNS {
            for ((run, &each), ratios) in runs.iter().zip(&each).zip(&mut ratios) {
                let (before, under, after) =
                    (measure(&plain, often), measure(run, each), measure(&plain, often));
                ratios.push(2.0 * under / (before + after));
                times.push(before);
            }
        }
        let plain = middle(times);
        let [memory, race, init, barrier, all] = ratios.map(middle);
        let touched = if case.name.contains("transpose") { 2 } else { 3 } * bytes;
        println!(
            "{:<24} {:>6.1} ({:>4.1} to {:>4.1})   {:>6.1}x {:>6.1}x {:>6.1}x {:>6.1}x   {:>5.1}x ({:>4.1} to {:>4.1})  {:.1} + {:.1} bytes a byte",
            format!("{} {}", case.from, case.name),
            plain[0],
            plain[1],
            plain[2],
            memory[0],
            race[0],
            init[0],
            barrier[0],
            all[0],
            all[1],
            all[2],
            of_launch as f64 / touched as f64,
            of_block as f64 / shared.max(1) as f64,
        );
    }
}
