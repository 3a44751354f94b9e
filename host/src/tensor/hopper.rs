//! The kernels of Hopper: tensor copies, clusters, products of warpgroups.

use kernels_gpu::hopper::epilogue::OutputMap;
use kernels_gpu::hopper::product::*;
use kernels_gpu::hopper::{HopperGemm, product};
use tile::hopper::{Element, Multiply, PanelMap, Tf32};

use super::portable::misaligned;
use super::{Input, Layout, Operands, Order, Prepared, Problem, Variant};
use crate::device::{Device, Limits};
use crate::error::Error;
use crate::extra::{Extended, Tensor, tensor_map};
use crate::launch::Shape;

/// Hopper's variants.
pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "hopper",
        about: "wgmma, 128 x 256 tiles, tensor copies",
        automatic: true,
        refusal: |limits, problem, operands| {
            not_hopper(limits)
                .or_else(|| across_k(problem))
                .or_else(|| (problem.k == 0).then(|| "K is 0: there is nothing to copy".to_owned()))
                .or_else(|| misaligned(problem, operands))
                .or_else(|| ragged(problem))
        },
        prepare: |device, problem, operands| {
            let blocks = problem.m.div_ceil(BLOCK_M as usize) * problem.n.div_ceil(BLOCK_N as usize);
            // A pair that shares B reads less; where every block has one tile at most, none waits for another.
            if blocks <= device.limits().sms as usize || problem.m <= BLOCK_M as usize {
                prepare_alone(device, problem, operands)
            } else {
                prepare_pairs(device, problem, operands)
            }
        },
    },
    Variant {
        name: "hopper-pairs",
        about: "the same, always in clusters of two blocks that share B",
        automatic: false,
        refusal: |limits, problem, operands| (VARIANTS[0].refusal)(limits, problem, operands),
        prepare: prepare_pairs,
    },
    Variant {
        name: "hopper-alone",
        about: "the same, never in clusters",
        automatic: false,
        refusal: |limits, problem, operands| {
            let alone = matches!(problem.input, Input::F16 | Input::Bf16);
            (VARIANTS[0].refusal)(limits, problem, operands)
                .or_else(|| (!alone).then(|| format!("{} is multiplied in pairs only", problem.input.name())))
        },
        prepare: prepare_alone,
    },
];

pub(super) fn not_hopper(limits: &Limits) -> Option<String> {
    let (major, minor) = limits.capability;
    let (has, needed) = (limits.shared_per_block_optin, SHARED_BYTES);
    if (major, minor) != (9, 0) {
        return Some(format!("it needs compute capability 9.0 exactly, the device has {major}.{minor}"));
    }
    (has < needed).then(|| format!("a block needs {needed} bytes of shared memory, the device has {has}"))
}

fn across_k(problem: &Problem) -> Option<String> {
    let halves = matches!(problem.input, Input::F16 | Input::Bf16);
    (!halves && problem.layout != Layout::Nt)
        .then(|| format!("{} is multiplied along K only, which is layout nt", problem.input.name()))
}

/// A tensor copy clips C at its lower edge to the row, but at its right edge to 16 bytes, as an H200 showed.
fn ragged(problem: &Problem) -> Option<String> {
    let bytes = problem.n * problem.output.size();
    (!bytes.is_multiple_of(16)).then(|| {
        format!(
            "C's rows have {bytes} bytes, and a tensor copy would write beyond them up to a multiple of 16"
        )
    })
}

/// Rows of tiles that run together. Eight of 256 rows and as many of 256 columns are the 66 pairs of an H200: the squarest
/// piece of C, which reads the least of A and B.
pub(super) const GROUP: usize = 8;

fn prepare_pairs<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
) -> Result<Prepared<'d>, Error> {
    let launch = Launch::new(device, problem, operands, CLUSTER)?;
    match (problem.input, problem.layout) {
        (Input::F16, Layout::Nn) => launch.of::<half::f16, hopper_f16_nn>(),
        (Input::F16, Layout::Nt) => launch.of::<half::f16, hopper_f16_nt>(),
        (Input::F16, Layout::Tn) => launch.of::<half::f16, hopper_f16_tn>(),
        (Input::F16, Layout::Tt) => launch.of::<half::f16, hopper_f16_tt>(),
        (Input::Bf16, Layout::Nn) => launch.of::<half::bf16, hopper_bf16_nn>(),
        (Input::Bf16, Layout::Nt) => launch.of::<half::bf16, hopper_bf16_nt>(),
        (Input::Bf16, Layout::Tn) => launch.of::<half::bf16, hopper_bf16_tn>(),
        (Input::Bf16, Layout::Tt) => launch.of::<half::bf16, hopper_bf16_tt>(),
        (Input::Tf32, _) => launch.of::<Tf32, hopper_tf32_nt>(),
        (Input::S8, _) => launch.of::<i8, hopper_s8_nt>(),
    }
}

