//! cuBLAS, opened at run time when it is there.

use std::ffi::{c_int, c_void};
use std::path::PathBuf;

use cust::error::CudaError;
use libloading::{Library, Symbol};
use warpsmith_launch::Stream;

use super::super::competitor::{Candidate, Competitor, F32Product, Kind, Task};
use super::super::measure::Bench;
use super::super::pairs::Enqueue;
use crate::error::Error;

pub const CANDIDATE: Candidate = Candidate {
    word: Some(("cublas", "cuBLAS in full f32, cuBLASLt on tensor cores")),
    does: Kind::Product,
    open,
};

fn open(bench: &Bench<'_>) -> Result<Option<Box<dyn Competitor>>, Error> {
    Ok(match Cublas::open(bench.device.stream(), bench.workspace()) {
        Ok(cublas) => Some(Box::new(cublas)),
        Err(error) => {
            bench.leave_out(error.to_string());
            None
        }
    })
}

impl Competitor for Cublas {
    fn name(&self) -> &'static str {
        "cuBLAS"
    }

    fn does(&self) -> Kind {
        Kind::Product
    }

    fn version(&self) -> Option<i32> {
        Cublas::version(self).ok()
    }

    fn launches<'a>(&'a self, _: &'a Bench<'_>, task: &Task<'a>) -> Result<Option<Enqueue<'a>>, Error> {
        let Task::Product(products) = task else { return Ok(None) };
        let products = products.clone();
        Ok(Some(Box::new(move |set| {
            self.sgemm(&products[set % products.len()]).map_err(|_| CudaError::UnknownError)
        })))
    }
}

/// Why there is no cuBLAS to compare with.
#[derive(Debug, thiserror::Error)]
enum CublasError {
    /// The library was not found.
    #[error(
        "cuBLAS not found (looked at WARPSMITH_CUBLAS, the loader's path and beside nvcc): it is left out; \
         install the CUDA toolkit, or set WARPSMITH_CUBLAS to libcublas.so"
    )]
    Missing,
    /// An entry point is missing.
    #[error("{0} lacks an entry point of cuBLAS: {1}")]
    Symbol(PathBuf, libloading::Error),
    /// A call failed.
    #[error("cuBLAS: {call} returned status {status}")]
    Status {
        /// The function called.
        call: &'static str,
        /// `cublasStatus_t`.
        status: c_int,
    },
}

type Handle = *mut c_void;

/// An open cuBLAS with its handle, bound to one stream.
struct Cublas {
    library: Library,
    path: PathBuf,
    handle: Handle,
}

const OP_N: c_int = 0;
const OP_T: c_int = 1;

impl Cublas {
    /// Opens the library and makes a handle on `stream`; products are full f32, never TF32.
    ///
    /// `workspace` (a device address and its size) is handed to cuBLAS so that it can be captured in a graph.
    fn open(stream: &Stream, workspace: (u64, usize)) -> Result<Self, CublasError> {
        let names = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
        let (library, path) = find_library("WARPSMITH_CUBLAS", &names).ok_or(CublasError::Missing)?;
        let mut cublas = Self { library, path, handle: std::ptr::null_mut() };
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: each signature is that of the cuBLAS v2 API; the handle is created before it is used.
        unsafe {
            let create: Symbol<unsafe extern "C" fn(*mut Handle) -> c_int> =
                cublas.symbol(b"cublasCreate_v2\0")?;
            status("cublasCreate", create(&mut handle))?;
            cublas.handle = handle;
            let set_stream: Symbol<unsafe extern "C" fn(Handle, *mut c_void) -> c_int> =
                cublas.symbol(b"cublasSetStream_v2\0")?;
            status("cublasSetStream", set_stream(handle, stream.as_inner().cast()))?;
            let set_workspace: Symbol<unsafe extern "C" fn(Handle, u64, usize) -> c_int> =
                cublas.symbol(b"cublasSetWorkspace_v2\0")?;
            status("cublasSetWorkspace", set_workspace(handle, workspace.0, workspace.1))?;
            // CUBLAS_DEFAULT_MATH = 0: f32 products stay f32.
            let set_math: Symbol<unsafe extern "C" fn(Handle, c_int) -> c_int> =
                cublas.symbol(b"cublasSetMathMode\0")?;
            status("cublasSetMathMode", set_math(handle, 0))?;
        }
        Ok(cublas)
    }

