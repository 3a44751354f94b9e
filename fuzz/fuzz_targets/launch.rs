//! Any bytes: what loads is launched, and does the same interpreted and compiled, without a panic or a crash.
//!
//! `cargo +nightly fuzz run launch -- -max_total_time=60 -timeout=60`, the fixtures of `crates/virtual_gpu/tests` as a first
//! corpus. Without a nightly compiler: `cargo test -p compiled --test hostile -- --ignored`.

#![no_main]

use gpu_model::chips::H200;
use virtual_gpu::{Gpu, Launch, Options};

const BUFFER: usize = 1 << 16;

/// What the kernels did: how each faulted, and what they left in memory. `None` if the text is refused.
fn launched(text: &str, compiles: bool) -> Option<(Vec<Option<String>>, Vec<u8>)> {
    let compiler = compiles.then(|| compiled::compiler(true, compiled::Kept::Not));
    let options = Options { threads: 1, watchdog: Some(20_000), stack_limit: 16 << 10, compiler, ..Options::default() };
    let gpu = Gpu::with_options(&H200, options);
    let module = gpu.load(text).ok()?;
    let buffer = gpu.memory().alloc(BUFFER as u64).ok()?;
    gpu.memory().write(buffer, &[0; BUFFER]).ok()?;
    let mut faults = Vec::new();
    for kernel in module.kernels().filter(|kernel| kernel.param_bytes() <= 4096) {
        let mut params = buffer.to_le_bytes().repeat(kernel.param_bytes().div_ceil(8));
        params.truncate(kernel.param_bytes());
        let done = gpu.launch(&kernel, &Launch::new(1, 64).dynamic_shared(1024), &params, &mut ());
        faults.push(done.err().map(|fault| fault.to_string()));
    }
    let mut left = vec![0; BUFFER];
    gpu.memory().read(buffer, &mut left).ok()?;
    Some((faults, left))
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Some(interpreted) = launched(&text, false) {
        assert!(Some(interpreted) == launched(&text, true), "the forms differ");
    }
});
