//! Products on tensor cores against the fastest of cuBLASLt's first heuristics, for the same types and layouts.

use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer};
use rayon::prelude::*;
use warpsmith_kernels::gemm::{
    self, Gemm, Input, Layout, Operands, Output, Prepared, Problem, Request, Split,
};
use warpsmith_launch::{Bf16, ErrorContext, F16};

use super::super::competitor::{Kind, Task};
use super::super::measure::{Bench, Comparison, Throughput};
use super::super::pairs::Enqueue;
use super::super::suite::{Suite, TensorCases};
use crate::data::Random;
use crate::error::Error;
use crate::size::Size;
use crate::verify::{TensorInput, TensorOutput, TensorProduct, Verdict};

/// The sizes of f16 and bf16.
const SIZES: [usize; 5] = [1024, 2048, 4096, 8192, 16384];
/// The sizes of the other types along K.
const OTHERS: [usize; 3] = [2048, 4096, 8192];
/// The size of what is measured once: other layouts of these types, other types of C.
const ONCE: usize = 4096;
/// Together, a contender's buffers are several times what the L2 cache holds.
const ROTATED: usize = 400 << 20;

/// Every product to be measured.
fn problems(cases: &TensorCases, sizes: &[Size]) -> Vec<Problem> {
    let cube = |edge: &usize| Size::One(*edge);
    let problem = |input: Input, layout, size: Size, output: Option<Output>| {
        let outputs = input.outputs();
        let output = output.filter(|output| outputs.contains(output)).unwrap_or(outputs[0]);
        Problem::new(size.product(), input, output, layout)
    };
    let all_default = sizes.is_empty() && cases.inputs.is_empty() && cases.layouts.is_empty();
    let half = |input: Input| matches!(input, Input::F16 | Input::Bf16);
    let inputs = match &cases.inputs[..] {
        [] if all_default => vec![Input::Bf16, Input::F16, Input::Tf32, Input::S8],
        [] => vec![Input::Bf16, Input::F16],
        given => given.to_vec(),
    };
    let layouts = match &cases.layouts[..] {
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
            problems.extend(sizes.into_iter().map(|size| problem(input, layout, size, cases.output)));
        }
        if all_default && cases.output.is_none() && half(input) {
            problems.push(problem(input, Layout::Nt, Size::One(ONCE), Some(Output::F32)));
        }
    }
    problems
}

pub struct TensorSuite;

impl Suite for TensorSuite {
    fn name(&self) -> &'static str {
        "tensor"
    }

    fn about(&self) -> &'static str {
        "Products on tensor cores against cuBLASLt"
    }

    fn title(&self) -> &'static str {
        "Products on tensor cores"
    }

    fn tasks(&self) -> &'static [Kind] {
        &[Kind::TensorProduct]
    }

    fn run(&self, bench: &Bench<'_>, sizes: &[Size], cases: &TensorCases) -> Result<Vec<Comparison>, Error> {
        if !bench.competes(Kind::TensorProduct) {
            return Ok(Vec::new());
        }
        let mut rows = Vec::new();
        for problem in problems(cases, sizes) {
            rows.extend(match (problem.input, problem.output) {
                (Input::F16, Output::F16) => measured::<F16, F16>(bench, &problem, cases),
                (Input::F16, _) => measured::<F16, f32>(bench, &problem, cases),
                (Input::Bf16, Output::Bf16) => measured::<Bf16, Bf16>(bench, &problem, cases),
                (Input::Bf16, _) => measured::<Bf16, f32>(bench, &problem, cases),
                (Input::Tf32 | Input::F32, _) => measured::<f32, f32>(bench, &problem, cases),
                (Input::S8, _) => measured::<i8, i32>(bench, &problem, cases),
            }?);
        }
        Ok(rows)
    }
}

/// Sets of matrices, used in turn, all with the same A and B.
struct Sets<I: TensorInput, O: TensorOutput> {
    host: [Vec<I>; 2],
    device: Vec<(DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<O>)>,
}

