//! Machine code compiled earlier, on disk.
//!
//! The key is a hash of LLVM's input, of all options, of the library and of the processor. So changed kernels, versions
//! of this crate that generate other IR, and other toolchains or machines never get code that is not theirs, and no
//! version number has to be maintained.
//!
//! If the program is in cargo's target folder, the code is stored next to the builder's cache, else in the user's cache
//! folder. Code to be run is read only from a folder that no one else can write to.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use llvm_library::cache::{Cache, Key};

/// The folder may contain this many bytes: about a thousand kernels.
const LIMIT: u64 = 128 << 20;
/// The folder is trimmed whenever this many entries were added.
const TRIMMED_AFTER: u64 = 32;

/// The folder of this process, if it has one.
pub fn usual() -> Option<&'static Cache> {
    static CACHE: OnceLock<Option<Cache>> = OnceLock::new();
    let open = || {
        let program = std::env::current_exe().ok()?;
        let folder = folder(&program, |name| std::env::var_os(name).map(PathBuf::from))?;
        Some(Cache::new(private(folder)?, LIMIT))
    };
    CACHE.get_or_init(open).as_ref()
}

/// Stores compiled code.
pub fn keep(cache: &Cache, key: Key, object: &[u8]) {
    static ADDED: AtomicU64 = AtomicU64::new(0);
    cache.put(key, object);
    if ADDED.fetch_add(1, Ordering::Relaxed).is_multiple_of(TRIMMED_AFTER) {
        cache.trim();
    }
}

fn folder(program: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // `target/debug/deps/test`, `target/debug/program`: cargo locks the profile's folder.
    let profile = program.ancestors().skip(1).take(2).find(|folder| folder.join(".cargo-lock").exists());
    if let Some(target) = profile.and_then(Path::parent) {
        return Some(target.join("cuda-builder").join("compiled"));
    }
    let absolute = |name: &str| variable(name).filter(|folder| folder.is_absolute());
    let user = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(user.join("warpsmith").join("compiled"))
}

/// The folder, created if necessary, if only this user can write to it.
fn private(folder: PathBuf) -> Option<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    let about = fs::metadata(&folder).ok()?;
    // SAFETY: it returns a number.
    let user = unsafe { libc::geteuid() };
    (about.uid() == user && about.mode() & 0o022 == 0).then_some(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn code_lies_beside_what_the_builder_keeps_or_in_the_users_folder() {
        let target = tempfile::tempdir().unwrap();
        let debug = target.path().join("debug");
        fs::create_dir_all(debug.join("deps")).unwrap();
        fs::write(debug.join(".cargo-lock"), "").unwrap();
        let beside = target.path().join("cuda-builder/compiled");
        for program in ["deps/test-1", "program"] {
            assert_eq!(folder(&debug.join(program), |_| None), Some(beside.clone()));
        }
        let installed = |variables: &[(&str, &str)]| {
            let find =
                |name: &str| variables.iter().find(|known| known.0 == name).map(|known| known.1.into());
            folder(Path::new("/usr/bin/program"), find)
        };
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(installed(&[("HOME", "/home/me")]), at("/home/me/.cache/warpsmith/compiled"));
        let both = [("HOME", "/home/me"), ("XDG_CACHE_HOME", "/c")];
        assert_eq!(installed(&both), at("/c/warpsmith/compiled"));
        assert_eq!(installed(&[("HOME", "here")]), None);
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used_nor_is_one_that_cannot_be_made() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("a/b");
        assert_eq!(private(folder.clone()), Some(folder.clone()));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(private(folder), None);
        let file = around.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(private(file.join("below")), None);
    }
}
