//! Damaged programs, compiled and interpreted: what loads is launched, and does the same in both forms.
//!
//! `HOSTILE=100000 cargo test -p compiled --test hostile` damages so many, `HOSTILE_FIRST` begins at another, and
//! `HOSTILE_KEEP` names a folder where the program under way is written, should it take the process with it.

#[path = "../../virtual_gpu/tests/damage/mod.rs"]
mod damage;
#[path = "../../virtual_gpu/tests/fixture/mod.rs"]
mod fixture;
#[path = "random/memory.rs"]
mod memory;
#[path = "random/program.rs"]
mod program;
#[path = "random/source.rs"]
mod source;
mod trials;

use std::sync::Arc;
use std::time::{Duration, Instant};

use damage::{Random, damage};
use gpu_model::chips::H200;
use virtual_gpu::jit::Compiler;
use virtual_gpu::{Gpu, Launch, Options};

const BUFFER: usize = 1 << 16;

/// What the kernels of a program did, in turn: the faults, and what was in memory after each.
type Done = Vec<(Option<String>, Vec<u8>)>;

/// Loads a program and launches what it has. `None` if it is refused; else also how many of its kernels were compiled.
fn launched(
    text: &str,
    (blocks, threads): (u32, u32),
    compiler: Option<Arc<dyn Compiler>>,
) -> Option<(Done, usize)> {
    let options =
        Options { threads: 1, watchdog: Some(20_000), stack_limit: 16 << 10, compiler, ..Options::default() };
    let gpu = Gpu::with_options(&H200, options);
    let module = gpu.load(text).ok()?;
    let buffer = gpu.memory().alloc(BUFFER as u64).ok()?;
    gpu.memory().write(buffer, &[0; BUFFER]).ok()?;
    let (mut done, mut compiled) = (Vec::new(), 0);
    for kernel in module.kernels().filter(|kernel| kernel.param_bytes() <= 4096) {
        let mut params = buffer.to_le_bytes().repeat(kernel.param_bytes().div_ceil(8));
        params.truncate(kernel.param_bytes());
        let launch = Launch::new(blocks, threads).dynamic_shared(1024);
        let fault = gpu.launch(&kernel, &launch, &params, &mut ()).err().map(|fault| fault.to_string());
        compiled += usize::from(kernel.is_compiled());
        let mut left = vec![0; BUFFER];
        gpu.memory().read(buffer, &mut left).ok()?;
        done.push((fault, left));
    }
    Some((done, compiled))
}

/// Damages programs from `first` on until `ends` says so after some of them, and gives how many were launched.
fn damaged(first: u64, mut ends: impl FnMut(u64) -> bool) -> u64 {
    let keep = std::env::var("HOSTILE_KEEP").ok();
    let compiler = compiled::compiler(true, compiled::Kept::Not);
    let (programs, mut ran, mut i) = (damage::programs(), 0, 0);
    while !ends(i) {
        let mut random = Random(first + i);
        // Half of them begin as one of the random programs, which do more of everything with fewer words.
        let (text, size) = if random.below(2) == 0 {
            (damage(&programs[random.below(programs.len())], &mut random), (1, 64))
        } else {
            let program = program::of(first + i);
            (damage(&program.ptx, &mut random), (program.blocks, program.threads))
        };
        if let Some(folder) = &keep {
            std::fs::write(format!("{folder}/{}.ptx", first + i), &text).expect("the folder is there");
        }
        if let Some((expected, _)) = launched(&text, size, None) {
            let (found, compiled) = launched(&text, size, Some(compiler.clone())).expect("it loads again");
            ran += u64::from(compiled > 0);
            for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
                assert_eq!(expected.0, found.0, "program {}, kernel {number}\n{text}", first + i);
                assert!(expected.1 == found.1, "memory after kernel {number} of {}\n{text}", first + i);
            }
        }
        if let Some(folder) = &keep {
            std::fs::remove_file(format!("{folder}/{}.ptx", first + i)).expect("it was written");
        }
        i += 1;
    }
    ran
}

fn damaged_programs_do_the_same_compiled() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (first, count) = (number("HOSTILE_FIRST").unwrap_or(1 << 32), number("HOSTILE").unwrap_or(60));
    let ran = damaged(first, |i| i == count);
    // The damage must be slight enough to reach the code.
    assert!(ran > count / 20, "{ran} of {count} ran compiled");
    println!("{ran} of {count} ran compiled");
}

/// Not by default: it takes as long as its name says.
fn damaged_for_a_quarter_of_a_minute() {
    let started = Instant::now();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = since.map_or(1, |since| since.as_nanos() as u64);
    println!("from {first} on");
    let ran = damaged(first, |_| started.elapsed() > Duration::from_secs(15));
    assert!(ran > 0);
}

trials! {
    fn damaged_programs_do_the_same_compiled;
    fn damaged_for_a_quarter_of_a_minute, ignored;
}
