//! Products on tensor cores: what the dispatcher takes for each type and layout, and for rows that begin anywhere.

use cust::memory::DeviceBuffer;
use rayon::prelude::*;
use warpsmith_kernels::gemm::{Gemm, Input, Layout, Operands, Plan, Prepared, Problem, Request, variants};
use warpsmith_launch::{Bf16, Device, F16};

use super::demo::Demo;
use super::row::{Row, Workload};
use super::stage::Stage;
use super::target::Fill;
use crate::data::Random;
use crate::error::Error;
use crate::size::Size;
use crate::verify::{TensorInput, TensorOutput, TensorProduct};

/// The most operations that the virtual GPU is asked for, for each row.
const VIRTUAL_OPERATIONS: f64 = 2e10;

pub struct TensorDemo;

impl Demo for TensorDemo {
    fn name(&self) -> &'static str {
        "tensor"
    }

    fn title(&self) -> &'static str {
        "Matrix multiplication on tensor cores"
    }

    fn takes(&self, _: Size) -> bool {
        true
    }

    fn measured_at(&self) -> usize {
        128
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let size = stage.size_or(128, 4096);
        let (m, n, k) = size.product();
        stage.admit_product(size, (m, n, k), VIRTUAL_OPERATIONS, "tensor demos")?;
        if !stage.device.is_virtual() && stage.only.is_none() {
            stage.progress.step("the driver compiles the kernels");
            load_ahead(stage.device, (m, n, k));
        }
        let mut rows = Vec::new();
        for input in Input::ON_TENSOR_CORES {
            rows.extend(match input {
                Input::F16 => of_type::<F16, F16>(stage, (m, n, k), input),
                Input::Bf16 => of_type::<Bf16, Bf16>(stage, (m, n, k), input),
                Input::Tf32 | Input::F32 => of_type::<f32, f32>(stage, (m, n, k), input),
                Input::S8 => of_type::<i8, i32>(stage, (m, n, k), input),
            }?);
        }
        Ok(rows)
    }
}

/// The products of one type: all layouts, and one whose lines begin anywhere.
fn problems(extents: (usize, usize, usize), input: Input) -> Vec<Problem> {
    let of = |layout| Problem::new(extents, input, input.outputs()[0], layout);
    // One element more from line to line, and few lines begin at a multiple of 16 bytes.
    let nt = of(Layout::Nt);
    let odd = Problem { lda: nt.lda + 1, ldb: nt.ldb + 1, ldc: nt.ldc + 1, ..nt };
    Layout::ALL.into_iter().map(of).chain([odd]).collect()
}

/// Loads what the rows will launch, side by side: the driver takes a second or more to compile each kernel for the first time.
/// A failure here is told where the result is used.
fn load_ahead(device: &Device, extents: (usize, usize, usize)) {
    // Where no matrix is, but as a buffer would be aligned.
    let operands = Operands { a: 1 << 20, b: 2 << 20, c: 3 << 20 };
    let all = Input::ON_TENSOR_CORES.into_iter().flat_map(|input| problems(extents, input));
    let all: Vec<Problem> = all.collect();
    all.par_iter().for_each(|problem| {
        let plan = Plan::choose(device.limits(), problem, &operands, Request::default());
        let Ok(plan) = plan else { return };
        if device.enter().is_ok() {
            // SAFETY: it is never launched, so nothing is read or written at the operands' places.
            let _ = unsafe { Gemm::new(device).prepare(&plan, &operands) };
        }
    });
}

/// A and B, here and there.
struct Matrices<I: TensorInput> {
    host: [Vec<I>; 2],
    device: [DeviceBuffer<I>; 2],
}

/// The products of one type: all layouts, and lines that begin anywhere.
fn of_type<I: TensorInput, O: TensorOutput>(
    stage: &Stage,
    extents: (usize, usize, usize),
    input: Input,
) -> Result<Vec<Row>, Error> {
    let problems = problems(extents, input);
    // Every layout reads the same numbers in its own way.
    let longest = |matrix: usize| problems.iter().map(|p| p.lengths()[matrix]).max().unwrap_or(0);
    let mut random = Random::new(1);
    let mut numbers = |len: usize| random.many(len, I::random);
    let host = [numbers(longest(0)), numbers(longest(1))];
    let device = [stage.upload("A", &host[0])?, stage.upload("B", &host[1])?];
    let matrices = Matrices { host, device };
    let rows = problems.into_iter().map(|problem| one::<I, O>(stage, problem, &matrices));
    rows.filter_map(Result::transpose).collect()
}

/// One product; nothing if its kernel is not wanted, or the device is too old for all of them.
fn one<I: TensorInput, O: TensorOutput>(
    stage: &Stage,
    problem: Problem,
    matrices: &Matrices<I>,
) -> Result<Option<Row>, Error> {
    let fill = if O::ROUNDING == 0.0 { Fill::FarBelow } else { Fill::NotANumber };
    let mut result = stage.target::<O>("C", problem.lengths()[2], fill)?;
    let [a, b] = matrices.device.each_ref().map(|buffer| buffer.as_device_ptr().as_raw());
    let operands = Operands { a, b, c: result.buffer().as_device_ptr().as_raw() };
    let Some((plan, prepared)) = take(stage, &problem, &operands)? else {
        return Ok(None);
    };
    // SAFETY: the buffers hold the matrices, and live until the last launch has been waited for.
    let launch = || unsafe { prepared.launch() };
    let counters = stage.once(plan.kernel(), launch)?;
    let [a, b] = &matrices.host;
    let verdict = TensorProduct { problem: &problem, a, b, before: &[] }.check(result.read()?);
    let time = stage.time(launch)?;
    // The general kernel is one for all layouts, and so is one that takes operands along K, transposed first if need be.
    let mut cases = Vec::new();
    if plan.variant().name == "general" || plan.transposes() {
        cases.push(problem.layout.name());
    }
    if problem.ldc != problem.n {
        cases.push("odd pitch");
    }
    let size = Size::Three(problem.m, problem.n, problem.k);
    let row = Row::new("tensor", plan.kernel(), cases.join(", "), size, stage.device.kind());
    let work = Workload { flops: problem.operations(), bytes: 0.0 };
    Ok(Some(row.checked(verdict).counted(counters).timed(time, work).shows(plan.how())))
}

/// The plan of the dispatcher. If one kernel is wanted, that of the variant that launches it, if one does.
fn take<'d>(
    stage: &Stage<'d>,
    problem: &Problem,
    operands: &Operands,
) -> Result<Option<(Plan, Prepared<'d>)>, Error> {
    if problem.m == 0 || problem.n == 0 {
        return Ok(None);
    }
    let names = variants().map(|variant| Some(variant.name));
    let names: Vec<_> = if stage.only.is_some() { names.collect() } else { vec![None] };
    for name in names {
        let request = Request { variant: name, ..Request::default() };
        let Ok(plan) = Plan::choose(stage.device.limits(), problem, operands, request) else { continue };
        if stage.wants(plan.kernel()) {
            // SAFETY: the caller's buffers hold the matrices.
            let prepared = unsafe { Gemm::new(stage.device).prepare(&plan, operands)? };
            return Ok(Some((plan, prepared)));
        }
    }
    Ok(None)
}
