//! The transpose: two contiguous sides need a detour through shared memory.

use bytemuck::AnyBitPattern;
use cust::memory::{DeviceBuffer, DeviceCopy};
use kernels_gpu::coalescing::Quad;
use kernels_gpu::transpose as k;
use rayon::prelude::*;
use warpsmith_launch::{Device, F16, Shape};

use super::{Fill, Row, Stage, Work, row};
use crate::data::Random;
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::transpose::{self as dispatch, For, Variant};
use crate::verify::{exact, exact_turned};

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
    /// 16 bytes a thread on both sides, where rows begin at multiples of 16 bytes.
    Vectorised,
    /// The same for rows that begin anywhere.
    Shifted,
}

impl Step {
    /// All steps in order.
    pub const ALL: [Self; 7] =
        [Self::Copy, Self::Naive, Self::Tile, Self::Padded, Self::Swizzled, Self::Vectorised, Self::Shifted];

    /// The dispatcher's variant, if the step is one.
    fn variant(self) -> Option<Variant> {
        match self {
            Self::Vectorised => Some(Variant::Vectorised),
            Self::Shifted => Some(Variant::Shifted),
            _ => None,
        }
    }

    /// What it shows with elements of that many bytes.
    fn shows(self, bytes: usize) -> String {
        match self {
            Self::Copy => "the yardstick: the same elements, not turned".into(),
            Self::Naive => format!(
                "a warp writes down a column: one sector for every {bytes} byte{}, {} times the copy's",
                if bytes == 1 { "" } else { "s" },
                32 / bytes
            ),
            Self::Tile => {
                let banks = match bytes {
                    1 => "4 banks",
                    2 => "2 banks",
                    4 => "one bank",
                    _ => "one pair of banks",
                };
                format!("both sides contiguous; reading the tile's columns puts 32 lanes in {banks}")
            }
            Self::Padded => "one unused column: no conflict is left".into(),
            Self::Swizzled => "columns permuted by row: no conflict either, and no memory unused".into(),
            Self::Vectorised => {
                let accesses = match bytes {
                    1 => "a sixteenth of the accesses",
                    2 => "an eighth of the accesses",
                    4 => "a quarter of the accesses",
                    8 => "half of the accesses",
                    _ => "one element each",
                };
                format!("16 bytes a thread on both sides: {accesses}")
            }
            Self::Shifted => "the same for rows that begin anywhere: shifted in shared memory".into(),
        }
    }
}

/// An element type that the transposes exist for.
pub trait Element: DeviceCopy + AnyBitPattern + Send + Sync + Default + PartialEq + std::fmt::Debug {
    /// The step's kernel, if there is one for this type.
    fn name(step: Step) -> Option<&'static str>;

    /// Launches a step in tiles of 32 × 32.
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

    /// The step's kernel, if it takes a matrix of this shape.
    fn name_for(step: Step, extents: (usize, usize)) -> Option<&'static str> {
        let fits = |variant| dispatch::takes(variant, size_of::<Self>(), extents);
        Self::name(step).filter(|_| step.variant().is_none_or(fits))
    }
}

/// The error for a step that the type or the shape has no kernel for.
fn no_kernel<T>(step: Step) -> Error {
    Error::Size(format!("no {step:?} transpose of such a matrix of {}", std::any::type_name::<T>()))
}

macro_rules! elements {
    ($($element:ty: $($step:ident $kernel:ident)*, $vectorised:ident $(, $shifted:ident)?;)*) => {$(
        impl Element for $element {
            fn name(step: Step) -> Option<&'static str> {
                match step {
                    $(Step::$step => Some(stringify!($kernel)),)*
                    Step::Vectorised => Some(stringify!($vectorised)),
                    $(Step::Shifted => Some(stringify!($shifted)),)?
                    #[allow(unreachable_patterns)]
                    _ => None,
                }
            }

            #[allow(unused_variables)]
            unsafe fn launch(
                device: &Device,
                step: Step,
                shape: Shape,
                (rows, cols): (u32, u32),
                from: &DeviceBuffer<Self>,
                to: &mut DeviceBuffer<Self>,
            ) -> Result<(), Error> {
                match step {
                    // SAFETY: the caller's promise, which is what each kernel asks for.
                    $(Step::$step => unsafe {
                        Ok(device.kernel::<k::$kernel>(&LEVELS)?.launch(shape, (rows, cols, from, to))?)
                    },)*
                    _ => Err(no_kernel::<Self>(step)),
                }
            }
        }
    )*};
}
elements! {
    f32: Copy transpose_copy Naive transpose_naive Tile transpose_tile Padded transpose_padded
        Swizzled transpose_swizzled, transpose_vectorised_4_bytes, transpose_shifted_4_bytes;
    f64: Copy transpose_copy_f64 Naive transpose_naive_f64 Tile transpose_tile_f64 Padded transpose_padded_f64
        Swizzled transpose_swizzled_f64, transpose_vectorised_8_bytes, transpose_shifted_8_bytes;
    F16: Copy transpose_copy_f16 Naive transpose_naive_f16 Tile transpose_tile_f16 Padded transpose_padded_f16
        Swizzled transpose_swizzled_f16, transpose_vectorised_2_bytes, transpose_shifted_2_bytes;
    u8: Copy transpose_copy_u8 Naive transpose_naive_u8 Tile transpose_tile_u8 Padded transpose_padded_u8
        Swizzled transpose_swizzled_u8, transpose_vectorised_1_byte, transpose_shifted_1_byte;
    Quad: , transpose_vectorised_16_bytes;
}

