//! The transpose: two contiguous sides need a detour through shared memory.

use bytemuck::AnyBitPattern;
use cuda_std::Kernel;
use cust::memory::{DeviceBuffer, DeviceCopy};
use kernels_gpu::base::coalescing::Quad;
use kernels_gpu::base::transpose as k;
use kernels_gpu::choice::{Name, UseKernel};
use kernels_gpu::transpose::Signature;
use warpsmith_kernels::transpose::{self as dispatch, Plan, Target, Variant};
use warpsmith_launch::{Device, F16, Shape};

use super::demo::Demo;
use super::row::{self, Row, Workload};
use super::stage::Stage;
use super::target::Fill;
use crate::data::Random;
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
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

    /// The kernels' step in tiles of 32 × 32, if it is one.
    fn in_tiles(self) -> Option<k::Step> {
        match self {
            Self::Copy => Some(k::Step::Copy),
            Self::Naive => Some(k::Step::Naive),
            Self::Tile => Some(k::Step::Tile),
            Self::Padded => Some(k::Step::Padded),
            Self::Swizzled => Some(k::Step::Swizzled),
            Self::Vectorised | Self::Shifted => None,
        }
    }

    /// Its point with elements of `bytes` bytes.
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
    /// The kernel of a step in tiles of 32 × 32, if there is one for this type.
    fn in_tiles(step: k::Step) -> Option<&'static str>;

    /// Launches a step in tiles of 32 × 32.
    ///
    /// # Safety
    /// Both buffers hold rows × cols elements.
    unsafe fn launch(step: k::Step, launch: Launch<Self>) -> Result<(), Error>;

    /// The step's kernel, if there is one for this type.
    fn name(step: Step) -> Option<&'static str> {
        match (step.in_tiles(), step.variant()) {
            (Some(step), _) => Self::in_tiles(step),
            (_, Some(variant)) => {
                Plan::of(Target::Any, variant, size_of::<Self>(), (1, 1)).ok().map(|plan| plan.kernel())
            }
            _ => None,
        }
    }

    /// The step's kernel, if it takes a matrix of this shape.
    fn name_for(step: Step, extents: (usize, usize)) -> Option<&'static str> {
        let fits = |variant| dispatch::takes(variant, size_of::<Self>(), extents);
        Self::name(step).filter(|_| step.variant().is_none_or(fits))
    }
}

/// The error for a step that the type or the shape has no kernel for.
fn no_kernel<T>(step: impl std::fmt::Debug) -> Error {
    Error::Size(format!("no {step:?} transpose of such a matrix of {}", std::any::type_name::<T>()))
}

/// A launch in tiles of 32 × 32 but for the kernel.
pub struct Launch<'a, T: DeviceCopy> {
    device: &'a Device,
    shape: Shape,
    extents: (u32, u32),
    from: &'a DeviceBuffer<T>,
    to: &'a mut DeviceBuffer<T>,
}

macro_rules! elements {
    ($($element:ty: $passed:ty;)*) => {$(
        impl UseKernel<Signature<$passed>, Result<(), Error>> for Launch<'_, $element> {
            fn with<K: Kernel<Signature = Signature<$passed>> + 'static>(self) -> Result<(), Error> {
                let Self { device, shape, extents: (rows, cols), from, to } = self;
                // SAFETY: the promise of `Element::launch`'s caller, which is what each kernel asks for.
                unsafe { Ok(device.kernel::<K>(&LEVELS)?.launch(shape, (rows, cols, from, to))?) }
            }
        }

        impl Element for $element {
            fn in_tiles(step: k::Step) -> Option<&'static str> {
                Some(<$passed as k::Family>::choose(step, Name))
            }

            unsafe fn launch(step: k::Step, launch: Launch<Self>) -> Result<(), Error> {
                <$passed as k::Family>::choose(step, launch)
            }
        }
    )*};
}
elements! { f32: f32; f64: f64; F16: half::f16; u8: u8; }

impl Element for Quad {
    fn in_tiles(_: k::Step) -> Option<&'static str> {
        None
    }

    unsafe fn launch(step: k::Step, _: Launch<Self>) -> Result<(), Error> {
        Err(no_kernel::<Self>(step))
    }
}

