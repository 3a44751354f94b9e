//! Where data lives: one polynomial, its coefficients in each of the device's memories.

use std::ffi::CString;

use cuda_std::Kernel;
use cust::memory::{CopyDestination, DeviceBuffer};
use kernels_gpu::base::spaces::{
    Coefficients, spaces_constant, spaces_find, spaces_global, spaces_global_static, spaces_leave,
    spaces_local, spaces_parameter, spaces_shared,
};
use warpsmith_launch::{ErrorContext, Shape};

use super::demo::Demo;
use super::row::{self, Row, Workload};
use super::stage::Stage;
use super::target::Fill;
use crate::data::Random;
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::terminal::{self, grouped};
use crate::verify::{Verdict, exact};

const COEFFICIENTS: Coefficients = [0.25, -1.5, 0.75, 2.0];
const BLOCK: u32 = 128;
/// Blocks of the launches that show scope and lifetime.
const BLOCKS: u32 = 16;

pub struct SpacesDemo;

impl Demo for SpacesDemo {
    fn name(&self) -> &'static str {
        "spaces"
    }

    fn title(&self) -> &'static str {
        "Where data lives"
    }

    fn measured_at(&self) -> usize {
        1 << 14
    }

    #[expect(
        clippy::undocumented_unsafe_blocks,
        reason = "one argument, above the first launch, holds for all"
    )]
    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let n = stage.one_extent(
            1 << 14,
            1 << 24,
            "a polynomial is evaluated at N points: one extent, for example 100000",
        )?;
        stage.admit(Size::One(n), (n as u64).checked_mul(8))?;
        let device = stage.device;
        set(stage, "GLOBAL_COEFFICIENTS", spaces_global_static::NAME)?;
        set(stage, "CONSTANT_COEFFICIENTS", spaces_constant::NAME)?;

        let points = Random::new(8).units(n);
        let values = values(&points);
        let x = stage.upload("the points", &points)?;
        let c = stage.upload("the coefficients", &COEFFICIENTS)?;
        let shape = Shape::line(n, BLOCK);
        // SAFETY (all launches): `x` and the target hold n elements, `c` four; blocks have 128 threads.
        let rows = vec![
            polynomial(stage, spaces_parameter::NAME, &values, |y| unsafe {
                device.kernel::<spaces_parameter>(&LEVELS)?.launch(shape, (COEFFICIENTS, &x, y))
            })?
            .shows("passed by value, kept in registers: no memory is read but x"),
            polynomial(stage, spaces_local::NAME, &values, |y| unsafe {
                device.kernel::<spaces_local>(&LEVELS)?.launch(shape, (&c, 1u32, &x, y))
            })?
            .shows("an array indexed at run time: each thread's own, off the chip"),
            polynomial(stage, spaces_shared::NAME, &values, |y| unsafe {
                device.kernel::<spaces_shared>(&LEVELS)?.launch(shape, (&c, &x, y))
            })?
            .shows("copied once by each block; every read is a broadcast, one wavefront"),
            polynomial(stage, spaces_global::NAME, &values, |y| unsafe {
                device.kernel::<spaces_global>(&LEVELS)?.launch(shape, (&c, &x, y))
            })?
            .shows("a buffer: all lanes of a warp read the same sector"),
            polynomial(stage, spaces_global_static::NAME, &values, |y| unsafe {
                device.kernel::<spaces_global_static>(&LEVELS)?.launch(shape, (&x, y))
            })?
            .shows("a static in global memory, set by the host through Module::get_global"),
            polynomial(stage, spaces_constant::NAME, &values, |y| unsafe {
                device.kernel::<spaces_constant>(&LEVELS)?.launch(shape, (&x, y))
            })?
            .shows(
                "a static in constant memory, set the same way: read only, cached, one read for all lanes",
            ),
        ];
        Ok([rows, scope(stage)?].concat())
    }

    fn text(&self, rows: &[Row]) -> String {
        let counted = rows.iter().filter_map(|row| {
            let by = row.memory_instructions?;
            let counts = [by.parameter, by.local, by.shared, by.global, by.constant];
            Some([vec![row.kernel.clone()], counts.map(grouped).to_vec()].concat())
        });
        let counted: Vec<Vec<String>> = counted.collect();
        let mut out = row::text(rows);
        if !counted.is_empty() {
            let elsewhere =
                rows.iter().find(|row| row.counters_size.as_ref().is_some_and(|size| *size != row.size));
            let place = elsewhere.and_then(|row| row.counters_size.as_deref());
            let place = place.map_or(String::new(), |size| format!(" (virtual GPU, size {size})"));
            let heading = terminal::heading(&format!("Memory instructions of all warps, by space{place}"));
            let header = ["kernel", "parameter", "local", "shared", "global", "constant"];
            let heading = terminal::wrapped("", &heading);
            out.push_str(&format!("\n{heading}{}\n", terminal::table(&header, &counted)));
        }
        out
    }
}

