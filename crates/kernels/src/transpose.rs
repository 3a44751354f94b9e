//! The transpose of any matrix of 1-, 2-, 4-, 8- or 16-byte elements: picks the kernel, and says which.
//!
//! ```
//! use warpsmith_kernels::transpose::transpose;
//! use warpsmith_launch::{Device, DevicePreference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DevicePreference::Virtual)?;
//! let from = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut to = device.upload(&[0.0f32; 6])?;
//! let plan = transpose(&device, (2, 3), &from, &mut to)?;
//! assert_eq!(device.download(&to)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0], "by {}", plan.kernel());
//! # Ok(()) }
//! ```

use cuda_std::Kernel;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::base::transpose as base;
use kernels_gpu::choice::UseKernel;
use kernels_gpu::hopper::transpose as hopper;
use kernels_gpu::transpose::tiling::{Tile, windows};
use kernels_gpu::transpose::{Signature, shifted, vectorised};
use warpsmith_launch::extra::Extended;
use warpsmith_launch::{BufferSlice, BufferSliceMut, Device, Limits, Shape};

use crate::costs::Costs;
use crate::{Error, LEVELS, finished};

/// The bytes of a vector, which rows must be a multiple of for [`Variant::Vectorised`].
const VECTOR: usize = 16;

/// An implementation of the transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Rows of both matrices begin at multiples of 16 bytes: whole vectors on both sides.
    Vectorised,
    /// Rows begin anywhere: memory's own vectors, shifted on their way through shared memory.
    Shifted,
    /// As [`Shifted`](Self::Shifted), in tiles half as wide, for elements of up to 4 bytes on chips of capability 9.0.
    Narrow,
}

/// The chips that a variant's kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// For any chip.
    Any,
    /// For capability 9.0: launches overlap, and L2 fetches lines in pairs.
    Hopper,
}

impl Target {
    /// The best generation that a device has.
    pub fn device(limits: &Limits) -> Self {
        if limits.capability == (9, 0) { Self::Hopper } else { Self::Any }
    }
}

/// The choice for a matrix. Launches trust it, so only this module makes one:
///
/// ```compile_fail,E0451
/// fn other(plan: warpsmith_kernels::transpose::Plan) -> warpsmith_kernels::transpose::Plan {
///     warpsmith_kernels::transpose::Plan { extents: (1 << 20, 1 << 20), ..plan }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    entry: Entry,
    variant: Variant,
    target: Target,
    bytes: usize,
    extents: (usize, usize),
    shape: Shape,
}

impl Plan {
    /// The fastest variant on such a device for a rows × cols matrix of elements of `bytes` bytes between these addresses.
    pub fn choose(
        limits: &Limits,
        bytes: usize,
        extents: (usize, usize),
        (from, to): (u64, u64),
    ) -> Result<Self, Error> {
        let target = Target::device(limits);
        let aligned = rows_are_aligned(bytes, extents, [from, to]);
        let variant = if aligned { Variant::Vectorised } else { Variant::Shifted };
        let plan = Self::of(target, variant, bytes, extents)?;
        // Where the chip holds all tiles at one time, some multiprocessors have none or one less than others: half tiles share
        // the work out better. Bytes of 1023 × 1025 take 4.3 µs instead of 6.7, f16 4.9 instead of 7.3, f32 4.3 instead of 5.9.
        let blocks: u64 = plan.shape.grid.iter().map(|&blocks| u64::from(blocks)).product();
        if !aligned && target == Target::Hopper && bytes < 8 && blocks <= Costs::of(limits).transposes_at_once
        {
            return Self::of(target, Variant::Narrow, bytes, extents);
        }
        Ok(plan)
    }

