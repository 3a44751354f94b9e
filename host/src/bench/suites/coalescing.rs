//! Access patterns against their twins.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpsmith_launch::{ErrorContext, Shape};

use super::super::call::{Call, Value};
use super::super::competitor::{Kind, Task};
use super::super::measure::{Bench, Comparison, Throughput};
use super::super::suite::{Suite, TensorCases};
use crate::data::Random;
use crate::error::Error;
use crate::size::Size;
use crate::verify::{Verdict, exact};

/// Threads of a launch; buffers of three floats each are 768 MiB.
const THREADS: usize = 1 << 26;
const PATTERN: usize = 1 << 20;

pub struct CoalescingSuite;

impl Suite for CoalescingSuite {
    fn name(&self) -> &'static str {
        "coalescing"
    }

    fn about(&self) -> &'static str {
        "Access patterns against their twins"
    }

    fn title(&self) -> &'static str {
        "Access patterns"
    }

    fn tasks(&self) -> &'static [Kind] {
        &[Kind::Kernel, Kind::Copy]
    }

    fn run(&self, bench: &Bench<'_>, sizes: &[Size], _: &TensorCases) -> Result<Vec<Comparison>, Error> {
        if !sizes.is_empty() {
            bench.leave_out("--sizes for coalescing, which always moves 2²⁶ elements or structs");
        }
        let mut rows = conversions(bench)?;
        if !bench.competes(Kind::Kernel) {
            return Ok(rows);
        }
        let pattern = Random::new(3).units(PATTERN);
        let host: Vec<f32> = pattern.iter().copied().cycle().take(3 * THREADS).collect();
        let make = "allocate the arrays";
        let from = DeviceBuffer::from_slice(&host).context(make)?;
        let to = DeviceBuffer::<f32>::zeroed(3 * THREADS).context(make)?;
        let order = Random::new(4).permutation(THREADS as u32);
        let device_order = DeviceBuffer::from_slice(&order).context(make)?;
        let n = Value::U32(THREADS as u32);
        let by = 1.5f32;
        let structs = Value::Slice(from.as_device_ptr().as_raw(), THREADS as u64);
        let stretched = |i: usize| host[i] * (by + (i % 3) as f32);
        let arrays = |i: usize| host[i] * (by + (i / THREADS) as f32);
        type Expected<'a> = Box<dyn Fn(usize) -> f32 + 'a>;
        // Kernel, arguments, elements written, bytes that a thread must move, what is expected.
        let cases: Vec<(&'static str, Vec<Value>, usize, usize, Expected<'_>)> = vec![
            (
                "copy_shifted",
                vec![n, Value::U32(1), Value::slice(&from), Value::pointer(&to)],
                THREADS,
                8,
                Box::new(|i| host[i + 1]),
            ),
            (
                "copy_strided",
                vec![n, Value::U32(3), Value::slice(&from), Value::pointer(&to)],
                THREADS,
                8,
                Box::new(|i| host[3 * i]),
            ),
            (
                "copy_scattered",
                vec![n, Value::slice(&device_order), Value::slice(&from), Value::pointer(&to)],
                THREADS,
                12,
                Box::new(|i| host[order[i] as usize]),
            ),
            (
                "copy_some_lanes",
                vec![n, Value::U32(u32::MAX), Value::slice(&from), Value::pointer(&to)],
                THREADS,
                8,
                Box::new(|i| host[i]),
            ),
            (
                "stretch_structs",
                vec![n, Value::F32(by), structs, Value::pointer(&to)],
                3 * THREADS,
                24,
                Box::new(stretched),
            ),
            (
                "stretch_staged_structs",
                vec![n, Value::F32(by), structs, Value::pointer(&to)],
                3 * THREADS,
                24,
                Box::new(stretched),
            ),
            (
                "stretch_arrays",
                vec![n, Value::F32(by), Value::slice(&from), Value::pointer(&to)],
                3 * THREADS,
                24,
                Box::new(arrays),
            ),
        ];
        for (kernel, arguments, written, bytes, expected) in cases {
            if !bench.wants(kernel) {
                continue;
            }
            let shape = Shape::line(THREADS, kernels_gpu::base::coalescing::BLOCK);
            let call = Call::new(kernel, shape, vec![arguments]);
            bench.once(&call)?;
            let mut got = vec![0.0f32; 3 * THREADS];
            to.copy_to(&mut got).context("copy the result back")?;
            let want: Vec<f32> = (0..written).map(expected).collect();
            let verdict: Verdict = exact(&got[..written], &want);
            let (size, moved) = (format!("{THREADS} threads"), Throughput::Bytes((bytes * THREADS) as f64));
            let twin = Task::Kernel { family: "coalescing", call: &call };
            rows.extend(bench.against(
                self.name(),
                (kernel, &size),
                moved,
                &twin,
                || bench.ours(&call),
                &verdict,
            )?);
        }
        Ok(rows)
    }
}

/// Structs to arrays and back, against twins and against the driver's copy of the same bytes. Half a GiB and more on
/// each side: ten times the L2 cache of an H200.
fn conversions(bench: &Bench<'_>) -> Result<Vec<Comparison>, Error> {
    const STRUCTS: usize = 1 << 26;
    let pattern = Random::new(5).units(PATTERN);
    let mut rows = Vec::new();
    for (fields, to_arrays, to_structs) in
        [(3, "points_to_arrays", "arrays_to_points"), (4, "quads_to_arrays", "arrays_to_quads")]
    {
        let structs: Vec<f32> = pattern.iter().copied().cycle().take(fields * STRUCTS).collect();
        let mut arrays = vec![0.0f32; fields * STRUCTS];
        for (field, array) in arrays.chunks_exact_mut(STRUCTS).enumerate() {
            array.iter_mut().zip(structs[field..].iter().step_by(fields)).for_each(|(to, from)| *to = *from);
        }
        for (kernel, host, expected, source) in [
            (to_arrays, &structs, &arrays, STRUCTS as u64),
            (to_structs, &arrays, &structs, (fields * STRUCTS) as u64),
        ] {
            if !bench.wants(kernel) {
                continue;
            }
            let make = "allocate structs and arrays";
            let from = DeviceBuffer::from_slice(host).context(make)?;
            let to = DeviceBuffer::<f32>::zeroed(host.len()).context(make)?;
            let count = Value::U32(STRUCTS as u32);
            let addresses = (from.as_device_ptr().as_raw(), to.as_device_ptr().as_raw());
            let shape = Shape {
                block: [kernels_gpu::base::records::BLOCK as u32, 1, 1],
                ..Shape::line(STRUCTS, kernels_gpu::base::records::STRUCTS as u32)
            };
            let arguments = vec![vec![count, count, Value::Slice(addresses.0, source), Value::pointer(&to)]];
            let call = Call::new(kernel, shape, arguments);
            bench.once(&call)?;
            let mut got = vec![0.0f32; host.len()];
            to.copy_to(&mut got).context("copy the result back")?;
            let verdict = exact(&got, expected);
            let (bytes, size) = (size_of_val(&host[..]), format!("{STRUCTS} structs"));
            let (names, moved) = ((kernel, &size[..]), Throughput::Bytes(2.0 * bytes as f64));
            for task in [
                Task::Kernel { family: "coalescing", call: &call },
                Task::Copy { buffers: vec![addresses], bytes },
            ] {
                let ours = || bench.ours(&call);
                rows.extend(bench.against("coalescing", names, moved, &task, ours, &verdict)?);
            }
        }
    }
    Ok(rows)
}
