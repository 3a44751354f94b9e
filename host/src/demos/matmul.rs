//! Matrix multiplication: from global memory alone to tiles, and what a tile's layout costs.

use std::time::Instant;

use cust::memory::DeviceBuffer;
use kernels_gpu::base::matmul::column_order::{
    matmul_column_16, matmul_column_16_padded, matmul_column_32, matmul_column_32_padded,
};
use kernels_gpu::base::matmul::dynamic::{matmul_dynamic, matmul_dynamic_column, shared_bytes};
use kernels_gpu::base::matmul::naive::{BLOCK_EDGE, matmul_naive};
use kernels_gpu::base::matmul::tiled::{matmul_tiled_16, matmul_tiled_16_safe, matmul_tiled_32};
use kernels_gpu::base::product::parts::MANY;
use kernels_gpu::base::product::thin::WIDTH;
use kernels_gpu::gemm::Gemm;
use warpsmith_kernels::gemm::{
    self, Input, Layout, Operands, Order, Output, Plan, Problem, Request, Split, variants,
};
use warpsmith_launch::{Device, Limits, Shape};

use super::demo::Demo;
use super::row::{self, Row, Workload};
use super::stage::Stage;
use super::target::Fill;
use crate::data::{Random, transposed};
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::verify::Product;

/// The most operations that the virtual GPU is asked for: minutes, not hours.
const VIRTUAL_OPERATIONS: f64 = 2e11;

/// The kernels of the family, as a host function chooses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Straight from global memory.
    Naive,
    /// Static tiles, edge 16.
    Tiled16,
    /// The same, from safe slices.
    Tiled16Safe,
    /// Static tiles, edge 32.
    Tiled32,
    /// Dynamic tiles of an edge.
    Dynamic(u32),
    /// Static tiles in column order.
    Column16,
    /// The same, one element of padding a column.
    Column16Padded,
    /// Static tiles in column order, edge 32.
    Column32,
    /// The same, one element of padding a column.
    Column32Padded,
    /// Dynamic tiles in column order: edge, padding.
    DynamicColumn(u32, u32),
}

impl Variant {
    /// Every variant that the demo shows; `edge` is that of the dynamic tiles chosen for the device.
    pub fn all(edge: u32) -> Vec<Self> {
        use Variant::*;
        let mut all = vec![Naive, Tiled16, Tiled16Safe, Tiled32, Dynamic(16), Dynamic(32)];
        if !all.contains(&Dynamic(edge)) {
            all.push(Dynamic(edge));
        }
        all.extend([Column16, Column16Padded, Column32, Column32Padded]);
        all.extend([DynamicColumn(16, 0), DynamicColumn(16, 1), DynamicColumn(32, 0), DynamicColumn(32, 1)]);
        all
    }

    /// The kernel's name, and what tells this variant from another with the same kernel.
    pub fn name(self) -> (&'static str, String) {
        match self {
            Self::Naive => ("matmul_naive", String::new()),
            Self::Tiled16 => ("matmul_tiled_16", String::new()),
            Self::Tiled16Safe => ("matmul_tiled_16_safe", String::new()),
            Self::Tiled32 => ("matmul_tiled_32", String::new()),
            Self::Dynamic(edge) => ("matmul_dynamic", format!("edge {edge}")),
            Self::Column16 => ("matmul_column_16", String::new()),
            Self::Column16Padded => ("matmul_column_16_padded", String::new()),
            Self::Column32 => ("matmul_column_32", String::new()),
            Self::Column32Padded => ("matmul_column_32_padded", String::new()),
            Self::DynamicColumn(edge, pad) => ("matmul_dynamic_column", format!("edge {edge}, pad {pad}")),
        }
    }

    fn shows(self) -> &'static str {
        match self {
            Self::Naive => "the yardstick; every multiply-add reads two numbers from global memory",
            Self::Tiled16 => "each number is read from global memory 16 times less often",
            Self::Tiled16Safe => {
                "the same from safe slices, whose lengths are compared once, before the loop"
            }
            Self::Tiled32 => "edge 32 halves global traffic again",
            Self::Dynamic(16) => {
                "the same tiles in dynamic shared memory, of an edge unknown to the compiler"
            }
            Self::Dynamic(_) => "an edge chosen at launch, from what the device has",
            Self::Column16 => "tiles in column order: a store puts 32 lanes in 4 banks, 8 wavefronts",
            Self::Column16Padded => "reads are clean; in a store words 0 and 256 share bank 0: 2 wavefronts",
            Self::Column32 => "32 words a column put a whole warp in one bank: 32 wavefronts",
            Self::Column32Padded => "33 words a column: no conflict is left",
            Self::DynamicColumn(_, 0) => "the same in dynamic shared memory",
            Self::DynamicColumn(_, _) => "and so is the cure",
        }
    }
}

