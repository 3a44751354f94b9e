//! Saves the PTX that a program loads, for tools that examine it: `WARPSMITH_MODULES=FOLDER`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::OnceLock;

fn folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let named = || std::env::var_os("WARPSMITH_MODULES").filter(|name| !name.is_empty()).map(PathBuf::from);
    FOLDER.get_or_init(named).as_ref()
}

/// Writes a text to the folder, if there is one; the same text from any process is one file.
pub(crate) fn keep(ptx: &str) {
    let Some(folder) = folder() else { return };
    let mut hasher = DefaultHasher::new();
    ptx.hash(&mut hasher);
    let file = folder.join(format!("{:016x}.ptx", hasher.finish()));
    if file.exists() {
        return;
    }
    // Renamed into place, so that no other process sees half of it.
    let fresh = file.with_extension(format!("{}.new", std::process::id()));
    let written = std::fs::write(&fresh, ptx).and_then(|()| std::fs::rename(&fresh, &file));
    if let Err(error) = written {
        eprintln!("warpsmith: WARPSMITH_MODULES: cannot write {}: {error}", file.display());
    }
}
