//! NCCL itself: found and opened at run time, with typed functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

/// The name by which the loader finds the library.
const FILE: &str = "libnccl.so.2";

/// Why there is no NCCL.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "NCCL cannot be opened: {reason}. Install it with `pip install nvidia-nccl-cu13`, or set WARPSMITH_LIBNCCL to the path of a libnccl.so.2"
)]
pub struct NcclUnavailable {
    reason: String,
}

/// Identifies ranks that belong together.
pub(crate) type UniqueId = [u8; 128];
/// A communicator as NCCL hands it out.
pub(crate) type RawCommunicator = *mut c_void;
type Stream = cust::sys::CUstream;
type Answer = c_int;

pub(crate) const SUCCESS: Answer = 0;
pub(crate) const IN_PROGRESS: Answer = 7;

/// `ncclUniqueId`, which is passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Id(pub UniqueId);

/// The beginning of `ncclConfig_t` in NCCL 2.18; later versions accept it because it states its size and version.
#[repr(C)]
pub(crate) struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
}

impl Config {
    /// Makes calls return at once, so that the waiting code can watch the clock.
    pub fn not_blocking() -> Self {
        const UNDEFINED: c_int = c_int::MIN;
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: 21_800,
            blocking: 0,
            cga_cluster_size: UNDEFINED,
            min_ctas: UNDEFINED,
            max_ctas: UNDEFINED,
            net_name: std::ptr::null(),
            split_share: UNDEFINED,
        }
    }
}

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*);)*) => {
        /// NCCL's functions. Each returns a result code.
        #[allow(non_snake_case)]
        pub(crate) struct Functions {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> Answer,)*
        }

        impl Functions {
            fn of(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the signatures are those of `nccl.h`.
                Ok(unsafe { Self { $($field: *library.get($symbol)?,)* } })
            }
        }
    };
}

functions! {
    get_version = b"ncclGetVersion\0": fn(*mut c_int);
    get_unique_id = b"ncclGetUniqueId\0": fn(*mut Id);
    init_rank = b"ncclCommInitRankConfig\0": fn(*mut RawCommunicator, c_int, Id, c_int, *mut Config);
    destroy = b"ncclCommDestroy\0": fn(RawCommunicator);
    abort = b"ncclCommAbort\0": fn(RawCommunicator);
    async_error = b"ncclCommGetAsyncError\0": fn(RawCommunicator, *mut Answer);
    group_start = b"ncclGroupStart\0": fn();
    group_end = b"ncclGroupEnd\0": fn();
    all_reduce = b"ncclAllReduce\0":
        fn(*const c_void, *mut c_void, usize, c_int, c_int, RawCommunicator, Stream);
    broadcast = b"ncclBroadcast\0":
        fn(*const c_void, *mut c_void, usize, c_int, c_int, RawCommunicator, Stream);
    all_gather = b"ncclAllGather\0": fn(*const c_void, *mut c_void, usize, c_int, RawCommunicator, Stream);
    reduce_scatter = b"ncclReduceScatter\0":
        fn(*const c_void, *mut c_void, usize, c_int, c_int, RawCommunicator, Stream);
    send = b"ncclSend\0": fn(*const c_void, usize, c_int, c_int, RawCommunicator, Stream);
    receive = b"ncclRecv\0": fn(*mut c_void, usize, c_int, c_int, RawCommunicator, Stream);
}

/// NCCL, opened.
pub struct Nccl {
    path: PathBuf,
    version: i32,
    pub(crate) call: Functions,
    error_string: unsafe extern "C" fn(Answer) -> *const c_char,
    last_error: Option<unsafe extern "C" fn(RawCommunicator) -> *const c_char>,
    /// The library that contains the functions.
    _library: Library,
}

impl Nccl {
    /// Opens it once per process: the file that `WARPSMITH_LIBNCCL` names, the one the loader finds, or one in a Python
    /// environment.
    pub fn get() -> Result<&'static Self, NcclUnavailable> {
        static NCCL: OnceLock<Result<Nccl, NcclUnavailable>> = OnceLock::new();
        NCCL.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Self, NcclUnavailable> {
        if let Some(named) = std::env::var_os("WARPSMITH_LIBNCCL").filter(|named| !named.is_empty()) {
            return Self::open_at(Path::new(&named));
        }
        let found = Self::open_at(Path::new(FILE));
        in_python().into_iter().fold(found, |found, path| found.or_else(|_| Self::open_at(&path)))
    }

    fn open_at(path: &Path) -> Result<Self, NcclUnavailable> {
        let missing = |error: libloading::Error| NcclUnavailable { reason: error.to_string() };
        // SAFETY: NCCL's own initialisers run; they have no requirements.
        let library = unsafe { Library::new(path) }.map_err(missing)?;
        let call = Functions::of(&library).map_err(missing)?;
        // SAFETY: the signatures are those of `nccl.h`.
        let (error_string, last_error) = unsafe {
            (
                *library.get(b"ncclGetErrorString\0").map_err(missing)?,
                library.get(b"ncclGetLastError\0").ok().map(|symbol| *symbol),
            )
        };
        let mut version = 0;
        // SAFETY: the pointer is valid for the call.
        unsafe { (call.get_version)(&mut version) };
        Ok(Self { path: path.to_owned(), version, call, error_string, last_error, _library: library })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, such as `2.28.9`.
    pub fn version(&self) -> String {
        let version = self.version;
        format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    /// NCCL's name for a result, and its explanation of the last error.
    pub(crate) fn explain(&self, answer: Answer) -> (String, String) {
        let text = |pointer: *const c_char| {
            // SAFETY: NCCL's strings are NUL-terminated and static.
            let text = unsafe { pointer.as_ref().map(|first| CStr::from_ptr(first)) };
            text.map(|text| text.to_string_lossy().trim().to_owned()).unwrap_or_default()
        };
        // SAFETY: any result may be asked about, and the last error is that of this thread.
        unsafe {
            let detail = self.last_error.map(|last| text(last(std::ptr::null_mut()))).unwrap_or_default();
            let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
            (text((self.error_string)(answer)), detail)
        }
    }
}

/// The paths at which Python environments have it: the active one, and the system's.
fn in_python() -> Vec<PathBuf> {
    let entries = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let environment = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let roots = environment.into_iter().chain(["/usr/local".into(), "/opt/conda".into(), "/usr".into()]);
    roots
        .flat_map(|root: PathBuf| entries(root.join("lib")))
        .filter(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")))
        .flat_map(|python| ["site-packages", "dist-packages"].map(|packages| python.join(packages)))
        .map(|packages| packages.join("nvidia/nccl/lib").join(FILE))
        .filter(|path| path.is_file())
        .collect()
}
