//! The command line: what is asked, on which device, and what the process answers with.

use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use warpsmith_launch::DevicePreference;

use crate::answer::{Context, Outcome, Output};
use crate::commands;
use crate::subject::NothingRecorded;
use crate::terminal;

/// CUDA kernels in stable Rust, tried on a virtual GPU, run at full speed on a real one.
///
/// Without a command, all demos run: on the NVIDIA GPU if there is one, else on the virtual GPU.
#[derive(Parser, Debug)]
#[command(name = "warpsmith", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// Where kernels run: `auto` takes a real GPU if there is one, else the virtual GPU; `gpu` and `virtual` take nothing
    /// else. Default: WARPSMITH_DEVICE, or auto
    #[arg(
        long,
        global = true,
        value_parser = device_parser(),
        value_name = "auto|gpu|virtual",
        hide_possible_values = true,
        display_order = 100
    )]
    pub device: Option<DevicePreference>,

    #[command(flatten)]
    output: Output,

    /// The command; all demos when left out
    #[command(subcommand)]
    pub command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith                                  run all demos
  warpsmith demo matmul --size 512           one demo, at one size
  warpsmith explain banks --stride 2         draw which lane hits which bank
  warpsmith profile transpose_naive          counters per source line, on the virtual GPU
  warpsmith new my_kernel                    write a kernel, its launch, test and demo row

Exit code: 0 all is well, 1 a result is wrong or a command failed, 2 the command line is wrong.";

/// The words of `--device` and what they mean, for completions.
fn device_parser() -> impl TypedValueParser<Value = DevicePreference> {
    let words = [
        ("auto", "A real GPU when the driver reports one, else the virtual GPU"),
        ("gpu", "The real GPU, or an error that says what is missing"),
        ("virtual", "The virtual GPU built into this program"),
    ];
    PossibleValuesParser::new(words.map(|(word, help)| PossibleValue::new(word).help(help)))
        .try_map(|word| word.parse::<DevicePreference>())
}

/// The commands, one file each in `commands/`.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run demos: every result is checked, every row says what it shows
    Demo(commands::demo::Demo),
    /// List the devices, real and virtual, with their limits
    Devices(commands::devices::Devices),
    /// Blocks and warps per multiprocessor for a kernel, what limits them, and what would help
    Occupancy(commands::occupancy::Occupancy),
    /// Draw the arithmetic of banks, coalescing and caches, for any chip generation
    Explain(commands::explain::Explain),
    /// A kernel's operations per byte against what the device can do
    Roofline(commands::roofline::Roofline),
    /// Count wavefronts, conflicts and sectors per source line, on the virtual GPU
    Profile(commands::profile::Profile),
    /// Write one HTML page with maps, counters, roofline and occupancy
    Report(commands::report::Report),
    /// Show what a kernel became: source, LLVM, PTX, SASS
    Inspect(commands::inspect::Inspect),
    /// Look for memory errors, races, uninitialised reads and barrier mistakes
    Check(commands::check::Check),
    /// Time kernels on a real GPU against their C++ twins and the libraries
    Bench(commands::bench::Bench),
    /// Write a new kernel into this project, or a new project of its own
    New(commands::new::New),
    /// List the kernels: parameters, launch bounds, feature level, file
    List(commands::list::List),
    /// Say what is installed, what each missing part costs, and how to get it
    Doctor(commands::doctor::Doctor),
    /// Run any CUDA driver-API program on the virtual GPU
    Run(commands::run::Run),
    /// Print the folder that holds the stand-in driver, for a library path
    DriverDir(commands::driver_dir::DriverDir),
    /// Print a completion script for a shell
    Completions(commands::completions::Completions),
}

