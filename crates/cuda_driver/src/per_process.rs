//! Files that several processes of a program may write, each its own.

use std::path::PathBuf;

/// A file's name, in which `{pid}` becomes the number of this process and `{n}` the first of which there is no file: a process
/// that goes on as another program (`exec`) keeps its number.
pub(crate) fn of_this_process(name: &str) -> PathBuf {
    let name = name.replace("{pid}", &std::process::id().to_string());
    let numbered = |n: u32| PathBuf::from(name.replace("{n}", &n.to_string()));
    if !name.contains("{n}") {
        return name.into();
    }
    (1..=u32::MAX).map(numbered).find(|file| !file.exists()).unwrap_or_else(|| numbered(0))
}
