//! Products on tensor cores: every variant, type and layout at awkward sizes, bit for bit where that can be asked.

use cust::memory::{CopyDestination, DeviceBuffer};
use gpu_model::chips::H200;
use host::data::Random;
use host::verify::{TensorInput, TensorOutput, TensorProduct};
use warpsmith_kernels::gemm::{
    Automatic, Gemm, Input, Layout, Operands, Output, Plan, Problem, Request, variants,
};
use warpsmith_launch::{Bf16, Device, DevicePreference, F16, Limits};

use crate::{Case, Needs};

/// Less than a tile, a tile, a little more, the same with many stages, long and thin both ways, and nothing.
const SHAPES: [(usize, usize, usize); 11] = [
    (1, 1, 1),
    (128, 256, 64),
    (129, 257, 33),
    (131, 262, 300),
    (70, 300, 100),
    (300, 9, 24),
    (16, 8, 400),
    (130, 264, 330),
    (5, 0, 7),
    (0, 5, 7),
    (5, 7, 0),
];

/// Elements on both sides of C, and between its rows, that must stay as they are.
const CANARIES: usize = 64;

/// How the matrices lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MatrixLayout {
    /// Lines begin at multiples of 16 bytes, with a gap.
    Aligned,
    /// Lines follow each other without a gap, from a multiple of 16 bytes.
    Dense,
    /// Lines follow each other without a gap, from an address that is a multiple of the element only.
    Odd,
}

impl MatrixLayout {
    /// Elements before the first.
    fn skip(self) -> usize {
        usize::from(self == Self::Odd)
    }

    /// The product with lines that lie so.
    fn of(self, problem: Problem) -> Problem {
        if self != Self::Aligned {
            return problem;
        }
        let round = |len: usize, size: usize| len.next_multiple_of(16 / size) + 16 / size;
        let (input, output) = (problem.input.size(), problem.output.size());
        let (lda, ldb) = (round(problem.lda, input), round(problem.ldb, input));
        Problem { lda, ldb, ldc: round(problem.ldc, output), ..problem }
    }
}

/// Every product of these types that a variant is tried with.
fn problems(input: Input, layout: Layout) -> impl Iterator<Item = Problem> {
    let of_shape = move |shape| {
        let of_output = move |&output| {
            let problem = Problem::new(shape, input, output, layout);
            FACTORS.map(|(alpha, beta)| Problem { alpha, beta, ..problem })
        };
        input.outputs().iter().flat_map(of_output)
    };
    SHAPES.into_iter().flat_map(of_shape)
}

/// The plan of a variant.
fn choose(limits: &Limits, problem: &Problem, operands: &Operands, variant: &str) -> anyhow::Result<Plan> {
    let request = Request { variant: Some(variant), ..Request::default() };
    Ok(Plan::choose(limits, problem, operands, request)?)
}

