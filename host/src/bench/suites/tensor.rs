//! Products on tensor cores against the fastest of cuBLASLt's first heuristics, for the same types and layouts.

use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer};
use rayon::prelude::*;
use warpsmith_launch::{Bf16, Doing, F16};

use super::super::cublaslt::{CublasLt, Heuristic, LtError, Product};
use super::super::graph::Replay;
use super::super::pairs::{Enqueue, Plan};
use super::{Bench, Comparison, Work};
use crate::data::Random;
use crate::error::Error;
use crate::size::Size;
use crate::tensor::{
    self, Choice, Input, InputElement, Layout, Operands, Output, OutputElement, Prepared, Problem,
};
use crate::verify::{TensorProduct, Verdict};

/// Which products are measured; where nothing is named, the default.
#[derive(Clone, Debug, Default)]
pub struct TensorCases {
    /// Types of A and B.
    pub inputs: Vec<Input>,
    /// How A and B are stored.
    pub layouts: Vec<Layout>,
    /// The type of C, where there is a choice.
    pub output: Option<Output>,
    /// The variant, if not the dispatcher's.
    pub variant: Option<String>,
}

/// The sizes of f16 and bf16.
const SIZES: [usize; 5] = [1024, 2048, 4096, 8192, 16384];
/// The sizes of the other types along K.
const OTHERS: [usize; 3] = [2048, 4096, 8192];
/// The size of what is measured once: other layouts of these types, other types of C.
const ONCE: usize = 4096;
/// Together, a contender's buffers are several times what the L2 cache holds.
const ROTATED: usize = 400 << 20;

impl TensorCases {
    /// Every product to be measured.
    fn problems(&self, sizes: &[Size]) -> Vec<Problem> {
        let cube = |edge: &usize| Size::One(*edge);
        let problem = |input: Input, layout, size: Size, output: Option<Output>| {
            let outputs = input.outputs();
            let output = output.filter(|output| outputs.contains(output)).unwrap_or(outputs[0]);
            Problem::new(size.product(), input, output, layout)
        };
        let all_default = sizes.is_empty() && self.inputs.is_empty() && self.layouts.is_empty();
        let half = |input: Input| matches!(input, Input::F16 | Input::Bf16);
        let inputs = match &self.inputs[..] {
            [] if all_default => vec![Input::Bf16, Input::F16, Input::Tf32, Input::S8],
            [] => vec![Input::Bf16, Input::F16],
            given => given.to_vec(),
        };
        let layouts = match &self.layouts[..] {
            [] if all_default => vec![Layout::Nt, Layout::Nn, Layout::Tn, Layout::Tt],
            [] => vec![Layout::Nt],
            given => given.to_vec(),
        };
        let mut problems = Vec::new();
        for &input in &inputs {
            for &layout in &layouts {
                let sizes: Vec<Size> = match (sizes, half(input), layout) {
                    ([], true, _) => SIZES.iter().map(cube).collect(),
                    ([], false, Layout::Nt) => OTHERS.iter().map(cube).collect(),
                    ([], false, _) => vec![Size::One(ONCE)],
                    (given, ..) => given.to_vec(),
                };
                problems.extend(sizes.into_iter().map(|size| problem(input, layout, size, self.output)));
            }
            if all_default && self.output.is_none() && half(input) {
                problems.push(problem(input, Layout::Nt, Size::One(ONCE), Some(Output::F32)));
            }
        }
        problems
    }
}

pub(super) fn run(bench: &Bench<'_>, sizes: &[Size]) -> Result<Vec<Comparison>, Error> {
    let Some(lt) = &bench.lt else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for problem in bench.tensor.problems(sizes) {
        let row = match (problem.input, problem.output) {
            (Input::F16, Output::F16) => against_lt::<F16, F16>(bench, lt, &problem),
            (Input::F16, _) => against_lt::<F16, f32>(bench, lt, &problem),
            (Input::Bf16, Output::Bf16) => against_lt::<Bf16, Bf16>(bench, lt, &problem),
            (Input::Bf16, _) => against_lt::<Bf16, f32>(bench, lt, &problem),
            (Input::Tf32, _) => against_lt::<f32, f32>(bench, lt, &problem),
            (Input::S8, _) => against_lt::<i8, i32>(bench, lt, &problem),
        };
        match row {
            Ok(row) => rows.push(row),
            // One product that nobody can compute is no reason to lose the others.
            Err(Left::Out(reason)) => bench.left_out.borrow_mut().push(reason),
            Err(Left::Failed(error)) => return Err(error),
        }
    }
    Ok(rows)
}

