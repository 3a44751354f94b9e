//! The long run: a number of programs, from a number on.

use blockwise_random::{batch, program, source};
use std::process::ExitCode;

/// Programs that are compiled together.
const TOGETHER: u64 = 100;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(count)), first) = (numbers.next(), numbers.next().unwrap_or(Ok(0)).unwrap_or(0)) else {
        eprintln!("cargo run --release -p blockwise_random -- COUNT [FIRST]");
        return ExitCode::FAILURE;
    };
    let folder = std::env::temp_dir().join(format!("blockwise-random-{}", std::process::id()));
    let mut wrong = 0;
    for start in (first..first + count).step_by(TOGETHER as usize) {
        let programs: Vec<_> = (start..(start + TOGETHER).min(first + count)).map(program).collect();
        match batch::compile(&folder, &programs, None).and_then(|ptx| batch::load(&ptx)) {
            Ok(loaded) => {
                for program in &programs {
                    if let Err(error) = batch::run(&loaded, program) {
                        wrong += 1;
                        println!("{}: {error}\n{}", program.name, source(std::slice::from_ref(program)));
                    }
                }
            }
            Err(error) => {
                wrong += programs.len();
                println!("{start}: these do not compile: {error}");
            }
        }
        println!("{} of {count} programs, {wrong} wrong", start - first + programs.len() as u64);
    }
    let _ = std::fs::remove_dir_all(&folder);
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
