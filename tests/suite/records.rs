//! Structs to arrays and back, for every count and every distance between the arrays.

use bytemuck::Pod;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use host::data::Random;
use host::verify::exact;
use kernels_gpu::base::coalescing::{Point, Quad};
use warpsmith_kernels::structs::{to_arrays, to_structs};
use warpsmith_launch::{BufferSlice, Device};

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
    cases.push(Case::new("records::what_does_not_fit_is_refused", |device| {
        let structs = device.upload(&[[1.0f32; 4]; 5])?;
        let mut arrays = device.upload(&[0.0f32; 23])?;
        for pitch in [4, 6] {
            let refused = to_arrays(device, pitch, &structs, &mut arrays).unwrap_err().to_string();
            anyhow::ensure!(
                refused.contains("5 of 4 fields") && refused.contains("buffer of 23"),
                "{refused}"
            );
        }
        // Structs of 16 bytes are moved whole: in a buffer of floats they may begin where that is not possible.
        let floats = device.upload(&[0.0f32; 24])?;
        let within = DevicePointer::from_raw(floats.as_device_ptr().as_raw() + 4);
        // SAFETY: five structs lie there.
        let odd = unsafe { DeviceSlice::<[f32; 4]>::from_raw_parts(within, 5) };
        // SAFETY: nothing writes them.
        let odd = unsafe { BufferSlice::from_cust(device, &odd) };
        let refused = to_arrays(device, 5, odd, &mut arrays).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("begin at a multiple of 16"), "{refused}");
        Ok(())
    }));
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
    both(device, &points, arrays(3), (n, pitch))?;
    both(device, &quads, arrays(4), (n, pitch))
}

fn both<T: Pod + DeviceCopy + Default + PartialEq + std::fmt::Debug + Sync>(
    device: &Device,
    structs: &[T],
    arrays: Vec<f32>,
    (n, pitch): (usize, usize),
) -> anyhow::Result<()> {
    let from = device.upload(structs)?;
    let mut to = device.upload(&vec![77.0f32; arrays.len()])?;
    to_arrays(device, pitch, &from, &mut to)?;
    let verdict = exact(&device.download(&to)?, &arrays);
    anyhow::ensure!(verdict.ok, "structs to arrays, n {n} pitch {pitch}: {:?}", verdict.wrong);
    let mut back = device.upload(&vec![T::default(); n])?;
    to_structs(device, pitch, &to, &mut back)?;
    let verdict = exact(&device.download(&back)?, structs);
    anyhow::ensure!(verdict.ok, "arrays to structs, n {n} pitch {pitch}: {:?}", verdict.wrong);
    Ok(())
}
