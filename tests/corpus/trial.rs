//! Runs one kernel under the sanitizer on the virtual GPU.

use std::cell::RefCell;
use std::fmt;

use gpu_model::chips::H200;
use planted::Case;
use sanitizer::{Checks, Finding, Format, Sanitizer, render};
use virtual_gpu::{Gpu, Launch, Module, Options};

use crate::{DEFAULT, expected};

/// The kernels' PTX.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/planted.ptx"));

/// Words of each buffer.
pub const WORDS: usize = 1024;

/// What came of a case.
pub enum Verdict {
    /// As it should be; by which schedule, of a bug.
    Good(u64),
    /// The bug was not found; what else was said.
    Missed(Vec<Finding>),
    /// Something was said of the right twin under this schedule.
    False(u64, Vec<Finding>),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Good(_) => f.write_str("good"),
            Verdict::Missed(said) => write!(f, "not found; what was said:\n{}", render(said, Format::Text)),
            Verdict::False(seed, said) => {
                write!(f, "nothing is wrong, yet under schedule {seed}:\n{}", render(said, Format::Text))
            }
        }
    }
}

thread_local! {
    /// Decoding the module takes longer than most cases, so a thread does it once.
    static DEVICE: RefCell<(Gpu, Module)> = {
        let gpu = Gpu::with_options(&H200, options(0));
        let module = gpu.load(PTX).unwrap_or_else(|error| panic!("{error}"));
        RefCell::new((gpu, module))
    };
}

fn options(schedule: u64) -> Options {
    let seed = (schedule > 0).then_some(schedule);
    Options { threads: 1, seed, watchdog: Some(20_000_000), spin_limit: Some(300_000), ..Options::default() }
}

/// The words of the input, as [`planted::Data`] says.
pub fn input() -> Vec<u32> {
    (0..WORDS as u32).map(|i| if i < 1000 { (7 * i + 3) % 11 } else { 0 }).collect()
}

/// What is found in a kernel under a schedule.
pub fn findings(kernel: &str, case: &Case, schedule: u64) -> Vec<Finding> {
    DEVICE.with_borrow_mut(|(gpu, module)| {
        gpu.set_options(options(schedule));
        let sanitizer = Sanitizer::new(Checks::ALL);
        let size = 4 * WORDS as u64;
        let bytes: Vec<u8> = input().iter().flat_map(|word| word.to_le_bytes()).collect();
        let buffers: Vec<u64> = [Some(&*bytes), None, Some(&vec![0; bytes.len()])]
            .into_iter()
            .map(|content| {
                let address = gpu.memory().alloc(size).unwrap();
                sanitizer.host_allocated(address, size, None);
                if let Some(content) = content {
                    gpu.memory().write(address, content).unwrap();
                    sanitizer.host_wrote(address, size);
                }
                address
            })
            .collect();
        let mut parameters: Vec<u8> = buffers.iter().flat_map(|address| address.to_le_bytes()).collect();
        parameters.extend((WORDS as u32).to_le_bytes());
        let function = module.kernel(kernel).unwrap_or_else(|| panic!("the module has `{kernel}`"));
        let launch = Launch::new(case.grid, case.block).dynamic_shared(case.dynamic);
        let ended = gpu.launch(&function, &launch, &parameters, &mut sanitizer.launch());
        if ended.is_ok() {
            sanitizer.host_read(buffers[1], 4 * case.reads as u64);
        }
        for address in buffers {
            gpu.memory().free(address).unwrap();
        }
        sanitizer.findings()
    })
}

/// Looks for the bug of a case, under more schedules if the plain one may hide it.
pub fn bad(text: &str, case: &Case) -> Verdict {
    let kernel = format!("{}_bug", case.name);
    let mut said = Vec::new();
    for schedule in 0..if case.hidden { DEFAULT } else { 1 } {
        said = findings(&kernel, case, schedule);
        if said.iter().any(|finding| expected::is_it(text, case, finding)) {
            return Verdict::Good(schedule);
        }
    }
    Verdict::Missed(said)
}

/// Runs the right twin of a case under so many schedules.
pub fn right(case: &Case, schedules: u64) -> Verdict {
    let kernel = format!("{}_right", case.name);
    for schedule in 0..schedules {
        let said = findings(&kernel, case, schedule);
        if !said.is_empty() {
            return Verdict::False(schedule, said);
        }
    }
    Verdict::Good(0)
}
