//! The fast product: every kernel, every transposition, awkward extents, leading dimensions and alignments.
//!
//! What surrounds the matrices tells on a kernel that strays: gaps between rows of A and B are NaN, which would reach
//! the result, and C lies between canaries, its gaps too, which must stay.

use cust::memory::DeviceBuffer;
use host::data::Random;
use host::demos::Stage;
use host::verify::Product;
use warpsmith_kernels::gemm::{Gemm, Input, Layout, Order, Output, Problem as Posed, Request, variants};
use warpsmith_launch::{Buffer, Device};

use crate::Case;

const CANARY: f32 = -123_456.0;

/// One problem: extents, layout, elements that rows are longer and that matrices begin later than need be.
#[derive(Clone, Copy, Debug)]
struct Problem {
    extents: (usize, usize, usize),
    layout: Layout,
    gap: usize,
    offset: usize,
}

/// Each kind of tiles by itself.
fn tiles() -> impl Iterator<Item = &'static str> {
    variants().map(|variant| variant.name).filter(|name| name.starts_with("f32-"))
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Aligned ones for the kernels that want it, and what is aligned in no way.
    let aligned = [(4, 4, 4), (64, 64, 8), (132, 260, 20), (100, 300, 64), (8, 516, 36)];
    let odd = [(1, 1, 1), (31, 33, 17), (129, 257, 9), (65, 63, 40), (3, 5, 0)];
    for tiles in tiles() {
        let any = !matches!(tiles, "f32-large" | "f32-middle");
        for layout in Layout::ALL {
            let extents = aligned.into_iter().chain(odd.into_iter().filter(|_| any));
            let few = [(1, 1, 1), (1, 300, 257), (130, 1, 530), (8, 129, 255), (257, 7, 1025), (8, 8, 0)];
            let extents: Vec<_> = if tiles == "f32-thin" { few.into() } else { extents.collect() };
            for extents in extents {
                for parts in [1, 3] {
                    let (gap, offset) = if any { (3, 1) } else { (8, 4) };
                    let problem = Problem { extents, layout, gap, offset };
                    let (m, n, k) = extents;
                    let name = format!("product::{tiles}::{}::{m}x{n}x{k}::{parts}_parts", layout.name());
                    let request = Request { variant: Some(tiles), split_k: Some(parts), packed: Some(false) };
                    cases.push(Case::new(name, move |device| {
                        check(device, problem, request, 1.0, 0.0)?;
                        check(device, problem, request, -0.5, 2.0)
                    }));
                }
            }
        }
    }
    // Packed first; and so many parts that they are added side by side, of which the last have no K.
    for layout in Layout::ALL {
        for (extents, parts) in [((129, 257, 9), 1), ((65, 63, 41), 2), ((31, 33, 150), 17), ((1, 1, 1), 1)] {
            let (m, n, k) = extents;
            for tiles in ["f32-large", "f32-middle"] {
                let problem = Problem { extents, layout, gap: 3, offset: 1 };
                let name = format!("product::packed_{tiles}::{}::{m}x{n}x{k}::{parts}_parts", layout.name());
                let request = Request { variant: Some(tiles), split_k: Some(parts), packed: Some(true) };
                cases.push(Case::new(name, move |device| {
                    check(device, problem, request, 1.0, 0.0)?;
                    check(device, problem, request, -0.5, 2.0)
                }));
            }
        }
    }
    // What the dispatcher takes by itself.
    let vectors = [(1, 500, 60), (301, 1, 516), (1, 33, 2052)];
    let others = [(96, 160, 200), (200, 40, 333), (0, 5, 7), (5, 0, 7), (5, 7, 0)];
    for extents in others.into_iter().chain(vectors) {
        let problem = Problem { extents, layout: Layout::Nt, gap: 0, offset: 0 };
        let (m, n, k) = extents;
        cases.push(Case::new(format!("product::chosen::{m}x{n}x{k}"), move |device| {
            check(device, problem, Request::default(), 2.0, -1.0)
        }));
    }
    for tiles in tiles() {
        let extents = if tiles == "f32-thin" { (600, 8, 1024) } else { (128, 256, 64) };
        for layout in Layout::ALL {
            cases.push(Case::virtual_only(
                format!("product::{tiles}::{}::no_bank_conflicts", layout.name()),
                move |device| no_bank_conflicts(device, tiles, extents, layout),
            ));
        }
    }
    cases.push(Case::new("product::refuses_what_does_not_fit", refusals));
    cases
}

