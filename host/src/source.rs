//! Source files of the kernels, as the PTX names them.

use std::path::{Path, PathBuf};

/// The workspace that this program was built from.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The workspace around the current folder, or the one that this program was built from, if it is still there.
pub fn workspace() -> Option<PathBuf> {
    around().or_else(|| {
        Path::new(WORKSPACE).canonicalize().ok().filter(|root| root.join("kernels-gpu/src/lib.rs").is_file())
    })
}

/// The workspace around the current folder.
pub fn around() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| is_workspace(folder)).map(Path::to_owned)
}

/// Whether kernels, demos and the list of them lie where this repository has them.
fn is_workspace(folder: &Path) -> bool {
    ["kernels-gpu/src/lib.rs", "host/src/demos/mod.rs"].iter().all(|file| folder.join(file).is_file())
}

/// The path relative to the workspace, if it lies there.
pub fn relative(file: &str) -> &str {
    ["kernels-gpu/", "crates/", "host/"]
        .iter()
        .find_map(|room| file.find(room).map(|at| &file[at..]))
        .unwrap_or(file)
}

/// The file on this machine: as named, or the same place in the workspace.
pub fn locate(file: &str) -> Option<PathBuf> {
    let here =
        [PathBuf::from(file), Path::new(WORKSPACE).join(relative(file)), PathBuf::from(relative(file))];
    here.into_iter().find(|path| path.is_file())
}

/// One line of a file, counted from 1; nothing if the source is not here.
pub fn line(file: &str, line: u32) -> Option<String> {
    let text = std::fs::read_to_string(locate(file)?).ok()?;
    text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_known_by_its_files() {
        let root = workspace().unwrap();
        assert!(is_workspace(&root), "{}", root.display());
        assert!(!is_workspace(&root.join("host")));
    }

    #[test]
    fn a_kernels_source_is_found_from_the_path_in_the_ptx() {
        let (_, kernel) = crate::registry::find("matmul_naive").unwrap();
        let text = line(kernel.file, kernel.line).unwrap();
        assert!(text.contains("fn matmul_naive"), "{text}");
        assert_eq!(relative("/somewhere/kernels-gpu/src/base/banks.rs"), "kernels-gpu/src/base/banks.rs");
        assert_eq!(line("no/such/file.rs", 1), None);
    }
}