    /// That of a variant, or of the next best where it does not exist.
    pub fn of(
        target: Target,
        variant: Variant,
        bytes: usize,
        (rows, cols): (usize, usize),
    ) -> Result<Self, Error> {
        let tile = match (variant, bytes) {
            (Variant::Vectorised, 8) if target == Target::Hopper => hopper::TILE_8,
            (Variant::Vectorised, 1) => vectorised::TILE_1,
            (Variant::Vectorised, 2) => vectorised::TILE_2,
            (Variant::Vectorised, 4) => vectorised::TILE_4,
            (Variant::Vectorised, 8) => vectorised::TILE_8,
            (Variant::Vectorised, 16) => vectorised::TILE_16,
            (Variant::Shifted, 1) => shifted::TILE_1,
            (Variant::Shifted, 2) => shifted::TILE_2,
            (Variant::Shifted, 4) => shifted::TILE_4,
            (Variant::Shifted, 8) => shifted::TILE_8,
            (Variant::Narrow, 1) if target == Target::Hopper => shifted::NARROW_1,
            (Variant::Narrow, 2) if target == Target::Hopper => shifted::NARROW_2,
            (Variant::Narrow, 4) if target == Target::Hopper => shifted::NARROW_4,
            (Variant::Narrow, _) => return Self::of(target, Variant::Shifted, bytes, (rows, cols)),
            _ => return Err(no_such_size(bytes)),
        };
        let entry = entry(target, variant, bytes).ok_or_else(|| no_such_size(bytes))?;
        // The last tiles reach beyond the matrix, and rows and columns are counted in 32 bits.
        let largest = (u32::MAX - 511) as usize;
        if let Some(extent) = [rows, cols].into_iter().find(|&extent| extent > largest) {
            return Err(Error::Transpose(format!(
                "{extent} rows or columns are too many: {largest} is the limit"
            )));
        }
        let early = target == Target::Hopper && variant == Variant::Vectorised;
        let own = match variant {
            Variant::Vectorised if early => (vectorised::own_rows(tile, rows, bytes), tile.cols),
            Variant::Vectorised => (tile.rows, tile.cols),
            Variant::Shifted | Variant::Narrow => shifted::own(tile, bytes),
        };
        let side = match (variant, bytes) {
            (Variant::Shifted, 1) => shifted::SIDE_1 as usize,
            _ if early => windows(cols * bytes) as usize,
            _ => 1,
        };
        let shape = grid(tile, own, side, (rows, cols));
        Ok(Self { entry, variant, target, bytes, extents: (rows, cols), shape })
    }

    /// How.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Bytes of an element.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rows and columns.
    pub fn extents(&self) -> (usize, usize) {
        self.extents
    }

    /// Grid and block.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        self.entry.0
    }

    /// Why this kernel, in a sentence.
    pub fn why(&self) -> String {
        let rows = match self.variant {
            Variant::Vectorised => "all rows begin at multiples of 16 bytes",
            Variant::Shifted => "some rows begin at no multiple of 16 bytes",
            Variant::Narrow => "some rows begin at no multiple of 16 bytes, the matrix is small",
        };
        let chip = match self.target {
            Target::Any => "not one of capability 9.0",
            Target::Hopper => "one of capability 9.0, where launches overlap",
        };
        format!("{rows}, and the chip is {chip}")
    }

    /// The launch's attributes.
    pub fn extended(&self) -> Extended {
        Extended { early: self.target == Target::Hopper, ..Extended::default() }
    }
}

fn no_such_size(bytes: usize) -> Error {
    Error::Transpose(format!(
        "there is no kernel for elements of {bytes} bytes: 1, 2, 4, 8 and 16 bytes have one, 16 only in buffers and rows \
         aligned to 16"
    ))
}

/// Whether all rows of the matrix and of its transpose begin at multiples of 16 bytes.
fn rows_are_aligned(bytes: usize, (rows, cols): (usize, usize), addresses: [u64; 2]) -> bool {
    takes(Variant::Vectorised, bytes, (rows, cols))
        && addresses.iter().all(|address| address.is_multiple_of(VECTOR as u64))
}

/// Whether the variant takes such a matrix in buffers of their own, which begin at multiples of 16 bytes.
pub fn takes(variant: Variant, bytes: usize, (rows, cols): (usize, usize)) -> bool {
    match variant {
        Variant::Vectorised => (rows * bytes).is_multiple_of(VECTOR) && (cols * bytes).is_multiple_of(VECTOR),
        Variant::Shifted => bytes < VECTOR,
        Variant::Narrow => bytes < 8,
    }
}

/// One block for each `own` rows and columns of a tile: `side` of them, side by side or in windows of their own, then down, then
/// across. A grid is 65,535 blocks high: more go into its third axis.
fn grid(tile: Tile, own: (usize, usize), side: usize, (rows, cols): (usize, usize)) -> Shape {
    const HIGH: usize = 65_535;
    let (down, across) = (rows.div_ceil(own.0) * side, cols.div_ceil(own.1 * side));
    let deep = across.div_ceil(HIGH);
    let extent = |blocks: usize| u32::try_from(blocks).unwrap_or(u32::MAX);
    let high = if deep == 0 { 0 } else { across.div_ceil(deep) };
    Shape { grid: [extent(down), extent(high), extent(deep)], block: [tile.threads as u32, 1, 1], shared: 0 }
}

