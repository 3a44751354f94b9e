//! The product's ladder: each step against the one before it, and the fast product at its end.

use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer};
use kernels_gpu::gemm::Gemm;
use warpsmith_kernels::gemm::{self, Problem, Request};
use warpsmith_launch::{ErrorContext, Shape};

use super::super::call::{Call, Value};
use super::super::competitor::Kind;
use super::super::measure::{Bench, Comparison, Throughput};
use super::super::pairs::Enqueue;
use super::super::suite::{Suite, TensorCases};
use crate::data::Random;
use crate::error::Error;
use crate::ladder::{STEPS, Step};
use crate::size::Size;
use crate::verify::Product;

pub struct LadderSuite;

impl Suite for LadderSuite {
    fn name(&self) -> &'static str {
        "ladder"
    }

    fn about(&self) -> &'static str {
        "The steps of the product, each against the one before it; not part of `all`"
    }

    fn title(&self) -> &'static str {
        "Steps of the f32 product"
    }

    fn is_among_all(&self) -> bool {
        false
    }

    fn tasks(&self) -> &'static [Kind] {
        &[]
    }

    fn run(&self, bench: &Bench<'_>, sizes: &[Size], _: &TensorCases) -> Result<Vec<Comparison>, Error> {
        let edges: Vec<usize> = sizes.iter().filter_map(|size| size.edge()).collect();
        let mut rows = Vec::new();
        for &edge in if edges.is_empty() { &[4096][..] } else { &edges } {
            rows.extend(at(bench, edge)?);
        }
        Ok(rows)
    }
}

fn at(bench: &Bench<'_>, edge: usize) -> Result<Vec<Comparison>, Error> {
    let mut random = Random::new(edge as u64);
    let (host_a, host_b) = (random.units(edge * edge), random.units(edge * edge));
    let make = "allocate the matrices";
    let (a, b) =
        (DeviceBuffer::from_slice(&host_a).context(make)?, DeviceBuffer::from_slice(&host_b).context(make)?);
    let mut c = DeviceBuffer::from_slice(&vec![f32::NAN; edge * edge]).context(make)?;
    let shape = (edge, edge, edge);
    let checked = Product { shape, a: &host_a, b: &host_b, before: &[], alpha: 1.0, beta: 0.0 };
    let (size, work) = (format!("{edge}x{edge}x{edge}"), Throughput::Operations(2.0 * (edge as f64).powi(3)));
    let p = Gemm::product(edge as u32, edge as u32, edge as u32);
    let calls = STEPS
        .iter()
        .map(|step| Ok((step, call(step, p, &a, &b, &c)?)))
        .collect::<Result<Vec<(&Step, Call)>, Error>>()?;

    let mut rows = Vec::new();
    let mut got = vec![0.0; edge * edge];
    for pair in calls.windows(2) {
        let [(_, before), (step, now)] = pair else { continue };
        bench.once(now)?;
        c.copy_to(&mut got).context("copy the result back")?;
        let mut verdict = checked.check(&got);
        verdict.how = format!("{}; new: {}", verdict.how, step.new);
        let names = (step.kernel, &size[..], "the step before");
        let (now, before) = (bench.ours(now)?, bench.ours(before)?);
        rows.push(bench.against_own("ladder", names, work, now, before, &verdict)?);
    }
    let Some((_, last)) = calls.last() else { return Ok(rows) };
    let gemm = gemm::Gemm::new(bench.device);
    let plan = gemm.plan(&Problem::f32(shape), &a, &b, &c, Request::default())?;
    // SAFETY: the matrices outlive the launch, which is waited for, and nothing else uses them.
    unsafe { gemm.launch(&plan, &a, &b, &mut c)? };
    bench.device.synchronize()?;
    c.copy_to(&mut got).context("copy the result back")?;
    let verdict = checked.check(&got);
    let fast: Enqueue<'_> = Box::new(|_| {
        // SAFETY: as above.
        unsafe { gemm.launch(&plan, &a, &b, &mut c) }.map_err(|_| CudaError::UnknownError)
    });
    let names = (plan.kernel(), &size[..], "the step before");
    rows.push(bench.against_own("ladder", names, work, fast, bench.ours(last)?, &verdict)?);
    Ok(rows)
}

/// A step's launch; the first two take slices, the others pointers.
fn call(
    step: &Step,
    p: Gemm,
    a: &DeviceBuffer<f32>,
    b: &DeviceBuffer<f32>,
    c: &DeviceBuffer<f32>,
) -> Result<Call, Error> {
    let shape: Shape = step.shape(p)?;
    let operands =
        if step.slices { [Value::slice(a), Value::slice(b)] } else { [Value::pointer(a), Value::pointer(b)] };
    let arguments = vec![vec![Value::Gemm(p), operands[0], operands[1], Value::pointer(c)]];
    Ok(Call::new(step.kernel, shape, arguments))
}