    /// SAFETY: `T` must be the function's real type.
    unsafe fn symbol<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, CublasError> {
        // SAFETY: the caller answers for the type.
        unsafe { self.library.get(name) }.map_err(|error| CublasError::Symbol(self.path.clone(), error))
    }

    /// The library's version, such as 130301.
    fn version(&self) -> Result<i32, CublasError> {
        let mut version = 0;
        // SAFETY: cublasGetVersion_v2(handle, int*).
        unsafe {
            let get: Symbol<unsafe extern "C" fn(Handle, *mut c_int) -> c_int> =
                self.symbol(b"cublasGetVersion_v2\0")?;
            status("cublasGetVersion", get(self.handle, &mut version))?;
        }
        Ok(version)
    }

    /// Row-major `C = alpha · op(A) · op(B) + beta · C` in f32.
    fn sgemm(&self, product: &F32Product) -> Result<(), CublasError> {
        let op = |transposed| if transposed { OP_T } else { OP_N };
        type SgemmFn = unsafe extern "C" fn(
            Handle,
            c_int,
            c_int,
            c_int,
            c_int,
            c_int,
            *const f32,
            u64,
            c_int,
            u64,
            c_int,
            *const f32,
            u64,
            c_int,
        ) -> c_int;
        // SAFETY: the v2 signature of cublasSgemm; a row-major product is the column-major product of the swapped
        // operands, so B comes first and m and n change places. The caller vouches for the device addresses.
        unsafe {
            let sgemm: Symbol<SgemmFn> = self.symbol(b"cublasSgemm_v2\0")?;
            status(
                "cublasSgemm",
                sgemm(
                    self.handle,
                    op(product.b_transposed),
                    op(product.a_transposed),
                    product.n,
                    product.m,
                    product.k,
                    &product.alpha,
                    product.b,
                    product.ldb,
                    product.a,
                    product.lda,
                    &product.beta,
                    product.c,
                    product.ldc,
                ),
            )
        }
    }
}

/// A library of the toolkit: where the variable says, on the loader's path, or beside nvcc.
pub(super) fn find_library(variable: &str, names: &[&str]) -> Option<(Library, PathBuf)> {
    let mut places: Vec<PathBuf> = std::env::var_os(variable).map(PathBuf::from).into_iter().collect();
    places.extend(names.iter().map(PathBuf::from));
    let beside_nvcc = super::nvcc::find()
        .and_then(|nvcc| nvcc.canonicalize().ok())
        .and_then(|nvcc| Some(nvcc.parent()?.parent()?.to_path_buf()));
    for root in beside_nvcc.into_iter().chain([PathBuf::from("/usr/local/cuda")]) {
        for lib in ["lib64", "lib", "targets/x86_64-linux/lib"] {
            places.extend(names.iter().map(|name| root.join(lib).join(name)));
        }
    }
    places.into_iter().find_map(|path| {
        // SAFETY: loading these libraries runs their initialisers, which are made to be run in any program.
        unsafe { Library::new(&path) }.ok().map(|library| (library, path))
    })
}

impl Drop for Cublas {
    fn drop(&mut self) {
        if self.handle.is_null() {
            return;
        }
        // SAFETY: the handle was made by this library and is destroyed once.
        unsafe {
            if let Ok(destroy) = self.symbol::<unsafe extern "C" fn(Handle) -> c_int>(b"cublasDestroy_v2\0") {
                destroy(self.handle);
            }
        }
    }
}

fn status(call: &'static str, status: c_int) -> Result<(), CublasError> {
    if status == 0 { Ok(()) } else { Err(CublasError::Status { call, status }) }
}
