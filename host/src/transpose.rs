//! The transpose of any matrix of 1-, 2-, 4-, 8- or 16-byte elements: picks the kernel, and says which.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use cust::memory::DeviceBuffer;
//! use host::transpose::transpose;
//! use warpsmith_launch::{Device, Wish};
//!
//! let device = Device::open(Wish::Auto)?;
//! let from = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut to = DeviceBuffer::from_slice(&[0.0f32; 6])?;
//! let choice = transpose(&device, (2, 3), &from, &mut to)?;
//! device.synchronize()?;
//! println!("by {}: {:?}", choice.kernel(), to.as_host_vec()?); // 1, 4, 2, 5, 3, 6
//! # Ok(()) }
//! ```

use cuda_std::Kernel;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::choice::{Name, UseKernel};
use kernels_gpu::transpose::tiling::{Tile, windows};
use kernels_gpu::transpose::{Signature, UseTranspose, hopper, shifted, vectorised};
use warpsmith_launch::extra::Extended;
use warpsmith_launch::{Device, Limits, Shape};

use crate::error::Error;
use crate::modules::LEVELS;

/// The bytes of a vector, which rows must be a multiple of for [`Variant::Vectorised`].
const VECTOR: usize = 16;

/// So many blocks are few: an H200 holds as many shifted tiles at one time.
const FEW: u64 = 528;

/// How a matrix is transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Rows of both matrices begin at multiples of 16 bytes: whole vectors on both sides.
    Vectorised,
    /// Rows begin anywhere: memory's own vectors, shifted on their way through shared memory.
    Shifted,
    /// As [`Shifted`](Self::Shifted), in tiles half as wide, for elements of up to 4 bytes on chips of capability 9.0.
    Narrow,
}

/// Which of a variant's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// For any chip.
    Any,
    /// For capability 9.0: launches overlap, and L2 fetches lines in pairs.
    Hopper,
}

impl For {
    /// The best that a device has.
    pub fn device(limits: &Limits) -> Self {
        if limits.capability == (9, 0) { Self::Hopper } else { Self::Any }
    }
}

/// What was picked for a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// How.
    pub variant: Variant,
    /// For which chips.
    pub chips: For,
    /// Bytes of an element.
    pub bytes: usize,
    /// Grid and block.
    pub shape: Shape,
}

impl Choice {
    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        self.with_kernel(Name).unwrap_or_default()
    }

    /// Uses the kernel, if there is one for elements of so many bytes.
    fn with_kernel<R>(&self, user: impl UseTranspose<R>) -> Option<R> {
        match (self.chips, self.variant) {
            (For::Any, Variant::Vectorised) => vectorised::choose(self.bytes, user),
            (For::Any, Variant::Shifted) => shifted::choose(self.bytes, user),
            (For::Hopper, Variant::Vectorised) => hopper::vectorised::choose(self.bytes, user),
            (For::Hopper, Variant::Shifted) => hopper::shifted::choose(self.bytes, user),
            (_, Variant::Narrow) => hopper::narrow::choose(self.bytes, user),
        }
    }

    /// Why this kernel, in a sentence.
    pub fn why(&self) -> String {
        let rows = match self.variant {
            Variant::Vectorised => "all rows begin at multiples of 16 bytes",
            Variant::Shifted => "some rows begin at no multiple of 16 bytes",
            Variant::Narrow => "some rows begin at no multiple of 16 bytes, the matrix is small",
        };
        let chip = match self.chips {
            For::Any => "not one of capability 9.0",
            For::Hopper => "one of capability 9.0, where launches overlap",
        };
        format!("{rows}, and the chip is {chip}")
    }

    /// How it is launched.
    pub fn extended(&self) -> Extended {
        Extended { early: self.chips == For::Hopper, ..Extended::default() }
    }
}

/// The fastest variant on such a chip for a rows × cols matrix of elements of `bytes` bytes between these addresses.
pub fn choose(
    chips: For,
    bytes: usize,
    extents: (usize, usize),
    (from, to): (u64, u64),
) -> Result<Choice, Error> {
    let (rows, cols) = extents;
    let aligned = [from as usize, to as usize, rows * bytes, cols * bytes].iter().all(|&b| b % VECTOR == 0);
    let variant = if aligned { Variant::Vectorised } else { Variant::Shifted };
    let choice = plan(chips, variant, bytes, extents)?;
    // Where the chip holds all tiles at one time, some multiprocessors have none or one less than others: half tiles share the
    // work out better. Bytes of 1023 × 1025 take 4.3 µs instead of 6.7, f16 4.9 instead of 7.3, f32 4.3 instead of 5.9.
    let blocks: u64 = choice.shape.grid.iter().map(|&blocks| u64::from(blocks)).product();
    if !aligned && chips == For::Hopper && bytes < 8 && blocks <= FEW {
        return plan(chips, Variant::Narrow, bytes, extents);
    }
    Ok(choice)
}

