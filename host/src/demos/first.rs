//! The first kernel: adding two arrays. Not a demo of its own, but a kernel that the tools can be pointed at.

use cust::memory::DeviceBuffer;
use kernels_gpu::base::first::vecadd;
use warpsmith_launch::{Device, Shape};

use super::demo::Demo;
use super::row::{Row, Workload};
use super::stage::Stage;
use crate::data::Random;
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::verify::exact;

/// `out` becomes `a` + `b`.
pub fn add(
    device: &Device,
    a: &DeviceBuffer<f32>,
    b: &DeviceBuffer<f32>,
    out: &mut DeviceBuffer<f32>,
) -> Result<(), Error> {
    let n = a.len().min(b.len());
    if out.len() < n {
        return Err(Error::Size(format!("the sum has {n} elements, its buffer {}", out.len())));
    }
    // SAFETY: `out` is as long as the shorter of the two.
    unsafe { device.kernel::<vecadd>(&LEVELS)?.launch(Shape::line(n, 256), (a, b, out))? };
    Ok(())
}

pub struct FirstDemo;

impl Demo for FirstDemo {
    fn name(&self) -> &'static str {
        "first"
    }

    fn title(&self) -> &'static str {
        "The first kernel"
    }

    fn is_among_all(&self) -> bool {
        false
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let n = stage.one_extent(1 << 14, 1 << 24, "an array has one extent, for example 100000")?;
        stage.admit(Size::One(n), (n as u64).checked_mul(12))?;
        let mut random = Random::new(12);
        let (x, y) = (random.units(n), random.units(n));
        let (a, b) = (stage.upload("a", &x)?, stage.upload("b", &y)?);
        let mut out = stage.upload("the sum", &vec![f32::NAN; n])?;
        let counters = stage.once("vecadd", || add(stage.device, &a, &b, &mut out))?;
        let sums: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
        let verdict = exact(&stage.download("the sum", &out)?, &sums);
        let time = stage.time(|| add(stage.device, &a, &b, &mut out))?;
        let work = Workload { flops: n as f64, bytes: 12.0 * n as f64 };
        let row = Row::new("first", "vecadd", "", n, stage.device.kind());
        Ok(vec![row.checked(verdict).counted(counters).timed(time, work).shows("12 bytes for each addition")])
    }
}
