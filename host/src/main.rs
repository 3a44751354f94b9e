//! The `warpsmith` command.

fn main() -> std::process::ExitCode {
    host::cli::main()
}
