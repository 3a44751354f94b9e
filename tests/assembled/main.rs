//! The machine code of every kernel, without a GPU: `ptxas` assembles each module for each architecture that the module
//! supports, and the result is compared with a committed table: registers, spills, local memory, multiply-adds, matrix
//! products, vector accesses.
//!
//! The numbers belong to one version of `ptxas`, which the table names. Another version's are printed and not compared;
//! spills and local memory beyond the table's, and ptxas's warnings, fail with every version.
//! `WARPSMITH_BLESS=1` writes the table anew, with the feature `ladder`: it has the ladders' kernels, too.

mod sass;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use host::modules::LEVELS;
use host::programs;
use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_launch::Level;

use table::{Assembled, Table};

/// The chips that a module is assembled for.
fn chips(level: &Level) -> &'static [&'static str] {
    match level.arch().as_str() {
        "compute_75" => &["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"],
        "compute_80" => &["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"],
        _ => &["sm_90a"],
    }
}

/// The chip whose machine code is counted.
fn counted(chip: &str) -> bool {
    matches!(chip, "sm_90" | "sm_90a")
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    if std::env::var_os("WARPSMITH_BLESS").is_some() {
        return match bless() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}", error.message().unwrap_or("the table was not written"));
                ExitCode::FAILURE
            }
        };
    }
    let ptxas = programs::find("ptxas");
    let cuobjdump = programs::find("cuobjdump");
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|what| what.split(',').any(|word| word == "ptxas"));
    let missing = |program: &Option<PathBuf>, name: &str| {
        let reason = format!("there is no {name}; `warpsmith doctor` says how to get it");
        program.is_none().then_some(reason)
    };
    let mut trials =
        vec![Trial::test("a_called_function_is_not_the_kernel", table::reads_only_what_is_the_kernels)];
    let mut add =
        |name: String, missing: Option<String>, run: Box<dyn FnOnce() -> Result<(), Failed> + Send>| {
            trials.push(match missing {
                None => Trial::test(name, run),
                Some(reason) if required => Trial::test(name, move || {
                    Err(format!("WARPSMITH_REQUIRE asks for ptxas: {reason}").into())
                }),
                Some(reason) => Trial::test(format!("{name}: {reason}"), || Ok(())).with_ignored_flag(true),
            });
        };
    for level in LEVELS.all() {
        for &chip in chips(level) {
            let name = format!("{}_for_{chip}", level.arch());
            add(name, missing(&ptxas, "ptxas"), Box::new(move || registers(level, chip)));
            if counted(chip) {
                let none = missing(&ptxas, "ptxas").or_else(|| missing(&cuobjdump, "cuobjdump"));
                let name = format!("machine_code_of_{}_for_{chip}", level.arch());
                add(name, none, Box::new(move || machine_code(level, chip)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Assembles a module: what ptxas says of each kernel, and the file.
fn assemble(level: &Level, chip: &str) -> Result<(BTreeMap<String, Assembled>, PathBuf), Failed> {
    let ptxas = programs::find("ptxas").ok_or("there is no ptxas")?;
    // Each test a file of its own: they run side by side.
    let folder = tempfile::Builder::new().prefix("assembled").tempdir()?.keep();
    let (input, output) = (folder.join("module.ptx"), folder.join("module.cubin"));
    std::fs::write(&input, level.ptx())?;
    let run = Command::new(ptxas).args(["-v", "-arch", chip, "-o"]).arg(&output).arg(&input).output()?;
    std::fs::remove_file(&input)?;
    let messages = String::from_utf8_lossy(&run.stderr);
    // `wgmma` that the assembler puts one after the other (C75xx) is several times slower: a warning is a failure.
    let complaints: Vec<&str> = messages
        .lines()
        .filter(|line| line.contains("error") || line.contains("fatal") || line.contains("warning"))
        .chain(messages.lines().filter(|line| line.contains("(C75")))
        .collect();
    if !run.status.success() || !complaints.is_empty() {
        std::fs::remove_dir_all(&folder)?;
        return Err(format!("ptxas -arch {chip} says of {}:\n{}", level.arch(), complaints.join("\n")).into());
    }
    Ok((table::read(&messages), output))
}

fn remove(cubin: &std::path::Path) -> std::io::Result<()> {
    cubin.parent().map_or(Ok(()), std::fs::remove_dir_all)
}

fn registers(level: &Level, chip: &str) -> Result<(), Failed> {
    let (kernels, cubin) = assemble(level, chip)?;
    remove(&cubin)?;
    let table = Table::committed()?;
    let version = version()?;
    println!("{} for {chip}, ptxas {version}:", level.arch());
    let mut wrong = Vec::new();
    for (name, found) in &kernels {
        println!(
            "{name:40} {:3} registers, {:6} bytes of shared memory, {} bytes of stack, {} bytes spilled",
            found.registers, found.shared, found.stack, found.spilled
        );
        let held = table.kernels.get(name).and_then(|row| row.assembled.get(chip));
        if found.spilled > held.map_or(0, |held| held.spilled) {
            wrong.push(format!("{name}: {} bytes are spilled", found.spilled));
        }
        match held {
            _ if version != table.ptxas => {}
            Some(held) if held == found => {}
            Some(held) => wrong.push(format!("{name}: {found:?}, the table has {held:?}")),
            None => wrong.push(format!("{name} is not in the table")),
        }
    }
    answer(wrong)
}

fn machine_code(level: &Level, chip: &str) -> Result<(), Failed> {
    let (_, cubin) = assemble(level, chip)?;
    let kernels = sass::count(&cubin)?;
    remove(&cubin)?;
    let table = Table::committed()?;
    let same_version = version()? == table.ptxas;
    let mut wrong = Vec::new();
    for (name, found) in &kernels {
        let held = table.kernels.get(name).and_then(|row| row.instructions.get(chip));
        let local = |counts: &BTreeMap<String, u32>| {
            ["LDL", "STL"].iter().map(|i| counts.get(*i).copied().unwrap_or(0)).sum::<u32>()
        };
        if local(found) > held.map_or(0, local) {
            wrong.push(format!("{name}: {} accesses to local memory", local(found)));
        }
        match held {
            Some(held) if held != found && same_version => {
                wrong.push(format!("{name}: {found:?}, the table has {held:?}"));
            }
            None if same_version => wrong.push(format!("{name} is not in the table")),
            _ => {}
        }
    }
    answer(wrong)
}

fn answer(wrong: Vec<String>) -> Result<(), Failed> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\nIf this is meant: WARPSMITH_BLESS=1 cargo test --workspace --features tests/ladder --test assembled",
        wrong.join("\n")
    )
    .into())
}

/// ptxas's release.
fn version() -> Result<String, Failed> {
    let ptxas = programs::find("ptxas").ok_or("there is no ptxas")?;
    let text = programs::output(&ptxas, &["--version"]).ok_or("ptxas does not say its version")?;
    let version = text.split(", V").nth(1).and_then(|rest| rest.split_whitespace().next());
    Ok(version.ok_or("ptxas names no version")?.to_owned())
}

/// Writes the table from what is assembled now.
fn bless() -> Result<(), Failed> {
    if cfg!(not(feature = "ladder")) {
        return Err("the table has the ladders' kernels, too: add --features tests/ladder".into());
    }
    let mut table = Table { ptxas: version()?, kernels: BTreeMap::new() };
    for level in LEVELS.all() {
        for &chip in chips(level) {
            let (kernels, cubin) = assemble(level, chip)?;
            for (name, found) in kernels {
                table.kernels.entry(name).or_default().assembled.insert(chip.into(), found);
            }
            if counted(chip) {
                for (name, counts) in sass::count(&cubin)? {
                    table.kernels.entry(name).or_default().instructions.insert(chip.into(), counts);
                }
            }
            remove(&cubin)?;
        }
    }
    table.write()?;
    println!("{} kernels in the table of ptxas {}", table.kernels.len(), table.ptxas);
    Ok(())
}
