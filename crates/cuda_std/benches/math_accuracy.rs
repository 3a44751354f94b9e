//! Measures the worst error of every function and writes the table of `docs/math-accuracy.md`.
//!
//!     cargo bench -p cuda_std --bench math_accuracy -- [--inputs N] [--stride N] [--only NAME] [--write FILE]
//!
//! `f64`, and `f32` functions of two arguments: N inputs (a million) against arithmetic of 192 bits. `f32` functions of
//! one argument: every N-th of all 2³² inputs (each), against the function's own `f64` form, whose error is some 2⁻⁵² of
//! the result.

#[path = "../tests/accuracy/cases.rs"]
mod cases;
#[path = "../tests/accuracy/inputs.rs"]
#[allow(dead_code)]
mod inputs;
#[path = "../tests/accuracy/measure.rs"]
#[allow(dead_code)]
mod measure;
#[path = "../tests/accuracy/reference.rs"]
#[allow(dead_code)]
mod reference;
#[path = "../tests/accuracy/special.rs"]
#[allow(dead_code)]
mod special;

use cuda_std::intrinsics;
use measure::Worst;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Options {
    inputs: usize,
    stride: u64,
    only: Option<String>,
    write: Option<String>,
}

fn options() -> Options {
    let mut options = Options { inputs: 1_000_000, stride: 1, only: None, write: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} wants a value"));
        match argument.as_str() {
            "--inputs" => options.inputs = value().parse().expect("--inputs wants a number"),
            "--stride" => options.stride = value().parse().expect("--stride wants a number"),
            "--only" => options.only = Some(value()),
            "--write" => options.write = Some(value()),
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    options
}

type Single = unsafe fn(f32) -> f32;
type Double = unsafe fn(f64) -> f64;

/// Functions whose `f64` form is measured by the tests alone, through the function that they invert.
const INVERSES: [(&str, &str, Single, Double); 3] = [
    ("erfinv", "erfinvf", intrinsics::erfinvf, intrinsics::erfinv),
    ("erfcinv", "erfcinvf", intrinsics::erfcinvf, intrinsics::erfcinv),
    ("normcdfinv", "normcdfinvf", intrinsics::normcdfinvf, intrinsics::normcdfinv),
];

/// All `f32` inputs, `stride` apart; of a function whose domain begins at 0 the positive ones.
fn every_single(single: Single, double: Double, positive: bool, stride: u64) -> Worst {
    let mut worst = Worst { ulps: 0.0, at: Vec::new(), got: 0.0, inputs: 0 };
    let mut bits = 0_u64;
    let end = if positive { 1 << 31 } else { 1 << 32 };
    while bits < end {
        let x = f32::from_bits(bits as u32);
        // SAFETY: functions of numbers only.
        let (got, want) = unsafe { (single(x), double(f64::from(x))) };
        let error = measure::single_error(got, want, 0.0);
        worst.inputs += 1;
        if error > worst.ulps || error.is_nan() {
            (worst.ulps, worst.at, worst.got) = (error, vec![f64::from(x)], f64::from(got));
        }
        bits += stride;
    }
    worst
}

fn row(name: &str, double: &Worst, name_32: &str, single: &Worst) -> String {
    let place = |worst: &Worst| worst.at.iter().map(|x| format!("{x:e}")).collect::<Vec<_>>().join(", ");
    format!(
        "| `{name}` | {:.3} | {} | `{name_32}` | {:.3} | {} |",
        double.ulps,
        place(double),
        single.ulps,
        place(single)
    )
}

fn main() {
    let options = options();
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let count = cases::ONE.len() + INVERSES.len() + cases::TWO.len();
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(vec![String::new(); count]));
    let measure = |index: usize| {
        if let Some(case) = cases::ONE.get(index) {
            wanted(case.name).then(|| {
                let double = measure::one_double(case, options.inputs);
                let single = every_single(case.single, case.double, case.domain.0 == 0.0, options.stride);
                row(case.name, &double, case.name_32, &single)
            })
        } else if let Some((name, name_32, single, double)) = INVERSES.get(index - cases::ONE.len()) {
            wanted(name).then(|| {
                let worst = every_single(*single, *double, false, options.stride);
                format!("| `{name}` | | | `{name_32}` | {:.3} | {:e} |", worst.ulps, worst.at[0])
            })
        } else {
            let case = &cases::TWO[index - cases::ONE.len() - INVERSES.len()];
            wanted(case.name).then(|| {
                let double = measure::two_double(case, options.inputs);
                row(case.name, &double, case.name_32, &measure::two_single(case, options.inputs))
            })
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    if let Some(row) = measure(index) {
                        println!("{row}");
                        rows.lock().expect("no thread panicked")[index] = row;
                    }
                }
            });
        }
    });
    let Some(path) = &options.write else { return };
    let mut table = String::from(
        "| f64 | worst, ulp | at | f32 | worst, ulp | at |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for row in rows.into_inner().expect("no thread panicked").iter().filter(|row| !row.is_empty()) {
        writeln!(table, "{row}").expect("a string takes everything");
    }
    let _ = writeln!(
        table,
        "\n`f64`: {} inputs; `f32`: every {}th of all 2³² inputs, or {} pairs.",
        options.inputs, options.stride, options.inputs
    );
    std::fs::write(path, table).unwrap_or_else(|error| panic!("cannot write {path}: {error}"));
}
