//! Structs to arrays and back, for every count and every distance between the arrays.

use cust::memory::DeviceBuffer;
use host::data::Random;
use host::modules::LEVELS;
use host::verify::exact;
use kernels_gpu::coalescing::{Point, Quad};
use kernels_gpu::records::{
    BLOCK, STRUCTS, arrays_to_points, arrays_to_quads, points_to_arrays, quads_to_arrays,
};
use warpsmith_launch::{Device, Shape};

use crate::Case;

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [0, 1, 3, 256, 1023, 1024, 1025, 2048, 5000] {
        cases.push(Case::new(format!("records::{n}"), move |device| {
            // Multiples of 4 and others: with the others only every fourth array begins at a vector.
            (n..n + 5).try_for_each(|pitch| check(device, n, pitch))
        }));
    }
    cases
}

/// Both directions, for 3 and 4 fields. What lies between the arrays must stay as it was.
pub fn check(device: &Device, n: usize, pitch: usize) -> anyhow::Result<()> {
    let numbers = Random::new((n * 31 + pitch) as u64).units(4 * n);
    let points: Vec<Point> = numbers.chunks_exact(4).map(|c| Point { x: c[0], y: c[1], z: c[2] }).collect();
    let quads: Vec<Quad> = numbers.chunks_exact(4).map(|c| Quad([c[0], c[1], c[2], c[3]])).collect();
    let arrays = |fields: usize| -> Vec<f32> {
        let element = |i: usize| if i % pitch < n { numbers[4 * (i % pitch) + i / pitch] } else { 77.0 };
        (0..fields * pitch).map(element).collect()
    };
    let shape = Shape { block: [BLOCK as u32, 1, 1], ..Shape::line(n, STRUCTS as u32) };
    let (count, apart) = (n as u32, pitch as u32);
    macro_rules! both {
        ($structs:expr, $fields:literal, $to_arrays:ident, $to_structs:ident, $empty:expr) => {{
            let expected = arrays($fields);
            let structs = DeviceBuffer::from_slice(&$structs)?;
            let mut to = DeviceBuffer::from_slice(&vec![77.0f32; $fields * pitch])?;
            // SAFETY: n structs, and arrays of `pitch` floats a field.
            unsafe {
                device.kernel::<$to_arrays>(&LEVELS)?.launch(shape, (count, apart, &structs, &mut to))?
            };
            device.synchronize()?;
            let verdict = exact(&to.as_host_vec()?, &expected);
            anyhow::ensure!(
                verdict.ok,
                "{} n {n} pitch {pitch}: {:?}",
                stringify!($to_arrays),
                verdict.wrong
            );
            let mut back = DeviceBuffer::from_slice(&vec![$empty; n])?;
            // SAFETY: as above.
            unsafe { device.kernel::<$to_structs>(&LEVELS)?.launch(shape, (count, apart, &to, &mut back))? };
            device.synchronize()?;
            let verdict = exact(&back.as_host_vec()?, &$structs);
            anyhow::ensure!(
                verdict.ok,
                "{} n {n} pitch {pitch}: {:?}",
                stringify!($to_structs),
                verdict.wrong
            );
        }};
    }
    both!(points, 3, points_to_arrays, arrays_to_points, Point::default());
    both!(quads, 4, quads_to_arrays, arrays_to_quads, Quad::default());
    Ok(())
}