/// Sets a static of the module that has the kernel.
fn set(stage: &Stage, name: &str, kernel: &str) -> Result<(), Error> {
    let symbol = CString::new(name).map_err(|_| Error::Size(format!("`{name}` is no symbol")))?;
    let module = stage.device.module(&LEVELS, kernel)?;
    // SAFETY: no kernel of the module runs: each is waited for.
    let module = unsafe { module.cust() };
    let mut global =
        module.get_global::<Coefficients>(&symbol).context(format!("find the static `{name}`"))?;
    Ok(global.copy_from(&COEFFICIENTS).context(format!("set the static `{name}`"))?)
}

fn polynomial(
    stage: &Stage,
    kernel: &str,
    values: &[f64],
    launch: impl Fn(&mut DeviceBuffer<f32>) -> Result<(), warpsmith_launch::Error>,
) -> Result<Row, Error> {
    let mut y = stage.target("the values", values.len(), Fill::NotANumber)?;
    let counters = stage.once(kernel, || launch(y.buffer()))?;
    let time = stage.time(|| launch(y.buffer()))?;
    // Coefficients sum to 4.5 in size, and each of six operations rounds by half an ε.
    let verdict = Verdict::within(y.read()?, values, 4.5 * 3.0 * f64::from(f32::EPSILON));
    let work = Workload { flops: 6.0 * values.len() as f64, bytes: 8.0 * values.len() as f64 };
    let row = Row::new("spaces", kernel, "", values.len(), stage.device.kind());
    Ok(row.checked(verdict).counted(counters).timed(time, work))
}

/// The polynomial in float64.
fn values(points: &[f32]) -> Vec<f64> {
    let [c0, c1, c2, c3] = COEFFICIENTS.map(f64::from);
    points.iter().map(|&x| f64::from(x)).map(|x| c0 + x * (c1 + x * (c2 + x * c3))).collect()
}

/// Who sees what, and how long it lives: two launches, one after the other.
fn scope(stage: &Stage) -> Result<Vec<Row>, Error> {
    let device = stage.device;
    let shape = Shape { grid: [BLOCKS, 1, 1], block: [BLOCK, 1, 1], shared: 0 };
    let row = |kernel| Row::new("spaces", kernel, "", BLOCKS, device.kind());
    let mut seen = stage.upload("what is seen", &[0u32; BLOCKS as usize])?;

    // SAFETY: 16 blocks, one element for each.
    let left = stage.once(spaces_leave::NAME, || unsafe {
        device.kernel::<spaces_leave>(&LEVELS)?.launch(shape, (&mut seen,))
    })?;
    let own: Vec<u32> = (0..BLOCKS).map(|block| block + 100).collect();
    let leave = row(spaces_leave::NAME)
        .checked(exact(&stage.download("what is seen", &seen)?, &own))
        .counted(left)
        .shows("shared: every block sees its own word, whatever other blocks wrote into theirs");

    // SAFETY: as above, after the launch that wrote the static.
    let found = stage.once(spaces_find::NAME, || unsafe {
        device.kernel::<spaces_find>(&LEVELS)?.launch(shape, (&mut seen,))
    })?;
    let others: Vec<u32> = (0..BLOCKS).rev().map(|block| block + 1000).collect();
    let find = row(spaces_find::NAME)
        .checked(exact(&stage.download("what is seen", &seen)?, &others))
        .counted(found)
        .shows("global static: a second launch sees what other blocks of the first one wrote");
    Ok(vec![leave, find])
}
