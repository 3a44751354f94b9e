//! Every transpose, of every element type, at every awkward shape.

use cust::memory::DeviceBuffer;
use host::data::Random;
use host::demos::transpose::{Element, Step, expected, transpose};
use host::device::Device;
use host::half::F16;
use host::verify::exact;

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
        for shape in SHAPES {
            let (rows, cols) = shape;
            cases.push(Case::new(format!("transpose::{step:?}::{rows}x{cols}"), move |device| {
                check(device, step, shape, |x| x)?;
                check(device, step, shape, |x| f64::from(x) + 1e-12)?;
                check(device, step, shape, |x| F16(half::f16::from_f32(x)))
            }));
        }
    }
    cases
}

/// Turns a random matrix and compares every bit.
pub fn check<T: Element>(
    device: &Device,
    step: Step,
    (rows, cols): (usize, usize),
    element: impl Fn(f32) -> T,
) -> anyhow::Result<()> {
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
