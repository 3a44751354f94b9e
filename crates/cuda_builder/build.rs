//! Gives the crate a hash of its own sources, by which its cache tells the answers of one lowering from those of another.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    hash(Path::new("src"), &mut hasher)?;
    println!("cargo:rustc-env=CUDA_BUILDER_SOURCES={:016x}", hasher.finish());
    println!("cargo:rerun-if-changed=src");
    Ok(())
}

/// Every file of a folder, by name and content, in the order of their names.
fn hash(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        entry.file_name().hash(hasher);
        match entry.file_type()?.is_dir() {
            true => hash(&entry.path(), hasher)?,
            false => fs::read(entry.path())?.hash(hasher),
        }
    }
    Ok(())
}
