//! What a kernel without `unsafe` costs beside its twin in raw pointers, counted on the virtual GPU. What it leaves in memory is what
//! the twin leaves. Wavefronts, conflicts, sectors, atomics and barriers are the twin's. Executed instructions are at most 1.03 times as many, but for the kernels that [`PAIRS`] gives
//! a reason for. `cost.txt` holds the numbers; `WARPSMITH_BLESS=1` writes it anew. `--ignored` compares at the middle sizes.

mod twins;

use std::fmt::Write;

use gpu_model::chips::H200;
use virtual_gpu::observer::{At, BarrierStep, BlockInfo, BlockObserver, LaunchObserver};
use virtual_gpu::profiler::{LaunchProfile, Profiler};
use virtual_gpu::{Error, Gpu, Job, Launch, Module, Options, Watch};

/// The shape of a launch and its parameters.
type Made<'g> = (Launch, Parameters<'g>);

struct Pair {
    safe: &'static str,
    raw: &'static str,
    /// The extent at which they are compared in every run, and in the long one.
    sizes: [u32; 2],
    make: for<'g> fn(&'g Gpu, u32, safe: bool) -> Made<'g>,
    /// How many times the twin's instructions it may execute, in hundredths, and why more than 103.
    most: (u64, &'static str),
}

const AS_MANY: (u64, &str) = (103, "");
/// One of 17 instructions: the thread's index is made 64 bits wide. Tried: places counted in bytes, which takes as many; two halves of
/// 32 bits, which take one more; an index of 32 bits, by which an output of 2³² elements and more would have two owners an element.
const LONG_INDEX: (u64, &str) = (106, "the index has 64 bits; the twin's wraps at 2³² elements");

macro_rules! pairs {
    ($($safe:ident $raw:ident $sizes:expr, $make:expr, $most:expr;)*) => {
        [$(Pair { safe: stringify!($safe), raw: stringify!($raw), sizes: $sizes, make: $make, most: $most }),*]
    };
}

