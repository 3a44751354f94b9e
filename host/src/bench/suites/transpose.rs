//! Transposes against their twins, and against the driver's copy of the same bytes.
//!
//! Each step of the ladder at two sizes, for elements of 1, 2, 4 and 8 bytes; then what the dispatcher picks for shapes
//! that are not a power of two.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpsmith_kernels::transpose::{Plan, Target, Variant};
use warpsmith_launch::extra::Extended;
use warpsmith_launch::{ErrorContext, F16, Shape};

use super::super::call::{Call, Value};
use super::super::competitor::{Kind, Task};
use super::super::measure::{Bench, Comparison, Throughput, another};
use super::super::suite::{Suite, TensorCases};
use crate::data::{Random, transposed};
use crate::demos::transpose::{Element, Step};
use crate::error::Error;
use crate::size::Size;
use crate::verify::{Verdict, exact};
use kernels_gpu::base::transpose as k;

/// Squares for the whole ladder, unless others are asked for.
const SQUARES: [usize; 2] = [8192, 16384];
/// The largest square for the whole ladder: the naive steps take 30 times as long as the last.
const LARGEST_LADDER: usize = 16384;
/// Shapes for what the dispatcher picks: rows that begin at no multiple of a tile, of a cache line, of a vector.
const SHAPES: [(usize, usize); 7] =
    [(10000, 10000), (8256, 8256), (256, 262_144), (16384, 4096), (8191, 8191), (4095, 8191), (5001, 7003)];
/// Least bytes of all buffers of one side: four times the L2 cache of an H200.
const ROTATED: usize = 256 << 20;

pub struct TransposeSuite;

impl Suite for TransposeSuite {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn about(&self) -> &'static str {
        "Transposes against their twins and against the copy of the same bytes"
    }

    fn title(&self) -> &'static str {
        "Transposes"
    }

    fn tasks(&self) -> &'static [Kind] {
        &[Kind::Kernel, Kind::Copy]
    }

    fn run(&self, bench: &Bench<'_>, sizes: &[Size], _: &TensorCases) -> Result<Vec<Comparison>, Error> {
        // Squares for the whole ladder, other shapes for what the dispatcher picks.
        let (squares, shapes): (Vec<usize>, Vec<(usize, usize)>) = if sizes.is_empty() {
            (SQUARES.to_vec(), SHAPES.to_vec())
        } else {
            let mut shapes = Vec::new();
            for &size in sizes {
                match size {
                    Size::One(edge) if edge > LARGEST_LADDER => shapes.push((edge, edge)),
                    Size::One(_) => {}
                    Size::Two(rows, cols) => shapes.push((rows, cols)),
                    Size::Three(..) => bench.leave_out(format!("transpose {size}: a matrix is N or MxN")),
                }
            }
            let edges = sizes.iter().filter_map(|size| size.edge());
            (edges.filter(|&edge| edge <= LARGEST_LADDER).collect(), shapes)
        };
        let mut rows = Vec::new();
        for (index, &edge) in squares.iter().enumerate() {
            // Twins are compared at one size: the algorithm is the same at all.
            rows.extend(every_type(bench, (edge, edge), &Step::ALL, index == 0)?);
        }
        for shape in shapes {
            rows.extend(every_type(bench, shape, &[], false)?);
        }
        Ok(rows)
    }
}

fn every_type(
    bench: &Bench<'_>,
    shape: (usize, usize),
    steps: &[Step],
    twins: bool,
) -> Result<Vec<Comparison>, Error> {
    let numbers = Random::new(2).units(shape.0 * shape.1);
    let mut rows = measured(bench, shape, steps, twins, &numbers)?;
    let doubles: Vec<f64> = numbers.iter().map(|&x| f64::from(x)).collect();
    rows.extend(measured(bench, shape, steps, twins, &doubles)?);
    drop(doubles);
    let halves: Vec<F16> = numbers.iter().map(|&x| F16(half::f16::from_f32(x))).collect();
    rows.extend(measured(bench, shape, steps, twins, &halves)?);
    drop(halves);
    let bytes: Vec<u8> = numbers.iter().map(|x| (x.to_bits() >> 8) as u8).collect();
    rows.extend(measured(bench, shape, steps, twins, &bytes)?);
    Ok(rows)
}