/// Why there is no row.
enum Left {
    Out(String),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Left {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Sets of matrices, used in turn, all with the same A and B.
struct Sets<I: InputElement, O: OutputElement> {
    host: [Vec<I>; 2],
    device: Vec<(DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<O>)>,
}

impl<I: InputElement + Send, O: OutputElement + Default> Sets<I, O> {
    fn new(problem: &Problem) -> Result<Self, Error> {
        let [a, b, c] = problem.lengths();
        let host = [random(a, 1), random(b, 2)];
        let bytes = (a + b) * problem.input.size() + c * problem.output.size();
        let count = (ROTATED / bytes.max(1)).clamp(2, 16);
        let make = || -> Result<Vec<_>, CudaError> {
            let mut sets: Vec<(DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<O>)> = Vec::new();
            for _ in 0..count {
                let (a, b) = match sets.first() {
                    None => (DeviceBuffer::from_slice(&host[0])?, DeviceBuffer::from_slice(&host[1])?),
                    Some((a, b, _)) => (copy(a)?, copy(b)?),
                };
                // SAFETY: filled before it is read, just below.
                let result = unsafe { DeviceBuffer::uninitialized(c)? };
                poison(&result)?;
                sets.push((a, b, result));
            }
            Ok(sets)
        };
        Ok(Self { device: make().doing("allocate the matrices")?, host })
    }

    fn operands(&self) -> Vec<Operands> {
        let each = self.device.iter().map(|(a, b, c)| Operands {
            a: a.as_device_ptr().as_raw(),
            b: b.as_device_ptr().as_raw(),
            c: c.as_device_ptr().as_raw(),
        });
        each.collect()
    }

    fn check(&self, problem: &Problem) -> Result<Verdict, Error> {
        let result = &self.device[0].2;
        let mut c = vec![O::default(); result.len()];
        result.copy_to(&mut c).doing("copy the result back")?;
        Ok(TensorProduct { problem, a: &self.host[0], b: &self.host[1], before: &[] }.check(&c))
    }
}

/// A copy within the device: a bus away from the host, that is most of a large row's time.
fn copy<I: InputElement>(from: &DeviceBuffer<I>) -> Result<DeviceBuffer<I>, CudaError> {
    // SAFETY: filled just below.
    let mut to = unsafe { DeviceBuffer::uninitialized(from.len())? };
    to.copy_from(from)?;
    Ok(to)
}

fn random<I: InputElement + Send>(len: usize, seed: u64) -> Vec<I> {
    const PART: usize = 1 << 20;
    (0..len.div_ceil(PART))
        .into_par_iter()
        .flat_map_iter(|part| {
            let mut random = Random::new(seed << 32 | part as u64);
            (0..PART.min(len - part * PART)).map(move |_| I::random(&mut random))
        })
        .collect()
}

/// Ones in every bit: not a number, or -1. An element that a kernel forgets is a wrong one.
fn poison<O: OutputElement>(buffer: &DeviceBuffer<O>) -> Result<(), CudaError> {
    let bytes = buffer.len() * size_of::<O>();
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: that many bytes lie there.
    match unsafe { cust::sys::cuMemsetD8_v2(buffer.as_device_ptr().as_raw(), 0xff, bytes) } {
        cust::sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::UnknownError),
    }
}

fn against_lt<I, O>(bench: &Bench<'_>, lt: &CublasLt, problem: &Problem) -> Result<Comparison, Left>
where
    I: InputElement + Send,
    O: OutputElement + Default,
{
    let Problem { m, n, k, input, output, layout, .. } = *problem;
    let name = format!("{m}x{n}x{k} {} {}", layout.name(), input.name());
    let name = if output == input.outputs()[0] { name } else { format!("{name} to {}", output.name()) };
    bench.progress.step(&format!("{name}: random data"));
    let sets = Sets::<I, O>::new(problem)?;
    let operands = sets.operands();
    let device = bench.device;
    let Choice { variant, plan: dealt, .. } =
        tensor::choose(device.limits(), problem, &operands[0], bench.tensor.variant.as_deref())
            .map_err(|error| Left::Out(format!("{name}: {error}")))?;
    // SAFETY: the buffers are as long as the problem says, and outlive every launch.
    let ours = operands.iter().map(|operands| unsafe { tensor::prepare(device, variant, problem, operands) });
    let ours: Vec<Prepared<'_>> = ours.collect::<Result<_, _>>()?;

    bench.progress.step(&format!("{name}: check of {}", variant.name));
    // SAFETY: as above.
    unsafe { ours[0].launch()? };
    device.synchronize()?;
    let verdict = sets.check(problem)?;

    let product = lt.product(problem).map_err(|error| Left::Out(format!("{name}: {error}")))?;
    let none = |error: LtError| Left::Out(format!("{name}: nothing to compare with: {error}"));
    let heuristics = product.heuristics().map_err(none)?;
    bench.progress.step(&format!("{name}: the fastest of {} heuristics", heuristics.len()));
    let Some(fastest) = fastest(bench, &product, &heuristics, &operands)? else {
        return Err(Left::Out(format!(
            "{name}: cuBLASLt has no way to compute it, so there is nothing to compare with"
        )));
    };

    let launch = Box::new(|set: usize| {
        // SAFETY: as above.
        unsafe { ours[set % ours.len()].launch() }.map_err(|_| CudaError::UnknownError)
    });
    let other = theirs(bench, &product, &fastest, &operands);
    let shared = dealt.is_some_and(|dealt| dealt.contains("shared:"));
    let kernel = format!("{}{}", ours[0].kernel, if shared { ", tiles shared" } else { "" });
    let names = (kernel.as_str(), name, "cuBLASLt");
    // The clock settles under this load within a second or two; in a quick run the rows before have seen to it.
    let warm_up_ms = if bench.plan.quick { 250.0 } else { bench.plan.warm_up_ms.max(2000.0) };
    let plan = Plan { warm_up_ms, ..bench.plan };
    let work = Work::TensorOperations(problem.operations());
    Ok(bench.compare_by(plan, "tensor", names, work, launch, other, &verdict)?)
}

fn theirs<'a>(
    bench: &'a Bench<'_>,
    product: &'a Product<'_>,
    heuristic: &'a Heuristic,
    operands: &'a [Operands],
) -> Enqueue<'a> {
    Box::new(move |set| {
        let stream = bench.device.stream().as_inner();
        // SAFETY: the matrices are those that the product was described for.
        unsafe { product.enqueue(heuristic, &operands[set % operands.len()], stream) }
            .map_err(|_| CudaError::UnknownError)
    })
}

