//! The fast product against cuBLAS in full f32: any size, any transposition, by the kernel that the dispatcher takes.
//!
//! Buffer sets rotate so that L2 does not answer for memory: as many as 256 MiB hold, 16 at most. Small products are
//! thousands of launches in one graph, so that neither side is charged for the host.

use cust::memory::{CopyDestination, DeviceBuffer};
use kernels_gpu::matmul::product as kernels;
use warpsmith_launch::Doing;

use super::super::competitor::{F32Product, Kind, Task};
use super::super::measure::{Bench, Comparison, Throughput, another};
use super::super::pairs::Enqueue;
use crate::data::{Random, transposed};
use crate::error::Error;
use crate::product::{Factors, Matrix, Products, Target};
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

/// What a product's buffer sets hold together: four times the L2 cache of an H200.
const ROTATED: usize = 256 << 20;

pub(super) fn run(bench: &Bench<'_>, sizes: &[Size]) -> Result<Vec<Comparison>, Error> {
    let mut rows = Vec::new();
    let sizes = if sizes.is_empty() { &SIZES[..] } else { sizes };
    for &size in sizes {
        rows.extend(measured(bench, size, (false, false))?);
    }
    // The other transpositions at one size: the first of those asked for.
    let size = if sizes == SIZES { Size::One(4096) } else { sizes[0] };
    for transposed in [(false, true), (true, false), (true, true)] {
        rows.extend(measured(bench, size, transposed)?);
    }
    Ok(rows)
}

fn measured(bench: &Bench<'_>, size: Size, (ta, tb): (bool, bool)) -> Result<Vec<Comparison>, Error> {
    if !bench.competes(Kind::Product) {
        return Ok(Vec::new());
    }
    let (m, n, k) = size.product();
    let (letter, bytes) = (|transposed| if transposed { 'T' } else { 'N' }, 4 * (m * k + k * n + m * n));
    let name = format!("{m}x{n}x{k} {}{}", letter(ta), letter(tb));
    let count = (ROTATED / bytes).clamp(1, 16);
    if !bench.has_room(&format!("matmul {name}"), count * bytes) {
        return Ok(Vec::new());
    }
    bench.step(&format!("{name}: random data"));
    let mut random = Random::new((m + n + k) as u64);
    let (host_a, host_b) = (random.units(m * k), random.units(k * n));
    let make = "allocate the matrices";
    let upload = |dense: &[f32], rows: usize, cols: usize, turned: bool| {
        let stored = if turned { transposed(dense, rows, cols) } else { dense.to_vec() };
        DeviceBuffer::from_slice(&stored).doing(make)
    };
    let first = (upload(&host_a, m, k, ta)?, upload(&host_b, k, n, tb)?);
    let mut c = DeviceBuffer::from_slice(&vec![f32::NAN; m * n]).doing(make)?;
    let (lda, ldb) = (if ta { m } else { k }, if tb { k } else { n });

    let products = Products::new(bench.device);
    let a = Matrix { buffer: &first.0, offset: 0, ld: lda, transposed: ta };
    let b = Matrix { buffer: &first.1, offset: 0, ld: ldb, transposed: tb };
    let plan = products.multiply((m, n, k), Factors::PRODUCT, a, b, Target::dense(&mut c, n))?;
    bench.device.synchronize()?;
    let mut got = vec![0.0; m * n];
    c.copy_to(&mut got).doing("copy the result back")?;
    let checked = Product { shape: (m, n, k), a: &host_a, b: &host_b, before: &[], alpha: 1.0, beta: 0.0 };
    let mut verdict = checked.check(&got);
    verdict.how = format!("{}; {}", verdict.how, plan.why());

    // More sets of the same values: what matters is that they lie elsewhere.
    drop((host_a, host_b, got));
    let mut sets = vec![(first.0, first.1, c)];
    while sets.len() < count {
        let (a, b, c) = &sets[0];
        sets.push((another(a)?, another(b)?, another(c)?));
    }
    let address = |buffer: &DeviceBuffer<f32>| buffer.as_device_ptr().as_raw();
    // The buffers stay alive in `sets` until the last launch.
    let addresses: Vec<[u64; 3]> =
        sets.iter().map(|(a, b, c)| [address(a), address(b), address(c)]).collect();
    let p = kernels::Product {
        m: m as u32,
        n: n as u32,
        k: k as u32,
        lda: lda as u32,
        ldb: ldb as u32,
        ldc: n as u32,
        alpha: 1.0,
        beta: 0.0,
    };
    let ours = || -> Result<Enqueue<'_>, Error> {
        Ok(Box::new(|set: usize| {
            // SAFETY: each set holds matrices of these extents.
            let launched = unsafe { products.enqueue(&plan, p, addresses[set % addresses.len()]) };
            launched.map_err(|_| cust::error::CudaError::UnknownError)
        }))
    };
    let task = Task::Product(
        addresses
            .iter()
            .map(|&[a, b, c]| F32Product {
                m: m as i32,
                n: n as i32,
                k: k as i32,
                alpha: 1.0,
                beta: 0.0,
                a,
                lda: lda as i32,
                a_transposed: ta,
                b,
                ldb: ldb as i32,
                b_transposed: tb,
                c,
                ldc: n as i32,
            })
            .collect(),
    );
    let parts = if plan.parts > 1 { format!(", K in {}", plan.parts) } else { String::new() };
    let kernel = format!("{}{parts}{}", plan.kernel(), if plan.packed { ", packed" } else { "" });
    let operations = Throughput::Operations(2.0 * m as f64 * n as f64 * k as f64);
    bench.against("matmul", (&kernel, &name), operations, &task, ours, &verdict)
}
