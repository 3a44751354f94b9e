//! A vector copy against the driver's own.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpsmith_launch::{Doing, Shape};

use super::{Bench, Call, Comparison, DRIVER_COPY, Value, Work, driver_copy, pointer};
use crate::data::Random;
use crate::error::Error;
use crate::verify::exact;

/// One GiB a buffer: 17 times the L2 cache of an H200, so nothing is left in it from one launch to the next.
const BYTES: usize = 1 << 30;
/// Random words, repeated through the buffer: filling a GiB one by one would take longer than the measurement.
const PATTERN: usize = 1 << 22;

pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Comparison>, Error> {
    let pattern: Vec<u32> = Random::new(1).units(PATTERN).into_iter().map(f32::to_bits).collect();
    let words: Vec<u32> = pattern.iter().copied().cycle().take(BYTES / 4).collect();
    let from = [0, 1].map(|_| DeviceBuffer::from_slice(&words));
    let to = [0, 1].map(|_| DeviceBuffer::<u32>::zeroed(BYTES / 4));
    let [f0, f1] = from;
    let [t0, t1] = to;
    let make = "allocate buffers of 1 GiB";
    let sets = [(f0.doing(make)?, t0.doing(make)?), (f1.doing(make)?, t1.doing(make)?)];
    let mut rows = Vec::new();
    for (kernel, width) in [("copy_4_bytes", 4), ("copy_8_bytes", 8), ("copy_16_bytes", 16)] {
        let elements = BYTES / width;
        let arguments = sets.iter().map(|(from, to)| {
            let source = Value::Slice(from.as_device_ptr().as_raw(), elements as u64);
            vec![Value::U32(elements as u32), source, pointer(to)]
        });
        let shape = Shape::line(elements, kernels_gpu::coalescing::BLOCK);
        let call = Call::new(kernel, shape, arguments.collect());
        bench.once(&call)?;
        let mut got = vec![0u32; BYTES / 4];
        sets[0].1.copy_to(&mut got).doing("copy the result back")?;
        let verdict = exact(&got, &words);
        let pairs =
            sets.iter().map(|(f, t)| (f.as_device_ptr().as_raw(), t.as_device_ptr().as_raw())).collect();
        let (work, size) = (Work::Bytes(2.0 * BYTES as f64), "1 GiB".to_owned());
        let ours = bench.ours(&call)?;
        let other = driver_copy(bench, pairs, BYTES);
        rows.push(bench.compare("copy", (kernel, size, DRIVER_COPY), work, ours, other, &verdict)?);
    }
    Ok(rows)
}
