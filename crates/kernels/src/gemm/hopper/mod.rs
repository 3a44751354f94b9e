//! The kernels of Hopper: tensor copies (TMA), clusters, products of warpgroups (wgmma).

mod tiling;

use cuda_std::Kernel;
use cust::memory::{DeviceBuffer, DevicePointer};
use half::{bf16, f16};
use kernels_gpu::choice::UseKernel;
use kernels_gpu::hopper::HopperGemm;
use kernels_gpu::hopper::epilogue::OutputMap;
use kernels_gpu::hopper::product::{Family, Signature};
use kernels_gpu::hopper::work::Split as StreamK;
use tile::hopper::{BoxShape, Element, PANEL_LINES, PanelMap, Swizzle, TensorMap, Tf32};
use warpsmith_launch::extra::{Extended, Tensor, tensor_map};
use warpsmith_launch::{Device, ErrorContext, Limits, Shape};

pub(super) use self::tiling::{Tiles, Tiling};
use super::mma::misaligned;
use super::variant::{Automatic, Request, Schedule, Split, Variant};
use super::{Gemm, Input, Layout, Operands, Order, Prepared, Problem, along_k};
use crate::{Error, LEVELS};

macro_rules! variant {
    ($name:literal, $about:literal, $automatic:ident, $tiles:expr, $shared:expr) => {
        Variant {
            name: $name,
            about: $about,
            automatic: Automatic::$automatic,
            f32: false,
            schedule: |limits, problem, operands, request| {
                let schedule = HopperSchedule::new(limits, problem, request, $tiles, $shared)?;
                match refusal(problem, operands) {
                    Some(reason) => Err(reason),
                    None => Ok(Box::new(schedule)),
                }
            },
        }
    };
}

/// Hopper's variants: the dispatcher's, which takes the tiling of the least estimate, and each kind by itself.
pub(super) const VARIANTS: &[Variant] = &[
    variant!("hopper", "wgmma and tensor copies", Always, &Tiles::ALL, None),
    variant!("hopper-pairs", "128 x 256 a block, two share B", Never, &[Tiles::Pairs], Some(false)),
    variant!("hopper-pairs-shared", "the same, tiles shared", Never, &[Tiles::Pairs], Some(true)),
    variant!("hopper-alone", "128 x 256 a block, never in clusters", Never, &[Tiles::Alone], Some(false)),
    variant!("hopper-192", "128 x 192 a block, two share A", Never, &[Tiles::Wide192], Some(false)),
    variant!("hopper-192-shared", "the same, tiles shared", Never, &[Tiles::Wide192], Some(true)),
    variant!("hopper-128", "128 x 128 a block, two share A", Never, &[Tiles::Wide128], Some(false)),
    variant!("hopper-128-shared", "the same, tiles shared", Never, &[Tiles::Wide128], Some(true)),
    variant!("hopper-64", "128 x 64 a block, two share A", Never, &[Tiles::Wide64], Some(false)),
    variant!("hopper-64-shared", "the same, tiles shared", Never, &[Tiles::Wide64], Some(true)),
    variant!("hopper-small", "64 x 64 a block, two share A", Never, &[Tiles::Small], Some(false)),
    variant!("hopper-small-shared", "the same, tiles shared", Never, &[Tiles::Small], Some(true)),
    variant!("hopper-small-down", "the same, two share B", Never, &[Tiles::SmallDown], Some(false)),
    variant!("hopper-small-down-shared", "the same, tiles shared", Never, &[Tiles::SmallDown], Some(true)),
];