/// The most awkward place from which a variant takes any of them that has elements, on the chip that takes all variants.
fn place_for(variant: &str, input: Input, layout: Layout) -> Option<MatrixLayout> {
    let hopper = Limits::of_chip(&H200);
    [MatrixLayout::Odd, MatrixLayout::Aligned, MatrixLayout::Dense].into_iter().find(|place| {
        let [a, b, c] = [(0x1000, input.size()), (0x2000, input.size()), (0x3000, 4)]
            .map(|(address, size)| address + (place.skip() * size) as u64);
        problems(input, layout)
            .filter(|problem| problem.m * problem.n > 0)
            .any(|problem| choose(&hopper, &place.of(problem), &Operands { a, b, c }, variant).is_ok())
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for input in Input::ON_TENSOR_CORES {
        for layout in Layout::ALL {
            for variant in variants() {
                let (types, name) = (input.name(), variant.name);
                let case = format!("tensor::{types}_{}::{name}", layout.name());
                // What takes none of the products has nothing to show, and no case.
                let Some(place) = place_for(name, input, layout) else { continue };
                let run = move |device: &Device| {
                    let mut taken = 0;
                    for (i, problem) in problems(input, layout).enumerate() {
                        // The virtual GPU meets one pair of factors in turn: each shape meets both in some layout.
                        let (pair, at) = (i / FACTORS.len(), i % FACTORS.len());
                        let shape = pair / input.outputs().len();
                        let output = pair % input.outputs().len();
                        if !device.is_virtual() || (shape + output + layout as usize) % 2 == at {
                            taken += usize::from(of_types(device, name, place, problem)?);
                        }
                    }
                    anyhow::ensure!(taken > 0, "{name} took none of the products");
                    Ok(())
                };
                // Tiles of other widths copy as the dispatcher's own do: K along the lines and across them.
                let on_both =
                    variant.automatic != Automatic::Never || matches!(layout, Layout::Nt | Layout::Tn);
                let case = if on_both { Case::new(case, run) } else { Case::gpu_only(case, run) };
                cases.push(case.needs(if name.starts_with("hopper") { HOPPER } else { TENSOR_CORES }));
            }
        }
    }
    cases.push(Case::new("tensor::the_same_bits_every_time", |device| {
        for (input, layout) in
            [(Input::Bf16, Layout::Nt), (Input::F16, Layout::Tn), (Input::Tf32, Layout::Nn)]
        {
            let shape = if device.is_virtual() { (150, 260, 200) } else { (1000, 1032, 4096) };
            let problem = Problem::new(shape, input, input.outputs()[0], layout);
            match input {
                Input::Bf16 => same_every_time::<Bf16, Bf16>(device, &problem)?,
                Input::F16 => same_every_time::<F16, F16>(device, &problem)?,
                _ => same_every_time::<f32, f32>(device, &problem)?,
            }
        }
        Ok(())
    }));
    let mut on_hopper = Vec::new();
    for name in REPEATED {
        on_hopper.push(Case::new(format!("tensor::the_same_bits_every_time::{name}"), move |device| {
            let shape = if device.is_virtual() { (152, 264, 328) } else { (1000, 1032, 2048) };
            let problem = Problem::new(shape, Input::Bf16, Output::Bf16, Layout::Nt);
            let repeats = if device.is_virtual() { 2 } else { 100 };
            repeated::<Bf16, Bf16>(&[device], name, &problem, repeats)
        }));
        on_hopper.push(Case::new(format!("tensor::two_streams_at_once::{name}"), move |device| {
            let shape = if device.is_virtual() { (152, 264, 328) } else { (1000, 1032, 2048) };
            let problem = Problem::new(shape, Input::F16, Output::F16, Layout::Tn);
            // The same device with a stream of its own.
            let wish = if device.is_virtual() { DevicePreference::Virtual } else { DevicePreference::Gpu };
            let other = Device::open(wish)?;
            let repeats = if device.is_virtual() { 1 } else { 30 };
            repeated::<F16, F16>(&[device, &other], name, &problem, repeats)
        }));
    }
    on_hopper.push(Case::new("tensor::shared_tiles_beside_whole_ones", |device| {
        // More tiles than clusters: the last round is shared, the others are not.
        let problem = Problem::new((1100, 1160, 130), Input::Bf16, Output::Bf16, Layout::Nt);
        both::<Bf16, Bf16>(device, "hopper-64-shared", MatrixLayout::Aligned, problem)?;
        let problem = Problem { output: Output::F32, beta: -1.0, ..problem };
        both::<Bf16, f32>(device, "hopper-64-shared", MatrixLayout::Aligned, problem)?;
        Ok(())
    }));
    // A block stores several tiles in turn, so soon after each other that none is stored while the next is multiplied.
    for name in ["hopper-alone", "hopper-192", "hopper-128", "hopper-64"] {
        on_hopper.push(Case::new(format!("tensor::tile_after_tile::{name}"), move |device| {
            let shape = if device.is_virtual() { (8704, 384, 64) } else { (40_000, 768, 128) };
            let problem = Problem::new(shape, Input::Bf16, Output::Bf16, Layout::Nt);
            both::<Bf16, Bf16>(device, name, MatrixLayout::Aligned, problem)?;
            Ok(())
        }));
    }
    // The steps of the ladder take whole tiles: several of them with more stages than the ring has, and for the last step
    // more tiles than an H200 has multiprocessors.
    #[cfg(feature = "ladder")]
    for (name, shape) in [
        ("hopper-one-group", (256, 512, 640)),
        ("hopper-ring", (256, 512, 640)),
        ("hopper-registers", (256, 512, 640)),
        ("hopper-persistent", (256, 512, 640)),
        ("hopper-persistent", (134 * 128, 256, 64)),
    ] {
        let case = format!("ladder::{name}::{}x{}x{}", shape.0, shape.1, shape.2);
        on_hopper.push(Case::new(case, move |device| {
            let problem = Problem::new(shape, Input::Bf16, Output::Bf16, Layout::Nt);
            anyhow::ensure!(
                both::<Bf16, Bf16>(device, name, MatrixLayout::Dense, problem)?,
                "{name} takes whole tiles"
            );
            Ok(())
        }));
    }
    cases.extend(on_hopper.into_iter().map(|case| case.needs(HOPPER)));
    cases.push(Case::new("tensor::wrong_buffers_are_refused", |device| {
        let (a, b) = (device.upload(&[1i8; 64])?, device.upload(&[1i8; 63])?);
        let mut c = device.upload(&[0i32; 64])?;
        let problem = Problem::new((8, 8, 8), Input::S8, Output::S32, Layout::Nt);
        let refused =
            Gemm::new(device).multiply(&problem, &a, &b, &mut c).err().map(|error| error.to_string());
        anyhow::ensure!(
            refused.as_deref() == Some("cannot multiply: B needs 64 elements, its buffer has 63")
        );
        let other = Problem { input: Input::F16, output: Output::F16, ..problem };
        let refused = Gemm::new(device).multiply(&other, &a, &a, &mut c).err().map(|error| error.to_string());
        anyhow::ensure!(refused.is_some_and(|text| text.contains("the buffers hold s8 and s32")));
        Ok(())
    }));
    cases
}

/// What the kernels of Hopper need, and what all others do.
const HOPPER: Needs = Needs::Exactly((9, 0));
const TENSOR_CORES: Needs = Needs::AtLeast((8, 0));

/// alpha and beta.
const FACTORS: [(f32, f32); 2] = [(1.0, 0.0), (2.0, -1.0)];

/// Integers bit for bit and random numbers within rounding; whether the variant takes the product.
fn of_types(device: &Device, variant: &str, place: MatrixLayout, problem: Problem) -> anyhow::Result<bool> {
    match (problem.input, problem.output) {
        (Input::F16, Output::F16) => both::<F16, F16>(device, variant, place, problem),
        (Input::F16, _) => both::<F16, f32>(device, variant, place, problem),
        (Input::Bf16, Output::Bf16) => both::<Bf16, Bf16>(device, variant, place, problem),
        (Input::Bf16, _) => both::<Bf16, f32>(device, variant, place, problem),
        (Input::Tf32 | Input::F32, _) => both::<f32, f32>(device, variant, place, problem),
        (Input::S8, _) => both::<i8, i32>(device, variant, place, problem),
    }
}

fn both<I: TensorInput, O: TensorOutput>(
    device: &Device,
    variant: &str,
    place: MatrixLayout,
    problem: Problem,
) -> anyhow::Result<bool> {
    let mut random = Random::new((problem.m * 31 + problem.n * 7 + problem.k) as u64);
    let problem = place.of(problem);
    let [a, b, c] = problem.lengths();
    // -4 to 4: every sum is exact in f32, and so is each step on the way.
    let mut small = || random.below(9) as f64 - 4.0;
    let integers = [a, b].map(|len| (0..len).map(|_| I::of(small())).collect::<Vec<I>>());
    let before: Vec<f64> = (0..c).map(|_| small()).collect();
    let Some(got) = run::<I, O>(device, variant, place, &problem, &integers, &before)? else {
        return Ok(false);
    };
    exactly(&problem, &integers, &before, &got)
        .map_err(|error| error.context(format!("{variant}: {problem:?}")))?;

    let reals = [a, b].map(|len| (0..len).map(|_| I::random(&mut random)).collect::<Vec<I>>());
    let before: Vec<f64> = (0..c).map(|_| f64::from(random.unit())).collect();
    let got = run::<I, O>(device, variant, place, &problem, &reals, &before)?.unwrap_or_default();
    let before: Vec<O> = before.into_iter().map(O::of).collect();
    let verdict =
        TensorProduct { problem: &problem, a: &reals[0], b: &reals[1], before: &before }.whole(&got);
    anyhow::ensure!(verdict.ok, "{variant}: {problem:?}: {:?}", verdict.wrong);
    Ok(true)
}

/// What the device computes; `None` if the variant does not take the product.
fn run<I: TensorInput, O: TensorOutput>(
    device: &Device,
    variant: &str,
    place: MatrixLayout,
    problem: &Problem,
    [a, b]: &[Vec<I>; 2],
    before: &[f64],
) -> anyhow::Result<Option<Vec<O>>> {
    let skip = place.skip();
    let shifted = |matrix: &[I]| -> Vec<I> {
        std::iter::repeat_n(I::of(0.0), skip).chain(matrix.iter().copied()).chain([I::of(0.0)]).collect()
    };
    let (a, b) = (DeviceBuffer::from_slice(&shifted(a))?, DeviceBuffer::from_slice(&shifted(b))?);
    let canary = O::of(77.0);
    // Not a number, or a number that nothing here sums up to.
    let forgotten = O::of(if O::ROUNDING == 0.0 { f64::from(i32::MIN) } else { f64::NAN });
    // Without beta, C is not read: what is not a number there must not reach the result.
    let inside = |i: usize| problem.ldc == 0 || i % problem.ldc < problem.n;
    let matrix = before.iter().enumerate().map(|(i, &before)| match (inside(i), problem.beta == 0.0) {
        (false, _) => canary,
        (true, true) => forgotten,
        (true, false) => O::of(before),
    });
    let around = || std::iter::repeat_n(canary, CANARIES);
    let whole: Vec<O> =
        around().chain(std::iter::repeat_n(canary, skip)).chain(matrix).chain(around()).collect();
    let c = DeviceBuffer::from_slice(&whole)?;
    let operands = Operands {
        a: a.as_device_ptr().as_raw() + (skip * size_of::<I>()) as u64,
        b: b.as_device_ptr().as_raw() + (skip * size_of::<I>()) as u64,
        c: c.as_device_ptr().as_raw() + ((CANARIES + skip) * size_of::<O>()) as u64,
    };
    let Ok(plan) = choose(device.limits(), problem, &operands, variant) else {
        // Some kernels are for some products; these two are for all, but that bytes come along K only.
        let all = problem.input != Input::S8 || problem.layout == Layout::Nt;
        anyhow::ensure!(
            variant != "general" && !(variant == "portable" && all),
            "{variant} refuses {problem:?}"
        );
        return Ok(None);
    };
    // SAFETY: the buffers hold the matrices at these places, until the device has ended.
    unsafe { Gemm::new(device).prepare(&plan, &operands)?.launch()? };
    device.synchronize()?;
    let mut got = vec![O::default(); whole.len()];
    c.copy_to(&mut got)?;
    let bits = |x: &O| x.value().to_bits();
    let (head, tail) = (CANARIES + skip, got.len() - CANARIES);
    let touched = (0..got.len()).find(|&i| {
        let free = i < head || i >= tail || !inside(i - head);
        free && bits(&got[i]) != bits(&canary)
    });
    anyhow::ensure!(touched.is_none(), "{variant}: {problem:?}: wrote outside of C, element {touched:?}");
    Ok(Some(got[head..tail].to_vec()))
}

/// Compares every bit with the sum of integers, rounded once.
fn exactly<I: TensorInput, O: TensorOutput>(
    problem: &Problem,
    [a, b]: &[Vec<I>; 2],
    before: &[f64],
    got: &[O],
) -> anyhow::Result<()> {
    let Problem { m, n, k, lda, ldb, ldc, layout, alpha, beta, .. } = *problem;
    let (rows, columns) = ((lda, 1), (1, lda));
    let (a_down, a_along) = if matches!(layout, Layout::Nn | Layout::Nt) { rows } else { columns };
    let (b_down, b_along) = if matches!(layout, Layout::Nn | Layout::Tn) { (ldb, 1) } else { (1, ldb) };
    // Each element becomes an f64 once, not once for every product that it is in.
    let b: Vec<f64> = (0..k * n).map(|i| b[i / n * b_down + i % n * b_along].value()).collect();
    for row in 0..m {
        // Sums of integers, so the order in which they are added does not tell.
        let mut sums = vec![0.0; n];
        for (i, b) in b.chunks_exact(n.max(1)).enumerate() {
            let a = a[row * a_down + i * a_along].value();
            sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
        for (col, sum) in sums.into_iter().enumerate() {
            let at = row * ldc + col;
            let before = if beta == 0.0 { 0.0 } else { f64::from(beta) * before[at] };
            let should = O::of(f64::from(alpha) * sum + before).value();
            anyhow::ensure!(got[at].value() == should, "({row}, {col}) is {}, not {should}", got[at].value());
        }
    }
    Ok(())
}

/// Variants whose blocks depend on each other in one way each.
const REPEATED: [&str; 5] =
    ["hopper-pairs", "hopper-pairs-shared", "hopper-128-shared", "hopper-64-shared", "hopper-small-shared"];

/// The same product on each stream again and again, all streams at once, without a wait between launches but one that compares
/// every bit.
fn repeated<I: TensorInput, O: TensorOutput>(
    devices: &[&Device],
    variant: &str,
    problem: &Problem,
    repeats: usize,
) -> anyhow::Result<()> {
    let mut random = Random::new(5);
    let [a, b, c] = problem.lengths();
    let a = DeviceBuffer::from_slice(&(0..a).map(|_| I::random(&mut random)).collect::<Vec<_>>())?;
    let b = DeviceBuffer::from_slice(&(0..b).map(|_| I::random(&mut random)).collect::<Vec<_>>())?;
    let poison = vec![O::of(f64::NAN); c];
    // Two results a stream, written in turn.
    let results: Vec<[DeviceBuffer<O>; 2]> = devices
        .iter()
        .map(|_| Ok([DeviceBuffer::from_slice(&poison)?, DeviceBuffer::from_slice(&poison)?]))
        .collect::<anyhow::Result<_>>()?;
    let mut launches = Vec::new();
    for (device, results) in devices.iter().zip(&results) {
        for result in results {
            let operands = Operands {
                a: a.as_device_ptr().as_raw(),
                b: b.as_device_ptr().as_raw(),
                c: result.as_device_ptr().as_raw(),
            };
            let plan = choose(device.limits(), problem, &operands, variant)?;
            // SAFETY: the buffers hold the matrices, and outlive the launches.
            launches.push(unsafe { Gemm::new(device).prepare(&plan, &operands)? });
        }
    }
    let mut first: Option<Vec<u64>> = None;
    for repeat in 0..repeats {
        for launch in &launches {
            // SAFETY: as above.
            unsafe { launch.launch()? };
        }
        for device in devices {
            device.synchronize()?;
        }
        for result in results.iter().flatten() {
            let mut got = vec![O::default(); c];
            result.copy_to(&mut got)?;
            let bits: Vec<u64> = got.into_iter().map(|x| x.value().to_bits()).collect();
            match &first {
                None => first = Some(bits),
                Some(first) => anyhow::ensure!(*first == bits, "{variant}: other bits in repeat {repeat}"),
            }
        }
    }
    Ok(())
}

/// An error that moves would be a race.
fn same_every_time<I: TensorInput, O: TensorOutput>(
    device: &Device,
    problem: &Problem,
) -> anyhow::Result<()> {
    let mut random = Random::new(3);
    let [a, b, c] = problem.lengths();
    let a = device.upload(&(0..a).map(|_| I::random(&mut random)).collect::<Vec<_>>())?;
    let b = device.upload(&(0..b).map(|_| I::random(&mut random)).collect::<Vec<_>>())?;
    let mut first: Option<Vec<u64>> = None;
    for repeat in 0..if device.is_virtual() { 2 } else { 100 } {
        let mut result = device.upload(&vec![O::of(f64::NAN); c])?;
        Gemm::new(device).multiply(problem, &a, &b, &mut result)?;
        let got = device.download(&result)?;
        let bits: Vec<u64> = got.into_iter().map(|x| x.value().to_bits()).collect();
        match &first {
            None => first = Some(bits),
            Some(first) => anyhow::ensure!(*first == bits, "{problem:?}: other bits in repeat {repeat}"),
        }
    }
    Ok(())
}
