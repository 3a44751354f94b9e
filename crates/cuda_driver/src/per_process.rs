//! Files that several processes of a program may write, each its own.

use std::path::PathBuf;

/// A file's name, in which `{pid}` becomes the number of this process.
pub(crate) fn of_this_process(name: &str) -> PathBuf {
    PathBuf::from(name.replace("{pid}", &std::process::id().to_string()))
}
