//! Access patterns against their twins.

use cust::memory::{CopyDestination, DeviceBuffer};

use super::{Bench, Call, Comparison, Value, Work, pointer, slice};
use crate::data::Random;
use crate::error::{Doing, Error};
use crate::launch::Shape;
use crate::verify::{Verdict, exact};

/// Threads of a launch; buffers of three floats each are 768 MiB.
const THREADS: usize = 1 << 26;
const PATTERN: usize = 1 << 20;

pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Comparison>, Error> {
    if !bench.nvcc {
        return Ok(Vec::new());
    }
    let pattern = Random::new(3).units(PATTERN);
    let host: Vec<f32> = pattern.iter().copied().cycle().take(3 * THREADS).collect();
    let make = "allocate the arrays";
    let from = DeviceBuffer::from_slice(&host).doing(make)?;
    let to = DeviceBuffer::<f32>::zeroed(3 * THREADS).doing(make)?;
    let order = Random::new(4).permutation(THREADS as u32);
    let device_order = DeviceBuffer::from_slice(&order).doing(make)?;
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
            vec![n, Value::U32(1), slice(&from), pointer(&to)],
            THREADS,
            8,
            Box::new(|i| host[i + 1]),
        ),
        (
            "copy_strided",
            vec![n, Value::U32(3), slice(&from), pointer(&to)],
            THREADS,
            8,
            Box::new(|i| host[3 * i]),
        ),
        (
            "copy_scattered",
            vec![n, slice(&device_order), slice(&from), pointer(&to)],
            THREADS,
            12,
            Box::new(|i| host[order[i] as usize]),
        ),
        (
            "stretch_structs",
            vec![n, Value::F32(by), structs, pointer(&to)],
            3 * THREADS,
            24,
            Box::new(stretched),
        ),
        (
            "stretch_staged_structs",
            vec![n, Value::F32(by), structs, pointer(&to)],
            3 * THREADS,
            24,
            Box::new(stretched),
        ),
        (
            "stretch_arrays",
            vec![n, Value::F32(by), slice(&from), pointer(&to)],
            3 * THREADS,
            24,
            Box::new(arrays),
        ),
    ];
    let mut rows = Vec::new();
    for (kernel, arguments, written, bytes, expected) in cases {
        let shape = Shape::line(THREADS, kernels_gpu::coalescing::BLOCK);
        let call = Call { kernel, shape, arguments: vec![arguments] };
        bench.once(&call)?;
        let mut got = vec![0.0f32; 3 * THREADS];
        to.copy_to(&mut got).doing("copy the result back")?;
        let want: Vec<f32> = (0..written).map(expected).collect();
        let verdict: Verdict = exact(&got[..written], &want);
        let work = Work::Bytes((bytes * THREADS) as f64);
        rows.extend(bench.against_twin("coalescing", &call, format!("{THREADS} threads"), work, &verdict)?);
    }
    Ok(rows)
}