/// C = alpha · A · B + beta · C on the device. Buffers may be longer than the matrices.
pub fn multiply(
    device: &Device,
    variant: Variant,
    p: Gemm,
    a: &DeviceBuffer<f32>,
    b: &DeviceBuffer<f32>,
    c: &mut DeviceBuffer<f32>,
) -> Result<(), Error> {
    let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
    for (name, has, rows, cols) in [("A", a.len(), m, k), ("B", b.len(), k, n), ("C", c.len(), m, n)] {
        if rows.checked_mul(cols).is_none_or(|needed| needed > has) {
            return Err(Error::Size(format!("{name} is {rows} × {cols}, its buffer has {has} elements")));
        }
    }
    let tiles = |edge: u32| Shape::tiles((n, m), (edge as usize, edge as usize), (edge, edge));
    // SAFETY: the buffers hold the matrices, as compared above; each kernel gets the block it is written for, and
    // the dynamic ones the shared memory that their edge needs.
    let launched = unsafe {
        match variant {
            Variant::Naive => device.kernel::<matmul_naive>(&LEVELS)?.launch(tiles(BLOCK_EDGE), (p, a, b, c)),
            Variant::Tiled16 => device.kernel::<matmul_tiled_16>(&LEVELS)?.launch(tiles(16), (p, a, b, c)),
            Variant::Tiled16Safe => {
                device.kernel::<matmul_tiled_16_safe>(&LEVELS)?.launch(tiles(16), (p, a, b, c))
            }
            Variant::Tiled32 => device.kernel::<matmul_tiled_32>(&LEVELS)?.launch(tiles(32), (p, a, b, c)),
            Variant::Column16 => device.kernel::<matmul_column_16>(&LEVELS)?.launch(tiles(16), (p, a, b, c)),
            Variant::Column16Padded => {
                device.kernel::<matmul_column_16_padded>(&LEVELS)?.launch(tiles(16), (p, a, b, c))
            }
            Variant::Column32 => device.kernel::<matmul_column_32>(&LEVELS)?.launch(tiles(32), (p, a, b, c)),
            Variant::Column32Padded => {
                device.kernel::<matmul_column_32_padded>(&LEVELS)?.launch(tiles(32), (p, a, b, c))
            }
            Variant::Dynamic(edge) => {
                check_edge(edge, 0, device.limits())?;
                let shape = tiles(edge).with_shared(shared_bytes(edge, 0));
                device.kernel::<matmul_dynamic>(&LEVELS)?.launch(shape, (p, edge, a, b, c))
            }
            Variant::DynamicColumn(edge, pad) => {
                check_edge(edge, pad, device.limits())?;
                let shape = tiles(edge).with_shared(shared_bytes(edge, pad));
                device.kernel::<matmul_dynamic_column>(&LEVELS)?.launch(shape, (p, edge, pad, a, b, c))
            }
        }
    };
    Ok(launched?)
}

/// Whether tiles of this edge fit the device.
fn check_edge(edge: u32, pad: u32, limits: &Limits) -> Result<(), Error> {
    let threads = u64::from(edge) * u64::from(edge);
    if edge == 0 || threads > u64::from(limits.threads_per_block) {
        let most = limits.threads_per_block;
        return Err(Error::Size(format!(
            "a tile of edge {edge} needs blocks of {threads} threads; the device admits 1 to {most}"
        )));
    }
    let bytes = 8 * u64::from(edge) * (u64::from(edge) + u64::from(pad));
    let has = limits.shared_per_block_optin;
    if bytes > u64::from(has) {
        return Err(Error::Size(format!(
            "two tiles of edge {edge} need {bytes} bytes of shared memory; the device has {has} for a block"
        )));
    }
    Ok(())
}

/// The largest power of two whose tiles fit a block of the device.
pub fn best_edge(limits: &Limits) -> u32 {
    [32, 16, 8, 4, 2].into_iter().find(|&edge| check_edge(edge, 0, limits).is_ok()).unwrap_or(1)
}