/// `to` becomes the transpose of the rows × cols matrix `from`, when this returns. Returns what was picked.
pub fn transpose<'b, T: DeviceCopy>(
    device: &Device,
    extents: (usize, usize),
    from: impl Into<BufferSlice<'b, T>>,
    to: impl Into<BufferSliceMut<'b, T>>,
) -> Result<Plan, Error> {
    let (from, mut to) = (from.into(), to.into());
    let addresses = (from.as_device_ptr().as_raw(), to.as_device_ptr().as_raw());
    let plan = Plan::choose(device.limits(), size_of::<T>(), extents, addresses)?;
    // SAFETY: both are borrowed until the device has been waited for.
    finished(device, unsafe { launch(device, &plan, from.as_cust(), to.as_cust_mut()) })?;
    Ok(plan)
}

/// Puts what was picked on the device's stream. Whether the buffers are as the plan was made for is looked at again.
///
/// # Safety
/// Until the stream has done it, both stay where they are, and nothing else writes `from` or reaches `to`.
pub unsafe fn launch<T: DeviceCopy>(
    device: &Device,
    plan: &Plan,
    from: &DeviceSlice<T>,
    to: &mut DeviceSlice<T>,
) -> Result<(), Error> {
    let (has, bytes, (rows, cols)) = (from.len().min(to.len()), size_of::<T>(), plan.extents);
    if bytes != plan.bytes {
        let planned = plan.bytes;
        return Err(Error::Transpose(format!(
            "the plan is for elements of {planned} bytes, and these have {bytes}: make a plan for these"
        )));
    }
    if rows.checked_mul(cols).is_none_or(|needed| needed > has) {
        return Err(Error::Transpose(format!("the matrix is {rows} × {cols}, a buffer has {has} elements")));
    }
    let addresses = [from.as_device_ptr().as_raw(), to.as_device_ptr().as_raw()];
    if plan.variant == Variant::Vectorised && !rows_are_aligned(bytes, plan.extents, addresses) {
        return Err(Error::Transpose(format!(
            "`{}` takes rows that begin at multiples of 16 bytes, and of {rows} × {cols} elements of {bytes} bytes at {:#x} \
             and {:#x} some begin elsewhere: let `Plan::choose` choose",
            plan.kernel(),
            addresses[0],
            addresses[1]
        )));
    }
    (plan.entry.1)(device, plan, addresses)
}

/// A kernel's name, and its launch.
type Entry = (&'static str, fn(&Device, &Plan, [u64; 2]) -> Result<(), Error>);

/// Makes the entry of the kernel that is chosen.
struct MakeEntry;

impl<T: DeviceCopy> UseKernel<Signature<T>, Entry> for MakeEntry {
    fn with<K: Kernel<Signature = Signature<T>> + 'static>(self) -> Entry {
        // SAFETY: elements are moved as bits of their size, and `launch` compared the buffers with rows × cols of them. What
        // begins early waits. `Plan::of` keeps both extents below 2³².
        (K::NAME, |device, plan, [from, to]| unsafe {
            let (rows, cols) = plan.extents;
            let from = DeviceSlice::<T>::from_raw_parts(DevicePointer::from_raw(from), rows * cols);
            let arguments = (rows as u32, cols as u32, &from, DevicePointer::<T>::from_raw(to));
            Ok(device.kernel::<K>(&LEVELS)?.launch_extended(plan.shape, plan.extended(), arguments)?)
        })
    }
}

fn entry(target: Target, variant: Variant, bytes: usize) -> Option<Entry> {
    match (target, variant) {
        (Target::Any, Variant::Vectorised) => base::vectorised::choose(bytes, MakeEntry),
        (Target::Any, Variant::Shifted) => base::shifted::choose(bytes, MakeEntry),
        (Target::Hopper, Variant::Vectorised) => hopper::vectorised::choose(bytes, MakeEntry),
        (Target::Hopper, Variant::Shifted) => hopper::shifted::choose(bytes, MakeEntry),
        (_, Variant::Narrow) => hopper::narrow::choose(bytes, MakeEntry),
    }
}

#[cfg(test)]
mod tests {
    use gpu_model::chips::H200;

