//! The speed of a tiled matrix product, interpreted and compiled, alternating.
//!
//! `cargo run --release -p compiled --example product`

use std::time::{Duration, Instant};

use gpu_model::chips::H200;
use virtual_gpu::{Gpu, Launch, Options};

const PTX: &str = include_str!("../../virtual_gpu/tests/ptx/first.ptx");
const N: usize = 512;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    compiled::available()?;
    let compiler = compiled::compiler(true, compiled::Kept::Not);
    let gpus = [
        ("interpreted", Gpu::with_options(&H200, Options::from_env())),
        ("compiled", Gpu::with_options(&H200, Options { compiler: Some(compiler), ..Options::from_env() })),
    ];
    let mut times = [Vec::new(), Vec::new()];
    let mut prepared = Vec::new();
    for (_, gpu) in &gpus {
        let module = gpu.load(PTX)?;
        let kernel = module.kernel("matmul_tiled").ok_or("no kernel")?;
        let bytes = (4 * N * N) as u64;
        let buffers: Vec<u64> = (0..3).map(|_| gpu.memory().alloc(bytes)).collect::<Result<_, _>>()?;
        for (&buffer, step) in buffers.iter().zip([7, 13]) {
            let values: Vec<u8> =
                (0..N * N).flat_map(|i| ((i * step % 1009) as f32 / 64.0 - 5.0).to_le_bytes()).collect();
            gpu.memory().write(buffer, &values)?;
        }
        let mut params: Vec<u8> = buffers.iter().flat_map(|b| b.to_le_bytes()).collect();
        params.extend((N as u32).to_le_bytes());
        prepared.push((kernel, params, buffers[2]));
    }
    let blocks = (N / 16) as u32;
    let launch = Launch::new((blocks, blocks), (16, 16));
    for turn in 0..6 {
        for ((name, gpu), ((kernel, params, _), times)) in gpus.iter().zip(prepared.iter().zip(&mut times)) {
            let start = Instant::now();
            gpu.launch(kernel, &launch, params, &mut ())?;
            if turn == 0 {
                println!("{name}: the first launch took {:?}", start.elapsed());
            } else {
                times.push(start.elapsed());
            }
        }
    }
    let mut results = [vec![0; 4 * N * N], vec![0; 4 * N * N]];
    for (((_, gpu), prepared), result) in gpus.iter().zip(&prepared).zip(&mut results) {
        gpu.memory().read(prepared.2, result)?;
    }
    assert!(results[0] == results[1] && results[0].iter().any(|&byte| byte != 0), "the results differ");
    let rate = |t: Duration| 2.0 * (N * N * N) as f64 / t.as_secs_f64() / 1e9;
    for ((name, _), times) in gpus.iter().zip(&mut times) {
        times.sort();
        println!(
            "{name}: {:.2} GFLOP/s ({:.2} to {:.2})",
            rate(times[times.len() / 2]),
            rate(times[times.len() - 1]),
            rate(times[0])
        );
    }
    Ok(())
}
