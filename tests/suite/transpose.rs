//! Every transpose, of every element type, at every awkward shape.

use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use host::data::Random;
use host::demos::transpose::{Element, Step, expected, transpose};
use host::verify::exact;
use kernels_gpu::base::coalescing::Quad;
use warpsmith_kernels::transpose::{self as library, Plan, Target, Variant};
use warpsmith_launch::{BufferSlice, BufferSliceMut, Device, F16};

use crate::Case;

const SHAPES: [(usize, usize); 11] = [
    (1, 1),
    (31, 31),
    (32, 32),
    (33, 33),
    (255, 64),
    (1000, 3),
    (3, 1000),
    (1, 255),
    (0, 5),
    (5, 0),
    (100, 257),
];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for step in Step::ALL {
        // What no type has a kernel for has nothing to show, and no case.
        for shape in SHAPES.into_iter().filter(|&shape| any_type(step, shape)) {
            let (rows, cols) = shape;
            cases.push(Case::new(format!("transpose::{step:?}::{rows}x{cols}"), move |device| {
                every_type(device, step, shape)
            }));
        }
    }
    // Columns of the result that split sectors, of 1, 2, 4 and 8 bytes; then rows 128 KiB apart, of 8 bytes and of 1.
    let split = [(272, 144), (528, 272), (264, 136), (132, 64), (130, 64)];
    let far = [(80, 16_384), (16, 131_072)];
    for (rows, cols) in [(16, 16), (256, 128), (64, 4096), (512, 256)].into_iter().chain(split).chain(far) {
        cases.push(Case::new(format!("transpose::chosen::{rows}x{cols}"), move |device| {
            chosen(device, (rows, cols), 0)
        }));
    }
    for (rows, cols) in [(300, 301), (257, 130), (121, 65), (241, 129), (61, 64), (7, 300), (300, 7)] {
        cases.push(Case::new(format!("transpose::chosen::{rows}x{cols}"), move |device| {
            chosen(device, (rows, cols), 0)
        }));
    }
    cases.push(Case::new("transpose::more_tiles_along_a_row_than_a_grid_is_high", |device| {
        check(device, Step::Vectorised, (1, 65_536 * 32 + 5), |x| Quad([x, -x, x + 1.0, 0.5]))
    }));
    cases.push(Case::new("transpose::chosen::buffers_that_begin_anywhere", |device| {
        (1..20).try_for_each(|begin| chosen(device, (129, 67), begin))
    }));
    cases.push(Case::new("transpose::a_step_that_does_not_fit_is_refused", |device| {
        let from = DeviceBuffer::from_slice(&[0.0f32; 15])?;
        let mut to = DeviceBuffer::from_slice(&[0.0f32; 15])?;
        let refused = transpose(device, Step::Vectorised, (3, 5), &from, &mut to).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("Vectorised") && refused.contains("f32"), "{refused}");
        let (from, mut to) = (device.upload(&[0.0f32; 15])?, device.upload(&[0.0f32; 15])?);
        let refused = library::transpose(device, (4, 5), &from, &mut to).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("4 × 5") && refused.contains("15 elements"), "{refused}");
        // A plan is launched for what it was made for alone: elsewhere, vectors would not be aligned.
        let (from, mut to) = (device.upload(&[0.0f32; 65])?, device.upload(&[0.0f32; 65])?);
        let plan = library::transpose(device, (8, 8), &from, &mut to)?;
        anyhow::ensure!(plan.variant() == Variant::Vectorised);
        // SAFETY: nothing else uses the buffers; if it were launched, they would be freed once it has ended.
        let elsewhere =
            unsafe { library::launch(device, &plan, from.slice(1..).as_cust(), to.as_cust_mut()) };
        let refused = elsewhere.unwrap_err().to_string();
        anyhow::ensure!(refused.contains("multiples of 16 bytes"), "{refused}");
        let bytes = DeviceBuffer::from_slice(&[0u8; 65])?;
        let mut to = DeviceBuffer::from_slice(&[0u8; 65])?;
        // SAFETY: as above.
        let refused = unsafe { library::launch(device, &plan, &bytes, &mut to) }.unwrap_err().to_string();
        anyhow::ensure!(refused.contains("elements of 4 bytes, and these have 1"), "{refused}");
        Ok(())
    }));
    cases
}

/// Whether the step has a kernel for such a shape, of elements of any type.
pub fn any_type(step: Step, shape: (usize, usize)) -> bool {
    f32::name_for(step, shape).is_some()
        || f64::name_for(step, shape).is_some()
        || F16::name_for(step, shape).is_some()
        || u8::name_for(step, shape).is_some()
        || Quad::name_for(step, shape).is_some()
}