/// The given steps, and what the dispatcher picks.
fn measured<T: Element>(
    bench: &Bench<'_>,
    (rows, cols): (usize, usize),
    steps: &[Step],
    twins: bool,
    host: &[T],
) -> Result<Vec<Comparison>, Error> {
    let bytes = size_of_val(host);
    let sets = (ROTATED / bytes.max(1)).clamp(2, 64);
    let (size, element) = (format!("{rows}x{cols}"), size_of::<T>());
    if !bench.has_room(&format!("transpose {size}, elements of {element} bytes"), 2 * sets * bytes) {
        return Ok(Vec::new());
    }
    let first = DeviceBuffer::from_slice(host).context("allocate the matrices")?;
    let mut buffers = vec![(another(&first)?, first)];
    while buffers.len() < sets {
        buffers.push((another(&buffers[0].0)?, another(&buffers[0].1)?));
    }
    let turned = transposed(host, rows, cols);
    let address = |buffer: &DeviceBuffer<T>| buffer.as_device_ptr().as_raw();
    let (from, to) = &buffers[0];
    let addresses = (address(from), address(to));
    let picked = Plan::choose(bench.device.limits(), size_of::<T>(), (rows, cols), addresses)?;
    let tiles = Shape::tiles((cols, rows), (k::TILE, k::TILE), (k::TILE as u32, k::BLOCK_ROWS as u32));
    let mut launches = Vec::new();
    for &step in steps {
        let Some(kernel) = T::name_for(step, (rows, cols)) else { continue };
        let shape = match step {
            Step::Vectorised => {
                Plan::of(Target::Any, Variant::Vectorised, size_of::<T>(), (rows, cols))?.shape()
            }
            Step::Shifted => Plan::of(Target::Any, Variant::Shifted, size_of::<T>(), (rows, cols))?.shape(),
            _ => tiles,
        };
        launches.push((
            kernel,
            shape,
            if step == Step::Copy { host } else { &turned },
            step != Step::Shifted,
            Extended::default(),
        ));
    }
    if launches.iter().all(|launch| launch.0 != picked.kernel()) {
        launches.push((picked.kernel(), picked.shape(), &turned[..], false, picked.extended()));
    }
    launches.retain(|(kernel, ..)| bench.wants(kernel));
    let work = Throughput::Bytes(2.0 * bytes as f64);
    let mut got = vec![T::default(); host.len()];
    let mut comparisons = Vec::new();
    for (kernel, shape, expected, has_twin, extended) in launches {
        let (m, n) = (Value::U32(rows as u32), Value::U32(cols as u32));
        let arguments =
            buffers.iter().map(|(from, to)| vec![m, n, Value::slice(from), Value::pointer(to)]).collect();
        let call = Call { kernel, shape, extended, arguments };
        let verdict = checked(bench, &call, to, expected, &mut got)?;
        let pairs = buffers.iter().map(|(from, to)| (address(from), address(to))).collect();
        let twin = (twins && has_twin).then_some(Task::Kernel { family: "transpose", call: &call });
        for task in twin.into_iter().chain([Task::Copy { buffers: pairs, bytes }]) {
            let (names, ours) = ((kernel, &size[..]), || bench.ours(&call));
            comparisons.extend(bench.against("transpose", names, work, &task, ours, &verdict)?);
        }
    }
    Ok(comparisons)
}

/// Runs the call on the first set and compares the whole result, by way of `got`.
fn checked<T: Element>(
    bench: &Bench<'_>,
    call: &Call,
    to: &DeviceBuffer<T>,
    expected: &[T],
    got: &mut [T],
) -> Result<Verdict, Error> {
    bench.once(call)?;
    to.copy_to(got).context("copy the result back")?;
    Ok(exact(got, expected))
}
