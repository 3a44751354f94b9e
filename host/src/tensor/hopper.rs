//! The kernels of Hopper: tensor copies, clusters, products of warpgroups.

use cuda_std::Kernel;
use cust::memory::{DeviceBuffer, DevicePointer};
use half::{bf16, f16};
use kernels_gpu::choice::UseKernel;
use kernels_gpu::hopper::HopperGemm;
use kernels_gpu::hopper::epilogue::OutputMap;
use kernels_gpu::hopper::product::{Family, Signature};
use tile::hopper::{Element, PanelMap, Tf32};
use warpsmith_launch::extra::{Extended, Tensor, tensor_map};
use warpsmith_launch::{Device, Doing, Limits, Shape};

use super::plan::{Plan, Tiles};
use super::portable::misaligned;
use super::{Automatic, Input, Layout, Operands, Order, Prepared, Problem, Variant, transposed};
use crate::error::Error;
use crate::modules::LEVELS;

macro_rules! variant {
    ($name:literal, $about:literal, $automatic:expr, $tiles:expr, $shared:expr) => {
        Variant {
            name: $name,
            about: $about,
            automatic: $automatic,
            refusal: |limits, problem, operands| refusal(limits, problem, operands, $tiles, $shared),
            plan: |limits, problem| dealt_out(limits, problem, $tiles, $shared),
            prepare: |device, problem, operands| prepare(device, problem, operands, $tiles, $shared),
        }
    };
}

/// Hopper's variants: the dispatcher's, which takes the plan of the least estimate, and each kind of plan by itself.
pub(super) const VARIANTS: &[Variant] = &[
    variant!("hopper", "wgmma and tensor copies", Automatic::Always, &Tiles::ALL, None),
    variant!(
        "hopper-pairs",
        "128 x 256 a block, two share B",
        Automatic::Never,
        &[Tiles::Pairs],
        Some(false)
    ),
    variant!("hopper-pairs-shared", "the same, tiles shared", Automatic::Never, &[Tiles::Pairs], Some(true)),
    variant!(
        "hopper-alone",
        "128 x 256 a block, never in clusters",
        Automatic::Never,
        &[Tiles::Alone],
        Some(false)
    ),
    variant!(
        "hopper-192",
        "128 x 192 a block, two share A",
        Automatic::Never,
        &[Tiles::Wide192],
        Some(false)
    ),
    variant!("hopper-192-shared", "the same, tiles shared", Automatic::Never, &[Tiles::Wide192], Some(true)),
    variant!(
        "hopper-128",
        "128 x 128 a block, two share A",
        Automatic::Never,
        &[Tiles::Wide128],
        Some(false)
    ),
    variant!("hopper-128-shared", "the same, tiles shared", Automatic::Never, &[Tiles::Wide128], Some(true)),
    variant!("hopper-64", "128 x 64 a block, two share A", Automatic::Never, &[Tiles::Wide64], Some(false)),
    variant!("hopper-64-shared", "the same, tiles shared", Automatic::Never, &[Tiles::Wide64], Some(true)),
    variant!("hopper-small", "64 x 64 a block, two share A", Automatic::Never, &[Tiles::Small], Some(false)),
    variant!("hopper-small-shared", "the same, tiles shared", Automatic::Never, &[Tiles::Small], Some(true)),
    variant!(
        "hopper-small-down",
        "the same, two share B",
        Automatic::Never,
        &[Tiles::SmallDown],
        Some(false)
    ),
    variant!(
        "hopper-small-down-shared",
        "the same, tiles shared",
        Automatic::Never,
        &[Tiles::SmallDown],
        Some(true)
    ),
];

fn refusal(
    limits: &Limits,
    problem: &Problem,
    operands: &Operands,
    tiles: &[Tiles],
    shared: Option<bool>,
) -> Option<String> {
    not_for_it(limits, problem, tiles, shared)
        .or_else(|| misaligned(problem, operands))
        .or_else(|| ragged(problem))
        .or_else(|| if along_k_only(problem) { transposed::refusal(problem) } else { None })
}

/// Why the product is not for Hopper's kernels, wherever its matrices lie.
pub(super) fn not_for_it(
    limits: &Limits,
    problem: &Problem,
    tiles: &[Tiles],
    shared: Option<bool>,
) -> Option<String> {
    not_hopper(limits)
        .or_else(|| (problem.k == 0).then(|| "K is 0: there is nothing to copy".to_owned()))
        .or_else(|| match Plan::choose(problem, limits.sms, tiles, shared) {
            Some(plan) if plan.count() <= 1 << 31 => None,
            Some(plan) => Some(format!("C has {} tiles, at most 2^31 are counted", plan.count())),
            None if !tiles.iter().any(|tiles| tiles.takes(problem.input)) => {
                Some(format!("there are no such tiles for {}", problem.input.name()))
            }
            None => Some("the tiles come out even, there is nothing to share".to_owned()),
        })
}

