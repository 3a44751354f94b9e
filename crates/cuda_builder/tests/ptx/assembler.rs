//! ptxas takes what the builder writes.

use crate::compile::{kernels, scratch};
use cuda_builder::NvvmArch::{self, Compute75, Compute90a};
use libtest_mimic::{Failed, Trial};
use std::path::PathBuf;
use std::process::Command;

fn ptxas() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("WARPSMITH_PTXAS") {
        return Some(PathBuf::from(path));
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join("ptxas")).find(|program| program.is_file())
}

pub fn trials() -> Vec<Trial> {
    let targets = [(Compute75, "sm_75"), (Compute75, "sm_90"), (Compute75, "sm_120"), (Compute90a, "sm_90a")];
    let required =
        std::env::var("WARPSMITH_REQUIRE").is_ok_and(|list| list.split(',').any(|name| name == "ptxas"));
    let found = ptxas();
    targets
        .into_iter()
        .map(|(arch, chip)| {
            let program = found.clone();
            let name = format!("assembler::ptxas_takes_{arch}_for_{chip}");
            Trial::test(name, move || assemble(program, arch, chip))
                .with_ignored_flag(found.is_none() && !required)
        })
        .collect()
}

fn assemble(program: Option<PathBuf>, arch: NvvmArch, chip: &str) -> Result<(), Failed> {
    let program = program.ok_or("ptxas is neither in WARPSMITH_PTXAS nor on the path")?;
    let ptx = kernels(arch);
    let file = scratch().join(format!("assembled-{arch}-{chip}.ptx"));
    std::fs::write(&file, ptx.as_bytes())?;
    let output = Command::new(program)
        .args(["-v", "-arch", chip, "-o"])
        .arg(file.with_extension("cubin"))
        .arg(&file)
        .output()?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() || messages.contains("warning") {
        return Err(messages.into());
    }
    if messages.contains(" bytes spill stores") && !messages.contains("0 bytes spill stores") {
        return Err(messages.into());
    }
    Ok(())
}
