//! The kernels of every chip from capability 8.0 on.

use cust::memory::DevicePointer;
use kernels_gpu::tensor::general::*;
use kernels_gpu::tensor::portable::*;
use kernels_gpu::tensor::{TensorGemm, general, portable};
use warpsmith_launch::{Bf16, Device, F16, Limits, Shape};

use super::{Automatic, Input, Layout, Operands, Order, Prepared, Problem, Variant};
use crate::error::Error;
use crate::modules::LEVELS;

/// The portable variants.
pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "portable",
        about: "mma.sync, 128 x 256 tiles, cp.async",
        automatic: Automatic::Always,
        refusal: |limits, problem, operands| {
            too_old(limits)
                .or_else(|| too_little_shared(limits, portable::SHARED_BYTES))
                .or_else(|| bytes_across_k(problem))
                .or_else(|| misaligned(problem, operands))
        },
        plan: |_, _| None,
        prepare: prepare_portable,
    },
    Variant {
        name: "general",
        about: "mma.sync, 128 x 128 tiles, any pitch and place",
        automatic: Automatic::Always,
        refusal: |limits, _, _| too_old(limits),
        plan: |_, _| None,
        prepare: prepare_general,
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

/// Why the matrices' lines cannot be copied 16 bytes at a time.
pub(super) fn misaligned(problem: &Problem, operands: &Operands) -> Option<String> {
    let sizes = [problem.input.size(), problem.input.size(), problem.output.size()];
    let addresses = [operands.a, operands.b, operands.c];
    for ((name, lines, _, pitch), (size, address)) in
        problem.matrices().into_iter().zip(sizes.into_iter().zip(addresses))
    {
        if address % 16 != 0 {
            return Some(format!("{name} begins at {address:#x}, not at a multiple of 16 bytes"));
        }
        let bytes = pitch * size;
        if lines > 1 && bytes % 16 != 0 {
            return Some(format!("{name}'s lines begin {bytes} bytes apart, not a multiple of 16"));
        }
    }
    None
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

/// One block for each tile, in one row of blocks.
fn grid(problem: &Problem, tile: (usize, usize), threads: usize, shared: u32) -> Result<Shape, Error> {
    let blocks = problem.m.div_ceil(tile.0) as u64 * problem.n.div_ceil(tile.1) as u64;
    let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks < 1 << 31).ok_or_else(|| {
        Error::Product(format!(
            "C of {} x {} has {blocks} tiles, a grid at most 2^31 - 1",
            problem.m, problem.n
        ))
    })?;
    Ok(Shape { grid: [blocks, 1, 1], block: [threads as u32, 1, 1], shared })
}

macro_rules! launch {
    ($device:ident, $shape:ident, ($($argument:expr),*), $operands:ident, $kernel:ident, $passed:ty) => {{
        let launcher = $device.kernel::<$kernel>(&LEVELS)?;
        let a = DevicePointer::<$passed>::from_raw($operands.a);
        let b = DevicePointer::<$passed>::from_raw($operands.b);
        let c = DevicePointer::<u8>::from_raw($operands.c);
        // SAFETY: `prepare`'s caller promises the matrices; block, grid and shared memory are the kernel's own.
        Ok(Prepared::new(stringify!($kernel), move || unsafe {
            Ok(launcher.launch($shape, ($($argument,)* a, b, c))?)
        }))
    }};
}

fn prepare_portable<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
) -> Result<Prepared<'d>, Error> {
    let tile = (portable::BLOCK_M, portable::BLOCK_N);
    let shape = grid(problem, tile, portable::THREADS, portable::SHARED_BYTES)?;
    let (p, operands) = (parameters(problem), *operands);
    macro_rules! kernel {
        ($kernel:ident, $passed:ty) => {
            launch!(device, shape, (p), operands, $kernel, $passed)
        };
    }
    match (problem.input, problem.layout) {
        (Input::F16, Layout::Nn) => kernel!(tensor_f16_nn, F16),
        (Input::F16, Layout::Nt) => kernel!(tensor_f16_nt, F16),
        (Input::F16, Layout::Tn) => kernel!(tensor_f16_tn, F16),
        (Input::F16, Layout::Tt) => kernel!(tensor_f16_tt, F16),
        (Input::Bf16, Layout::Nn) => kernel!(tensor_bf16_nn, Bf16),
        (Input::Bf16, Layout::Nt) => kernel!(tensor_bf16_nt, Bf16),
        (Input::Bf16, Layout::Tn) => kernel!(tensor_bf16_tn, Bf16),
        (Input::Bf16, Layout::Tt) => kernel!(tensor_bf16_tt, Bf16),
        (Input::Tf32, Layout::Nn) => kernel!(tensor_tf32_nn, f32),
        (Input::Tf32, Layout::Nt) => kernel!(tensor_tf32_nt, f32),
        (Input::Tf32, Layout::Tn) => kernel!(tensor_tf32_tn, f32),
        (Input::Tf32, Layout::Tt) => kernel!(tensor_tf32_tt, f32),
        (Input::S8, _) => kernel!(tensor_s8_nt, i8),
    }
}

fn prepare_general<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
) -> Result<Prepared<'d>, Error> {
    let shape = grid(problem, (general::BLOCK, general::BLOCK), general::THREADS, general::SHARED_BYTES)?;
    let by_columns = |order| u32::from(order == Order::Columns);
    let (a_by_columns, b_by_columns) = (by_columns(problem.layout.a()), by_columns(problem.layout.b()));
    let (p, operands) = (parameters(problem), *operands);
    macro_rules! kernel {
        ($kernel:ident, $passed:ty) => {
            launch!(device, shape, (p, a_by_columns, b_by_columns), operands, $kernel, $passed)
        };
    }
    match problem.input {
        Input::F16 => kernel!(tensor_f16_general, F16),
        Input::Bf16 => kernel!(tensor_bf16_general, Bf16),
        Input::Tf32 => kernel!(tensor_tf32_general, f32),
        Input::S8 => kernel!(tensor_s8_general, i8),
    }
}
