//! Random programs that are right, on several threads of the host at once: each has mappings that it changes, textures over
//! them, graphs, memory of the device's heap, pinned and pooled memory, and kernels of several blocks with random
//! arithmetic. A model in plain Rust says what each must leave behind.
//!
//! `PROGRAMS_SECONDS` is how long it goes on (3 if not set), `PROGRAMS_SEED` where it begins. `.ci/programs` runs it for long,
//! under AddressSanitizer.

mod api;
mod arithmetic;
mod worker;

use std::time::{Duration, Instant};

use api::{context, start};
use worker::Worker;

const THREADS: u64 = 4;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect(name))
}

/// What a program does is decided by a generator of its own.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `count`.
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    fn word(&mut self) -> u32 {
        self.below(1 << 31) as u32 ^ (self.below(1 << 31) as u32) << 1
    }
}

#[test]
fn random_programs_leave_what_they_must() {
    start();
    let end = Instant::now() + Duration::from_secs(number("PROGRAMS_SECONDS", 3));
    let mut seed = number("PROGRAMS_SEED", 1);
    let mut programs = 0;
    // A panic names its seed.
    while programs == 0 || Instant::now() < end {
        // Two threads in one context, two in another, so that contexts meet in the memory that they share.
        let contexts = [context(), context()];
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (context, seed) = (contexts[thread as usize % 2], seed * THREADS + thread);
                std::thread::Builder::new()
                    .name(format!("seed {seed}"))
                    .spawn_scoped(scope, move || Worker::new(context, Random::new(seed)).run())
                    .unwrap();
            }
        });
        contexts.into_iter().for_each(api::destroy);
        seed += 1;
        programs += THREADS;
    }
    println!("{programs} programs");
}
