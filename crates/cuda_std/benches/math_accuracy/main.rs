//! Measures the worst error of every function and writes the table of `docs/math-accuracy.md`.
//!
//!     cargo bench -p cuda_std --bench math_accuracy -- [--inputs N] [--stride N] [--only NAME] [--gpu PTX] [--write FILE]
//!
//! `f64` functions, and `f32` functions of two arguments: N inputs (a million) against 192-bit arithmetic. `f32`
//! functions of one argument: every N-th of all 2³² inputs (default: every one) against the function's own `f64` form,
//! whose error is about 2⁻⁵² of the result. Testing all of them takes hours on two cores; a GPU takes seconds, with
//! `--gpu` and a file for its PTX.

#[path = "../../tests/accuracy/cases.rs"]
mod cases;
#[path = "../../tests/accuracy/error.rs"]
mod error;
mod gpu;
#[path = "../../tests/accuracy/inputs.rs"]
#[allow(dead_code)]
mod inputs;
#[path = "../../tests/accuracy/measure.rs"]
#[allow(dead_code)]
mod measure;
#[path = "../../tests/accuracy/reference.rs"]
#[allow(dead_code)]
mod reference;
#[path = "../../tests/accuracy/special.rs"]
#[allow(dead_code)]
mod special;

use Function::{Inverse, One, Two};
use cuda_std::intrinsics;
use gpu::Gpu;
use measure::Worst;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Options {
    inputs: usize,
    stride: u64,
    only: Option<String>,
    gpu: Option<PathBuf>,
    write: Option<String>,
}