/// Why tensor copies cannot reach the product's matrices where they lie.
fn refusal(problem: &Problem, operands: &Operands) -> Option<String> {
    misaligned(problem, operands)
        .or_else(|| ragged(problem))
        .or_else(|| if problem.input.along_k_only() { along_k::refusal(problem) } else { None })
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

/// A tensor copy clips C at its lower edge to the row, but at its right edge to 16 bytes, as an H200 showed.
fn ragged(problem: &Problem) -> Option<String> {
    let bytes = problem.n * problem.output.size();
    (!bytes.is_multiple_of(16)).then(|| {
        format!(
            "C's rows have {bytes} bytes, and a tensor copy would write beyond them up to a multiple of 16"
        )
    })
}

/// A tiling, and the product's kernel.
#[derive(Clone, Debug)]
pub(super) struct HopperSchedule {
    tiling: Tiling,
    entry: Entry,
    /// The operands that are transposed first.
    transposed: Option<String>,
}

impl HopperSchedule {
    /// The best of these tiles, wherever the matrices lie; or why the product is not for them.
    pub fn new(
        limits: &Limits,
        problem: &Problem,
        request: &Request<'_>,
        among: &[Tiles],
        shared: Option<bool>,
    ) -> Result<Self, String> {
        let refuse = |reason: &str| Err(reason.to_owned());
        if let Some(reason) = not_hopper(limits).or_else(|| super::mma::f32_only(request)) {
            return Err(reason);
        }
        if problem.k == 0 {
            return refuse("K is 0: there is nothing to copy");
        }
        let Some(tiling) = Tiling::choose(limits, problem, among, shared) else {
            if !among.iter().any(|tiles| tiles.takes(problem.input)) {
                return Err(format!("there are no such tiles for {}", problem.input.name()));
            }
            return refuse("the tiles come out even, there is nothing to share");
        };
        if tiling.count() > 1 << 31 {
            return Err(format!("C has {} tiles, at most 2^31 are counted", tiling.count()));
        }
        let transposed = if problem.input.along_k_only() { along_k::names(problem) } else { None };
        match entry(&tiling, problem) {
            Some(entry) => Ok(Self { tiling, entry, transposed }),
            None => refuse("no plan of these tiles takes it"),
        }
    }
}

impl Schedule for HopperSchedule {
    fn kernel(&self) -> &'static str {
        self.entry.0
    }

    fn words(&self) -> Option<String> {
        let tiling = self.tiling.why();
        Some(match &self.transposed {
            Some(names) => format!("{names} transposed first; {tiling}"),
            None => tiling,
        })
    }

    fn split(&self) -> Split {
        match self.tiling.shared {
            StreamK { tiles: 0, .. } => Split::Whole,
            StreamK { tiles, steps } => Split::StreamK { tiles, steps },
        }
    }

    fn transposes(&self) -> bool {
        self.transposed.is_some()
    }

    fn prepare<'d>(
        &self,
        gemm: &Gemm<'d>,
        problem: &Problem,
        operands: &Operands,
    ) -> Result<Prepared<'d>, Error> {
        if problem.input.along_k_only() && problem.layout != Layout::Nt {
            return along_k::prepare(gemm.device, problem, operands, |problem, operands| {
                self.prepare(gemm, problem, operands)
            });
        }
        (self.entry.1)(gemm.device, problem, operands, self.tiling)
    }
}

/// A kernel's name, and how it is launched.
type Entry =
    (&'static str, for<'d> fn(&'d Device, &Problem, &Operands, Tiling) -> Result<Prepared<'d>, Error>);

/// The kernel of a tiling for the type and the layout, if there is one.
fn entry(tiling: &Tiling, problem: &Problem) -> Option<Entry> {
    let (form, transposed) = (tiling.tiles.form(), problem.layout.transposed());
    // In other layouts, operands that are multiplied along K are transposed first.
    let along_k = Layout::Nt.transposed();
    match problem.input {
        Input::F16 => f16::choose(form, transposed, MakeEntry),
        Input::Bf16 => bf16::choose(form, transposed, MakeEntry),
        Input::Tf32 => Tf32::choose(form, along_k, MakeEntry),
        Input::S8 => i8::choose(form, along_k, MakeEntry),
        Input::F32 => None,
    }
}

/// Makes the entry of the kernel that is chosen.
struct MakeEntry;

impl<T: Element> UseKernel<Signature<T>, Entry> for MakeEntry {
    fn with<K: Kernel<Signature = Signature<T>> + 'static>(self) -> Entry {
        (K::NAME, prepare::<T, K>)
    }
}

