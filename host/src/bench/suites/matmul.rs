//! The demos' products against their twins, and the fast one against cuBLAS.

use cust::memory::{CopyDestination, DeviceBuffer};
use kernels_gpu::base::matmul::{dynamic, naive};
use kernels_gpu::gemm::Gemm;
use warpsmith_launch::{ErrorContext, Shape};

use super::super::call::{Call, Value};
use super::super::competitor::{Kind, Task};
use super::super::measure::{Bench, Comparison, Throughput};
use super::super::suite::{Suite, TensorCases};
use super::product;
use crate::data::Random;
use crate::error::Error;
use crate::size::Size;
use crate::verify::Product;

/// The most that the demos' kernels multiply, which at this size take up to 90 ms a launch.
const LARGEST_TWIN: usize = 4096;

struct Operands {
    edge: usize,
    host_a: Vec<f32>,
    host_b: Vec<f32>,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    c: DeviceBuffer<f32>,
}

impl Operands {
    fn new(edge: usize) -> Result<Self, Error> {
        let mut random = Random::new(edge as u64);
        let (host_a, host_b) = (random.units(edge * edge), random.units(edge * edge));
        let make = "allocate the matrices";
        let (a, b) = (
            DeviceBuffer::from_slice(&host_a).context(make)?,
            DeviceBuffer::from_slice(&host_b).context(make)?,
        );
        let c = DeviceBuffer::from_slice(&vec![f32::NAN; edge * edge]).context(make)?;
        Ok(Self { edge, host_a, host_b, a, b, c })
    }

    fn gemm(&self) -> Value {
        let edge = self.edge as u32;
        Value::Gemm(Gemm::product(edge, edge, edge))
    }

    fn check(&self, bench: &Bench<'_>, call: &Call) -> Result<crate::verify::Verdict, Error> {
        bench.once(call)?;
        let mut got = vec![0.0; self.edge * self.edge];
        self.c.copy_to(&mut got).context("copy the result back")?;
        let shape = (self.edge, self.edge, self.edge);
        let product = Product { shape, a: &self.host_a, b: &self.host_b, before: &[], alpha: 1.0, beta: 0.0 };
        Ok(product.check(&got))
    }

    fn throughput(&self) -> Throughput {
        Throughput::Operations(2.0 * (self.edge as f64).powi(3))
    }
}

pub struct MatmulSuite;

impl Suite for MatmulSuite {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn about(&self) -> &'static str {
        "Products against their twins and cuBLAS"
    }

    fn title(&self) -> &'static str {
        "f32 products"
    }

    fn tasks(&self) -> &'static [Kind] {
        &[Kind::Kernel, Kind::Product]
    }

    fn run(&self, bench: &Bench<'_>, sizes: &[Size], _: &TensorCases) -> Result<Vec<Comparison>, Error> {
        let mut rows = Vec::new();
        let asked =
            if sizes.is_empty() { Some(LARGEST_TWIN) } else { sizes.iter().find_map(|size| size.edge()) };
        let edge = asked.map(|edge| edge.min(LARGEST_TWIN));
        if edge != asked {
            bench
                .leave_out(format!("the demos' products beyond {LARGEST_TWIN}: a launch would take seconds"));
        }
        if let Some(edge) = edge {
            let operands = Operands::new(edge)?;
            if bench.competes(Kind::Kernel) {
                rows.extend(against_twins(bench, &operands)?);
            }
            if bench.wants(SAFE) {
                rows.push(safe_slices(bench, &operands)?);
            }
        }
        rows.extend(product::run(bench, sizes)?);
        Ok(rows)
    }
}

const SAFE: &str = "matmul_tiled_16_safe";

/// A tiled product from safe slices against the same from raw pointers.
fn safe_slices(bench: &Bench<'_>, operands: &Operands) -> Result<Comparison, Error> {
    let edge = operands.edge;
    let shape = Shape::tiles((edge, edge), (16, 16), (16, 16));
    let arguments = vec![
        operands.gemm(),
        Value::slice(&operands.a),
        Value::slice(&operands.b),
        Value::pointer(&operands.c),
    ];
    let [safe, raw] =
        [SAFE, "matmul_tiled_16"].map(|kernel| Call::new(kernel, shape, vec![arguments.clone()]));
    let verdict = operands.check(bench, &safe)?;
    let size = format!("{edge}x{edge}x{edge}");
    let (ours, other) = (bench.ours(&safe)?, bench.ours(&raw)?);
    let names = (safe.kernel, &size[..], "raw pointers");
    bench.against_own("matmul", names, operands.throughput(), ours, other, &verdict)
}

/// The demos' kernels, each against the same algorithm in C++.
fn against_twins(bench: &Bench<'_>, operands: &Operands) -> Result<Vec<Comparison>, Error> {
    let edge = operands.edge;
    let tiles = |tile: usize| Shape::tiles((edge, edge), (tile, tile), (tile as u32, tile as u32));
    let product = vec![
        operands.gemm(),
        Value::slice(&operands.a),
        Value::slice(&operands.b),
        Value::pointer(&operands.c),
    ];
    let with = |more: &[Value]| {
        let mut arguments = product.clone();
        arguments.splice(1..1, more.iter().copied());
        vec![arguments]
    };
    let mut calls = vec![Call::new("matmul_naive", tiles(naive::BLOCK_EDGE as usize), with(&[]))];
    let fixed = [
        ("matmul_tiled_16", 16),
        ("matmul_tiled_32", 32),
        ("matmul_column_16", 16),
        ("matmul_column_16_padded", 16),
        ("matmul_column_32", 32),
        ("matmul_column_32_padded", 32),
    ];
    calls.extend(fixed.map(|(kernel, tile)| Call::new(kernel, tiles(tile), with(&[]))));
    for tile in [16u32, 32] {
        let shape = tiles(tile as usize).with_shared(dynamic::shared_bytes(tile, 0));
        calls.push(Call::new("matmul_dynamic", shape, with(&[Value::U32(tile)])));
        let shape = tiles(tile as usize).with_shared(dynamic::shared_bytes(tile, 1));
        let arguments = with(&[Value::U32(tile), Value::U32(1)]);
        calls.push(Call::new("matmul_dynamic_column", shape, arguments));
    }
    let mut rows = Vec::new();
    for call in calls.iter().filter(|call| bench.wants(call.kernel)) {
        let verdict = operands.check(bench, call)?;
        let size = format!("{edge}x{edge}x{edge}, blocks {}x{}", call.shape.block[0], call.shape.block[1]);
        let (names, twin) = ((call.kernel, &size[..]), Task::Kernel { family: "matmul", call });
        let ours = || bench.ours(call);
        rows.extend(bench.against("matmul", names, operands.throughput(), &twin, ours, &verdict)?);
    }
    Ok(rows)
}