/// Reads the command line, runs the command, prints what went wrong, and picks the exit code.
pub fn main() -> ExitCode {
    let mut command = Cli::command();
    // Only then, since it looks for LLVM.
    if std::env::args_os().any(|argument| ["-h", "--help", "help"].iter().any(|help| argument == *help)) {
        command = command.after_help(format!("{EXAMPLES}\n\n{}", execution()));
    }
    let matches = command.clone().try_get_matches();
    let cli =
        matches.and_then(|found| Cli::from_arg_matches(&found).map_err(|error| error.format(&mut command)));
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are errors to the parser, too.
            if error.use_stderr() && asks_for_json() {
                terminal::print_json_error(&anyhow::anyhow!(first_paragraph(&error.to_string())));
            }
            error.exit();
        }
    };
    let device = cli.device.map_or_else(
        || std::env::var("WARPSMITH_DEVICE").unwrap_or_default().parse().map_err(anyhow::Error::new),
        Ok,
    );
    let context = match device {
        Ok(device) => Context { device },
        Err(error) => {
            fail(&error);
            return ExitCode::from(2);
        }
    };
    let command = cli.command.unwrap_or_else(|| Command::Demo(commands::demo::Demo::all(cli.output)));
    let ended = dispatch(&command, &context)
        .and_then(|outcome| warpsmith_cuda::profile::finish().map(|()| outcome).map_err(anyhow::Error::msg));
    let code = match ended {
        Ok(outcome) => outcome.code(),
        Err(error) if terminal::is_closed_pipe(&error) => 0,
        Err(error) => {
            fail(&error);
            error.downcast_ref::<NothingRecorded>().map_or(1, |nothing| nothing.code)
        }
    };
    // Not `ExitCode`: its codes are bytes, and on some systems a program's are wider.
    std::process::exit(code)
}

/// How the virtual GPU runs programs here, and why.
fn execution() -> String {
    match warpsmith_cuda::Execution::of_environment() {
        Ok(execution) => format!(
            "Programs on the virtual GPU are {execution}. WARPSMITH_EXECUTION=interpreted or compiled asks for one of both."
        ),
        Err(error) => format!("No program runs on the virtual GPU: {error}."),
    }
}

/// Says what went wrong: to a person on standard error, and as JSON on standard output if that was asked for.
fn fail(error: &anyhow::Error) {
    terminal::print_error(error);
    if asks_for_json() {
        terminal::print_json_error(error);
    }
}

/// Whether `--json` is on the command line, which may not have been understood. Behind `--` it is another program's.
fn asks_for_json() -> bool {
    std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// The command-line parser's message, without its label and the advice beneath.
fn first_paragraph(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

fn dispatch(command: &Command, context: &Context) -> anyhow::Result<Outcome> {
    match command {
        Command::Demo(c) => c.run(context),
        Command::Devices(c) => c.run(context),
        Command::Occupancy(c) => c.run(context),
        Command::Explain(c) => c.run(context),
        Command::Roofline(c) => c.run(context),
        Command::Profile(c) => c.run(context),
        Command::Report(c) => c.run(context),
        Command::Inspect(c) => c.run(context),
        Command::Check(c) => c.run(context),
        Command::Bench(c) => c.run(context),
        Command::New(c) => c.run(context),
        Command::List(c) => c.run(context),
        Command::Doctor(c) => c.run(context),
        Command::Run(c) => c.run(context),
        Command::DriverDir(c) => c.run(context),
        Command::Completions(c) => c.run(Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_device_may_stand_before_or_after_the_command() {
        for line in ["warpsmith --device virtual list", "warpsmith list --device virtual"] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(cli.device, Some(DevicePreference::Virtual));
        }
    }

    #[test]
    fn json_may_be_asked_for_before_the_command_or_without_one() {
        let printed = |line: &str| format!("{:?}", Cli::try_parse_from(line.split(' ')).unwrap().command);
        assert_eq!(printed("warpsmith --json list"), printed("warpsmith list --json"));
        assert_ne!(printed("warpsmith list"), printed("warpsmith list --json"));
        assert!(Cli::try_parse_from(["warpsmith", "--json"]).unwrap().output.json);
    }

    #[test]
    fn what_the_parser_says_is_one_sentence() {
        let refused = |line: &str| Cli::try_parse_from(line.split(' ')).unwrap_err().to_string();
        let sentence = first_paragraph(&refused("warpsmith demo matmul --size 0"));
        assert_eq!(
            sentence,
            "invalid value '0' for '--size <SIZE>': 0 is too small: every extent is at least 1"
        );
        let sentence = first_paragraph(&refused("warpsmith completions"));
        assert_eq!(sentence, "the following required arguments were not provided: <SHELL>");
    }
}
