//! Finds and opens the real driver.
//!
//! The loader's own search comes first, then the places where distributions, containers and WSL keep the driver, then
//! the loader's cache: when our library stands in as `libcuda.so.1`, the loader answers every request for that name
//! with it. It carries [`MARKER`], is recognised by that, and is skipped.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use crate::abi::CUresult;
use crate::loader_cache;

/// The symbol that tells our library from NVIDIA's.
const MARKER: &[u8] = b"warpsmith_cuda_marker\0";

/// See [`MARKER`].
#[unsafe(no_mangle)]
pub static warpsmith_cuda_marker: u8 = 1;

#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// Where the driver is kept when the loader does not know it.
#[cfg(not(windows))]
const PLACES: &[&str] = &[
    "/usr/lib/wsl/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/lib",
    "/run/opengl-driver/lib",
];
#[cfg(windows)]
const PLACES: &[&str] = &[];

/// The real driver, open; or the stand-in, if other code of the process has loaded that.
pub struct RealDriver {
    library: Library,
    path: PathBuf,
    is_stand_in: bool,
}

/// Why there is no real driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields hold")]
pub enum Missing {
    /// No library of the driver's name anywhere.
    #[error("no NVIDIA driver: `{}` was found neither by the loader nor in the usual places", NAMES[0])]
    NotFound,
    /// `WARPSMITH_LIBCUDA` names something that cannot be opened.
    #[error("WARPSMITH_LIBCUDA={path} cannot be opened: {reason}")]
    Named { path: String, reason: String },
    /// `WARPSMITH_LIBCUDA` names this library.
    #[error("WARPSMITH_LIBCUDA={path} is Warpsmith's own stand-in, not NVIDIA's driver")]
    OurOwn { path: String },
    /// A library is there and cannot be opened.
    #[error("`{path}` cannot be opened: {reason}")]
    Broken { path: String, reason: String },
}