fn prepare<'d, T: Element, K: Kernel<Signature = Signature<T>> + 'static>(
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
    tiling: Tiling,
) -> Result<Prepared<'d>, Error> {
    let launcher = device.kernel::<K>(&LEVELS)?;
    let form = tiling.tiles.form();
    // B's columns are what A's rows are.
    let b_order = if problem.layout.b() == Order::Rows { Order::Columns } else { Order::Rows };
    let short = short(problem.layout.a(), problem.m, form.m) + short(b_order, problem.n, form.n);
    // `Problem::check` keeps all extents below 2^28.
    let p = HopperGemm {
        m: problem.m as u32,
        n: problem.n as u32,
        k: problem.k as u32,
        alpha: problem.alpha,
        beta: problem.beta,
        wide: u32::from(problem.output.size() == 4),
        group: tiling.group(),
        short,
    };
    let (grid, block) = ([tiling.blocks(), 1, 1], [form.threads(), 1, 1]);
    let shape = Shape { grid, block, shared: form.shared_bytes() };
    let a = panels::<T>("A", operands.a, problem.layout.a(), (problem.m, problem.k), problem.lda)?;
    let b = panels::<T>("B", operands.b, b_order, (problem.n, problem.k), problem.ldb)?;
    let bytes = problem.output.size();
    let c: OutputMap = map("C", operands.c, (problem.n * bytes, problem.m), problem.ldc * bytes, 16, None)?;
    // Its flags are zero, and each launch leaves them so.
    let workspace = match tiling.workspace() {
        0 => None,
        words => Some(DeviceBuffer::<u32>::zeroed(words).context("allocate memory for shared tiles")?),
    };
    Ok(Prepared::new(move || {
        let sums = workspace.as_ref().map_or(DevicePointer::null(), |sums| sums.as_device_ptr());
        let early = Extended { early: true, ..Extended::default() };
        // SAFETY: `Gemm::prepare`'s caller promises the matrices, the maps describe them, and shape, shared memory and
        // workspace are the tiling's. It waits for the grid before it by itself.
        let launched = unsafe { launcher.launch_extended(shape, early, (p, tiling.shared, a, b, c, sums)) };
        Ok(launched?)
    }))
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
    let few = (order == Order::Rows && lines < PANEL_LINES as usize).then_some(lines as u32);
    map(name, address, extents, pitch, 16 / T::BYTES as usize, few)
}

/// The part of a tile of `of` lines that is copied of an operand with fewer lines than a panel. Copying beyond it is slow:
/// with 16 rows, filling their panels up with zeros took 3 µs longer than loading 64.
fn short(order: Order, lines: usize, of: u32) -> u32 {
    let missing = PANEL_LINES.saturating_sub(lines as u32);
    if order == Order::Rows { of / PANEL_LINES * missing * 128 } else { 0 }
}

/// The map of a matrix whose inner and outer extents are given, in elements of the map.
fn map<T: Element, S: Swizzle, B: BoxShape>(
    name: &str,
    address: u64,
    (inner, outer): (usize, usize),
    pitch: usize,
    unit: usize,
    lines: Option<u32>,
) -> Result<TensorMap<T, S, B>, Error> {
    // The pitch of a single line is never used, but it is checked.
    let pitch = if outer == 1 { inner.next_multiple_of(unit) } else { pitch };
    let tensor = Tensor { address, extents: &[inner as u64, outer as u64], pitches: &[pitch as u64], lines };
    tensor_map(tensor).map_err(|error| Error::Gemm(format!("{name} cannot be copied: {error}")))
}
