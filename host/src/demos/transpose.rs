//! The transpose: two contiguous sides need a detour through shared memory.

use cust::memory::{DeviceBuffer, DeviceCopy};
use kernels_gpu::transpose as k;

use super::{Row, Stage, Work, row};
use crate::data::Random;
use crate::device::Device;
use crate::error::Error;
use crate::half::F16;
use crate::launch::Shape;
use crate::size::Size;
use crate::verify::exact;

/// The steps of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Not turned: the yardstick.
    Copy,
    /// Straight from register to memory.
    Naive,
    /// Through a shared tile.
    Tile,
    /// Through a padded tile.
    Padded,
    /// Through a swizzled tile.
    Swizzled,
}

impl Step {
    /// All steps in order.
    pub const ALL: [Self; 5] = [Self::Copy, Self::Naive, Self::Tile, Self::Padded, Self::Swizzled];

    fn shows(self) -> &'static str {
        match self {
            Self::Copy => "the yardstick: the same elements, not turned",
            Self::Naive => "a warp writes down a column: one sector for every 4 bytes, 8 times the copy's",
            Self::Tile => "both sides contiguous; reading the tile's columns puts 32 lanes in one bank",
            Self::Padded => "one unused column: no conflict is left",
            Self::Swizzled => "columns permuted by row: no conflict either, and no memory unused",
        }
    }
}

/// An element type that the transposes exist for.
pub trait Element: DeviceCopy + Default + PartialEq + std::fmt::Debug {
    /// The kernel's name.
    fn name(step: Step) -> &'static str;

    /// Launches the step.
    ///
    /// # Safety
    /// Both buffers hold rows × cols elements.
    unsafe fn launch(
        device: &Device,
        step: Step,
        shape: Shape,
        extents: (u32, u32),
        from: &DeviceBuffer<Self>,
        to: &mut DeviceBuffer<Self>,
    ) -> Result<(), Error>;
}

macro_rules! elements {
    ($($element:ty: $copy:ident $naive:ident $tile:ident $padded:ident $swizzled:ident;)*) => {$(
        impl Element for $element {
            fn name(step: Step) -> &'static str {
                match step {
                    Step::Copy => stringify!($copy),
                    Step::Naive => stringify!($naive),
                    Step::Tile => stringify!($tile),
                    Step::Padded => stringify!($padded),
                    Step::Swizzled => stringify!($swizzled),
                }
            }

            unsafe fn launch(
                device: &Device,
                step: Step,
                shape: Shape,
                (rows, cols): (u32, u32),
                from: &DeviceBuffer<Self>,
                to: &mut DeviceBuffer<Self>,
            ) -> Result<(), Error> {
                // SAFETY: the caller's promise, which is what each kernel asks for.
                unsafe {
                    match step {
                        Step::Copy => device.kernel::<k::$copy>()?.launch(shape, (rows, cols, from, to)),
                        Step::Naive => device.kernel::<k::$naive>()?.launch(shape, (rows, cols, from, to)),
                        Step::Tile => device.kernel::<k::$tile>()?.launch(shape, (rows, cols, from, to)),
                        Step::Padded => device.kernel::<k::$padded>()?.launch(shape, (rows, cols, from, to)),
                        Step::Swizzled => device.kernel::<k::$swizzled>()?.launch(shape, (rows, cols, from, to)),
                    }
                }
            }
        }
    )*};
}
elements! {
    f32: transpose_copy transpose_naive transpose_tile transpose_padded transpose_swizzled;
    f64: transpose_copy_f64 transpose_naive_f64 transpose_tile_f64 transpose_padded_f64 transpose_swizzled_f64;
    F16: transpose_copy_f16 transpose_naive_f16 transpose_tile_f16 transpose_padded_f16 transpose_swizzled_f16;
}

/// `to` becomes the transpose of the rows × cols matrix `from` (or its copy, for [`Step::Copy`]).
pub fn transpose<T: Element>(
    device: &Device,
    step: Step,
    (rows, cols): (usize, usize),
    from: &DeviceBuffer<T>,
    to: &mut DeviceBuffer<T>,
) -> Result<(), Error> {
    let has = from.len().min(to.len());
    if rows.checked_mul(cols).is_none_or(|needed| needed > has) {
        return Err(Error::Size(format!("the matrix is {rows} × {cols}, a buffer has {has} elements")));
    }
    let extent =
        |extent: usize| u32::try_from(extent).map_err(|_| Error::Size(format!("{extent} is too large")));
    let shape = Shape::tiles((cols, rows), (k::TILE, k::TILE), (k::TILE as u32, k::BLOCK_ROWS as u32));
    // SAFETY: both buffers hold rows × cols elements, as compared above.
    unsafe { T::launch(device, step, shape, (extent(rows)?, extent(cols)?), from, to) }
}

/// What a step should give, on the host.
pub fn expected<T: Copy>(step: Step, (rows, cols): (usize, usize), from: &[T]) -> Vec<T> {
    match step {
        Step::Copy => from.to_vec(),
        _ => (0..rows * cols).map(|i| from[i % rows * cols + i / rows]).collect(),
    }
}

/// Runs the demo.
pub fn run(stage: &Stage) -> Result<Vec<Row>, Error> {
    let size = stage.size_or(256, 8192);
    let extents = match size {
        Size::One(n) => (n, n),
        Size::Two(rows, cols) => (rows, cols),
        Size::Three(..) => {
            return Err(Error::Size("a transpose has two extents, for example 640x480".into()));
        }
    };
    let elements = (extents.0 as u64).checked_mul(extents.1 as u64);
    stage.admit(size, elements.and_then(|elements| elements.checked_mul(16)))?;
    let mut rows = Vec::new();
    let mut random = Random::new(2);
    let numbers = random.units(extents.0 * extents.1);
    rows.extend(steps(stage, extents, &numbers)?);
    let doubles: Vec<f64> = numbers.iter().map(|&x| f64::from(x) + 1e-9).collect();
    rows.extend(steps(stage, extents, &doubles)?);
    let halves: Vec<F16> = numbers.iter().map(|&x| F16(half::f16::from_f32(x))).collect();
    rows.extend(steps(stage, extents, &halves)?);
    Ok(rows)
}

fn steps<T: Element>(stage: &Stage, extents: (usize, usize), numbers: &[T]) -> Result<Vec<Row>, Error> {
    let from = stage.upload("the matrix", numbers)?;
    let work = Work { flops: 0.0, bytes: 2.0 * size_of_val(numbers) as f64 };
    let mut rows = Vec::new();
    for step in Step::ALL.into_iter().filter(|&step| stage.wants(T::name(step))) {
        let mut to = stage.upload("the result", &vec![T::default(); numbers.len()])?;
        let counters =
            stage.once(T::name(step), || transpose(stage.device, step, extents, &from, &mut to))?;
        let verdict = exact(&stage.download("the result", &to)?, &expected(step, extents, numbers));
        let time = stage.time(|| transpose(stage.device, step, extents, &from, &mut to))?;
        let row =
            Row::new("transpose", T::name(step), "", Size::Two(extents.0, extents.1), stage.device.kind());
        let shows = if size_of::<T>() == 4 { step.shows() } else { "" };
        rows.push(row.checked(verdict).counted(counters).timed(time, work).shows(shows));
    }
    row::against_first(&mut rows);
    Ok(rows)
}