fn prepare_alone<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
) -> Result<Prepared<'d>, Error> {
    if !matches!(problem.input, Input::F16 | Input::Bf16) {
        return prepare_pairs(device, problem, operands);
    }
    let launch = Launch::new(device, problem, operands, 1)?;
    match (problem.input, problem.layout) {
        (Input::F16, Layout::Nn) => launch.of::<half::f16, hopper_f16_nn_alone>(),
        (Input::F16, Layout::Nt) => launch.of::<half::f16, hopper_f16_nt_alone>(),
        (Input::F16, Layout::Tn) => launch.of::<half::f16, hopper_f16_tn_alone>(),
        (Input::F16, Layout::Tt) => launch.of::<half::f16, hopper_f16_tt_alone>(),
        (_, Layout::Nn) => launch.of::<half::bf16, hopper_bf16_nn_alone>(),
        (_, Layout::Nt) => launch.of::<half::bf16, hopper_bf16_nt_alone>(),
        (_, Layout::Tn) => launch.of::<half::bf16, hopper_bf16_tn_alone>(),
        (_, Layout::Tt) => launch.of::<half::bf16, hopper_bf16_tt_alone>(),
    }
}

/// A launch but for its types.
struct Launch<'d, 'p> {
    device: &'d Device,
    problem: &'p Problem,
    operands: &'p Operands,
    p: HopperGemm,
    shape: Shape,
}

impl<'d, 'p> Launch<'d, 'p> {
    /// As many clusters as the device holds at once, or as there are tiles if that is less.
    fn new(
        device: &'d Device,
        problem: &'p Problem,
        operands: &'p Operands,
        cluster: u32,
    ) -> Result<Self, Error> {
        let rows = (product::BLOCK_M * cluster) as usize;
        let tiles = problem.m.div_ceil(rows) as u64 * problem.n.div_ceil(BLOCK_N as usize) as u64;
        if tiles > 1 << 31 {
            let (m, n) = (problem.m, problem.n);
            return Err(Error::Product(format!(
                "C of {m} x {n} has {tiles} tiles, at most 2^31 are counted"
            )));
        }
        let clusters = tiles.min(u64::from(device.limits().sms / cluster).max(1)) as u32;
        // `Problem::check` keeps all extents below 2^28.
        let p = HopperGemm {
            m: problem.m as u32,
            n: problem.n as u32,
            k: problem.k as u32,
            alpha: problem.alpha,
            beta: problem.beta,
            wide: u32::from(problem.output.size() == 4),
            group: GROUP as u32,
        };
        let shape = Shape { grid: [clusters * cluster, 1, 1], block: [THREADS, 1, 1], shared: SHARED_BYTES };
        Ok(Self { device, problem, operands, p, shape })
    }

    /// Of a kernel that multiplies elements of type `T`.
    fn of<T, K>(self) -> Result<Prepared<'d>, Error>
    where
        T: Element + Multiply<BLOCK_N>,
        K: cuda_std::Kernel<Params = (HopperGemm, PanelMap<T>, PanelMap<T>, OutputMap)> + 'd,
    {
        let Self { device, problem, operands, p, shape } = self;
        let launcher = device.kernel::<K>()?;
        let a = panels::<T>("A", operands.a, problem.layout.a(), (problem.m, problem.k), problem.lda)?;
        // B's columns are what A's rows are.
        let b_order = if problem.layout.b() == Order::Rows { Order::Columns } else { Order::Rows };
        let b = panels::<T>("B", operands.b, b_order, (problem.n, problem.k), problem.ldb)?;
        let bytes = problem.output.size();
        let c: OutputMap = map("C", operands.c, (problem.n * bytes, problem.m), problem.ldc * bytes, 16)?;
        // SAFETY: `prepare`'s caller promises the matrices, the maps describe them, and shape and shared memory are the
        // kernel's own. It waits for the grid before it by itself.
        Ok(Prepared::new(K::NAME, move || unsafe {
            launcher.launch_extended(shape, Extended { early: true, ..Extended::default() }, (p, a, b, c))
        }))
    }
}

/// The map of an operand of `lines` × `k`, line by line or step of k by step.
pub(super) fn panels<T: Element>(
    name: &str,
    address: u64,
    order: Order,
    (lines, k): (usize, usize),
    pitch: usize,
) -> Result<PanelMap<T>, Error> {
    let extents = if order == Order::Rows { (k, lines) } else { (lines, k) };
    map(name, address, extents, pitch, 16 / T::BYTES as usize)
}

/// The map of a matrix whose inner and outer extents are given, in elements of the map.
fn map<T: Element, S: tile::hopper::Swizzle, B: tile::hopper::BoxShape>(
    name: &str,
    address: u64,
    (inner, outer): (usize, usize),
    pitch: usize,
    unit: usize,
) -> Result<tile::hopper::TensorMap<T, S, B>, Error> {
    // The pitch of a single line is never used, but it is checked.
    let pitch = if outer == 1 { inner.next_multiple_of(unit) } else { pitch };
    let tensor = Tensor { address, extents: &[inner as u64, outer as u64], pitches: &[pitch as u64] };
    tensor_map(tensor).map_err(|error| Error::Product(format!("{name} cannot be copied: {error}")))
}