/// Multiplies random matrices by a kernel, or by the one that the dispatcher takes, and compares with float64.
fn check(
    device: &Device,
    problem: Problem,
    request: Request<'static>,
    alpha: f32,
    beta: f32,
) -> anyhow::Result<()> {
    let (m, n, k) = problem.extents;
    let mut random = Random::new((m * 31 + n * 7 + k) as u64);
    let (a, b) = (random.units(m * k), random.units(k * n));
    // Without beta, C is not read: what is not a number there must not reach the result.
    let before = if beta == 0.0 { vec![f32::NAN; m * n] } else { random.units(m * n) };
    let layout = problem.layout;
    let stored_a = stored(&a, (m, k), layout.a(), problem, f32::NAN);
    let stored_b = stored(&b, (k, n), layout.b(), problem, f32::NAN);
    let stored_c = stored(&before, (m, n), Order::Rows, problem, CANARY);
    let (device_a, device_b) =
        (DeviceBuffer::from_slice(&stored_a.0)?, DeviceBuffer::from_slice(&stored_b.0)?);
    let device_c = DeviceBuffer::from_slice(&stored_c.0)?;

    let gemm = Gemm::new(device);
    let offset = problem.offset;
    let (lda, ldb, ldc) = (stored_a.1, stored_b.1, stored_c.1);
    let posed = Posed::new(problem.extents, Input::F32, Output::F32, layout);
    let posed = Posed { lda, ldb, ldc, alpha, beta, ..posed };
    let (at_a, at_b, mut at_c) =
        (device_a.index(offset..), device_b.index(offset..), device_c.index(offset..));
    let plan = gemm.plan(&posed, &at_a, &at_b, &at_c, request)?;
    // SAFETY: the matrices outlive the launch, which is waited for, and nothing else uses them.
    unsafe { gemm.launch(&plan, &at_a, &at_b, &mut at_c)? };
    device.synchronize()?;

    let after = device_c.as_host_vec()?;
    let mut got = Vec::with_capacity(m * n);
    for (at, &value) in after.iter().enumerate() {
        let inside = at.checked_sub(offset).map(|at| (at / stored_c.1, at % stored_c.1));
        match inside {
            Some((row, col)) if row < m && col < n => got.push(value),
            _ => anyhow::ensure!(
                value == CANARY,
                "{plan:?}: element {at} around C was overwritten with {value}"
            ),
        }
    }
    let product = Product { shape: (m, n, k), a: &a, b: &b, before: &before, alpha, beta };
    let verdict = product.whole(&got);
    anyhow::ensure!(verdict.ok, "{plan:?} {problem:?}: {:?}", verdict.wrong);
    Ok(())
}

/// A dense matrix as it is stored, possibly transposed, with `around` where it is not; and the length of its rows.
fn stored(
    dense: &[f32],
    (rows, cols): (usize, usize),
    order: Order,
    problem: Problem,
    around: f32,
) -> (Vec<f32>, usize) {
    let (height, width) = if order == Order::Columns { (cols, rows) } else { (rows, cols) };
    let ld = width + problem.gap + usize::from(width + problem.gap == 0);
    // An empty matrix still needs an address.
    let mut all = vec![around; problem.offset + height * ld + 1];
    for row in 0..rows {
        for col in 0..cols {
            let (r, c) = if order == Order::Columns { (col, row) } else { (row, col) };
            all[problem.offset + r * ld + c] = dense[row * cols + col];
        }
    }
    (all, ld)
}

/// Every access to shared memory takes the wavefronts that its words need, and no more.
fn no_bank_conflicts(
    device: &Device,
    tiles: &str,
    extents: (usize, usize, usize),
    layout: Layout,
) -> anyhow::Result<()> {
    let (m, n, k) = extents;
    let (a, b) = (DeviceBuffer::from_slice(&vec![1.0; m * k])?, DeviceBuffer::from_slice(&vec![1.0; k * n])?);
    let mut c = DeviceBuffer::from_slice(&vec![0.0f32; m * n])?;
    let gemm = Gemm::new(device);
    let posed = Posed::new(extents, Input::F32, Output::F32, layout);
    let request = Request { variant: Some(tiles), split_k: Some(1), packed: Some(false) };
    let plan = gemm.plan(&posed, &a, &b, &c, request)?;
    let progress = crate::quiet();
    let stage = Stage::new(device, &progress);
    // SAFETY: the stage waits for the launch, and nothing else uses the matrices.
    let launch = || unsafe { gemm.launch(&plan, &a, &b, &mut c) };
    let counted = stage.once(plan.kernel(), launch)?;
    let counted = counted.ok_or_else(|| anyhow::anyhow!("the virtual GPU counts"))?.counters;
    for (what, shared) in [("loads", counted.shared_load), ("stores", counted.shared_store)] {
        let conflicts = shared.bank_conflicts;
        anyhow::ensure!(conflicts == 0, "{}: {conflicts} bank conflicts in {what}", plan.kernel());
    }
    anyhow::ensure!(counted.shared_load.instructions > 0, "nothing was counted");
    Ok(())
}

/// Buffers that are too short, rows that overlap, other elements and other matrices than the plan's are errors, not accesses.
fn refusals(device: &Device) -> anyhow::Result<()> {
    let (short, long) = (device.upload(&[0.0f32; 11])?, device.upload(&[0.0f32; 17])?);
    let mut c = device.upload(&[0.0f32; 16])?;
    let gemm = Gemm::new(device);
    let right = Posed::f32((4, 4, 3));
    let plan = gemm.multiply(&right, &long, &long, &mut c)?;
    let mut told = |problem: &Posed, a: &Buffer<f32>| {
        gemm.multiply(problem, a, &long, &mut c).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let says = told(&right, &short);
    anyhow::ensure!(says == "cannot multiply: A needs 12 elements, its buffer has 11", "{says}");
    let says = told(&Posed { lda: 2, ..right }, &long);
    anyhow::ensure!(says.contains("A's rows have 3 elements, and begin only 2 apart"), "{says}");
    let says = told(&Posed { input: Input::S8, output: Output::S32, ..right }, &long);
    anyhow::ensure!(says.contains("the buffers hold f32 or tf32 and f32"), "{says}");
    // SAFETY: nothing else uses the buffers; if it were launched, they would be freed once it has ended.
    let elsewhere = unsafe {
        let (a, b) = (long.slice(1..), long.slice(..));
        gemm.launch(&plan, a.as_cust(), b.as_cust(), c.as_cust_mut())
    };
    let says = elsewhere.err().map(|error| error.to_string()).unwrap_or_default();
    anyhow::ensure!(says.contains("A 0 bytes after a multiple of 16, and here it begins 4"), "{says}");
    Ok(())
}