/// Whether the variant takes such a matrix in buffers of their own, which begin at multiples of 16 bytes.
pub fn takes(variant: Variant, bytes: usize, (rows, cols): (usize, usize)) -> bool {
    match variant {
        Variant::Vectorised => (rows * bytes).is_multiple_of(VECTOR) && (cols * bytes).is_multiple_of(VECTOR),
        Variant::Shifted => bytes < VECTOR,
        Variant::Narrow => bytes < 8,
    }
}

/// Grid and block of a variant.
pub fn plan(
    chips: For,
    variant: Variant,
    bytes: usize,
    (rows, cols): (usize, usize),
) -> Result<Choice, Error> {
    let tile = match (variant, bytes) {
        (Variant::Vectorised, 8) if chips == For::Hopper => hopper::TILE_8,
        (Variant::Vectorised, 1) => vectorised::TILE_1,
        (Variant::Vectorised, 2) => vectorised::TILE_2,
        (Variant::Vectorised, 4) => vectorised::TILE_4,
        (Variant::Vectorised, 8) => vectorised::TILE_8,
        (Variant::Vectorised, 16) => vectorised::TILE_16,
        (Variant::Shifted, 1) => shifted::TILE_1,
        (Variant::Shifted, 2) => shifted::TILE_2,
        (Variant::Shifted, 4) => shifted::TILE_4,
        (Variant::Shifted, 8) => shifted::TILE_8,
        (Variant::Narrow, 1) if chips == For::Hopper => shifted::NARROW_1,
        (Variant::Narrow, 2) if chips == For::Hopper => shifted::NARROW_2,
        (Variant::Narrow, 4) if chips == For::Hopper => shifted::NARROW_4,
        (Variant::Narrow, _) => return plan(chips, Variant::Shifted, bytes, (rows, cols)),
        _ => {
            return Err(no_such_size(bytes));
        }
    };
    let hopper = chips == For::Hopper && variant == Variant::Vectorised;
    let own = match variant {
        Variant::Vectorised if hopper => (vectorised::own_rows(tile, rows, bytes), tile.cols),
        Variant::Vectorised => (tile.rows, tile.cols),
        Variant::Shifted | Variant::Narrow => shifted::own(tile, bytes),
    };
    let side = match (variant, bytes) {
        (Variant::Shifted, 1) => shifted::SIDE_1 as usize,
        _ if hopper => windows(cols * bytes) as usize,
        _ => 1,
    };
    let shape = grid(tile, own, side, (rows, cols));
    Ok(Choice { variant, chips, bytes, shape })
}

fn no_such_size(bytes: usize) -> Error {
    Error::Size(format!(
        "elements of {bytes} bytes cannot be transposed: 1, 2, 4, 8 and 16 bytes can, 16 only in buffers and rows aligned \
         to 16"
    ))
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

/// `to` becomes the transpose of the rows × cols matrix `from`. Returns what was picked.
pub fn transpose<T: DeviceCopy>(
    device: &Device,
    extents: (usize, usize),
    from: &DeviceSlice<T>,
    to: &mut DeviceSlice<T>,
) -> Result<Choice, Error> {
    let addresses = (from.as_device_ptr().as_raw(), to.as_device_ptr().as_raw());
    let choice = choose(For::device(device.limits()), size_of::<T>(), extents, addresses)?;
    launch(device, &choice, extents, from, to)?;
    Ok(choice)
}

/// Launches what was picked.
pub fn launch<T: DeviceCopy>(
    device: &Device,
    choice: &Choice,
    (rows, cols): (usize, usize),
    from: &DeviceSlice<T>,
    to: &mut DeviceSlice<T>,
) -> Result<(), Error> {
    let has = from.len().min(to.len());
    if rows.checked_mul(cols).is_none_or(|needed| needed > has) {
        return Err(Error::Size(format!("the matrix is {rows} × {cols}, a buffer has {has} elements")));
    }
    // The last tiles reach beyond the matrix, and rows and columns are counted in 32 bits.
    let extent = |extent: usize| {
        let largest = u32::MAX - 511;
        u32::try_from(extent).ok().filter(|&extent| extent <= largest).ok_or_else(|| {
            Error::Size(format!("{extent} rows or columns are too many: {largest} is the limit"))
        })
    };
    let (rows, cols) = (extent(rows)?, extent(cols)?);
    let (len, from, to) = (from.len(), from.as_device_ptr().as_raw(), to.as_device_ptr().as_raw());
    let launch = Launch { device, choice, extents: (rows, cols), from, to, len };
    choice.with_kernel(launch).unwrap_or_else(|| Err(no_such_size(choice.bytes)))
}

/// A launch but for the type of its elements, which are moved as bits of their size.
struct Launch<'a> {
    device: &'a Device,
    choice: &'a Choice,
    extents: (u32, u32),
    from: u64,
    to: u64,
    len: usize,
}

