//! Standing in for `libcuda.so.1` in programs that know nothing of us.
//!
//! The library lies beside the `warpsmith` executable as `libwarpsmith_cuda.so`. A program finds it under the driver's
//! names through a directory of its own, which goes on `LD_LIBRARY_PATH`; never under these names beside the
//! executable, where `cargo run` would have everything find it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// The stand-in library's file.
pub const LIBRARY: &str = "libwarpsmith_cuda.so";
/// The names under which programs look for the driver.
const DRIVER_NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Why no stand-in can be prepared.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields hold")]
pub enum StandInError {
    /// The library is not where it belongs.
    #[error("`{LIBRARY}` is not beside the executable (looked in {0}); `cargo build --release` makes it")]
    NoLibrary(String),
    /// The directory cannot be made.
    #[error("cannot prepare {path}: {error}")]
    Directory { path: String, error: io::Error },
}

/// A directory in which the driver's names point at the stand-in.
#[derive(Debug, Clone)]
pub struct DriverDirectory {
    path: PathBuf,
}

impl DriverDirectory {
    /// Prepares the directory for the library that lies beside the running executable.
    pub fn prepare() -> Result<Self, StandInError> {
        Self::prepare_for(&library()?)
    }

    /// Prepares the directory for another library.
    pub fn prepare_for(library: &Path) -> Result<Self, StandInError> {
        let root = match std::env::var_os("XDG_RUNTIME_DIR").filter(|root| Path::new(root).is_dir()) {
            Some(root) => PathBuf::from(root).join("warpsmith"),
            None => std::env::temp_dir().join(format!("warpsmith-{}", user())),
        };
        Self::prepare_in(&root, library)
    }

    /// Prepares a directory below `root` for a library. One for each library, so that two builds do not disturb each
    /// other.
    pub fn prepare_in(root: &Path, library: &Path) -> Result<Self, StandInError> {
        let library = library.canonicalize().map_err(|error| failed(library, error))?;
        let path = root.join(format!("driver-{:016x}", fingerprint(library.as_os_str())));
        make_private(root).and_then(|()| make_private(&path)).map_err(|error| failed(&path, error))?;
        for name in DRIVER_NAMES {
            point(&path.join(name), &library).map_err(|error| failed(&path, error))?;
        }
        Ok(Self { path })
    }

    /// The beginning of `LD_LIBRARY_PATH`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Variables for a program: the search path that begins with the directory, and the virtual device.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let inherited = std::env::var_os(SEARCH_PATH).unwrap_or_default();
        let mut search = self.path.clone().into_os_string();
        if !inherited.is_empty() {
            search.push(":");
            search.push(inherited);
        }
        vec![(SEARCH_PATH, search), ("WARPSMITH_DEVICE", "virtual".into())]
    }
}

const SEARCH_PATH: &str = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// The owner's number, which everybody has; a service or a container may have no `USER`.
fn user() -> String {
    #[cfg(unix)]
    {
        // SAFETY: this call has no preconditions.
        unsafe { libc::geteuid() }.to_string()
    }
    #[cfg(not(unix))]
    std::env::var("USERNAME").unwrap_or_else(|_| "user".to_owned())
}

fn failed(path: &Path, error: io::Error) -> StandInError {
    StandInError::Directory { path: path.display().to_string(), error }
}

/// The stand-in library beside the running executable, or one level above, where `cargo test` puts its own.
fn library() -> Result<PathBuf, StandInError> {
    let executable = std::env::current_exe().unwrap_or_default();
    let beside = executable.parent().map(Path::to_owned).unwrap_or_default();
    let candidates = [Some(beside.as_path()), beside.parent()];
    let found =
        candidates.into_iter().flatten().map(|directory| directory.join(LIBRARY)).find(|path| path.is_file());
    found.ok_or_else(|| StandInError::NoLibrary(beside.display().to_string()))
}

/// FNV-1a: a short name for a path, the same in every run.
fn fingerprint(text: &OsStr) -> u64 {
    text.as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A directory that only its owner may change: what lies in it is loaded into programs.
fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
        match std::fs::DirBuilder::new().mode(0o700).recursive(false).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                std::fs::DirBuilder::new().mode(0o700).recursive(true).create(path)?;
            }
            made => made?,
        }
        let metadata = std::fs::symlink_metadata(path)?;
        // SAFETY: this call has no preconditions.
        let me = unsafe { libc::geteuid() };
        if !metadata.is_dir() || metadata.uid() != me || metadata.permissions().mode() & 0o022 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to another user, or others may write it",
            ));
        }
        Ok(())
    }
    #[cfg(not(unix))]
    std::fs::create_dir_all(path)
}

/// Makes `link` point at `library`, whatever it pointed at.
fn point(link: &Path, library: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        if std::fs::read_link(link).is_ok_and(|target| target == library) {
            return Ok(());
        }
        // Another process may be doing the same: the new link replaces the old one in one step.
        let fresh = link.with_extension(format!("{}.new", std::process::id()));
        let _ = std::fs::remove_file(&fresh);
        std::os::unix::fs::symlink(library, &fresh)?;
        std::fs::rename(&fresh, link)
    }
    #[cfg(not(unix))]
    std::fs::copy(library, link).map(|_| ())
}

/// Whether this code runs as a stand-in: from a library of the driver's name or of its own, not from a program that
/// was linked with it.
pub fn is_stand_in() -> bool {
    own_file().is_some_and(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with("libcuda.so") || name.starts_with("libwarpsmith_cuda.")
    })
}

/// The file that this code was loaded from.
fn own_file() -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        let address = is_stand_in as *const () as *const std::ffi::c_void;
        // SAFETY: any address may be asked for, and the place for the answer is valid.
        let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) } != 0;
        // SAFETY: zeroed, which is a valid state of this structure, or filled by the call.
        let info = unsafe { info.assume_init() };
        if !found || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the loader's own name of the file, which lives as long as the file is loaded.
        let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
        Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_holds_the_drivers_names_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join(LIBRARY);
        std::fs::write(&library, "").unwrap();
        let below = root.path().join("run");
        let directory = DriverDirectory::prepare_in(&below, &library).unwrap();
        let again = DriverDirectory::prepare_in(&below, &library).unwrap();
        assert_eq!(directory.path(), again.path());
        let mut names: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["libcuda.so", "libcuda.so.1"]);
        for name in names {
            assert_eq!(
                std::fs::read_link(directory.path().join(name)).unwrap(),
                library.canonicalize().unwrap()
            );
        }
        let environment = directory.environment();
        assert!(environment[0].1.to_str().unwrap().starts_with(directory.path().to_str().unwrap()));
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join(LIBRARY);
        std::fs::write(&library, "").unwrap();
        let open = root.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(DriverDirectory::prepare_in(&open, &library).is_err());
    }

    #[test]
    fn a_test_program_is_no_stand_in() {
        assert!(!is_stand_in());
    }
}