/// The fastest of the heuristics, by the median of a few samples each; `None` if none works.
fn fastest(
    bench: &Bench<'_>,
    product: &Product<'_>,
    heuristics: &[Heuristic],
    operands: &[Operands],
) -> Result<Option<Heuristic>, Error> {
    let stream = bench.device.stream();
    let mut best: Option<(f64, Heuristic)> = None;
    for heuristic in heuristics {
        let mut enqueue = theirs(bench, product, heuristic, operands);
        if enqueue(0).is_err() {
            continue;
        }
        bench.device.synchronize()?;
        let timing = "time cuBLASLt's heuristics";
        let once = Replay::capture(stream, 1, &mut enqueue).doing(timing)?;
        once.time(stream).doing(timing)?;
        let estimate = once.time(stream).doing(timing)?.max(0.0005);
        let (sample_ms, samples) = if bench.plan.quick { (5.0, 3) } else { (20.0, 5) };
        let launches = (sample_ms / estimate).ceil().clamp(1.0, 500.0) as u32;
        let replay = Replay::capture(stream, launches, &mut enqueue).doing(timing)?;
        let times = (0..samples).map(|_| replay.time(stream));
        let mut times = times.collect::<Result<Vec<_>, _>>().doing(timing)?;
        times.sort_by(f64::total_cmp);
        if best.is_none_or(|(time, _)| times[samples / 2] < time) {
            best = Some((times[samples / 2], *heuristic));
        }
    }
    Ok(best.map(|(_, heuristic)| heuristic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_every_type_and_layout_and_each_once() {
        let problems = TensorCases::default().problems(&[]);
        assert_eq!(problems.len(), 2 * (4 * SIZES.len() + 1) + 2 * (OTHERS.len() + 3));
        for (i, problem) in problems.iter().enumerate() {
            assert!(problem.check().is_ok() && !problems[..i].contains(problem), "{problem:?}");
        }
    }

    #[test]
    fn what_is_named_is_all_there_is() {
        let cases = TensorCases {
            inputs: vec![Input::F16, Input::S8],
            output: Some(Output::F32),
            ..TensorCases::default()
        };
        let problems = cases.problems(&[Size::One(512), Size::Three(3, 4, 5)]);
        let types: Vec<_> = problems.iter().map(|p| (p.m, p.input, p.output, p.layout)).collect();
        assert_eq!(
            types,
            [
                (512, Input::F16, Output::F32, Layout::Nt),
                (3, Input::F16, Output::F32, Layout::Nt),
                (512, Input::S8, Output::S32, Layout::Nt),
                (3, Input::S8, Output::S32, Layout::Nt)
            ]
        );
    }
}