/// The fast product, by the kernel that the dispatcher takes for this size and device; if one kernel is wanted, by that.
fn fast(
    stage: &Stage,
    extents: (usize, usize, usize),
    product: &Product<'_>,
    work: Workload,
) -> Result<Option<Row>, Error> {
    let (m, n, k) = extents;
    let gemm = gemm::Gemm::new(stage.device);
    for layout in Layout::ALL {
        if stage.only.is_none() && layout != Layout::Nn {
            break;
        }
        let stored = |order, matrix: &[f32], rows, cols| match order {
            Order::Columns => stage.upload("an operand", &transposed(matrix, rows, cols)),
            Order::Rows => stage.upload("an operand", matrix),
        };
        let (a, b) = (stored(layout.a(), product.a, m, k)?, stored(layout.b(), product.b, k, n)?);
        let mut c = stage.target("C", m * n, Fill::NotANumber)?;
        let problem = Problem::new(extents, Input::F32, Output::F32, layout);
        let Some(plan) = plan(stage, &problem, &Operands::of(&a, &b, c.buffer()))? else { continue };
        // SAFETY: the stage waits for the launch before an operand or C is used again.
        let mut launch = || unsafe { gemm.launch(&plan, &a, &b, c.buffer()) };
        let kernel = stage.only.unwrap_or(plan.kernel());
        let counters = stage.once(kernel, &mut launch)?;
        let time = stage.time(&mut launch)?;
        let verdict = product.check(c.read()?);
        let case =
            if let Split::SplitK(parts) = plan.split() { format!("K in {parts}") } else { String::new() };
        let row = Row::new("matmul", kernel, case, Size::Three(m, n, k), stage.device.kind());
        let shows = format!("{}: {}", plan.variant().about, plan.tiling().unwrap_or_default());
        return Ok(Some(row.checked(verdict).counted(counters).timed(time, work).shows(shows)));
    }
    Ok(None)
}

/// The plan that is best for the problem. If one kernel is wanted, a plan that launches it, if one does.
fn plan(stage: &Stage, problem: &Problem, operands: &Operands) -> Result<Option<Plan>, Error> {
    let choose = |request| Plan::choose(stage.device.limits(), problem, operands, request);
    let best = choose(Request::default())?;
    let Some(only) = stage.only else { return Ok(Some(best)) };
    let f32s = variants().filter(|variant| variant.name.starts_with("f32-"));
    // One part, a few and many, which are added by kernels of their own.
    let each = f32s.flat_map(|variant| [1, 2, MANY].map(|parts| (Some(variant.name), Some(parts))));
    let asked =
        |packed| move |(variant, split_k)| choose(Request { variant, split_k, packed: Some(packed) }).ok();
    let packed = [(Some("f32-middle"), Some(1))].into_iter().filter_map(asked(true));
    let mut all = std::iter::once(best).chain(each.filter_map(asked(false))).chain(packed);
    Ok(all.find(|plan| plan.launches(only)))
}

pub struct MatmulDemo;

impl Demo for MatmulDemo {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn title(&self) -> &'static str {
        "Matrix multiplication, f32"
    }

    fn takes(&self, _: Size) -> bool {
        true
    }

    fn measured_at(&self) -> usize {
        128
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let size = stage.size_or(256, 4096);
        let (m, mut n, k) = size.product();
        match stage.only {
            // Thin kernels multiply by no more columns than this.
            Some(kernel) if kernel.starts_with("product_thin") => n = n.min(WIDTH),
            Some(kernel) if kernel.starts_with("product_vector") => n = n.min(1),
            _ => {}
        }
        let flops = stage.admit_product(size, (m, n, k), VIRTUAL_OPERATIONS, "demos")?;
        let edge = match stage.dynamic_tile {
            Some(edge) => check_edge(edge, 0, stage.device.limits()).map(|()| edge)?,
            None => best_edge(stage.device.limits()),
        };

        let mut random = Random::new(1);
        let (a, b) = (random.units(m * k), random.units(k * n));
        let p = Gemm::product(m as u32, n as u32, k as u32);
        let on_device = (stage.upload("A", &a)?, stage.upload("B", &b)?);
        let product = Product { shape: (m, n, k), a: &a, b: &b, before: &[], alpha: 1.0, beta: 0.0 };
        let work = Workload { flops, bytes: 0.0 };

        // NaN everywhere: an element that a kernel forgets is a wrong one.
        let mut c = stage.target("C", m * n, Fill::NotANumber)?;
        let mut rows = Vec::new();
        for variant in Variant::all(edge) {
            let (kernel, case) = variant.name();
            if !stage.wants(kernel) {
                continue;
            }
            c.wipe()?;
            let mut launch = || multiply(stage.device, variant, p, &on_device.0, &on_device.1, c.buffer());
            let counters = stage.once(kernel, &mut launch)?;
            let time = stage.time(&mut launch)?;
            let row = Row::new("matmul", kernel, case, Size::Three(m, n, k), stage.device.kind());
            let mut shows = variant.shows().to_owned();
            if variant == Variant::Naive && time.is_some() {
                let begun = Instant::now();
                launch()?;
                stage.device.synchronize()?;
                let clock = begun.elapsed().as_secs_f64() * 1e3;
                shows +=
                    &format!("; {clock:.3} ms by the host's clock, which also sees the launch and the wait");
            }
            let verdict = product.check(c.read()?);
            rows.push(row.checked(verdict).counted(counters).timed(time, work).shows(shows));
        }
        rows.extend(fast(stage, (m, n, k), &product, work)?);
        row::against_first(&mut rows);
        Ok(rows)
    }
}
