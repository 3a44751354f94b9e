//! Transposes against their twins, and against the driver's copy of the same bytes.

use cust::memory::{CopyDestination, DeviceBuffer};

use super::{Bench, Call, Comparison, DRIVER_COPY, Value, Work, driver_copy, pointer, slice};
use crate::data::Random;
use crate::demos::transpose::{Element, Step, expected};
use crate::error::{Doing, Error};
use crate::half::F16;
use crate::launch::Shape;
use crate::verify::exact;
use kernels_gpu::transpose as k;

pub(super) fn run(bench: &Bench<'_>, sizes: &[usize]) -> Result<Vec<Comparison>, Error> {
    let sizes = if sizes.is_empty() { &[8192][..] } else { sizes };
    let mut rows = Vec::new();
    for &edge in sizes {
        let numbers = Random::new(2).units(edge * edge);
        rows.extend(steps(bench, edge, &numbers)?);
        let doubles: Vec<f64> = numbers.iter().map(|&x| f64::from(x)).collect();
        rows.extend(steps(bench, edge, &doubles)?);
        drop(doubles);
        let halves: Vec<F16> = numbers.iter().map(|&x| F16(half::f16::from_f32(x))).collect();
        rows.extend(steps(bench, edge, &halves)?);
    }
    Ok(rows)
}

fn steps<T: Element>(bench: &Bench<'_>, edge: usize, host: &[T]) -> Result<Vec<Comparison>, Error> {
    let make = "allocate the matrices";
    let from = DeviceBuffer::from_slice(host).doing(make)?;
    let again = DeviceBuffer::from_slice(host).doing(make)?;
    let to = DeviceBuffer::from_slice(host).doing(make)?;
    let other = DeviceBuffer::from_slice(host).doing(make)?;
    let bytes = size_of_val(host);
    let (work, size) = (Work::Bytes(2.0 * bytes as f64), format!("{edge}x{edge}"));
    let mut rows = Vec::new();
    let ladder = Step::ALL.into_iter().filter(|step| !matches!(step, Step::Vectorised | Step::Shifted));
    for (step, kernel) in ladder.filter_map(|step| Some((step, T::name(step)?))) {
        let extent = Value::U32(edge as u32);
        let call = Call {
            kernel,
            shape: Shape::tiles((edge, edge), (k::TILE, k::TILE), (k::TILE as u32, k::BLOCK_ROWS as u32)),
            arguments: vec![
                vec![extent, extent, slice(&from), pointer(&to)],
                vec![extent, extent, slice(&again), pointer(&other)],
            ],
        };
        bench.once(&call)?;
        let mut got = vec![T::default(); host.len()];
        to.copy_to(&mut got).doing("copy the result back")?;
        let verdict = exact(&got, &expected(step, (edge, edge), host));
        rows.extend(bench.against_twin("transpose", &call, size.clone(), work, &verdict)?);
        let address = |buffer: &DeviceBuffer<T>| buffer.as_device_ptr().as_raw();
        let pairs = vec![(address(&from), address(&to)), (address(&again), address(&other))];
        let copy = driver_copy(bench, pairs, bytes);
        let names = (call.kernel, size.clone(), DRIVER_COPY);
        rows.push(bench.compare("transpose", names, work, bench.ours(&call)?, copy, &verdict)?);
    }
    Ok(rows)
}
