//! The tensor-core kernels of every chip from capability 8.0 on (mma.sync).

use cuda_std::Kernel;
use cust::memory::DevicePointer;
use half::{bf16, f16};
use kernels_gpu::ampere::tensor::{TensorGemm, general, portable};
use kernels_gpu::choice::UseKernel;
use tile::mma::Tf32;
use warpsmith_launch::{Bf16, F16, HostType, Limits, Shape};

use super::variant::{Automatic, Request, Schedule, Variant};
use super::{Gemm, Input, Layout, Operands, Prepared, Problem};
use crate::Error;

/// The portable variants.
pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "portable",
        about: "mma.sync, 128 x 256 tiles, cp.async",
        automatic: Automatic::Always,
        f32: false,
        schedule: |limits, problem, operands, request| {
            let refusal = too_old(limits)
                .or_else(|| f32_only(request))
                .or_else(|| too_little_shared(limits, portable::SHARED_BYTES))
                .or_else(|| bytes_across_k(problem))
                .or_else(|| misaligned(problem, operands));
            schedule(refusal, portable_kernel(problem), problem)
        },
    },
    Variant {
        name: "general",
        about: "mma.sync, 128 x 128 tiles, any pitch and place",
        automatic: Automatic::Always,
        f32: false,
        schedule: |limits, problem, _, request| {
            let refusal = too_old(limits).or_else(|| f32_only(request));
            schedule(refusal, general_kernel(problem), problem)
        },
    },
];

fn too_old(limits: &Limits) -> Option<String> {
    let (major, minor) = limits.capability;
    (major < 8).then(|| format!("it needs compute capability 8.0, the device has {major}.{minor}"))
}

fn too_little_shared(limits: &Limits, needed: u32) -> Option<String> {
    let has = limits.shared_per_block_optin;
    (has < needed).then(|| format!("a block needs {needed} bytes of shared memory, the device has {has}"))
}

fn bytes_across_k(problem: &Problem) -> Option<String> {
    (problem.input == Input::S8 && problem.layout != Layout::Nt)
        .then(|| "s8 is multiplied along K only, which is layout nt".to_owned())
}

/// Why a request is for no kernel of the tensor cores.
pub(super) fn f32_only(request: &Request<'_>) -> Option<String> {
    (request.split_k.is_some() || request.packed.is_some())
        .then(|| "K is split, and operands are packed, for f32 only".to_owned())
}

/// Why the matrices' lines cannot be copied 16 bytes at a time.
pub(super) fn misaligned(problem: &Problem, operands: &Operands) -> Option<String> {
    for (matrix, address) in problem.matrices().into_iter().zip(operands.addresses()) {
        let name = matrix.name;
        if address % 16 != 0 {
            return Some(format!("{name} begins at {address:#x}, not at a multiple of 16 bytes"));
        }
        let bytes = matrix.pitch * matrix.size;
        if matrix.lines > 1 && bytes % 16 != 0 {
            return Some(format!("{name}'s lines begin {bytes} bytes apart, not a multiple of 16"));
        }
    }
    None
}

/// A kernel, its tiles, and its launch.
#[derive(Clone, Copy)]
struct MmaSchedule {
    name: &'static str,
    tile: (usize, usize),
    threads: usize,
    shared: u32,
    prepare: for<'d> fn(&Gemm<'d>, &Problem, &Operands, Shape) -> Result<Prepared<'d>, Error>,
}

impl std::fmt::Debug for MmaSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Schedule for MmaSchedule {
    fn kernel(&self) -> &'static str {
        self.name
    }

    /// One block for each tile, in one row of blocks.
    fn prepare<'d>(
        &self,
        gemm: &Gemm<'d>,
        problem: &Problem,
        operands: &Operands,
    ) -> Result<Prepared<'d>, Error> {
        let blocks = problem.m.div_ceil(self.tile.0) as u64 * problem.n.div_ceil(self.tile.1) as u64;
        let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks < 1 << 31).ok_or_else(|| {
            Error::Gemm(format!(
                "C of {} x {} has {blocks} tiles, a grid at most 2^31 - 1",
                problem.m, problem.n
            ))
        })?;
        let shape = Shape { grid: [blocks, 1, 1], block: [self.threads as u32, 1, 1], shared: self.shared };
        (self.prepare)(gemm, problem, operands, shape)
    }
}

