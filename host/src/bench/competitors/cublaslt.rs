//! cuBLASLt, opened at run time when it is there: the fastest of its first heuristics is what products are compared with.

use std::ffi::{c_int, c_void};
use std::path::PathBuf;

use cust::error::CudaError;
use libloading::{Library, Symbol};
use warpsmith_kernels::gemm::{Input, Operands, Order, Output, Problem};
use warpsmith_launch::ErrorContext;

use super::super::competitor::{Candidate, Competitor, Kind, Task};
use super::super::graph::Replay;
use super::super::measure::{Bench, WORKSPACE};
use super::super::pairs::Enqueue;
use crate::error::Error;

/// Asked for as cuBLAS is.
pub const CANDIDATE: Candidate =
    Candidate { word: super::cublas::CANDIDATE.word, does: Kind::TensorProduct, open };

fn open(bench: &Bench<'_>) -> Result<Option<Box<dyn Competitor>>, Error> {
    Ok(match CublasLt::open(bench.workspace().0) {
        Ok(lt) => Some(Box::new(lt)),
        Err(error) => {
            bench.leave_out(error.to_string());
            None
        }
    })
}

impl Competitor for CublasLt {
    fn name(&self) -> &'static str {
        "cuBLASLt"
    }

    fn does(&self) -> Kind {
        Kind::TensorProduct
    }

    fn version(&self) -> Option<i32> {
        CublasLt::version(self).map(|version| version as i32)
    }

    fn launches<'a>(&'a self, bench: &'a Bench<'_>, task: &Task<'a>) -> Result<Option<Enqueue<'a>>, Error> {
        let &Task::TensorProduct { name, problem, operands } = task else { return Ok(None) };
        let described = self.product(problem).map_err(|error| format!("{name}: {error}"));
        let found = described.and_then(|product| {
            let nothing = |error| format!("{name}: nothing to compare with: {error}");
            product.heuristics().map_err(nothing).map(|heuristics| (product, heuristics))
        });
        let (product, heuristics) = match found {
            Ok(found) => found,
            Err(reason) => {
                bench.leave_out(reason);
                return Ok(None);
            }
        };
        bench.step(&format!("{name}: the fastest of {} heuristics", heuristics.len()));
        let Some(fastest) = fastest(bench, &product, &heuristics, operands)? else {
            bench.leave_out(format!(
                "{name}: cuBLASLt has no way to compute it, so there is nothing to compare with"
            ));
            return Ok(None);
        };
        Ok(Some(Box::new(move |set| enqueue(bench, &product, &fastest, operands, set))))
    }
}

fn enqueue(
    bench: &Bench<'_>,
    product: &Product<'_>,
    heuristic: &Heuristic,
    operands: &[Operands],
    set: usize,
) -> Result<(), CudaError> {
    let stream = bench.device.stream().as_inner();
    // SAFETY: the matrices are those that the product was described for.
    unsafe { product.enqueue(heuristic, &operands[set % operands.len()], stream) }
        .map_err(|_| CudaError::UnknownError)
}

/// The fastest of the heuristics, by the median of a few samples each; `None` if none works.
fn fastest(
    bench: &Bench<'_>,
    product: &Product<'_>,
    heuristics: &[Heuristic],
    operands: &[Operands],
) -> Result<Option<Heuristic>, Error> {
    let stream = bench.device.stream();
    let mut best: Option<(f64, Heuristic)> = None;
    for heuristic in heuristics {
        let mut launch = |set| enqueue(bench, product, heuristic, operands, set);
        if launch(0).is_err() {
            continue;
        }
        bench.device.synchronize()?;
        let timing = "time cuBLASLt's heuristics";
        let once = Replay::capture(stream, 1, &mut launch).context(timing)?;
        once.time(stream).context(timing)?;
        let estimate = once.time(stream).context(timing)?.max(0.0005);
        let (sample_ms, samples) = if bench.plan.quick { (5.0, 3) } else { (20.0, 5) };
        let launches = (sample_ms / estimate).ceil().clamp(1.0, 500.0) as u32;
        let replay = Replay::capture(stream, launches, &mut launch).context(timing)?;
        let times = (0..samples).map(|_| replay.time(stream));
        let mut times = times.collect::<Result<Vec<_>, _>>().context(timing)?;
        times.sort_by(f64::total_cmp);
        if best.is_none_or(|(time, _)| times[samples / 2] < time) {
            best = Some((times[samples / 2], *heuristic));
        }
    }
    Ok(best.map(|(_, heuristic)| heuristic))
}

