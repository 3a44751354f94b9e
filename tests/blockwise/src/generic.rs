//! Generic kernels: types, constants and operations, and where the instances' arguments may stand.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// An operation without data, which a unit type names.
pub trait Operation<T> {
    fn of(a: T, b: T) -> T;
}
pub struct Add;
pub struct Larger;
impl<T: core::ops::Add<Output = T>> Operation<T> for Add {
    fn of(a: T, b: T) -> T {
        a + b
    }
}
impl<T: PartialOrd> Operation<T> for Larger {
    fn of(a: T, b: T) -> T {
        if a < b { b } else { a }
    }
}

/// Each column of the tiles of `EDGE` by `EDGE` elements in one value, begun with `first`.
#[kernel(T = [f32, u64], OP = [Add, Larger], EDGE = [16, 32])]
#[requires(x.len() >= EDGE)]
pub fn safe_columns<T: DeviceCopy, OP: Operation<T>, const EDGE: usize>(
    block: Block<EDGE>,
    #[shared] tile: Tile<T, EDGE, EDGE, Padded<1>>,
    first: T,
    x: &[T],
    mut columns: SliceMut<T>,
) {
    let start = block.x() * EDGE * EDGE;
    let tile = block.share(tile.fill(&block, |_, (row, col)| x[start + row * EDGE + col]));
    columns.write(&block, |t, _| (0..EDGE).fold(first, |all, row| OP::of(all, tile.at(row, t.x()))));
}

pub const NARROW: usize = 32;

/// A type whose items the signature names.
pub trait Pixel: DeviceCopy {
    type Sample: DeviceCopy;
    fn sample(self) -> Self::Sample;
}
impl Pixel for u8 {
    type Sample = f32;
    fn sample(self) -> f32 {
        f32::from(self)
    }
}
impl Pixel for [u16; 2] {
    type Sample = u32;
    fn sample(self) -> u32 {
        u32::from(self[0]) << 16 | u32::from(self[1])
    }
}

/// The samples moved by `BY` places; beyond the ends stands `rest`.
#[kernel((P, BY) = [(u8, -1), ([u16; 2], 2)], THREADS = [NARROW, 64])]
#[requires(x.len() == samples.len(), samples.len() >= THREADS)]
pub fn safe_shifted<P, const BY: isize, const THREADS: usize>(
    block: Block<THREADS>,
    x: &[P],
    rest: <P as Pixel>::Sample,
    mut samples: SliceMut<<P as Pixel>::Sample>,
) where
    P: Pixel,
{
    let at = |i: usize| x.get(i.wrapping_add_signed(BY)).map_or(rest, |pixel| pixel.sample());
    samples.write(&block, |_, i| at(i));
}
