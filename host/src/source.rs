//! Source files of the kernels, as the PTX names them.

use std::path::{Component, Path, PathBuf};

/// The workspace that this program was built from.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The workspace around the current folder, or the one that this program was built from, if it is still there.
pub fn workspace() -> Option<PathBuf> {
    around().or_else(built_from)
}

/// The workspace that this program was built from, if it is still there.
pub fn built_from() -> Option<PathBuf> {
    Path::new(WORKSPACE).canonicalize().ok().filter(|root| root.join("kernels-gpu/src/lib.rs").is_file())
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

/// A source's path as the user would type it: from the current folder, through folders above it as far as they are of one
/// project, or from the root of this repository.
pub fn relative(file: &str) -> String {
    let path = locate(file).and_then(|path| path.canonicalize().ok()).unwrap_or_else(|| PathBuf::from(file));
    let here = std::env::current_dir().unwrap_or_default();
    if let Ok(below) = path.strip_prefix(&here) {
        return below.display().to_string();
    }
    let ours =
        ["kernels-gpu/", "crates/", "host/"].iter().find_map(|room| file.find(room).map(|at| &file[at..]));
    if let Some(ours) = ours.filter(|ours| Path::new(WORKSPACE).join(ours).is_file()) {
        return ours.to_owned();
    }
    let of_project = |folder: &&Path| folder.join("Cargo.toml").is_file() || folder.join(".git").exists();
    let above = here.ancestors().enumerate().skip(1).filter(|(_, folder)| of_project(folder));
    let through = |(up, folder): (usize, &Path)| {
        path.strip_prefix(folder).ok().map(|below| format!("{}{}", "../".repeat(up), below.display()))
    };
    above.into_iter().find_map(through).unwrap_or_else(|| path.display().to_string())
}

/// The file on this machine: as named, or at the same place of the project around the current folder, which another folder or
/// machine may have compiled, or of this repository.
pub fn locate(file: &str) -> Option<PathBuf> {
    /// A file's name alone is that of many.
    const LEAST: usize = 2;
    let named = Path::new(file);
    if named.is_file() {
        return Some(named.to_owned());
    }
    let parts: Vec<_> = named.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let here = std::env::current_dir().unwrap_or_default();
    let ends = || (0..parts.len()).map(|from| &parts[from..]).filter(|end| end.len() >= LEAST);
    here.ancestors()
        .chain([Path::new(WORKSPACE)])
        .flat_map(|folder| ends().map(move |end| folder.join(end.iter().collect::<PathBuf>())))
        .find(|path| path.is_file())
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
        // Tests stand in this package's folder.
        assert_eq!(relative("/elsewhere/host/src/source.rs"), "src/source.rs");
        assert_eq!(relative("/no/such/file.rs"), "/no/such/file.rs");
        assert_eq!(line("no/such/file.rs", 1), None);
    }
}