impl<T: DeviceCopy> UseKernel<Signature<T>, Result<(), Error>> for Launch<'_> {
    fn with<K: Kernel<Signature = Signature<T>> + 'static>(self) -> Result<(), Error> {
        let Self { device, choice, extents: (rows, cols), from, to, len } = self;
        // SAFETY: the buffers hold rows × cols elements of this size, as `launch` compared. What begins early waits.
        unsafe {
            let from = DeviceSlice::<T>::from_raw_parts(DevicePointer::from_raw(from), len);
            let to = DevicePointer::<T>::from_raw(to);
            Ok(device.kernel::<K>(&LEVELS)?.launch_extended(
                choice.shape,
                choice.extended(),
                (rows, cols, &from, to),
            )?)
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_decides() {
        let pick = |bytes, extents, from, to| choose(For::Any, bytes, extents, (from, to)).unwrap().kernel();
        assert_eq!(pick(4, (8, 12), 256, 512), "transpose_vectorised_4_bytes");
        assert_eq!(pick(4, (8, 13), 256, 512), "transpose_shifted_4_bytes");
        assert_eq!(pick(4, (7, 12), 256, 512), "transpose_shifted_4_bytes");
        assert_eq!(pick(4, (8, 12), 256, 516), "transpose_shifted_4_bytes");
        assert_eq!(pick(1, (8, 16), 0, 0), "transpose_shifted_1_byte");
        assert_eq!(pick(16, (7, 3), 0, 0), "transpose_vectorised_16_bytes");
        let choice = choose(For::Hopper, 1, (256, 512), (0, 0)).unwrap();
        assert_eq!(
            (choice.kernel(), choice.shape.shared, choice.shape.grid),
            ("transpose_hopper_1_byte", 0, [2, 2, 1])
        );
        assert!(choice.why().contains("begin at multiples of 16") && choice.extended().early);
        let choice = choose(For::Hopper, 8, (7, 12), (0, 0)).unwrap();
        assert_eq!((choice.kernel(), choice.shape.shared), ("transpose_hopper_shifted_8_bytes", 0));
        let of_bytes = |edge| choose(For::Hopper, 1, (edge, edge), (0, 0)).unwrap().kernel();
        assert_eq!(
            [1001, 5001].map(of_bytes),
            ["transpose_hopper_narrow_1_byte", "transpose_hopper_shifted_1_byte"]
        );
        // Tiles half as wide are for Hopper alone, and for no elements of 8 bytes.
        let narrow = |chips, bytes| plan(chips, Variant::Narrow, bytes, (99, 99)).unwrap().kernel();
        assert_eq!(
            [narrow(For::Any, 2), narrow(For::Hopper, 8), narrow(For::Hopper, 2)],
            [
                "transpose_shifted_2_bytes",
                "transpose_hopper_shifted_8_bytes",
                "transpose_hopper_narrow_2_bytes"
            ]
        );
        // Rows 128 KiB apart: two columns of tiles at a time. Half sectors at the ends of columns: a vector of rows less.
        let grid = |rows, cols| choose(For::Hopper, 8, (rows, cols), (0, 0)).unwrap().shape.grid;
        assert_eq!((grid(16384, 16384), grid(16384, 8192)), ([512, 256, 1], [256, 256, 1]));
        assert_eq!((grid(640, 640), grid(634, 640)), ([10, 20, 1], [11, 20, 1]));
        let refused = choose(For::Any, 3, (4, 4), (0, 0)).unwrap_err().to_string();
        assert!(refused.contains("3 bytes"), "{refused}");
    }

    #[test]
    fn every_tile_has_a_block_whatever_the_shape() {
        for (rows, cols) in [(1, 1), (64, 64), (1000, 3), (3, 100_000_000), (0, 5), (5, 0)] {
            for (variant, bytes) in [(Variant::Vectorised, 4), (Variant::Shifted, 4), (Variant::Shifted, 1)] {
                let Shape { grid, .. } = plan(For::Any, variant, bytes, (rows, cols)).unwrap().shape;
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