/// Why there is nothing to compare with.
#[derive(Debug, thiserror::Error)]
enum LtError {
    /// The library was not found.
    #[error(
        "cuBLASLt not found (looked at WARPSMITH_CUBLASLT, the loader's path and beside nvcc): products on tensor cores \
         have nothing to be compared with; install the CUDA toolkit, or set WARPSMITH_CUBLASLT to libcublasLt.so"
    )]
    Missing,
    /// An entry point is missing.
    #[error("{0} lacks an entry point of cuBLASLt: {1}")]
    Symbol(PathBuf, libloading::Error),
    /// A call failed.
    #[error("cuBLASLt: {call} returned status {status}")]
    Status {
        /// The function called.
        call: &'static str,
        /// `cublasStatus_t`.
        status: c_int,
    },
}

/// How many heuristics are asked for.
const HEURISTICS: usize = 8;

type Handle = *mut c_void;

/// An open cuBLASLt.
struct CublasLt {
    library: Library,
    path: PathBuf,
    handle: Handle,
    workspace: u64,
}

/// One way to compute the product, as cuBLASLt describes it (`cublasLtMatmulHeuristicResult_t`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

// Values of cublasLt.h, library_types.h and cublas_api.h.
const DESC_TRANSA: c_int = 3;
const DESC_TRANSB: c_int = 4;
const PREFERENCE_MAX_WORKSPACE: c_int = 1;
const TRANSPOSED: c_int = 1;
const R_32F: c_int = 0;
const R_16F: c_int = 2;
const R_8I: c_int = 3;
const R_32I: c_int = 10;
const R_16BF: c_int = 14;
const COMPUTE_32F: c_int = 68;
const COMPUTE_32I: c_int = 72;
const COMPUTE_32F_FAST_TF32: c_int = 77;

impl CublasLt {
    /// Opens the library. `workspace` is the device address of [`WORKSPACE`] bytes.
    fn open(workspace: u64) -> Result<Self, LtError> {
        let names = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"];
        let (library, path) =
            super::cublas::find_library("WARPSMITH_CUBLASLT", &names).ok_or(LtError::Missing)?;
        let mut lt = Self { library, path, handle: std::ptr::null_mut(), workspace };
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the signature of cublasLtCreate.
        unsafe {
            let create: Symbol<unsafe extern "C" fn(*mut Handle) -> c_int> =
                lt.symbol(b"cublasLtCreate\0")?;
            status("cublasLtCreate", create(&mut handle))?;
        }
        lt.handle = handle;
        Ok(lt)
    }

    /// The library's version, such as 130101.
    fn version(&self) -> Option<usize> {
        // SAFETY: size_t cublasLtGetVersion(void).
        unsafe {
            self.symbol::<unsafe extern "C" fn() -> usize>(b"cublasLtGetVersion\0").ok().map(|get| get())
        }
    }

    /// SAFETY: `T` must be the function's real type.
    unsafe fn symbol<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, LtError> {
        // SAFETY: the caller answers for the type.
        unsafe { self.library.get(name) }.map_err(|error| LtError::Symbol(self.path.clone(), error))
    }