impl<I: TensorInput, O: TensorOutput> Sets<I, O> {
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
        Ok(Self { device: make().context("allocate the matrices")?, host })
    }

    fn operands(&self) -> Vec<Operands> {
        self.device.iter().map(|(a, b, c)| Operands::of(a, b, c)).collect()
    }

    fn check(&self, problem: &Problem) -> Result<Verdict, Error> {
        let result = &self.device[0].2;
        let mut c = vec![O::default(); result.len()];
        result.copy_to(&mut c).context("copy the result back")?;
        Ok(TensorProduct { problem, a: &self.host[0], b: &self.host[1], before: &[] }.check(&c))
    }
}

/// A copy within the device: a bus away from the host, that is most of a large row's time.
fn copy<I: TensorInput>(from: &DeviceBuffer<I>) -> Result<DeviceBuffer<I>, CudaError> {
    // SAFETY: filled just below.
    let mut to = unsafe { DeviceBuffer::uninitialized(from.len())? };
    to.copy_from(from)?;
    Ok(to)
}

fn random<I: TensorInput>(len: usize, seed: u64) -> Vec<I> {
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
fn poison<O: TensorOutput>(buffer: &DeviceBuffer<O>) -> Result<(), CudaError> {
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

fn measured<I, O>(bench: &Bench<'_>, problem: &Problem, cases: &TensorCases) -> Result<Vec<Comparison>, Error>
where
    I: TensorInput,
    O: TensorOutput,
{
    let Problem { m, n, k, input, output, layout, .. } = *problem;
    let name = format!("{m}x{n}x{k} {} {}", layout.name(), input.name());
    let name = if output == input.outputs()[0] { name } else { format!("{name} to {}", output.name()) };
    bench.step(&format!("{name}: random data"));
    let sets = Sets::<I, O>::new(problem)?;
    let operands = sets.operands();
    let device = bench.device;
    let request = Request { variant: cases.variant.as_deref(), ..Request::default() };
    let dealt = match gemm::Plan::choose(device.limits(), problem, &operands[0], request) {
        Ok(plan) => plan,
        // One product that no kernel computes is no reason to lose the others.
        Err(error) => {
            bench.leave_out(format!("{name}: {error}"));
            return Ok(Vec::new());
        }
    };
    if !bench.wants(dealt.kernel()) {
        return Ok(Vec::new());
    }
    let gemm = Gemm::new(device);
    // SAFETY: the buffers are as long as the problem says, and outlive every launch.
    let ours = operands.iter().map(|operands| unsafe { gemm.prepare(&dealt, operands) });
    let ours: Vec<Prepared<'_>> = ours.collect::<Result<_, _>>().map_err(Error::from)?;

    bench.step(&format!("{name}: check of {}", dealt.variant().name));
    // SAFETY: as above.
    unsafe { ours[0].launch() }.map_err(Error::from)?;
    device.synchronize()?;
    let verdict = sets.check(problem)?;

    let launch = || -> Result<Enqueue<'_>, Error> {
        Ok(Box::new(|set: usize| {
            // SAFETY: as above.
            unsafe { ours[set % ours.len()].launch() }.map_err(|_| CudaError::UnknownError)
        }))
    };
    let shared = matches!(dealt.split(), Split::StreamK { .. });
    let kernel = format!("{}{}", dealt.kernel(), if shared { ", tiles shared" } else { "" });
    let task = Task::TensorProduct { name: &name, problem, operands: &operands };
    let operations = Throughput::TensorOperations(problem.operations());
    bench.against("tensor", (&kernel, &name), operations, &task, launch, &verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_has_every_type_and_layout_and_each_once() {
        let problems = problems(&TensorCases::default(), &[]);
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
        let problems = problems(&cases, &[Size::One(512), Size::Three(3, 4, 5)]);
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
