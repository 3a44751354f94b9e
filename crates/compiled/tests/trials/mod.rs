//! Tests that need machine code. Where none is made, for the processor or for want of LLVM, they are reported as ignored, by
//! name and reason; `WARPSMITH_REQUIRE=compiled` makes them fail instead.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// A test: its name, what it does, and whether it runs only when asked for.
pub struct Test {
    pub name: &'static str,
    pub run: fn(),
    pub ignored: bool,
}

/// Runs tests, by the arguments that cargo's own take.
pub fn run(tests: &[Test]) -> ExitCode {
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|list| list.split(',').any(|name| name == "compiled"));
    let available = compiled::available();
    let trial = |&Test { name, run, ignored }: &Test| match available {
        Ok(()) => {
            let run = move || {
                run();
                Ok(())
            };
            Trial::test(name, run).with_ignored_flag(ignored)
        }
        Err(why) if required => {
            Trial::test(name, move || Err(format!("WARPSMITH_REQUIRE asks for compiled code: {why}").into()))
                .with_ignored_flag(ignored)
        }
        Err(why) => {
            let why = why.to_string();
            let reason = why.lines().next().unwrap_or_default();
            Trial::test(format!("{name}: {reason}"), || Ok(())).with_ignored_flag(true)
        }
    };
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect()).exit_code()
}

/// Tests by the names of their functions; `ignored` behind those that run only when asked for.
#[macro_export]
macro_rules! trials {
    ($($(#[$condition:meta])* fn $name:ident $(, $ignored:ident)?;)*) => {
        fn main() -> std::process::ExitCode {
            trials::run(&[$($(#[$condition])* trials::Test {
                name: stringify!($name),
                run: $name,
                ignored: stringify!($($ignored)?) == "ignored",
            }),*])
        }
    };
}
