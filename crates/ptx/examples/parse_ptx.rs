//! Parses PTX files and prints what they contain: `cargo run -p ptx --example parse_ptx -- a.ptx b.ptx`.

fn main() -> std::process::ExitCode {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let started = std::time::Instant::now();
        let parsed = match std::fs::read_to_string(&path) {
            Ok(text) => ptx::parse(&text).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match parsed {
            Ok(module) => println!(
                "{path}: version {}.{}, {:?}, {} functions, {} variables, {} sections, in {:?}",
                module.version.0,
                module.version.1,
                module.targets,
                module.functions.len(),
                module.variables.len(),
                module.sections.len(),
                started.elapsed()
            ),
            Err(error) => {
                println!("{path}: {error}");
                failed = true;
            }
        }
    }
    u8::from(failed).into()
}
