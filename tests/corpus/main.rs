//! The corpus of planted bugs: each bad twin is found, each right one is silent.
//!
//! `cargo test -p tests --test corpus` checks that; `cargo test -p tests --test corpus -- --table` prints what is found,
//! and by which schedule, missed and false, the right twins under ten schedules. `--list` names the kernels, and `--run KERNEL` runs one through the CUDA driver
//! and looks at nothing: that is what compute-sanitizer is given on a real GPU.

mod device;
mod expected;
mod table;
mod trial;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use planted::Case;

/// Schedules of a bug that the plain one may hide: as many as `check` takes for a program if nothing is said.
const DEFAULT: u64 = sanitizer::SCHEDULES as u64;

/// Schedules of a right twin in the table.
const SCHEDULES: u64 = 10;

/// Schedules of a right twin where only `cargo test` asks.
const QUICK: u64 = 3;

/// All cases, each with the text of its file.
fn cases() -> impl Iterator<Item = (&'static str, &'static str, &'static Case)> {
    planted::CASES
        .iter()
        .flat_map(|(family, text, cases)| cases.iter().map(move |case| (*family, *text, case)))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--table", rest @ ..] => return table::print(rest.first().copied()),
        ["--list"] => {
            for (_, _, case) in cases() {
                println!("{0}_bug {1:?}\n{0}_right {1:?}", case.name, case.check);
            }
            return ExitCode::SUCCESS;
        }
        ["--run", kernel] => return device::run(kernel),
        _ => {}
    }
    let trials = cases().flat_map(|(family, text, case)| {
        let bad = move || match trial::bad(text, case) {
            trial::Verdict::Good(_) => Ok(()),
            other => Err(format!("{other}").into()),
        };
        let right = move || match trial::right(case, QUICK) {
            trial::Verdict::Good(_) => Ok(()),
            other => Err(format!("{other}").into()),
        };
        [
            Trial::test(format!("{family}::{}_bug", case.name), bad),
            Trial::test(format!("{family}::{}_right", case.name), right),
        ]
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
