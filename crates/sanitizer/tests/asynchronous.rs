//! Pipelines and bulk copies that are right give no findings, a forgotten wait gives one.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, Finding, Sanitizer};
use virtual_gpu::{Gpu, Launch, Options};

const NVCC: &str = include_str!("../../virtual_gpu/tests/hopper/nvcc.ptx");
const BY_HAND: &str = include_str!("../../virtual_gpu/tests/hopper/asynchronous.ptx");

/// What is found in a kernel that reads `words` words and writes as many.
fn findings(ptx: &str, kernel: &str, launch: Launch, words: u32, number: Option<u32>) -> Vec<Finding> {
    let sanitizer = Sanitizer::new(Checks::ALL);
    let gpu =
        Gpu::with_options(&H200, Options { threads: 1, watchdog: Some(20_000_000), ..Options::default() });
    let module = gpu.load(ptx).unwrap_or_else(|error| panic!("{error}"));
    let bytes: Vec<u8> = (0..words).flat_map(|i| (i % 64).to_le_bytes()).collect();
    let mut params = Vec::new();
    for _ in 0..2 {
        let address = gpu.memory().alloc(bytes.len() as u64).unwrap();
        sanitizer.host_allocated(address, bytes.len() as u64, None);
        gpu.memory().write(address, &bytes).unwrap();
        sanitizer.host_wrote(address, bytes.len() as u64);
        params.extend(address.to_le_bytes());
    }
    params.extend(number.iter().flat_map(|number| number.to_le_bytes()));
    let kernel = module.kernel(kernel).unwrap();
    gpu.launch(&kernel, &launch, &params, &mut sanitizer.launch()).unwrap_or_else(|error| panic!("{error}"));
    sanitizer.findings()
}

#[test]
fn pipelines_that_wait_are_clean() {
    for (ptx, kernel, launch, words, number) in [
        (NVCC, "staged", Launch::new(1, 64), 320, Some(5)),
        (NVCC, "roles", Launch::new(1, 128), 320, Some(5)),
        (NVCC, "together", Launch::new(1, 64).dynamic_shared(1600), 400, Some(100)),
        (BY_HAND, "producer_consumer", Launch::new(1, 64), 160, None),
        (BY_HAND, "bulk", Launch::new(1, 16), 32, None),
    ] {
        let found = findings(ptx, kernel, launch, words, number);
        assert!(found.is_empty(), "{kernel}: {found:#?}");
    }
}

#[test]
fn a_read_before_the_wait_is_a_race() {
    let found = findings(BY_HAND, "deferred", Launch::new(1, 32), 256, None);
    assert!(found.iter().any(|finding| finding.check == Check::Race), "{found:#?}");
}
