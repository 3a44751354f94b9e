//! The kernels of every chip from capability 8.0 on.

use cuda_std::Kernel;
use cust::memory::DevicePointer;
use kernels_gpu::choice::UseKernel;
use kernels_gpu::tensor::{TensorGemm, general, portable};
use tile::mma::Tf32;
use warpsmith_launch::{Bf16, Device, F16, Limits, Shape, StandsFor};

use super::{Automatic, Input, Layout, Operands, Prepared, Problem, Variant};
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

/// The type that the host's buffers have for one that a kernel is passed.
trait Passed: Sized {
    type Held: StandsFor<Self> + 'static;
}

macro_rules! passed {
    ($($passed:ty: $held:ty,)*) => { $(impl Passed for $passed { type Held = $held; })* };
}
passed! { half::f16: F16, half::bf16: Bf16, f32: f32, i8: i8, }

/// A launch but for its types.
struct Launch<'d, 'p> {
    device: &'d Device,
    shape: Shape,
    problem: &'p Problem,
    operands: Operands,
}

impl<'d, T: Passed> UseKernel<portable::Signature<T>, Result<Prepared<'d>, Error>> for Launch<'d, '_> {
    fn with<K: Kernel<Signature = portable::Signature<T>> + 'static>(self) -> Result<Prepared<'d>, Error> {
        let (launcher, shape, p) = (self.device.kernel::<K>(&LEVELS)?, self.shape, parameters(self.problem));
        let [a, b] = [self.operands.a, self.operands.b].map(DevicePointer::<T::Held>::from_raw);
        let c = DevicePointer::<u8>::from_raw(self.operands.c);
        // SAFETY: `prepare`'s caller promises the matrices; block, grid and shared memory are the kernel's own.
        Ok(Prepared::new(K::NAME, move || unsafe { Ok(launcher.launch(shape, (p, a, b, c))?) }))
    }
}

impl<'d, T: Passed> UseKernel<general::Signature<T>, Result<Prepared<'d>, Error>> for Launch<'d, '_> {
    fn with<K: Kernel<Signature = general::Signature<T>> + 'static>(self) -> Result<Prepared<'d>, Error> {
        let (launcher, shape, p) = (self.device.kernel::<K>(&LEVELS)?, self.shape, parameters(self.problem));
        let (a_by_columns, b_by_columns) = self.problem.layout.transposed();
        let by_columns = (u32::from(a_by_columns), u32::from(b_by_columns));
        let [a, b] = [self.operands.a, self.operands.b].map(DevicePointer::<T::Held>::from_raw);
        let c = DevicePointer::<u8>::from_raw(self.operands.c);
        // SAFETY: as above.
        Ok(Prepared::new(K::NAME, move || unsafe {
            Ok(launcher.launch(shape, (p, by_columns.0, by_columns.1, a, b, c))?)
        }))
    }
}

fn prepare_portable<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
) -> Result<Prepared<'d>, Error> {
    use portable::Family;
    let tile = (portable::BLOCK_M, portable::BLOCK_N);
    let shape = grid(problem, tile, portable::THREADS, portable::SHARED_BYTES)?;
    let launch = Launch { device, shape, problem, operands: *operands };
    let transposed = problem.layout.transposed();
    let prepared = match problem.input {
        Input::F16 => half::f16::choose(transposed, launch),
        Input::Bf16 => half::bf16::choose(transposed, launch),
        Input::Tf32 => Tf32::choose(transposed, launch),
        Input::S8 => i8::choose(transposed, launch),
    };
    prepared.unwrap_or_else(|| Err(Error::Product(bytes_across_k(problem).unwrap_or_default())))
}

fn prepare_general<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
) -> Result<Prepared<'d>, Error> {
    use general::Family;
    let shape = grid(problem, (general::BLOCK, general::BLOCK), general::THREADS, general::SHARED_BYTES)?;
    let launch = Launch { device, shape, problem, operands: *operands };
    match problem.input {
        Input::F16 => half::f16::choose(launch),
        Input::Bf16 => half::bf16::choose(launch),
        Input::Tf32 => Tf32::choose(launch),
        Input::S8 => i8::choose(launch),
    }
}
