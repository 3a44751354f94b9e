//! Kernels as nvcc compiles them (`tests/ptx/first.cu`), against results computed on the host.

use gpu_model::chips::H200;
use virtual_gpu::{Gpu, Kernel, Launch, Options};

const PTX: &str = include_str!("ptx/first.ptx");

fn gpu(threads: usize) -> Gpu {
    Gpu::with_options(&H200, Options { threads, watchdog: Some(200_000_000), ..Options::default() })
}

fn upload(gpu: &Gpu, values: &[f32]) -> u64 {
    let address = gpu.memory().alloc(4 * values.len() as u64).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    gpu.memory().write(address, &bytes).unwrap();
    address
}

fn download(gpu: &Gpu, address: u64, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * count];
    gpu.memory().read(address, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
}

/// A parameter block: pointers first, then 32-bit integers.
fn params(kernel: &Kernel, pointers: &[u64], numbers: &[i32]) -> Vec<u8> {
    let mut block: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    block.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    assert_eq!(block.len(), kernel.param_bytes());
    block
}

/// Small integers: sums of their products are exact in any order.
fn pattern(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 17) as f32 - 8.0).collect()
}

#[test]
fn vector_add() {
    let gpu = gpu(2);
    let module = gpu.load(PTX).unwrap();
    let kernel = module.kernel("vector_add").unwrap();
    let n = 100_003;
    let (a, b) = (pattern(n, 1), pattern(n, 2));
    let (da, db, dc) = (upload(&gpu, &a), upload(&gpu, &b), upload(&gpu, &vec![-1.0; n]));
    let block = params(&kernel, &[da, db, dc], &[n as i32]);
    gpu.launch(&kernel, &Launch::new(n.div_ceil(256) as u32, 256), &block, &mut ()).unwrap();
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(download(&gpu, dc, n), expected);
}

#[test]
fn tiled_matmul() {
    let n = 96;
    let (a, b) = (pattern(n * n, 1), pattern(n * n, 2));
    let expected: Vec<f32> =
        (0..n * n).map(|i| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum()).collect();
    for threads in [1, 3] {
        let gpu = gpu(threads);
        let module = gpu.load(PTX).unwrap();
        let kernel = module.kernel("matmul_tiled").unwrap();
        assert_eq!(kernel.static_shared(), 2 * 16 * 16 * 4);
        let (da, db, dc) = (upload(&gpu, &a), upload(&gpu, &b), upload(&gpu, &vec![0.0; n * n]));
        let block = params(&kernel, &[da, db, dc], &[n as i32]);
        gpu.launch(&kernel, &Launch::new((6, 6), (16, 16)), &block, &mut ()).unwrap();
        assert_eq!(download(&gpu, dc, n * n), expected);
    }
}

#[test]
fn transposes() {
    let (width, height) = (96, 160);
    let input: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
    let expected: Vec<f32> = (0..width * height).map(|i| input[i % height * width + i / height]).collect();
    let gpu = gpu(2);
    let module = gpu.load(PTX).unwrap();
    for name in ["transpose_naive", "transpose_shared", "transpose_padded"] {
        let kernel = module.kernel(name).unwrap();
        let (from, to) = (upload(&gpu, &input), upload(&gpu, &vec![0.0; width * height]));
        let block = params(&kernel, &[from, to], &[width as i32, height as i32]);
        let grid = ((width / 32) as u32, (height / 32) as u32);
        gpu.launch(&kernel, &Launch::new(grid, (32, 8)), &block, &mut ()).unwrap();
        assert_eq!(download(&gpu, to, width * height), expected, "{name}");
    }
}

#[test]
fn a_write_past_the_end_names_kernel_thread_and_lines() {
    let gpu = gpu(2);
    let module = gpu.load(PTX).unwrap();
    let kernel = module.kernel("vector_add").unwrap();
    // The result fills one granule.
    let (a, c) = (upload(&gpu, &[1.0; 160]), upload(&gpu, &[0.0; 128]));
    let block = params(&kernel, &[a, a, c], &[160]);
    let error = gpu.launch(&kernel, &Launch::new(5, 32), &block, &mut ()).unwrap_err();
    assert_eq!(error.cuda_code(), 700);
    let text = error.to_string();
    for part in
        ["global store of 4 bytes", "`vector_add`", "block (4, 0, 0)", "thread (0, 0, 0)", "first.cu:3"]
    {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}
