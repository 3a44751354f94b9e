//! A vector copy against the driver's own.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpsmith_launch::{ErrorContext, Shape};

use super::super::call::{Call, Value};
use super::super::competitor::{Kind, Task};
use super::super::measure::{Bench, Comparison, Throughput};
use super::super::suite::{Suite, TensorCases};
use crate::data::Random;
use crate::error::Error;
use crate::size::Size;
use crate::verify::exact;

/// One GiB a buffer: 17 times the L2 cache of an H200, so nothing is left in it from one launch to the next.
const BYTES: usize = 1 << 30;
/// Random words, repeated through the buffer: filling a GiB one by one would take longer than the measurement.
const PATTERN: usize = 1 << 22;

pub struct CopySuite;

impl Suite for CopySuite {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn about(&self) -> &'static str {
        "Vector copies against the driver's device-to-device copy"
    }

    fn title(&self) -> &'static str {
        "Copies"
    }

    fn family(&self) -> &'static str {
        "coalescing"
    }

    fn tasks(&self) -> &'static [Kind] {
        &[Kind::Copy]
    }

    fn run(&self, bench: &Bench<'_>, sizes: &[Size], _: &TensorCases) -> Result<Vec<Comparison>, Error> {
        if !["copy_4_bytes", "copy_8_bytes", "copy_16_bytes"].into_iter().any(|kernel| bench.wants(kernel)) {
            return Ok(Vec::new());
        }
        if !sizes.is_empty() {
            bench.leave_out("--sizes for copy, which always moves 1 GiB");
        }
        let pattern: Vec<u32> = Random::new(1).units(PATTERN).into_iter().map(f32::to_bits).collect();
        let words: Vec<u32> = pattern.iter().copied().cycle().take(BYTES / 4).collect();
        let from = [0, 1].map(|_| DeviceBuffer::from_slice(&words));
        let to = [0, 1].map(|_| DeviceBuffer::<u32>::zeroed(BYTES / 4));
        let [f0, f1] = from;
        let [t0, t1] = to;
        let make = "allocate buffers of 1 GiB";
        let sets = [(f0.context(make)?, t0.context(make)?), (f1.context(make)?, t1.context(make)?)];
        let mut rows = Vec::new();
        for (kernel, width) in [("copy_4_bytes", 4), ("copy_8_bytes", 8), ("copy_16_bytes", 16)] {
            if !bench.wants(kernel) {
                continue;
            }
            let elements = BYTES / width;
            let arguments = sets.iter().map(|(from, to)| {
                let source = Value::Slice(from.as_device_ptr().as_raw(), elements as u64);
                vec![Value::U32(elements as u32), source, Value::pointer(to)]
            });
            let shape = Shape::line(elements, kernels_gpu::base::coalescing::BLOCK);
            let call = Call::new(kernel, shape, arguments.collect());
            bench.once(&call)?;
            let mut got = vec![0u32; BYTES / 4];
            sets[0].1.copy_to(&mut got).context("copy the result back")?;
            let verdict = exact(&got, &words);
            let buffers =
                sets.iter().map(|(f, t)| (f.as_device_ptr().as_raw(), t.as_device_ptr().as_raw())).collect();
            let task = Task::Copy { buffers, bytes: BYTES };
            let (names, moved) = ((kernel, "1 GiB"), Throughput::Bytes(2.0 * BYTES as f64));
            rows.extend(bench.against(self.name(), names, moved, &task, || bench.ours(&call), &verdict)?);
        }
        Ok(rows)
    }
}