    /// A product, described: the same types, layouts and pitches as ours.
    fn product(&self, problem: &Problem) -> Result<Product<'_>, LtError> {
        let element = match problem.input {
            Input::F16 => R_16F,
            Input::Bf16 => R_16BF,
            Input::Tf32 | Input::F32 => R_32F,
            Input::S8 => R_8I,
        };
        let result = match problem.output {
            Output::F16 => R_16F,
            Output::Bf16 => R_16BF,
            Output::F32 => R_32F,
            Output::S32 => R_32I,
        };
        let (compute, scale) = match problem.input {
            Input::Tf32 => (COMPUTE_32F_FAST_TF32, R_32F),
            Input::S8 => (COMPUTE_32I, R_32I),
            _ => (COMPUTE_32F, R_32F),
        };
        let mut product = Product {
            lt: self,
            description: std::ptr::null_mut(),
            layouts: [std::ptr::null_mut(); 3],
            preference: std::ptr::null_mut(),
            factors: match problem.input {
                Input::S8 => [problem.alpha as i32 as u32, problem.beta as i32 as u32],
                _ => [problem.alpha.to_bits(), problem.beta.to_bits()],
            },
        };
        // cuBLASLt's matrices are stored column by column, and so are ours when rows are called columns: it computes the
        // transposed product, B's columns first. An operand is transposed if it is not stored as that would have it.
        let operation = |order| if order == Order::Columns { TRANSPOSED } else { 0 };
        let stored =
            |order, lines: (usize, usize)| if order == Order::Rows { lines } else { (lines.1, lines.0) };
        let b = stored(problem.layout.b(), (problem.n, problem.k));
        let a = stored(problem.layout.a(), (problem.k, problem.m));
        // SAFETY: the signatures of cublasLt.h; every object is made before it is used, and `Product` ends it.
        unsafe {
            type Create = unsafe extern "C" fn(*mut Handle, c_int, c_int) -> c_int;
            let create: Symbol<Create> = self.symbol(b"cublasLtMatmulDescCreate\0")?;
            status("cublasLtMatmulDescCreate", create(&mut product.description, compute, scale))?;
            type Set = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int;
            let set: Symbol<Set> = self.symbol(b"cublasLtMatmulDescSetAttribute\0")?;
            for (attribute, order) in [(DESC_TRANSA, problem.layout.b()), (DESC_TRANSB, problem.layout.a())] {
                let value = operation(order);
                status(
                    "cublasLtMatmulDescSetAttribute",
                    set(product.description, attribute, (&raw const value).cast(), size_of::<c_int>()),
                )?;
            }
            type Layout = unsafe extern "C" fn(*mut Handle, c_int, u64, u64, i64) -> c_int;
            let layout: Symbol<Layout> = self.symbol(b"cublasLtMatrixLayoutCreate\0")?;
            let matrices = [
                (element, b, problem.ldb),
                (element, a, problem.lda),
                (result, (problem.n, problem.m), problem.ldc),
            ];
            for (place, (ty, (rows, cols), pitch)) in product.layouts.iter_mut().zip(matrices) {
                let made = layout(place, ty, rows as u64, cols as u64, pitch as i64);
                status("cublasLtMatrixLayoutCreate", made)?;
            }
            let create: Symbol<unsafe extern "C" fn(*mut Handle) -> c_int> =
                self.symbol(b"cublasLtMatmulPreferenceCreate\0")?;
            status("cublasLtMatmulPreferenceCreate", create(&mut product.preference))?;
            let set: Symbol<Set> = self.symbol(b"cublasLtMatmulPreferenceSetAttribute\0")?;
            let most = WORKSPACE;
            status(
                "cublasLtMatmulPreferenceSetAttribute",
                set(
                    product.preference,
                    PREFERENCE_MAX_WORKSPACE,
                    (&raw const most).cast(),
                    size_of::<usize>(),
                ),
            )?;
        }
        Ok(product)
    }
}

/// A described product.
struct Product<'lt> {
    lt: &'lt CublasLt,
    description: Handle,
    /// Of B, A and C.
    layouts: [Handle; 3],
    preference: Handle,
    factors: [u32; 2],
}