/// The plan in words.
pub(super) fn dealt_out(
    limits: &Limits,
    problem: &Problem,
    tiles: &[Tiles],
    shared: Option<bool>,
) -> Option<String> {
    let plan = Plan::choose(problem, limits.sms, tiles, shared)?.why();
    let first = transposed::what(problem).filter(|_| along_k_only(problem));
    Some(first.map_or_else(|| plan.clone(), |first| format!("{first}; {plan}")))
}

pub(super) fn not_hopper(limits: &Limits) -> Option<String> {
    let (major, minor) = limits.capability;
    let has = limits.shared_per_block_optin;
    let needed = Tiles::ALL.into_iter().map(|tiles| tiles.form().shared_bytes()).fold(0, u32::max);
    if (major, minor) != (9, 0) {
        return Some(format!("it needs compute capability 9.0 exactly, the device has {major}.{minor}"));
    }
    (has < needed).then(|| format!("a block needs {needed} bytes of shared memory, the device has {has}"))
}

/// Whether the type's operands are multiplied along K only; others lie either way.
pub(super) fn along_k_only(problem: &Problem) -> bool {
    !matches!(problem.input, Input::F16 | Input::Bf16)
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

pub(super) fn prepare<'d>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
    tiles: &[Tiles],
    shared: Option<bool>,
) -> Result<Prepared<'d>, Error> {
    if along_k_only(problem) && problem.layout != Layout::Nt {
        return transposed::prepare(device, problem, operands, |problem, operands| {
            prepare(device, problem, operands, tiles, shared)
        });
    }
    let none = || Error::Product("no plan of these tiles takes it".into());
    let plan = Plan::choose(problem, device.limits().sms, tiles, shared).ok_or_else(none)?;
    let launch = Launch { device, problem, operands, plan };
    let (form, transposed) = (plan.tiles.form(), problem.layout.transposed());
    let prepared = match problem.input {
        Input::F16 => f16::choose(form, transposed, launch),
        Input::Bf16 => bf16::choose(form, transposed, launch),
        Input::Tf32 => Tf32::choose(form, transposed, launch),
        Input::S8 => i8::choose(form, transposed, launch),
    };
    prepared.unwrap_or_else(|| Err(none()))
}

/// A launch but for its types.
struct Launch<'d, 'p> {
    device: &'d Device,
    problem: &'p Problem,
    operands: &'p Operands,
    plan: Plan,
}

impl<'d, T: Element> UseKernel<Signature<T>, Result<Prepared<'d>, Error>> for Launch<'d, '_> {
    fn with<K: Kernel<Signature = Signature<T>> + 'static>(self) -> Result<Prepared<'d>, Error> {
        let Self { device, problem, operands, plan } = self;
        let launcher = device.kernel::<K>(&LEVELS)?;
        // `Problem::check` keeps all extents below 2^28.
        let p = HopperGemm {
            m: problem.m as u32,
            n: problem.n as u32,
            k: problem.k as u32,
            alpha: problem.alpha,
            beta: problem.beta,
            wide: u32::from(problem.output.size() == 4),
            group: plan.tiles.group(),
        };
        let shared = plan.tiles.form().shared_bytes();
        let threads = plan.tiles.form().threads();
        let shape = Shape { grid: [plan.blocks(), 1, 1], block: [threads, 1, 1], shared };
        let a = panels::<T>("A", operands.a, problem.layout.a(), (problem.m, problem.k), problem.lda)?;
        // B's columns are what A's rows are.
        let b_order = if problem.layout.b() == Order::Rows { Order::Columns } else { Order::Rows };
        let b = panels::<T>("B", operands.b, b_order, (problem.n, problem.k), problem.ldb)?;
        let bytes = problem.output.size();
        let c: OutputMap = map("C", operands.c, (problem.n * bytes, problem.m), problem.ldc * bytes, 16)?;
        // Its flags are zero, and each launch leaves them so.
        let parts = match plan.parts() {
            0 => None,
            words => Some(DeviceBuffer::<u32>::zeroed(words).doing("allocate memory for shared tiles")?),
        };
        let split = plan.split;
        Ok(Prepared::new(K::NAME, move || {
            let parts = parts.as_ref().map_or(DevicePointer::null(), |parts| parts.as_device_ptr());
            let early = Extended { early: true, ..Extended::default() };
            // SAFETY: `prepare`'s caller promises the matrices, the maps describe them, and shape, shared memory and the room
            // for parts are the plan's. It waits for the grid before it by itself.
            unsafe { Ok(launcher.launch_extended(shape, early, (p, split, a, b, c, parts))?) }
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