/// The step for each element type that has it, where it takes such a shape.
pub fn every_type(device: &Device, step: Step, shape: (usize, usize)) -> anyhow::Result<()> {
    check(device, step, shape, |x| x)?;
    check(device, step, shape, |x| f64::from(x) + 1e-12)?;
    check(device, step, shape, |x| F16(half::f16::from_f32(x)))?;
    check(device, step, shape, |x| x.to_bits() as u8)?;
    check(device, step, shape, |x| Quad([x, -x, x + 1.0, 0.5]))
}

/// Turns a random matrix and compares every bit.
pub fn check<T: Element>(
    device: &Device,
    step: Step,
    (rows, cols): (usize, usize),
    element: impl Fn(f32) -> T,
) -> anyhow::Result<()> {
    if T::name_for(step, (rows, cols)).is_none() {
        return Ok(());
    }
    let numbers: Vec<T> =
        Random::new((rows * 1000 + cols) as u64).units(rows * cols).into_iter().map(element).collect();
    let from = DeviceBuffer::from_slice(&numbers)?;
    let mut to = DeviceBuffer::from_slice(&vec![T::default(); rows * cols])?;
    transpose(device, step, (rows, cols), &from, &mut to)?;
    device.synchronize()?;
    let verdict = exact(&to.as_host_vec()?, &expected(step, (rows, cols), &numbers));
    anyhow::ensure!(verdict.ok, "{step:?} {rows} × {cols}: {:?}", verdict.wrong);
    Ok(())
}

/// What the dispatcher picks, for other chips too, for elements of each size, in buffers that begin `begin` elements after an aligned
/// address; what lies around the result must stay as it was.
pub fn chosen(device: &Device, shape: (usize, usize), begin: usize) -> anyhow::Result<()> {
    placed::<u8>(device, shape, begin, |bits| bits as u8)?;
    placed::<u16>(device, shape, begin, |bits| bits as u16)?;
    placed::<u32>(device, shape, begin, |bits| bits as u32)?;
    placed::<u64>(device, shape, begin, |bits| bits)
}

fn placed<T: DeviceCopy + Default + Sync + PartialEq + std::fmt::Debug>(
    device: &Device,
    (rows, cols): (usize, usize),
    begin: usize,
    element: impl Fn(u64) -> T,
) -> anyhow::Result<()> {
    const AROUND: usize = 32;
    let mut random = Random::new((rows * 7919 + cols) as u64);
    let numbers: Vec<T> = (0..rows * cols).map(|_| element(random.bits())).collect();
    let padded = |numbers: &[T]| {
        let mut all = vec![element(0xa5a5_a5a5_a5a5_a5a5); begin];
        all.extend(numbers);
        all.resize(begin + rows * cols + AROUND, element(0xa5a5_a5a5_a5a5_a5a5));
        all
    };
    let from = DeviceBuffer::from_slice(&padded(&numbers))?;
    let mut to = DeviceBuffer::from_slice(&padded(&vec![T::default(); rows * cols]))?;
    let (source, mut target) = (from.index(begin..begin + rows * cols), to.index(begin..begin + rows * cols));
    let expected = padded(&expected(Step::Naive, (rows, cols), &numbers));
    // SAFETY: nothing else uses them until the device has been waited for.
    let plan = unsafe {
        let (source, target) =
            (BufferSlice::from_cust(device, &source), BufferSliceMut::from_cust(device, &mut target));
        library::transpose(device, (rows, cols), source, target)?
    };
    // What is picked elsewhere, too.
    let mut plans = vec![plan];
    for chips in [Target::Any, Target::device(device.limits())] {
        let variants = if plan.variant() == Variant::Vectorised {
            vec![Variant::Vectorised]
        } else {
            vec![Variant::Shifted, Variant::Narrow]
        };
        for variant in variants {
            let other = Plan::of(chips, variant, size_of::<T>(), (rows, cols))?;
            if plans.iter().all(|plan| plan.kernel() != other.kernel()) {
                plans.push(other);
            }
        }
    }
    for (place, plan) in plans.iter().enumerate() {
        if place > 0 {
            to.copy_from(&padded(&vec![T::default(); rows * cols]))?;
            // SAFETY: as above.
            unsafe { library::launch(device, plan, &source, &mut target)? };
        }
        device.synchronize()?;
        let verdict = exact(&to.as_host_vec()?, &expected);
        anyhow::ensure!(verdict.ok, "{} {rows} × {cols} from {begin}: {:?}", plan.kernel(), verdict.wrong);
    }
    Ok(())
}