fn parameters(problem: &Problem) -> TensorGemm {
    // `Problem::check` keeps all of them below 2²⁸.
    TensorGemm {
        m: problem.m as u32,
        n: problem.n as u32,
        k: problem.k as u32,
        lda: problem.lda as u32,
        ldb: problem.ldb as u32,
        ldc: problem.ldc as u32,
        alpha: problem.alpha,
        beta: problem.beta,
        wide: u32::from(problem.output.size() == 4),
    }
}

/// An element type of kernels, and the type by which buffers hold it.
trait DeviceElement: Sized + 'static {
    type Host: HostType<Self> + 'static;
}

macro_rules! device {
    ($($device:ty: $host:ty,)*) => { $(impl DeviceElement for $device { type Host = $host; })* };
}
device! { f16: F16, bf16: Bf16, f32: f32, i8: i8, }

fn pointers<T: DeviceElement>(operands: &Operands) -> (DevicePointer<T::Host>, DevicePointer<T::Host>) {
    (DevicePointer::from_raw(operands.a), DevicePointer::from_raw(operands.b))
}

/// Makes a [`MmaSchedule`] of the kernel that is chosen.
struct MakeSchedule;

impl<T: DeviceElement> UseKernel<portable::Signature<T>, MmaSchedule> for MakeSchedule {
    fn with<K: Kernel<Signature = portable::Signature<T>> + 'static>(self) -> MmaSchedule {
        MmaSchedule {
            name: K::NAME,
            tile: (portable::BLOCK_M, portable::BLOCK_N),
            threads: portable::THREADS,
            shared: portable::SHARED_BYTES,
            prepare: |gemm, problem, operands, shape| {
                let ((a, b), c) = (pointers::<T>(operands), DevicePointer::<u8>::from_raw(operands.c));
                // SAFETY: `Gemm::prepare`'s caller promises the matrices; block, grid and shared memory are the kernel's own.
                unsafe { Prepared::kernel::<K, _>(gemm.device, shape, (parameters(problem), a, b, c)) }
            },
        }
    }
}

impl<T: DeviceElement> UseKernel<general::Signature<T>, MmaSchedule> for MakeSchedule {
    fn with<K: Kernel<Signature = general::Signature<T>> + 'static>(self) -> MmaSchedule {
        MmaSchedule {
            name: K::NAME,
            tile: (general::BLOCK, general::BLOCK),
            threads: general::THREADS,
            shared: general::SHARED_BYTES,
            prepare: |gemm, problem, operands, shape| {
                let ((a, b), c) = (pointers::<T>(operands), DevicePointer::<u8>::from_raw(operands.c));
                let (a_columns, b_columns) = problem.layout.transposed();
                let arguments = (parameters(problem), u32::from(a_columns), u32::from(b_columns), a, b, c);
                // SAFETY: as above.
                unsafe { Prepared::kernel::<K, _>(gemm.device, shape, arguments) }
            },
        }
    }
}

fn portable_kernel(problem: &Problem) -> Option<MmaSchedule> {
    use portable::Family;
    let transposed = problem.layout.transposed();
    match problem.input {
        Input::F16 => f16::choose(transposed, MakeSchedule),
        Input::Bf16 => bf16::choose(transposed, MakeSchedule),
        Input::Tf32 => Tf32::choose(transposed, MakeSchedule),
        Input::S8 => i8::choose(transposed, MakeSchedule),
        Input::F32 => None,
    }
}

fn general_kernel(problem: &Problem) -> Option<MmaSchedule> {
    use general::Family;
    Some(match problem.input {
        Input::F16 => f16::choose(MakeSchedule),
        Input::Bf16 => bf16::choose(MakeSchedule),
        Input::Tf32 => Tf32::choose(MakeSchedule),
        Input::S8 => i8::choose(MakeSchedule),
        Input::F32 => return None,
    })
}

/// The kernel's schedule, if nothing speaks against it.
fn schedule(
    refusal: Option<String>,
    kernel: Option<MmaSchedule>,
    problem: &Problem,
) -> Result<Box<dyn Schedule>, String> {
    match (refusal, kernel) {
        (Some(reason), _) => Err(reason),
        (None, Some(kernel)) => Ok(Box::new(kernel)),
        (None, None) => Err(format!("there is no such kernel for {}", problem.input.name())),
    }
}
