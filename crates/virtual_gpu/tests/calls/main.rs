//! Random functions that call each other: they pass and return scalars, vectors, structures and arrays, lanes diverge
//! around calls and return early, and functions recurse, by name and through registers. What a program ([`generate`])
//! does is computed a second time from its tree ([`evaluate`]), which knows nothing of PTX ([`emit`]).

#[path = "../harness/mod.rs"]
mod harness;

mod emit;
mod evaluate;
mod generate;
mod tree;

use harness::{Arg, Device};
use tree::{Program, WORDS};
use virtual_gpu::Launch;

const THREADS: u32 = 48;

/// Runs the program for a seed and compares what each thread stored.
fn check(seed: u64) -> Result<(), String> {
    let program = generate::program(seed);
    let ptx = emit::module(&program);
    let found = run(&ptx);
    let expected: Vec<u32> = (0..THREADS).flat_map(|thread| evaluate::kernel(&program, thread)).collect();
    let wrong = (0..THREADS).find(|thread| {
        let words = *thread as usize * WORDS..(*thread as usize + 1) * WORDS;
        found[words.clone()] != expected[words]
    });
    match wrong {
        None => Ok(()),
        Some(thread) => {
            let words = thread as usize * WORDS..(thread as usize + 1) * WORDS;
            let (found, expected) = (&found[words.clone()], &expected[words]);
            Err(format!("seed {seed}, thread {thread}: {found:x?} where {expected:x?} is right\n{ptx}"))
        }
    }
}

fn run(ptx: &str) -> Vec<u32> {
    let device = Device::new(ptx);
    let words = THREADS as usize * WORDS;
    let out = device.upload(&vec![0u32; words]);
    device.launch("k", Launch::new(1, THREADS), &[Arg::Pointer(out)]);
    device.download(out, words)
}

fn all(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(difference) = check(seed) {
            panic!("{difference}");
        }
    }
}

#[test]
fn a_few_random_programs() {
    all(0..150);
}

/// The programs must contain everything that is to be tested.
#[test]
fn programs_have_what_they_are_for() {
    let text: String = (0..150).map(|seed| emit::module(&generate::program(seed))).collect();
    for part in [
        ".func (.reg .v2 .u32",
        ".func (.reg .v4 .u32",
        ".func (.param .align 8 .b8",
        ".reg .v2 .b16",
        ".param .b64",
        ".callprototype",
        "bra",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let calls_itself = (0..150).any(|seed| {
        let Program { functions, .. } = generate::program(seed);
        functions.iter().enumerate().any(|(at, function)| tree::calls(&function.body).contains(&at))
    });
    assert!(calls_itself);
}

/// The long run: `cargo test -p virtual_gpu --test calls -- --ignored`.
#[test]
#[ignore = "takes a minute"]
fn ten_thousand_random_programs() {
    all(0..10_000);
}