const PAIRS: [Pair; 21] = pairs! {
    safe_vecadd vecadd [1 << 16, 1 << 20], vecadd, AS_MANY;
    safe_matmul_naive matmul_naive [64, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_tiled_16 matmul_tiled_16 [128, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_tiled_32 matmul_tiled_32 [128, 512], |gpu, n, safe| product(gpu, n, safe, [32, 32], 32), AS_MANY;
    safe_matmul_column_order_16 matmul_column_16 [128, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_column_order_padded_16 matmul_column_16_padded [128, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_dynamic matmul_dynamic [128, 512], dynamic, AS_MANY;
    safe_matmul_registers matmul_vectors [256, 512], registers, AS_MANY;
    safe_transpose_naive transpose_naive [256, 4096], transpose, AS_MANY;
    safe_transpose_tile transpose_tile [256, 4096], transpose, AS_MANY;
    safe_transpose_padded transpose_padded [256, 4096], transpose, AS_MANY;
    safe_transpose_swizzled transpose_swizzled [256, 4096], transpose, AS_MANY;
    safe_offset copy_shifted [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, Some(5), 4), AS_MANY;
    safe_missing_lanes copy_some_lanes [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, Some(0x5555_5555), 4), AS_MANY;
    safe_copy_8_bytes copy_8_bytes [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, None, 8), LONG_INDEX;
    safe_copy_16_bytes copy_16_bytes [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, None, 16), LONG_INDEX;
    safe_sums raw_sums [1 << 16, 1 << 20], sums, AS_MANY;
    safe_scan_parts raw_scan_parts [1 << 16, 1 << 20], scan, AS_MANY;
    safe_histogram_shared raw_histogram_shared [1 << 16, 1 << 20], histogram, AS_MANY;
    safe_softmax raw_softmax [256, 2048], softmax, AS_MANY;
    safe_sort_parts raw_sort_parts [1 << 14, 1 << 20], sort, AS_MANY;
};

/// Parameters of a kernel, in the PTX's order.
struct Parameters<'g> {
    gpu: &'g Gpu,
    values: Vec<Vec<u8>>,
    /// Where memory was made, and how many bytes.
    memory: Vec<(u64, u64)>,
}

impl<'g> Parameters<'g> {
    fn none(gpu: &'g Gpu) -> Self {
        Self { gpu, values: Vec::new(), memory: Vec::new() }
    }
    fn number(self, value: u32) -> Self {
        self.numbers(&[value])
    }
    fn numbers(mut self, values: &[u32]) -> Self {
        self.values.push(values.iter().flat_map(|value| value.to_le_bytes()).collect());
        self
    }
    fn long(mut self, value: u64) -> Self {
        self.values.push(value.to_le_bytes().to_vec());
        self
    }
    /// New memory, of small whole numbers: their sums and products are exact.
    fn memory(mut self, bytes: u64) -> Self {
        let address = self.gpu.memory().alloc(bytes).unwrap();
        let number = |i: u64| ((i * 7 + i / 5) % 17) as f32 - 8.0;
        let content: Vec<u8> = (0..bytes.div_ceil(4)).flat_map(|i| number(i).to_le_bytes()).collect();
        self.gpu.memory().write(address, &content[..bytes as usize]).unwrap();
        self.memory.push((address, bytes));
        self.long(address)
    }
    fn slice(self, len: u64, size: u64) -> Self {
        self.memory(len * size).long(len)
    }
    /// Of an output the twin is given a pointer alone.
    fn output(self, len: u64, size: u64, safe: bool) -> Self {
        let memory = self.memory(len * size);
        if safe { memory.long(len) } else { memory }
    }
    fn matrix(self, n: u32) -> Self {
        self.slice(square(n), 4).numbers(&[n, n])
    }
    fn output_matrix(self, n: u32) -> Self {
        self.memory(4 * square(n)).numbers(&[n, n])
    }
    fn gemm(self, n: u32) -> Self {
        self.numbers(&[n, n, n, 1.0f32.to_bits(), 0])
    }
    /// What the memory holds.
    fn contents(&self) -> Vec<Vec<u8>> {
        let read = |(address, bytes): &(u64, u64)| {
            let mut content = vec![0; *bytes as usize];
            self.gpu.memory().read(*address, &mut content).unwrap();
            content
        };
        self.memory.iter().map(read).collect()
    }
}

fn square(n: u32) -> u64 {
    u64::from(n) * u64::from(n)
}

fn vecadd(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let len = u64::from(n);
    let all = Parameters::none(gpu).slice(len, 4).slice(len, 4).output(len, 4, safe);
    (Launch::new(n.div_ceil(256), 256), all)
}

fn product(gpu: &Gpu, n: u32, safe: bool, [width, height]: [u32; 2], tile: u32) -> Made<'_> {
    let none = Parameters::none(gpu);
    let all = if safe {
        none.matrix(n).matrix(n).output_matrix(n)
    } else {
        none.gemm(n).slice(square(n), 4).slice(square(n), 4).memory(4 * square(n))
    };
    (Launch::new((n.div_ceil(tile), n.div_ceil(tile)), (width, height)), all)
}

/// In tiles of 16 × 16, which the twin's are whose blocks are.
fn dynamic(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let none = Parameters::none(gpu);
    let all = if safe {
        none.number(16).matrix(n).matrix(n).output_matrix(n)
    } else {
        none.gemm(n).number(16).slice(square(n), 4).slice(square(n), 4).memory(4 * square(n))
    };
    (Launch::new((n / 16, n / 16), (16, 16)).dynamic_shared(2 * 16 * 16 * 4), all)
}

fn registers(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    if safe {
        return product(gpu, n, true, [16, 16], 128);
    }
    let bytes = 4 * square(n);
    let all = Parameters::none(gpu).gemm(n).memory(bytes).memory(bytes).memory(bytes);
    (Launch::new((n / 128, n / 128), 256), all)
}

fn transpose(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let none = Parameters::none(gpu);
    let all = if safe {
        none.matrix(n).output_matrix(n)
    } else {
        none.number(n).number(n).slice(square(n), 4).memory(4 * square(n))
    };
    (Launch::new((n.div_ceil(32), n.div_ceil(32)), (32, 8)), all)
}

fn copy(gpu: &Gpu, n: u32, safe: bool, parameter: Option<u32>, size: u64) -> Made<'_> {
    let (none, len) = (Parameters::none(gpu), u64::from(n));
    let first = if safe { none } else { none.number(n) };
    let second = if let Some(parameter) = parameter { first.number(parameter) } else { first };
    let read = second.slice(len + if parameter == Some(5) { 5 } else { 0 }, size);
    (Launch::new(n.div_ceil(256), 256), read.output(len, size, safe))
}

fn sums(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let all = Parameters::none(gpu).slice(n.into(), 4).output(16, 4, safe);
    (Launch::new(16, 256), all)
}

fn scan(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let (len, parts) = (u64::from(n), n.div_ceil(256));
    let sums = Parameters::none(gpu).slice(len, 4).output(len, 4, safe).output(len, 4, safe);
    (Launch::new(parts, 256), sums.output(parts.into(), 4, safe))
}

fn histogram(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let all = Parameters::none(gpu).slice(n.into(), 1).output(256, 4, safe);
    (Launch::new(16, 256), all)
}

fn softmax(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let none = Parameters::none(gpu);
    let all = if safe {
        none.matrix(n).output_matrix(n)
    } else {
        none.memory(4 * square(n)).number(n).memory(4 * square(n))
    };
    (Launch::new(n, 128), all)
}

fn sort(gpu: &Gpu, n: u32, safe: bool) -> Made<'_> {
    let all = Parameters::none(gpu).slice(n.into(), 4).output(n.into(), 4, safe);
    (Launch::new(n.div_ceil(512), 256), all)
}

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

fn run(ptx: &str, kernel: &str, pair: &Pair, n: u32) -> Run {
    let gpu = Gpu::with_options(&H200, Options::default());
    let module: Module = gpu.load(ptx).unwrap();
    let kernel = module.kernel(kernel).unwrap_or_else(|| panic!("{kernel} is not in the PTX"));
    let (launch, made) = (pair.make)(&gpu, n, kernel.name().starts_with("safe_"));
    assert_eq!(kernel.params().len(), made.values.len(), "{}", kernel.name());
    let mut parameters = vec![0; kernel.param_bytes()];
    for (parameter, value) in kernel.params().iter().zip(&made.values) {
        assert_eq!(parameter.size as usize, value.len(), "{}", kernel.name());
        parameters[parameter.offset as usize..][..value.len()].copy_from_slice(value);
    }
    let (mut profiler, mut barriers) = (Profiler::new(), Barriers::default());
    gpu.launch(&kernel, &launch, &parameters, &mut profiler).unwrap();
    let contents = made.contents();
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
        let n = pair.sizes[which];
        let safe = run(safe_ptx, pair.safe, pair, n);
        // Twins that are nobody else's stand beside the kernels.
        let raw_ptx = if pair.raw.starts_with("raw_") { safe_ptx } else { raw_ptx };
        let raw = run(raw_ptx, pair.raw, pair, n);
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
