//! The stand-in driver, for the commands that run programs which are not linked with Warpsmith.
//!
//! A build of this repository leaves the library beside the tool. `cargo install` leaves the tool alone; then the library is
//! built when it is first needed, from the sources that the tool was built from, and kept in the user's cache folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use warpsmith_cuda::stand_in::{DriverDirectory, LIBRARY, StandInError};

use crate::source;

/// The folder with the driver's names.
pub fn directory() -> anyhow::Result<DriverDirectory> {
    match DriverDirectory::prepare() {
        Err(StandInError::NoLibrary(_)) if !is_in_target(&executable()?) => {
            Ok(DriverDirectory::prepare_for(&built()?)?)
        }
        prepared => Ok(prepared?),
    }
}

/// The same, if nothing has to be built for it.
pub fn directory_as_it_is() -> Option<DriverDirectory> {
    let kept = || {
        let (library, executable) = place_of_library().ok()?;
        is_newer(&library, &executable).then_some(library)
    };
    DriverDirectory::prepare().ok().or_else(|| DriverDirectory::prepare_for(&kept()?).ok())
}

fn executable() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe().and_then(|path| path.canonicalize());
    path.context("cannot tell where this program is")
}

/// Whether a program lies where cargo builds, which makes the library, too, if it is asked to.
fn is_in_target(executable: &Path) -> bool {
    executable.ancestors().skip(1).take(2).any(|folder| folder.join(".cargo-lock").exists())
}

/// Where the library of an installed tool is kept, and the tool.
fn place_of_library() -> anyhow::Result<(PathBuf, PathBuf)> {
    let executable = executable()?;
    let folder = cache(|name| std::env::var_os(name)).join(place(&executable));
    Ok((folder.join(LIBRARY), executable))
}

/// The library of an installed tool, built unless it was since the tool was installed.
fn built() -> anyhow::Result<PathBuf> {
    let (library, executable) = place_of_library()?;
    if is_newer(&library, &executable) {
        return Ok(library);
    }
    let folder = library.parent().context("the user has no folder for what is kept")?;
    let sources = source::built_from().context(
        "the stand-in driver is built from the sources that this tool was installed from, and they are gone: install it again",
    )?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    eprintln!("warpsmith: builds the stand-in driver, once, into {} …", folder.display());
    // Of this process alone, and gone with it.
    let target = tempfile::tempdir_in(folder)?;
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--package", "cuda_driver", "--lib", "--target-dir"])
        .arg(target.path());
    // Standard output is the command's own.
    let status = cargo.current_dir(&sources).stdout(std::io::stderr()).status();
    let status = status.context("the stand-in driver needs cargo (https://rustup.rs)")?;
    anyhow::ensure!(status.success(), "the stand-in driver cannot be built: cargo says why above");
    // In one step: another process may do the same.
    std::fs::rename(target.path().join("release").join(LIBRARY), &library)
        .with_context(|| format!("cannot write {}", library.display()))?;
    Ok(library)
}

/// The user's folder for what can be made again.
fn cache(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let home = || folder("HOME").map(|home| home.join(".cache"));
    let found = folder("XDG_CACHE_HOME").or_else(home).or_else(|| folder("LOCALAPPDATA"));
    found.unwrap_or_else(std::env::temp_dir).join("warpsmith")
}

/// The folder of one tool's library: two that are installed in two places may be of two versions.
fn place(executable: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    executable.display().to_string().trim_start_matches('/').chars().map(plain).collect()
}

fn is_newer(library: &Path, executable: &Path) -> bool {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    changed(library).is_some_and(|library| Some(library) >= changed(executable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_lies_in_the_users_cache_by_the_place_of_the_tool() {
        let with = |known: &'static [(&str, &str)]| {
            cache(|name| known.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        assert_eq!(with(&[("HOME", "/home/me")]), Path::new("/home/me/.cache/warpsmith"));
        assert_eq!(with(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/c")]), Path::new("/c/warpsmith"));
        assert_eq!(with(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "c")]), with(&[("HOME", "/home/me")]));
        assert_eq!(place(Path::new("/home/me/.cargo/bin/warpsmith")), "home-me--cargo-bin-warpsmith");
    }

    #[test]
    fn a_tool_that_cargo_has_just_built_is_not_an_installed_one() {
        assert!(is_in_target(&executable().unwrap()));
        assert!(!is_in_target(Path::new("/home/me/.cargo/bin/warpsmith")));
    }

    #[test]
    fn a_library_from_before_an_installation_is_built_again() {
        let folder = tempfile::tempdir().unwrap();
        let (library, tool) = (folder.path().join("library"), folder.path().join("tool"));
        std::fs::write(&tool, "").unwrap();
        assert!(!is_newer(&library, &tool));
        let file = std::fs::File::create(&library).unwrap();
        let installed = std::fs::metadata(&tool).unwrap().modified().unwrap();
        let second = std::time::Duration::from_secs(1);
        for (changed, newer) in [(installed + second, true), (installed, true), (installed - second, false)] {
            file.set_modified(changed).unwrap();
            assert_eq!(is_newer(&library, &tool), newer);
        }
    }
}
