//! The fast product against cuBLAS in full f32: any size, any transposition, by the kernel that the dispatcher takes.
//!
//! Buffer sets rotate so that L2 does not answer for memory: as many as 256 MiB hold, 16 at most. Small products are
//! thousands of launches in one graph, so that neither side is charged for the host.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpsmith_kernels::gemm::{
    Gemm, Input, Layout, Operands, Order, Output, Prepared, Problem, Request, Split,
};
use warpsmith_launch::ErrorContext;

use super::super::competitor::{F32Product, Kind, Task};
use super::super::measure::{Bench, Comparison, Throughput, another};
use super::super::pairs::Enqueue;
use crate::data::{Random, transposed};
use crate::error::Error;
use crate::size::Size;
use crate::verify::Product;

/// The sizes measured if none is asked for.
const SIZES: [Size; 10] = [
    Size::One(256),
    Size::One(512),
    Size::One(1024),
    Size::One(2048),
    Size::One(4096),
    Size::One(8192),
    Size::One(16384),
    Size::One(1000),
    Size::One(4095),
    Size::Three(5000, 3000, 7000),
];

/// Bytes of a product's buffer sets together: four times the L2 cache of an H200.
const ROTATED: usize = 256 << 20;

pub(super) fn run(bench: &Bench<'_>, sizes: &[Size]) -> Result<Vec<Comparison>, Error> {
    let mut rows = Vec::new();
    let sizes = if sizes.is_empty() { &SIZES[..] } else { sizes };
    for &size in sizes {
        rows.extend(measured(bench, size, Layout::Nn)?);
    }
    // The other layouts at one size: the first of those asked for.
    let size = if sizes == SIZES { Size::One(4096) } else { sizes[0] };
    for layout in [Layout::Nt, Layout::Tn, Layout::Tt] {
        rows.extend(measured(bench, size, layout)?);
    }
    Ok(rows)
}

fn measured(bench: &Bench<'_>, size: Size, layout: Layout) -> Result<Vec<Comparison>, Error> {
    if !bench.competes(Kind::Product) {
        return Ok(Vec::new());
    }
    let (m, n, k) = size.product();
    let bytes = 4 * (m * k + k * n + m * n);
    let name = format!("{m}x{n}x{k} {}", layout.name().to_uppercase());
    let count = (ROTATED / bytes).clamp(1, 16);
    if !bench.has_room(&format!("matmul {name}"), count * bytes) {
        return Ok(Vec::new());
    }
    bench.step(&format!("{name}: random data"));
    let mut random = Random::new((m + n + k) as u64);
    let (host_a, host_b) = (random.units(m * k), random.units(k * n));
    let make = "allocate the matrices";
    let upload = |dense: &[f32], rows: usize, cols: usize, order| {
        let stored = if order == Order::Columns { transposed(dense, rows, cols) } else { dense.to_vec() };
        DeviceBuffer::from_slice(&stored).context(make)
    };
    let first = (upload(&host_a, m, k, layout.a())?, upload(&host_b, k, n, layout.b())?);
    let mut c = DeviceBuffer::from_slice(&vec![f32::NAN; m * n]).context(make)?;

    let gemm = Gemm::new(bench.device);
    let problem = Problem::new((m, n, k), Input::F32, Output::F32, layout);
    let plan = gemm.plan(&problem, &first.0, &first.1, &c, Request::default())?;
    // SAFETY: the matrices outlive the launch, which is waited for, and nothing else uses them.
    unsafe { gemm.launch(&plan, &first.0, &first.1, &mut c)? };
    bench.device.synchronize()?;
    let mut got = vec![0.0; m * n];
    c.copy_to(&mut got).context("copy the result back")?;
    let checked = Product { shape: (m, n, k), a: &host_a, b: &host_b, before: &[], alpha: 1.0, beta: 0.0 };
    let mut verdict = checked.check(&got);
    verdict.how = format!("{}; {}", verdict.how, plan.tiling().unwrap_or_default());

    // More sets of the same values: what matters is that they lie elsewhere.
    drop((host_a, host_b, got));
    let mut sets = vec![(first.0, first.1, c)];
    while sets.len() < count {
        let (a, b, c) = &sets[0];
        sets.push((another(a)?, another(b)?, another(c)?));
    }
    // The buffers stay alive in `sets` until the last launch.
    let operands: Vec<Operands> = sets.iter().map(|(a, b, c)| Operands::of(a, b, c)).collect();
    // SAFETY: each set holds matrices of these extents.
    let prepared = operands.iter().map(|operands| unsafe { gemm.prepare(&plan, operands) });
    let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_, _>>()?;
    let ours = || -> Result<Enqueue<'_>, Error> {
        Ok(Box::new(|set: usize| {
            // SAFETY: as above.
            let launched = unsafe { prepared[set % prepared.len()].launch() };
            launched.map_err(|_| cust::error::CudaError::UnknownError)
        }))
    };
    let product = |&Operands { a, b, c }: &Operands| F32Product {
        m: m as i32,
        n: n as i32,
        k: k as i32,
        alpha: 1.0,
        beta: 0.0,
        a,
        lda: problem.lda as i32,
        a_transposed: layout.a() == Order::Columns,
        b,
        ldb: problem.ldb as i32,
        b_transposed: layout.b() == Order::Columns,
        c,
        ldc: problem.ldc as i32,
    };
    let task = Task::Product(operands.iter().map(product).collect());
    let parts =
        if let Split::SplitK(parts) = plan.split() { format!(", K in {parts}") } else { String::new() };
    let kernel = format!("{}{parts}{}", plan.kernel(), if plan.packs() { ", packed" } else { "" });
    let operations = Throughput::Operations(problem.operations());
    bench.against("matmul", (&kernel, &name), operations, &task, ours, &verdict)
}