impl Product<'_> {
    /// The first heuristics, as many as there are up to [`HEURISTICS`].
    fn heuristics(&self) -> Result<Vec<Heuristic>, LtError> {
        let empty = Heuristic { algorithm: [0; 8], workspace: 0, state: 0, waves: 0.0, reserved: [0; 4] };
        let (mut found, mut count) = ([empty; HEURISTICS], 0);
        type Get = unsafe extern "C" fn(
            Handle,
            Handle,
            Handle,
            Handle,
            Handle,
            Handle,
            Handle,
            c_int,
            *mut Heuristic,
            *mut c_int,
        ) -> c_int;
        let [b, a, c] = self.layouts;
        // SAFETY: the signature of cublasLtMatmulAlgoGetHeuristic; there is room for as many results as are asked for.
        unsafe {
            let get: Symbol<Get> = self.lt.symbol(b"cublasLtMatmulAlgoGetHeuristic\0")?;
            status(
                "cublasLtMatmulAlgoGetHeuristic",
                get(
                    self.lt.handle,
                    self.description,
                    b,
                    a,
                    c,
                    c,
                    self.preference,
                    HEURISTICS as c_int,
                    found.as_mut_ptr(),
                    &mut count,
                ),
            )?;
        }
        Ok(found[..count.clamp(0, HEURISTICS as c_int) as usize]
            .iter()
            .copied()
            .filter(|heuristic| heuristic.state == 0)
            .collect())
    }

    /// Enqueues the product.
    ///
    /// # Safety
    /// The matrices lie at `operands`, as the problem described them.
    unsafe fn enqueue(
        &self,
        heuristic: &Heuristic,
        operands: &Operands,
        stream: cust::sys::CUstream,
    ) -> Result<(), LtError> {
        type Matmul = unsafe extern "C" fn(
            Handle,
            Handle,
            *const u32,
            u64,
            Handle,
            u64,
            Handle,
            *const u32,
            u64,
            Handle,
            u64,
            Handle,
            *const Heuristic,
            u64,
            usize,
            cust::sys::CUstream,
        ) -> c_int;
        let [b, a, c] = self.layouts;
        let [alpha, beta] = &self.factors;
        // SAFETY: the signature of cublasLtMatmul; the algorithm is the first member of what the heuristics gave.
        unsafe {
            let matmul: Symbol<Matmul> = self.lt.symbol(b"cublasLtMatmul\0")?;
            status(
                "cublasLtMatmul",
                matmul(
                    self.lt.handle,
                    self.description,
                    alpha,
                    operands.b,
                    b,
                    operands.a,
                    a,
                    beta,
                    operands.c,
                    c,
                    operands.c,
                    c,
                    heuristic,
                    self.lt.workspace,
                    WORKSPACE,
                    stream,
                ),
            )
        }
    }
}

impl Drop for Product<'_> {
    fn drop(&mut self) {
        // SAFETY: each object was made by this library and is destroyed once.
        unsafe {
            type Destroy = unsafe extern "C" fn(Handle) -> c_int;
            let destroy = |name: &[u8], object: Handle| {
                if let (false, Ok(destroy)) = (object.is_null(), self.lt.symbol::<Destroy>(name)) {
                    destroy(object);
                }
            };
            destroy(b"cublasLtMatmulPreferenceDestroy\0", self.preference);
            for layout in self.layouts {
                destroy(b"cublasLtMatrixLayoutDestroy\0", layout);
            }
            destroy(b"cublasLtMatmulDescDestroy\0", self.description);
        }
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        // SAFETY: the handle was made by this library and is destroyed once.
        unsafe {
            if let (false, Ok(destroy)) = (
                self.handle.is_null(),
                self.symbol::<unsafe extern "C" fn(Handle) -> c_int>(b"cublasLtDestroy\0"),
            ) {
                destroy(self.handle);
            }
        }
    }
}

fn status(call: &'static str, status: c_int) -> Result<(), LtError> {
    if status == 0 { Ok(()) } else { Err(LtError::Status { call, status }) }
}

#[cfg(test)]
mod tests {
    use super::Heuristic;

    #[test]
    fn a_heuristic_has_the_size_of_the_header() {
        assert_eq!((size_of::<Heuristic>(), std::mem::offset_of!(Heuristic, state)), (96, 72));
    }
}
