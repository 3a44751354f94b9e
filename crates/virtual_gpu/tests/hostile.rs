//! Damaged programs: each is refused or runs to an end, and none brings the process down.

mod damage;
mod fixture;

use damage::{Random, damage, programs};
use gpu_model::chips;
use virtual_gpu::{Gpu, Launch, Options};

/// Loads a program and runs its kernels, if it gets that far. True if any kernel was launched.
fn attempt(text: &str) -> bool {
    let options = Options { threads: 1, watchdog: Some(20_000), stack_limit: 16 << 10, ..Options::default() };
    let gpu = Gpu::with_options(&chips::H200, options);
    let Ok(module) = gpu.load(text) else { return false };
    let buffer = gpu.memory().alloc(1 << 16).unwrap();
    let mut launched = false;
    for kernel in module.kernels() {
        if kernel.param_bytes() > 4096 {
            continue;
        }
        let mut params = buffer.to_le_bytes().repeat(kernel.param_bytes().div_ceil(8));
        params.truncate(kernel.param_bytes());
        let launch = Launch::new(1, 64).dynamic_shared(1024);
        launched |= gpu.launch(&kernel, &launch, &params, &mut ()).is_ok();
    }
    launched
}

#[test]
fn damaged_programs_are_refused_or_end() {
    // `HOSTILE=100000` runs more, `HOSTILE_SEED` others; `HOSTILE_KEEP` keeps those that fail.
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let count = number("HOSTILE").unwrap_or(600);
    let seed = number("HOSTILE_SEED").unwrap_or(1);
    let keep = std::env::var("HOSTILE_KEEP").ok();
    let (programs, mut launched, mut panicked) = (programs(), 0, Vec::new());
    for i in 0..count {
        let mut random = Random((seed << 32) + i);
        let text = damage(&programs[i as usize % programs.len()], &mut random);
        if let Some(directory) = &keep {
            std::fs::write(format!("{directory}/{i}.ptx"), &text).unwrap();
        }
        match std::panic::catch_unwind(|| attempt(&text)) {
            Ok(ran) => launched += u32::from(ran),
            Err(_) => {
                panicked.push(i);
                continue;
            }
        }
        if let Some(directory) = &keep {
            std::fs::remove_file(format!("{directory}/{i}.ptx")).unwrap();
        }
    }
    assert!(panicked.is_empty(), "programs {panicked:?} of seed {seed} made the virtual GPU panic");
    // The damage must be slight enough to reach decoding and execution.
    assert!(launched > count as u32 / 20, "{launched} of {count} ran");
}
