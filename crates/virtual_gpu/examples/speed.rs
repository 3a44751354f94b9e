//! How fast the virtual GPU is: a tiled matrix product, without and with the profiler, and an empty launch.
//!
//! `cargo run --release -p virtual_gpu --example speed`
//!
//! What limits the product: of each three instructions of its inner loop two are loads from shared memory, whose 32
//! addresses are computed and checked each time; the multiply-add itself is a twentieth of the time. Fusing a load with
//! the operation that uses it would spare a round through the registers; compiling the loop to machine code would spare
//! the interpreter altogether.

use std::time::{Duration, Instant};

use gpu_model::chips::H200;
use virtual_gpu::profiler::Profiler;
use virtual_gpu::{Gpu, Launch};

const PTX: &str = include_str!("../tests/ptx/first.ptx");
const N: usize = 512;

/// Median, and the spread from the fastest to the slowest, of some runs after a warm-up.
fn measure(runs: usize, mut run: impl FnMut()) -> (Duration, Duration, Duration) {
    run();
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    (times[runs / 2], times[0], times[runs - 1])
}

fn main() -> Result<(), virtual_gpu::Error> {
    let gpu = Gpu::new(&H200);
    let module = gpu.load(PTX)?;
    let (Some(matmul), Some(empty)) = (module.kernel("matmul_tiled"), module.kernel("empty")) else {
        return Ok(());
    };
    let buffers: Vec<u64> =
        (0..3).map(|_| gpu.memory().alloc((4 * N * N) as u64)).collect::<Result<_, _>>()?;
    let mut params: Vec<u8> = buffers.iter().flat_map(|b| b.to_le_bytes()).collect();
    params.extend((N as u32).to_le_bytes());
    let blocks = (N / 16) as u32;
    let launch = Launch::new((blocks, blocks), (16, 16));
    let mut failed = None;
    let (median, low, high) = measure(9, || failed = gpu.launch(&matmul, &launch, &params, &mut ()).err());
    let rate = |t: Duration| 2.0 * (N * N * N) as f64 / t.as_secs_f64() / 1e9;
    println!(
        "tiled 16x16 f32 matmul of {N}^3, {} threads: {:.2} GFLOP/s ({:.2} to {:.2})",
        gpu.options().threads,
        rate(median),
        rate(high),
        rate(low)
    );
    let plain = median;
    let (median, low, high) =
        measure(9, || failed = gpu.launch(&matmul, &launch, &params, &mut Profiler::new()).err());
    println!(
        "the same with its counters: {:.2} GFLOP/s ({:.2} to {:.2}), {:.2} of that",
        rate(median),
        rate(high),
        rate(low),
        plain.as_secs_f64() / median.as_secs_f64()
    );
    let (median, low, high) =
        measure(999, || failed = gpu.launch(&empty, &Launch::new(1, 32), &[], &mut ()).err());
    println!("launch of an empty kernel: {median:?} ({low:?} to {high:?})");
    failed.map_or(Ok(()), Err)
}
