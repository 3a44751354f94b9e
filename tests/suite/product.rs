//! The fast product: every kernel, every transposition, awkward extents, leading dimensions and alignments.
//!
//! What surrounds the matrices tells on a kernel that strays: gaps between rows of A and B are NaN, which would reach
//! the result, and C lies between canaries, its gaps too, which must stay.

use cust::memory::DeviceBuffer;
use host::data::Random;
use host::demos::Stage;
use host::product::{Factors, Matrix, Plan, Problem as Posed, Products, Target, Tiles};
use host::verify::Product;
use warpsmith_launch::{Device, Limits};

use crate::Case;

const CANARY: f32 = -123_456.0;

/// One problem: extents, transpositions, elements that rows are longer and that matrices begin later than need be.
#[derive(Clone, Copy, Debug)]
struct Problem {
    extents: (usize, usize, usize),
    transposed: (bool, bool),
    gap: usize,
    offset: usize,
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Aligned ones for the kernels that want it, and what is aligned in no way.
    let aligned = [(4, 4, 4), (64, 64, 8), (132, 260, 20), (100, 300, 64), (8, 516, 36)];
    let odd = [(1, 1, 1), (31, 33, 17), (129, 257, 9), (65, 63, 40), (3, 5, 0)];
    for tiles in Tiles::ALL {
        let any = !matches!(tiles, Tiles::Large | Tiles::Middle);
        for transposed in [(false, false), (false, true), (true, false), (true, true)] {
            let extents = aligned.into_iter().chain(odd.into_iter().filter(|_| any));
            let few = [(1, 1, 1), (1, 300, 257), (130, 1, 530), (8, 129, 255), (257, 7, 1025), (8, 8, 0)];
            let extents: Vec<_> = if tiles == Tiles::Thin { few.into() } else { extents.collect() };
            for extents in extents {
                for parts in [1, 3] {
                    let (gap, offset) = if any { (3, 1) } else { (8, 4) };
                    let problem = Problem { extents, transposed, gap, offset };
                    let (m, n, k) = extents;
                    let letters = |t: bool| if t { 't' } else { 'n' };
                    let (a, b) = (letters(transposed.0), letters(transposed.1));
                    let name = format!("product::{tiles:?}::{a}{b}::{m}x{n}x{k}::{parts}_parts");
                    cases.push(Case::new(name, move |device| {
                        let plan = |posed, limits: &Limits| Plan::with(posed, tiles, parts, limits);
                        check(device, problem, plan, 1.0, 0.0)?;
                        check(device, problem, plan, -0.5, 2.0)
                    }));
                }
            }
        }
    }
    // Packed first; and so many parts that they are added side by side, of which the last have no K.
    for transposed in [(false, false), (false, true), (true, false), (true, true)] {
        for (extents, parts) in [((129, 257, 9), 1), ((65, 63, 41), 2), ((31, 33, 150), 17), ((1, 1, 1), 1)] {
            let (m, n, k) = extents;
            for tiles in [Tiles::Large, Tiles::Middle] {
                let problem = Problem { extents, transposed, gap: 3, offset: 1 };
                let letters = |t: bool| if t { 't' } else { 'n' };
                let (a, b) = (letters(transposed.0), letters(transposed.1));
                let name = format!("product::packed_{tiles:?}::{a}{b}::{m}x{n}x{k}::{parts}_parts");
                cases.push(Case::new(name, move |device| {
                    let plan = |posed, limits: &Limits| Plan::with_packed(posed, tiles, parts, limits);
                    check(device, problem, plan, 1.0, 0.0)?;
                    check(device, problem, plan, -0.5, 2.0)
                }));
            }
        }
    }
    // What the dispatcher takes by itself.
    for extents in [(96, 160, 200), (200, 40, 333), (1, 500, 60), (0, 5, 7), (5, 0, 7), (5, 7, 0)] {
        let problem = Problem { extents, transposed: (false, true), gap: 0, offset: 0 };
        let (m, n, k) = extents;
        cases.push(Case::new(format!("product::chosen::{m}x{n}x{k}"), move |device| {
            check(device, problem, |posed, limits| Ok(Plan::choose(posed, limits)), 2.0, -1.0)
        }));
    }
    for tiles in Tiles::ALL {
        let extents = if tiles == Tiles::Thin { (600, 8, 1024) } else { (128, 256, 64) };
        for transposed in [(false, false), (false, true), (true, false), (true, true)] {
            let letters = |t: bool| if t { 't' } else { 'n' };
            let (a, b) = (letters(transposed.0), letters(transposed.1));
            cases.push(Case::virtual_only(
                format!("product::{tiles:?}::{a}{b}::no_bank_conflicts"),
                move |device| no_bank_conflicts(device, tiles, extents, transposed),
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
    plan: impl Fn(Posed, &Limits) -> Result<Plan, host::error::Error>,
    alpha: f32,
    beta: f32,
) -> anyhow::Result<()> {
    let (m, n, k) = problem.extents;
    let mut random = Random::new((m * 31 + n * 7 + k) as u64);
    let (a, b) = (random.units(m * k), random.units(k * n));
    // Without beta, C is not read: what is not a number there must not reach the result.
    let before = if beta == 0.0 { vec![f32::NAN; m * n] } else { random.units(m * n) };
    let stored_a = stored(&a, (m, k), problem.transposed.0, problem, f32::NAN);
    let stored_b = stored(&b, (k, n), problem.transposed.1, problem, f32::NAN);
    let stored_c = stored(&before, (m, n), false, problem, CANARY);
    let (device_a, device_b) =
        (DeviceBuffer::from_slice(&stored_a.0)?, DeviceBuffer::from_slice(&stored_b.0)?);
    let mut device_c = DeviceBuffer::from_slice(&stored_c.0)?;

    let products = Products::new(device);
    let offset = problem.offset;
    let a_is = Matrix { buffer: &device_a, offset, ld: stored_a.1, transposed: problem.transposed.0 };
    let b_is = Matrix { buffer: &device_b, offset, ld: stored_b.1, transposed: problem.transposed.1 };
    let c_is = Target { buffer: &mut device_c, offset, ld: stored_c.1 };
    let posed = products.problem(problem.extents, &a_is, &b_is, &c_is)?;
    let plan = plan(posed, device.limits())?;
    products.launch(&plan, Factors { alpha, beta }, a_is, b_is, c_is)?;
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
    transposed: bool,
    problem: Problem,
    around: f32,
) -> (Vec<f32>, usize) {
    let (height, width) = if transposed { (cols, rows) } else { (rows, cols) };
    let ld = width + problem.gap + usize::from(width + problem.gap == 0);
    // An empty matrix still needs an address.
    let mut all = vec![around; problem.offset + height * ld + 1];
    for row in 0..rows {
        for col in 0..cols {
            let (r, c) = if transposed { (col, row) } else { (row, col) };
            all[problem.offset + r * ld + c] = dense[row * cols + col];
        }
    }
    (all, ld)
}

/// Every access to shared memory takes the wavefronts that its words need, and no more.
fn no_bank_conflicts(
    device: &Device,
    tiles: Tiles,
    extents: (usize, usize, usize),
    transposed: (bool, bool),
) -> anyhow::Result<()> {
    let (m, n, k) = extents;
    let (a, b) = (DeviceBuffer::from_slice(&vec![1.0; m * k])?, DeviceBuffer::from_slice(&vec![1.0; k * n])?);
    let mut c = DeviceBuffer::from_slice(&vec![0.0f32; m * n])?;
    let a = Matrix { transposed: transposed.0, ..Matrix::dense(&a, if transposed.0 { m } else { k }) };
    let b = Matrix { transposed: transposed.1, ..Matrix::dense(&b, if transposed.1 { k } else { n }) };
    let products = Products::new(device);
    let posed = products.problem(extents, &a, &b, &Target::dense(&mut c, n))?;
    let plan = Plan::with(posed, tiles, 1, device.limits())?;
    let progress = crate::quiet();
    let stage = Stage::new(device, &progress);
    let launch = || products.launch(&plan, Factors::PRODUCT, a, b, Target::dense(&mut c, n));
    let counted = stage.once(plan.kernel(), launch)?;
    let counted = counted.ok_or_else(|| anyhow::anyhow!("the virtual GPU counts"))?.counters;
    for (what, shared) in [("loads", counted.shared_load), ("stores", counted.shared_store)] {
        let conflicts = shared.bank_conflicts;
        anyhow::ensure!(conflicts == 0, "{}: {conflicts} bank conflicts in {what}", plan.kernel());
    }
    anyhow::ensure!(counted.shared_load.instructions > 0, "nothing was counted");
    Ok(())
}

/// Buffers that are too short and rows that overlap are errors, not accesses.
fn refusals(device: &Device) -> anyhow::Result<()> {
    let (short, long) = (DeviceBuffer::from_slice(&[0.0f32; 11])?, DeviceBuffer::from_slice(&[0.0f32; 12])?);
    let mut c = DeviceBuffer::from_slice(&[0.0f32; 16])?;
    let products = Products::new(device);
    let mut multiply = |a: Matrix<'_>| {
        let c = Target { buffer: &mut c, offset: 0, ld: 4 };
        products.multiply((4, 4, 3), Factors::PRODUCT, a, Matrix::dense(&long, 4), c)
    };
    anyhow::ensure!(multiply(Matrix::dense(&long, 3)).is_ok());
    let told = multiply(Matrix::dense(&short, 3)).err().map(|error| error.to_string()).unwrap_or_default();
    anyhow::ensure!(
        told.contains("A has 4 rows of 3 elements") && told.contains("its buffer has 11"),
        "{told}"
    );
    let told = multiply(Matrix::dense(&long, 2)).err().map(|error| error.to_string()).unwrap_or_default();
    anyhow::ensure!(told.contains("at least 3"), "{told}");
    Ok(())
}
