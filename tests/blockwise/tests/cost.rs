//! What a kernel without `unsafe` costs beside its twin in raw pointers, counted on the virtual GPU. Wavefronts, conflicts, sectors,
//! atomics and barriers are the twin's. Executed instructions are at most 1.03 times as many, but for the kernels that [`PAIRS`] gives
//! a reason for. `cost.txt` holds the numbers; `WARPSMITH_BLESS=1` writes it anew. `--ignored` compares at the middle sizes.

use std::fmt::Write;
use std::sync::OnceLock;

use cuda_builder::{CudaBuilder, NvvmArch};
use gpu_model::chips::H200;
use virtual_gpu::observer::{At, BarrierStep, BlockInfo, BlockObserver, LaunchObserver};
use virtual_gpu::profiler::{LaunchProfile, Profiler};
use virtual_gpu::{Gpu, Launch, Module, Options};

/// The shape of a launch and its parameters' bytes.
type Made = (Launch, Vec<Vec<u8>>);

struct Pair {
    safe: &'static str,
    raw: &'static str,
    /// The extent at which they are compared in every run, and in the long one.
    sizes: [u32; 2],
    make: fn(&Gpu, u32, safe: bool) -> Made,
    /// How many times the twin's instructions it may execute, in hundredths, and why more than 103.
    most: (u64, &'static str),
}

const AS_MANY: (u64, &str) = (103, "");
/// Of 21 instructions a comparison and a branch are more than 3 %. Tried: an index, whose panic takes 44 registers; `get` with zero
/// outside.
const CHECKED: (u64, &str) =
    (124, "i + offset is compared with the length, which no `#[requires]` can promise");
/// Three of 59 instructions. Tried: `get_or` instead of `at` (1.44), `at` without `#[requires]`.
const TWO_EXTENTS: (u64, &str) = (106, "both matrices' extents are parameters, the twin has one pair");
/// One of 17 instructions.
const LONG_INDEX: (u64, &str) = (106, "the index has 64 bits; the twin's wraps at 2³² elements");

macro_rules! pairs {
    ($($safe:ident $raw:ident $sizes:expr, $make:expr, $most:expr;)*) => {
        [$(Pair { safe: stringify!($safe), raw: stringify!($raw), sizes: $sizes, make: $make, most: $most }),*]
    };
}

const PAIRS: [Pair; 15] = pairs! {
    safe_vecadd vecadd [1 << 16, 1 << 20], vecadd, AS_MANY;
    safe_matmul_naive matmul_naive [64, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_tiled_16 matmul_tiled_16 [128, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_tiled_32 matmul_tiled_32 [128, 512], |gpu, n, safe| product(gpu, n, safe, [32, 32], 32), AS_MANY;
    safe_matmul_column_order_16 matmul_column_16 [128, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_column_order_padded_16 matmul_column_16_padded [128, 512], |gpu, n, safe| product(gpu, n, safe, [16, 16], 16), AS_MANY;
    safe_matmul_registers matmul_vectors [256, 512], registers, AS_MANY;
    safe_transpose_naive transpose_naive [256, 4096], transpose, TWO_EXTENTS;
    safe_transpose_tile transpose_tile [256, 4096], transpose, AS_MANY;
    safe_transpose_padded transpose_padded [256, 4096], transpose, AS_MANY;
    safe_transpose_swizzled transpose_swizzled [256, 4096], transpose, AS_MANY;
    safe_offset copy_shifted [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, Some(5), 4), CHECKED;
    safe_missing_lanes copy_some_lanes [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, Some(0x5555_5555), 4), AS_MANY;
    safe_copy_8_bytes copy_8_bytes [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, None, 8), LONG_INDEX;
    safe_copy_16_bytes copy_16_bytes [1 << 16, 1 << 20], |gpu, n, safe| copy(gpu, n, safe, None, 16), LONG_INDEX;
};

/// Parameters of a kernel, in the PTX's order.
struct Parameters<'g>(&'g Gpu, Vec<Vec<u8>>);

impl Parameters<'_> {
    fn number(mut self, value: u32) -> Self {
        self.1.push(value.to_le_bytes().to_vec());
        self
    }
    fn numbers(mut self, values: &[u32]) -> Self {
        self.1.push(values.iter().flat_map(|value| value.to_le_bytes()).collect());
        self
    }
    fn long(mut self, value: u64) -> Self {
        self.1.push(value.to_le_bytes().to_vec());
        self
    }
    /// New memory, of zeros.
    fn memory(self, bytes: u64) -> Self {
        let address = self.0.memory().alloc(bytes).unwrap();
        self.0.memory().write(address, &vec![0; bytes as usize]).unwrap();
        self.long(address)
    }
    fn slice(self, len: u64, size: u64) -> Self {
        self.memory(len * size).long(len)
    }
    fn matrix(self, n: u32) -> Self {
        self.slice(u64::from(n) * u64::from(n), 4).numbers(&[n, n])
    }
    fn output(self, n: u32) -> Self {
        self.memory(4 * u64::from(n) * u64::from(n)).numbers(&[n, n])
    }
    fn gemm(self, n: u32) -> Self {
        self.numbers(&[n, n, n, 1.0f32.to_bits(), 0])
    }
}

fn vecadd(gpu: &Gpu, n: u32, safe: bool) -> Made {
    let len = u64::from(n);
    let read = Parameters(gpu, Vec::new()).slice(len, 4).slice(len, 4);
    let all = if safe { read.slice(len, 4) } else { read.memory(4 * len) };
    (Launch::new(n.div_ceil(256), 256), all.1)
}

fn product(gpu: &Gpu, n: u32, safe: bool, [width, height]: [u32; 2], tile: u32) -> Made {
    let none = Parameters(gpu, Vec::new());
    let (len, bytes) = (u64::from(n) * u64::from(n), 4 * u64::from(n) * u64::from(n));
    let all = if safe {
        none.matrix(n).matrix(n).output(n)
    } else {
        none.gemm(n).slice(len, 4).slice(len, 4).memory(bytes)
    };
    (Launch::new((n.div_ceil(tile), n.div_ceil(tile)), (width, height)), all.1)
}

fn registers(gpu: &Gpu, n: u32, safe: bool) -> Made {
    if safe {
        return product(gpu, n, true, [16, 16], 128);
    }
    let bytes = 4 * u64::from(n) * u64::from(n);
    let all = Parameters(gpu, Vec::new()).gemm(n).memory(bytes).memory(bytes).memory(bytes);
    (Launch::new((n / 128, n / 128), 256), all.1)
}

fn transpose(gpu: &Gpu, n: u32, safe: bool) -> Made {
    let none = Parameters(gpu, Vec::new());
    let (len, bytes) = (u64::from(n) * u64::from(n), 4 * u64::from(n) * u64::from(n));
    let all =
        if safe { none.matrix(n).output(n) } else { none.number(n).number(n).slice(len, 4).memory(bytes) };
    (Launch::new((n.div_ceil(32), n.div_ceil(32)), (32, 8)), all.1)
}

fn copy(gpu: &Gpu, n: u32, safe: bool, parameter: Option<u32>, size: u64) -> Made {
    let (none, len) = (Parameters(gpu, Vec::new()), u64::from(n));
    let first = if safe { none } else { none.number(n) };
    let second = if let Some(parameter) = parameter { first.number(parameter) } else { first };
    let read = second.slice(len + if parameter == Some(5) { 5 } else { 0 }, size);
    let all = if safe { read.slice(len, size) } else { read.memory(len * size) };
    (Launch::new(n.div_ceil(256), 256), all.1)
}

/// Counts how often warps arrive at barriers.
#[derive(Default)]
struct Barriers(u64);

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

/// What was counted in a launch, and its barriers.
fn run(ptx: &str, kernel: &str, pair: &Pair, n: u32) -> (LaunchProfile, u64) {
    let gpu = Gpu::with_options(&H200, Options::default());
    let module: Module = gpu.load(ptx).unwrap();
    let kernel = module.kernel(kernel).unwrap_or_else(|| panic!("{kernel} is not in the PTX"));
    let (launch, values) = (pair.make)(&gpu, n, kernel.name().starts_with("safe_"));
    assert_eq!(kernel.params().len(), values.len(), "{}", kernel.name());
    let mut parameters = vec![0; kernel.param_bytes()];
    for (parameter, value) in kernel.params().iter().zip(values) {
        assert_eq!(parameter.size as usize, value.len(), "{}", kernel.name());
        parameters[parameter.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    let (mut profiler, mut barriers) = (Profiler::new(), Barriers::default());
    gpu.launch(&kernel, &launch, &parameters, &mut profiler).unwrap();
    gpu.launch(&kernel, &launch, &parameters, &mut barriers).unwrap();
    (profiler.finish(), barriers.0)
}

/// The PTX of the kernels without `unsafe`, and of their twins.
fn modules() -> &'static [String; 2] {
    static MODULES: OnceLock<[String; 2]> = OnceLock::new();
    MODULES.get_or_init(|| {
        let here = env!("CARGO_MANIFEST_DIR");
        let raw = CudaBuilder::new(format!("{here}/../../kernels-gpu"))
            .arch(NvvmArch::Compute75)
            .build_args(&["--no-default-features", "--features", "base,ladder"]);
        let safe = CudaBuilder::new(here).arch(NvvmArch::Compute75);
        [safe, raw].map(|builder| std::fs::read_to_string(builder.build().unwrap()).unwrap())
    })
}

/// The table at one size of each pair, and what is wrong with it.
fn table(which: usize) -> (String, Vec<String>) {
    let [safe_ptx, raw_ptx] = modules();
    let mut table = format!(
        "{:36} {:24} {:>8} {:>12} {:>12} {:>6} {:>8}\n",
        "kernel", "twin", "extent", "instructions", "twin's", "ratio", "barriers"
    );
    let mut wrong = Vec::new();
    for pair in &PAIRS {
        let n = pair.sizes[which];
        let (safe, safe_barriers) = run(safe_ptx, pair.safe, pair, n);
        let (raw, raw_barriers) = run(raw_ptx, pair.raw, pair, n);
        if safe.counters != raw.counters {
            wrong.push(format!("{} at {n}: {:?}, its twin {:?}", pair.safe, safe.counters, raw.counters));
        }
        if safe_barriers != raw_barriers {
            wrong.push(format!("{} at {n}: {safe_barriers} barriers, its twin {raw_barriers}", pair.safe));
        }
        let (own, twin) = (safe.warp_instructions, raw.warp_instructions);
        let hundredths = (own * 100).div_ceil(twin);
        if hundredths > pair.most.0 {
            wrong.push(format!("{} at {n}: {own} instructions, its twin {twin}", pair.safe));
        }
        let (name, twins, why) = (pair.safe, pair.raw, pair.most.1);
        let ratio = own as f64 / twin as f64;
        let line =
            format!("{name:36} {twins:24} {n:8} {own:12} {twin:12} {ratio:6.3} {safe_barriers:8}  {why}");
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