/// `to` becomes the transpose of the rows × cols matrix `from` (or its copy, for [`Step::Copy`]).
pub fn transpose<T: Element>(
    device: &Device,
    step: Step,
    (rows, cols): (usize, usize),
    from: &DeviceBuffer<T>,
    to: &mut DeviceBuffer<T>,
) -> Result<(), Error> {
    let Some(tiled) = step.in_tiles() else {
        let variant = step.variant().ok_or_else(|| no_kernel::<T>(step))?;
        let bytes = size_of::<T>();
        if !dispatch::takes(variant, bytes, (rows, cols)) {
            return Err(no_kernel::<T>(step));
        }
        let plan = Plan::of(Target::Any, variant, bytes, (rows, cols))?;
        // SAFETY: as of the steps below.
        return Ok(unsafe { dispatch::launch(device, &plan, from, to) }?);
    };
    let has = from.len().min(to.len());
    if rows.checked_mul(cols).is_none_or(|needed| needed > has) {
        return Err(Error::Size(format!("the matrix is {rows} × {cols}, a buffer has {has} elements")));
    }
    let extent =
        |extent: usize| u32::try_from(extent).map_err(|_| Error::Size(format!("{extent} is too large")));
    let shape = Shape::tiles((cols, rows), (k::TILE, k::TILE), (k::TILE as u32, k::BLOCK_ROWS as u32));
    // SAFETY: both buffers hold rows × cols elements, as compared above.
    unsafe {
        let extents = (extent(rows)?, extent(cols)?);
        T::launch(tiled, Launch { device, shape, extents, from, to })
    }
}

/// The expected result of a step.
pub fn expected<T: Copy>(step: Step, (rows, cols): (usize, usize), from: &[T]) -> Vec<T> {
    match step {
        Step::Copy => from.to_vec(),
        _ => (0..rows * cols).map(|i| from[i % rows * cols + i / rows]).collect(),
    }
}

pub struct TransposeDemo;

impl Demo for TransposeDemo {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn title(&self) -> &'static str {
        "Transpose, f32, f64, f16 and bytes"
    }

    fn takes(&self, size: Size) -> bool {
        !matches!(size, Size::Three(..))
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let size = stage.size_or(512, 8192);
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

    fn text(&self, rows: &[Row]) -> String {
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
}

/// A launch of the demo: a step, or what the dispatcher takes on Hopper.
enum Shown {
    Step(Step),
    Plan(Plan),
}

/// The launches for a type that are wanted, with their kernels.
fn launches<T: Element>(stage: &Stage, extents: (usize, usize)) -> Result<Vec<(&'static str, Shown)>, Error> {
    let named = Step::ALL.into_iter().filter_map(|step| Some((T::name_for(step, extents)?, step)));
    let mut all: Vec<_> = named.map(|(name, step)| (name, Shown::Step(step))).collect();
    // The dispatcher's kernels for Hopper are no steps: they are shown to those who name them.
    for variant in [Variant::Vectorised, Variant::Shifted, Variant::Narrow] {
        if stage.only.is_some() && dispatch::takes(variant, size_of::<T>(), extents) {
            let plan = Plan::of(Target::Hopper, variant, size_of::<T>(), extents)?;
            all.push((plan.kernel(), Shown::Plan(plan)));
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
    let elements: Vec<T> = numbers.iter().map(|&x| element(x)).collect();
    let from = stage.upload("the matrix", &elements)?;
    let mut to = stage.target("the result", elements.len(), Fill::Zeros)?;
    let work = Workload { flops: 0.0, bytes: 2.0 * size_of_val(&elements[..]) as f64 };
    let mut rows = Vec::new();
    for (name, launch) in launches {
        to.wipe()?;
        let mut run = || match &launch {
            Shown::Step(step) => transpose(stage.device, *step, extents, &from, to.buffer()),
            Shown::Plan(plan) => {
                // SAFETY: the stage waits for the launch before source or target is used again.
                Ok(unsafe { dispatch::launch(stage.device, plan, &from, to.buffer()) }?)
            }
        };
        let counters = stage.once(name, &mut run)?;
        let time = stage.time(&mut run)?;
        let verdict = match launch {
            Shown::Step(Step::Copy) => exact(to.read()?, &elements),
            _ => exact_turned(to.read()?, &elements, extents),
        };
        let shows = match launch {
            Shown::Step(step) => step.shows(size_of::<T>()),
            Shown::Plan(_) => "launches overlap".into(),
        };
        let row = Row::new("transpose", name, "", Size::Two(extents.0, extents.1), stage.device.kind());
        rows.push(row.checked(verdict).counted(counters).timed(time, work).shows(shows));
    }
    row::against_first(&mut rows);
    Ok(rows)
}