/// `to` becomes the transpose of the rows × cols matrix `from` (or its copy, for [`Step::Copy`]).
pub fn transpose<T: Element>(
    device: &Device,
    step: Step,
    (rows, cols): (usize, usize),
    from: &DeviceBuffer<T>,
    to: &mut DeviceBuffer<T>,
) -> Result<(), Error> {
    if let Some(variant) = step.variant() {
        let bytes = size_of::<T>();
        if !dispatch::takes(variant, bytes, (rows, cols)) {
            return Err(no_kernel::<T>(step));
        }
        let choice = dispatch::plan(For::Any, variant, bytes, (rows, cols))?;
        return dispatch::launch(device, &choice, (rows, cols), from, to);
    }
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
    stage.admit(size, elements.and_then(|elements| elements.checked_mul(32)))?;
    let numbers = Random::new(2).units(extents.0 * extents.1);
    let of = (stage, extents, &numbers[..]);
    let rows = [
        steps(of, |x| x)?,
        steps(of, |x| f64::from(x) + 1e-9)?,
        steps(of, |x| F16(half::f16::from_f32(x)))?,
        steps(of, |x| x.to_bits() as u8)?,
        steps(of, |x| Quad([x, x + 1.0, x - 1.0, -x]))?,
    ];
    Ok(rows.concat())
}

/// A launch of the demo: a step, or what the dispatcher takes on Hopper.
enum Launch {
    Step(Step),
    Choice(dispatch::Choice),
}

/// The launches for a type that are wanted, with their kernels.
fn launches<T: Element>(
    stage: &Stage,
    extents: (usize, usize),
) -> Result<Vec<(&'static str, Launch)>, Error> {
    let named = Step::ALL.into_iter().filter_map(|step| Some((T::name_for(step, extents)?, step)));
    let mut all: Vec<_> = named.map(|(name, step)| (name, Launch::Step(step))).collect();
    // The dispatcher's kernels for Hopper are no steps: they are shown to those who name them.
    for variant in [Variant::Vectorised, Variant::Shifted, Variant::Narrow] {
        if stage.only.is_some() && dispatch::takes(variant, size_of::<T>(), extents) {
            let choice = dispatch::plan(For::Hopper, variant, size_of::<T>(), extents)?;
            all.push((choice.kernel(), Launch::Choice(choice)));
        }
    }
    all.retain(|(name, _)| stage.wants(name));
    Ok(all)
}

/// The rows of a type, whose elements are made of numbers.
fn steps<T: Element>(
    (stage, extents, numbers): (&Stage, (usize, usize), &[f32]),
    element: impl Fn(f32) -> T + Sync,
) -> Result<Vec<Row>, Error> {
    let launches = launches::<T>(stage, extents)?;
    if launches.is_empty() {
        return Ok(Vec::new());
    }
    let elements: Vec<T> = numbers.par_iter().map(|&x| element(x)).collect();
    let from = stage.upload("the matrix", &elements)?;
    let mut to = stage.target("the result", elements.len(), Fill::Zeros)?;
    let work = Work { flops: 0.0, bytes: 2.0 * size_of_val(&elements[..]) as f64 };
    let mut rows = Vec::new();
    for (name, launch) in launches {
        to.wipe()?;
        let mut run = || match &launch {
            Launch::Step(step) => transpose(stage.device, *step, extents, &from, to.buffer()),
            Launch::Choice(choice) => dispatch::launch(stage.device, choice, extents, &from, to.buffer()),
        };
        let counters = stage.once(name, &mut run)?;
        let time = stage.time(&mut run)?;
        let verdict = match launch {
            Launch::Step(Step::Copy) => exact(to.read()?, &elements),
            _ => exact_turned(to.read()?, &elements, extents),
        };
        let shows = match launch {
            Launch::Step(step) => step.shows(size_of::<T>()),
            Launch::Choice(_) => "launches overlap".into(),
        };
        let row = Row::new("transpose", name, "", Size::Two(extents.0, extents.1), stage.device.kind());
        rows.push(row.checked(verdict).counted(counters).timed(time, work).shows(shows));
    }
    row::against_first(&mut rows);
    Ok(rows)
}

/// The steps of f32 with what each shows, then the same steps for elements of other widths.
pub fn text(rows: &[Row]) -> String {
    let named = |row: &Row| Step::ALL.iter().any(|&step| f32::name(step) == Some(&row.kernel));
    let (f32s, others): (Vec<Row>, Vec<Row>) = rows.iter().cloned().partition(named);
    let mut out = row::text(&f32s);
    if !others.is_empty() {
        let heading = crate::terminal::heading("The same steps for elements of 8, 2, 1 and 16 bytes");
        let heading = crate::terminal::wrapped("", &heading);
        out.push_str(&format!("\n{heading}{}", row::text(&others)));
    }
    out
}