fn options() -> Options {
    let mut options = Options { inputs: 1_000_000, stride: 1, only: None, gpu: None, write: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} wants a value"));
        match argument.as_str() {
            "--inputs" => options.inputs = value().parse().expect("--inputs wants a number"),
            "--stride" => options.stride = value().parse().expect("--stride wants a number"),
            "--only" => options.only = Some(value()),
            "--gpu" => options.gpu = Some(value().into()),
            "--write" => options.write = Some(value()),
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    options
}

type Error = Box<dyn std::error::Error>;
type Single = unsafe fn(f32) -> f32;
type Double = unsafe fn(f64) -> f64;

/// Functions whose `f64` form only the tests measure, through the function it inverts.
const INVERSES: [(&str, &str, Single, Double); 3] = [
    ("erfinv", "erfinvf", intrinsics::erfinvf, intrinsics::erfinv),
    ("erfcinv", "erfcinvf", intrinsics::erfcinvf, intrinsics::erfcinv),
    ("normcdfinv", "normcdfinvf", intrinsics::normcdfinvf, intrinsics::normcdfinv),
];

/// A row of the table.
enum Function {
    One(&'static cases::One),
    Inverse(&'static str, &'static str, Single, Double),
    Two(&'static cases::Two),
}

impl Function {
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            One(case) => (case.name, case.name_32),
            Inverse(name, name_32, ..) => (name, name_32),
            Two(case) => (case.name, case.name_32),
        }
    }

    /// The error of the `f64` form over a part of its inputs.
    fn double(&self, part: usize, count: usize) -> Worst {
        match self {
            One(case) => measure::one_double(case, share(&inputs::doubles(case, count), part)),
            Inverse(..) => Worst::new(),
            Two(case) => measure::two_double(case, share(&inputs::double_pairs(case, count), part)),
        }
    }

    /// The error of the `f32` form, of one argument, over inputs `stride` apart.
    fn single(&self, part: usize, count: usize, stride: u64) -> Worst {
        if let Two(case) = self {
            return measure::two_single(case, share(&inputs::single_pairs(case, count), part));
        }
        let (forms, count) = self.singles(stride).expect("one argument");
        let start = |part| count * part as u64 / PARTS as u64;
        let mut worst = Worst::new();
        for index in start(part)..start(part + 1) {
            single_worst(&mut worst, forms, (index * stride) as u32);
        }
        worst
    }

    /// Both forms of a function of one argument, and how many `f32` inputs are `stride` apart. If the domain begins at
    /// 0, only positive inputs count.
    fn singles(&self, stride: u64) -> Option<((Single, Double), u64)> {
        let (forms, inputs) = match self {
            One(case) if case.domain.0 == 0.0 => ((case.single, case.double), 1_u64 << 31),
            One(case) => ((case.single, case.double), 1 << 32),
            Inverse(_, _, single, double) => ((*single, *double), 1 << 32),
            Two(_) => return None,
        };
        Some((forms, inputs.div_ceil(stride)))
    }
}

fn single_worst(worst: &mut Worst, (single, double): (Single, Double), bits: u32) {
    let x = f32::from_bits(bits);
    // SAFETY: functions of numbers only.
    let (got, want) = unsafe { (single(x), double(f64::from(x))) };
    worst.take(error::single_error(got, want, 0.0), &[f64::from(x)], f64::from(got));
}

/// The inputs of each function are split into this many parts, so that every core has work until the end.
const PARTS: usize = 64;

fn share<T>(inputs: &[T], part: usize) -> &[T] {
    let start = |part| inputs.len() * part / PARTS;
    &inputs[start(part)..start(part + 1)]
}

fn row((name, name_32): (&str, &str), double: &Worst, single: &Worst) -> String {
    let cells = |worst: &Worst| match worst.inputs {
        0 => " |".to_string(),
        _ => {
            let place = worst.at.iter().map(|x| format!("{x:e}")).collect::<Vec<_>>().join(", ");
            format!("{:.3} | {place}", worst.ulps)
        }
    };
    format!("| `{name}` | {} | `{name_32}` | {} |", cells(double), cells(single))
}

/// Keeps the larger error and adds up the inputs.
fn join(worst: &mut Worst, other: Worst) {
    let inputs = worst.inputs + other.inputs;
    if other.ulps > worst.ulps || other.ulps.is_nan() {
        *worst = other;
    }
    worst.inputs = inputs;
}

/// The result so far for one function, and how many of its parts it covers.
struct Found {
    parts: usize,
    double: Worst,
    single: Worst,
}

fn main() -> Result<(), Error> {
    let options = options();
    let functions = (cases::ONE.iter().map(One))
        .chain(INVERSES.iter().map(|&(name, name_32, single, double)| Inverse(name, name_32, single, double)))
        .chain(cases::TWO.iter().map(Two))
        .filter(|function| options.only.as_deref().is_none_or(|only| only == function.names().0))
        .collect::<Vec<_>>();
    let gpu = options.gpu.as_deref().map(Gpu::new).transpose()?;
    let mut found = Vec::new();
    for function in &functions {
        let mut single = Worst::new();
        if let (Some(gpu), Some((forms, count))) = (&gpu, function.singles(options.stride)) {
            single = gpu.worst(function.names().1, forms, count, options.stride)?;
        }
        found.push(Mutex::new(Found { parts: 0, double: Worst::new(), single }));
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(function), part) = (functions.get(task / PARTS), task % PARTS) else { break };
                    let double = function.double(part, options.inputs);
                    let single = (gpu.is_none() || matches!(function, Two(_)))
                        .then(|| function.single(part, options.inputs, options.stride));
                    let mut found = found[task / PARTS].lock().expect("no thread panicked");
                    found.parts += 1;
                    join(&mut found.double, double);
                    single.into_iter().for_each(|single| join(&mut found.single, single));
                    if found.parts == PARTS {
                        println!("{}", row(function.names(), &found.double, &found.single));
                    }
                }
            });
        }
    });
    let Some(path) = &options.write else { return Ok(()) };
    let mut table = String::from(
        "| f64 | worst, ulp | at | f32 | worst, ulp | at |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for (function, found) in functions.iter().zip(found) {
        let found = found.into_inner().expect("no thread panicked");
        writeln!(table, "{}", row(function.names(), &found.double, &found.single))?;
    }
    let which = match options.stride {
        1 => "all 2³² inputs".to_string(),
        stride => format!("every {stride}th of all 2³² inputs"),
    };
    let place = gpu.map_or_else(String::new, |gpu| format!(" (on {})", gpu.name));
    writeln!(table, "\n`f64`: {0} inputs; `f32`: {which}{place}, or {0} pairs.", options.inputs)?;
    Ok(std::fs::write(path, table)?)
}