    use super::*;

    fn limits(target: Target) -> Limits {
        let capability = if target == Target::Hopper { (9, 0) } else { (8, 0) };
        Limits { capability, ..Limits::of_chip(&H200) }
    }

    fn choose(
        target: Target,
        bytes: usize,
        extents: (usize, usize),
        addresses: (u64, u64),
    ) -> Result<Plan, Error> {
        Plan::choose(&limits(target), bytes, extents, addresses)
    }

    #[test]
    fn alignment_decides() {
        let pick =
            |bytes, extents, from, to| choose(Target::Any, bytes, extents, (from, to)).unwrap().kernel();
        assert_eq!(pick(4, (8, 12), 256, 512), "transpose_vectorised_4_bytes");
        assert_eq!(pick(4, (8, 13), 256, 512), "transpose_shifted_4_bytes");
        assert_eq!(pick(4, (7, 12), 256, 512), "transpose_shifted_4_bytes");
        assert_eq!(pick(4, (8, 12), 256, 516), "transpose_shifted_4_bytes");
        assert_eq!(pick(1, (8, 16), 0, 0), "transpose_shifted_1_byte");
        assert_eq!(pick(16, (7, 3), 0, 0), "transpose_vectorised_16_bytes");
        let plan = choose(Target::Hopper, 1, (256, 512), (0, 0)).unwrap();
        assert_eq!(
            (plan.kernel(), plan.shape.shared, plan.shape.grid),
            ("transpose_hopper_1_byte", 0, [2, 2, 1])
        );
        assert!(plan.why().contains("begin at multiples of 16") && plan.extended().early);
        let plan = choose(Target::Hopper, 8, (7, 12), (0, 0)).unwrap();
        assert_eq!((plan.kernel(), plan.shape.shared), ("transpose_hopper_shifted_8_bytes", 0));
        let of_bytes = |edge| choose(Target::Hopper, 1, (edge, edge), (0, 0)).unwrap().kernel();
        assert_eq!(
            [1001, 5001].map(of_bytes),
            ["transpose_hopper_narrow_1_byte", "transpose_hopper_shifted_1_byte"]
        );
        // Tiles half as wide are for Hopper alone, and for no elements of 8 bytes.
        let narrow = |target, bytes| Plan::of(target, Variant::Narrow, bytes, (99, 99)).unwrap().kernel();
        assert_eq!(
            [narrow(Target::Any, 2), narrow(Target::Hopper, 8), narrow(Target::Hopper, 2)],
            [
                "transpose_shifted_2_bytes",
                "transpose_hopper_shifted_8_bytes",
                "transpose_hopper_narrow_2_bytes"
            ]
        );
        // Rows 128 KiB apart: two columns of tiles at a time. Half sectors at the ends of columns: a vector of rows less.
        let grid = |rows, cols| choose(Target::Hopper, 8, (rows, cols), (0, 0)).unwrap().shape.grid;
        assert_eq!((grid(16384, 16384), grid(16384, 8192)), ([512, 256, 1], [256, 256, 1]));
        assert_eq!((grid(640, 640), grid(634, 640)), ([10, 20, 1], [11, 20, 1]));
        let refused = choose(Target::Any, 3, (4, 4), (0, 0)).unwrap_err().to_string();
        assert!(refused.contains("3 bytes"), "{refused}");
    }

    #[test]
    fn every_tile_has_a_block_whatever_the_shape() {
        for (rows, cols) in [(1, 1), (64, 64), (1000, 3), (3, 100_000_000), (0, 5), (5, 0)] {
            for (variant, bytes) in [(Variant::Vectorised, 4), (Variant::Shifted, 4), (Variant::Shifted, 1)] {
                let Shape { grid, .. } = Plan::of(Target::Any, variant, bytes, (rows, cols)).unwrap().shape;
                let (own, side) = match (variant, bytes) {
                    (Variant::Vectorised, _) => ((64, 64), 1),
                    (_, 4) => ((56, 124), 1),
                    _ => ((224, 112), 4),
                };
                assert!(grid[0] as usize / side * own.0 >= rows && grid[1] <= 65_535 && grid[2] <= 65_535);
                assert!(grid[1] as usize * grid[2] as usize * own.1 * side >= cols);
                assert_eq!(grid.contains(&0), rows * cols == 0, "{rows} × {cols}: {grid:?}");
            }
        }
    }
}
