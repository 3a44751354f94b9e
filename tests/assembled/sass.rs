//! Counts of the machine instructions that tell whether a kernel became what it was meant to be.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use host::programs;
use libtest_mimic::Failed;

/// What is counted, as the disassembly begins it: arithmetic, matrix products, local memory, wide and asynchronous
/// accesses, barriers.
const WATCHED: [&str; 16] = [
    "FFMA",
    "DFMA",
    "HMMA",
    "IMMA",
    "HGMMA",
    "IGMMA",
    "LDL",
    "STL",
    "LDG.E.128",
    "STG.E.128",
    "LDS.128",
    "STS.128",
    "LDSM",
    "LDGSTS",
    "UTMALDG",
    "BAR.SYNC",
];

/// Counts by kernel, without zeros.
pub fn count(cubin: &Path) -> Result<BTreeMap<String, BTreeMap<String, u32>>, Failed> {
    let cuobjdump = programs::find("cuobjdump").ok_or("there is no cuobjdump")?;
    // It looks for its partner `nvdisasm` on the search path.
    let beside = cuobjdump.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut paths = vec![beside];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let run =
        Command::new(cuobjdump).env("PATH", std::env::join_paths(paths)?).arg("-sass").arg(cubin).output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned().into());
    }
    let mut kernels: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    let mut counts = None;
    for line in String::from_utf8_lossy(&run.stdout).lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("Function : ") {
            counts = Some(kernels.entry(name.to_owned()).or_default());
            continue;
        }
        // `/*0010*/ @P0 FFMA R1, R2, R3, R4 ;`
        let Some((_, code)) = line.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) else {
            continue;
        };
        let mut words = code.split_whitespace();
        let first = words.next().unwrap_or_default();
        let opcode = if first.starts_with('@') { words.next().unwrap_or_default() } else { first };
        let matches = |name: &&&str| {
            opcode.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                || (name.contains('.') && wide(opcode, name))
        };
        if let (Some(counts), Some(name)) = (counts.as_mut(), WATCHED.iter().find(matches)) {
            *counts.entry((*name).to_owned()).or_default() += 1;
        }
    }
    Ok(kernels)
}

/// `LDG.E.128.CONSTANT` and `LDG.E.EF.128` are both `LDG.E.128`.
fn wide(opcode: &str, name: &str) -> bool {
    let mut parts = opcode.split('.');
    name.split('.').all(|wanted| parts.any(|part| part == wanted))
}