impl RealDriver {
    /// The real driver, opened once in the life of the process.
    pub fn get() -> Result<&'static Self, Missing> {
        static DRIVER: OnceLock<Result<RealDriver, Missing>> = OnceLock::new();
        DRIVER.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    /// The driver that the loader gives to other code of the process, be it the stand-in.
    pub(crate) fn loaded() -> Result<&'static Self, Missing> {
        static LOADED: OnceLock<Option<RealDriver>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| {
            // SAFETY: opening a library runs its initialisers; this is NVIDIA's driver or the stand-in, open already.
            let open = |name| Some((unsafe { Library::new(name) }.ok()?, PathBuf::from(name)));
            NAMES.iter().copied().find_map(open).map(|(library, path)| Self::of(library, path))
        });
        loaded.as_ref().ok_or(Missing::NotFound)
    }

    fn of(library: Library, path: PathBuf) -> Self {
        // SAFETY: the symbol's value is not used, only whether it is there.
        let is_stand_in = unsafe { library.get::<*const u8>(MARKER) }.is_ok();
        Self { library, path, is_stand_in }
    }

    /// Whether it is Warpsmith's own library under the driver's name.
    pub fn is_stand_in(&self) -> bool {
        self.is_stand_in
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open() -> Result<Self, Missing> {
        if let Some(path) = std::env::var_os("WARPSMITH_LIBCUDA").filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            let shown = path.display().to_string();
            return match Self::try_open(&path) {
                Ok(Some(driver)) => Ok(driver),
                Ok(None) => Err(Missing::OurOwn { path: shown }),
                Err(reason) => Err(Missing::Named { path: shown, reason }),
            };
        }
        let mut missing = Missing::NotFound;
        for path in candidates() {
            match Self::try_open(&path) {
                Ok(Some(driver)) => return Ok(driver),
                Ok(None) => {}
                // That the loader does not know a bare name is not worth telling; that a file is there and will
                // not open is.
                Err(reason) if path.is_absolute() => {
                    missing = Missing::Broken { path: path.display().to_string(), reason };
                }
                Err(_) => {}
            }
        }
        Err(missing)
    }

    /// Opens one library; `None` when it is ours.
    fn try_open(path: &Path) -> Result<Option<Self>, String> {
        // SAFETY: opening a library runs its initialisers; this is NVIDIA's driver, or what the user named as such.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        let driver = Self::of(library, path.to_owned());
        if driver.is_stand_in {
            // The loader counts: if it was open before, it stays open.
            return Ok(None);
        }
        match driver.lacks() {
            Some(name) => {
                Err(format!("it has no `{}`, so it is no CUDA driver", name.trim_end_matches('\0')))
            }
            None => Ok(Some(driver)),
        }
    }

    /// Entries of a driver of any version, which a library that only bears its name may lack.
    fn lacks(&self) -> Option<&'static str> {
        ["cuInit\0", "cuDeviceGetCount\0"].into_iter().find(|name| self.symbol(name).is_none())
    }

    /// The address of an entry point. `name` ends with NUL.
    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        // SAFETY: only the address is taken, and the library stays open as long as the process; who calls it knows
        // the signature.
        let address = unsafe { self.library.get::<*mut c_void>(name.as_bytes()).ok()?.try_as_raw_ptr() };
        address.filter(|address| !address.is_null())
    }

    /// Initialises the driver and counts its devices; the error says which call failed.
    pub fn devices(&self) -> Result<i32, (&'static str, CUresult)> {
        let (Some(init), Some(count)) = (self.symbol("cuInit\0"), self.symbol("cuDeviceGetCount\0")) else {
            return Err(("cuInit", CUresult::NOT_FOUND));
        };
        // SAFETY: the signatures of these two entry points, as in cuda.h since CUDA 2.
        let (init, count) = unsafe {
            (
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u32) -> CUresult>(init),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut i32) -> CUresult>(count),
            )
        };
        let mut devices = 0;
        // SAFETY: `cuInit` takes no pointer, `cuDeviceGetCount` a valid one.
        let (initialised, counted) = unsafe { (init(0), count(&mut devices)) };
        match (initialised, counted) {
            (CUresult::SUCCESS, CUresult::SUCCESS) => Ok(devices),
            (CUresult::SUCCESS, failed) => Err(("cuDeviceGetCount", failed)),
            (failed, _) => Err(("cuInit", failed)),
        }
    }

    /// Whether a context can be had where that is doubtful: on a device that only one process may use at a time.
    pub fn check_usable(&self) -> Result<(), (&'static str, CUresult)> {
        const COMPUTE_MODE: i32 = 20;
        const PROHIBITED: i32 = 2;
        const EXCLUSIVE_PROCESS: i32 = 3;
        let (Some(attribute), Some(retain), Some(release)) = (
            self.symbol("cuDeviceGetAttribute\0"),
            self.symbol("cuDevicePrimaryCtxRetain\0"),
            self.symbol("cuDevicePrimaryCtxRelease_v2\0")
                .or_else(|| self.symbol("cuDevicePrimaryCtxRelease\0")),
        ) else {
            return Err(("cuDevicePrimaryCtxRetain", CUresult::NOT_FOUND));
        };
        let mut mode = 0;
        let mut context: usize = 0;
        // SAFETY: signatures as in cuda.h, called with valid places; device 0 exists, as the caller has counted.
        unsafe {
            let attribute: unsafe extern "C" fn(*mut i32, i32, i32) -> CUresult =
                std::mem::transmute(attribute);
            let retain: unsafe extern "C" fn(*mut usize, i32) -> CUresult = std::mem::transmute(retain);
            let release: unsafe extern "C" fn(i32) -> CUresult = std::mem::transmute(release);
            match (attribute(&mut mode, COMPUTE_MODE, 0), mode) {
                (CUresult::SUCCESS, PROHIBITED) => {
                    return Err(("cuDevicePrimaryCtxRetain", CUresult::DEVICE_UNAVAILABLE));
                }
                (CUresult::SUCCESS, EXCLUSIVE_PROCESS) => {}
                _ => return Ok(()),
            }
            match retain(&mut context, 0) {
                CUresult::SUCCESS => {
                    release(0);
                    Ok(())
                }
                refused => Err(("cuDevicePrimaryCtxRetain", refused)),
            }
        }
    }
}

/// Paths to try, in order, each once.
fn candidates() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    let searched = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let directories = std::env::split_paths(&searched).chain(PLACES.iter().map(PathBuf::from));
    let files = directories.flat_map(|directory| NAMES.iter().map(move |name| directory.join(name)));
    for path in files.chain(loader_cache::find(NAMES[0])) {
        if path.is_absolute() && path.exists() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_begin_with_the_loader_and_exist() {
        let paths = candidates();
        assert_eq!(paths[0], Path::new(NAMES[0]));
        assert!(paths[NAMES.len()..].iter().all(|path| path.is_absolute() && path.exists()));
    }

    #[test]
    fn what_is_no_library_is_refused_with_the_loaders_words() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(RealDriver::try_open(file.path()).is_err_and(|reason| !reason.is_empty()));
    }
}
