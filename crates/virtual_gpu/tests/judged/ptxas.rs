//! NVIDIA's assembler.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why its tests are skipped.
pub const NONE: &str = "ptxas is neither in WARPSMITH_PTXAS nor on the path";

pub fn find() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("WARPSMITH_PTXAS") {
        return Some(PathBuf::from(path));
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join("ptxas")).find(|program| program.is_file())
}

/// What it objects to in a module for a chip; `None` if nothing.
pub fn complaint(text: &str, chip: &str) -> Result<Option<String>, std::io::Error> {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let program = find().ok_or(std::io::ErrorKind::NotFound)?;
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("judged-{}-{number}.ptx", std::process::id()));
    std::fs::write(&file, text)?;
    let run = Command::new(program).args(["-arch", chip, "-o", "/dev/null"]).arg(&file).output();
    std::fs::remove_file(&file)?;
    let run = run?;
    Ok((!run.status.success()).then(|| String::from_utf8_lossy(&run.stderr).into_owned()))
}
