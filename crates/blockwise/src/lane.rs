//! Values that lanes of a warp exchange.

use crate::{Element, marks};

/// A value of 4 bytes, which shuffles move.
///
/// ```
/// # use blockwise::prelude::*;
/// /// The column of each row's greatest element, or the first of them: the greatest of all, then the least column that has it.
/// #[kernel]
/// pub fn greatest(
///     block: Block<128>,
///     #[shared] mut of_values: Scratch<f32>,
///     #[shared] mut of_cols: Scratch<u32>,
///     x: Matrix<f32>,
///     mut cols: SliceMut<u32, Part<1>>,
/// ) {
///     let row = x.row(block.x());
///     let own = block.each(|t| row.iter().skip(t.x()).step_by(128).fold(f32::NEG_INFINITY, |a, b| a.max(*b)));
///     let most = block.reduce(&mut of_values, &own, f32::max);
///     let has = block.each(|t| (t.x()..row.len()).step_by(128).find(|i| row[*i] == most).map_or(u32::MAX, |i| i as u32));
///     let col = block.reduce(&mut of_cols, &has, u32::min);
///     cols.write(&block, |_, _| col);
/// }
/// ```
/// A struct of both is no such value:
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// #[derive(Clone, Copy)]
/// struct Best(f32, u32);
///
/// # #[kernel]
/// # pub fn wrong(block: Block<128>, #[shared] mut scratch: Scratch<Best>) {
/// let own = block.each(|t| Best(0.0, t.x() as u32));
/// let best = block.reduce(&mut scratch, &own, |a, b| if b.0 > a.0 { b } else { a });
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "lanes exchange values of 4 bytes, `u32`, `i32` or `f32`, not `{Self}`",
    label = "no value that lanes exchange",
    note = "the fields of a struct are exchanged one after the other; other values go through a tile"
)]
pub trait Lane: Element + sealed::Bits {}
impl<T: Element + sealed::Bits> Lane for T {}

mod sealed {
    /// Values that are 32 bits.
    #[diagnostic::on_unimplemented(
        message = "lanes exchange values of 4 bytes, `u32`, `i32` or `f32`, not `{Self}`",
        label = "no value that lanes exchange",
        note = "the fields of a struct are exchanged one after the other; other values go through a tile"
    )]
    pub trait Bits: Copy {
        fn bits(self) -> u32;
        fn of_bits(bits: u32) -> Self;

        /// # Safety
        /// All lanes of the warp come by.
        #[inline(always)]
        unsafe fn exchange(self, mask: u32) -> Self {
            // SAFETY: the caller's promise.
            Self::of_bits(unsafe { super::marks::shuffle_xor(u32::MAX, self.bits(), mask & 31, 31) })
        }

        /// # Safety
        /// As above.
        #[inline(always)]
        unsafe fn before(self, distance: u32) -> Self {
            // SAFETY: the caller's promise.
            Self::of_bits(unsafe { super::marks::shuffle_up(u32::MAX, self.bits(), distance & 31, 0) })
        }

        /// # Safety
        /// As above.
        #[inline(always)]
        unsafe fn of_lane(self, lane: u32) -> Self {
            // SAFETY: the caller's promise.
            Self::of_bits(unsafe { super::marks::shuffle_index(u32::MAX, self.bits(), lane & 31, 31) })
        }
    }

    macro_rules! bits {
        ($($ty:ty: |$value:ident| $bits:expr, |$word:ident| $of:expr;)*) => {$(
            impl Bits for $ty {
                #[inline(always)]
                fn bits(self) -> u32 {
                    let $value = self;
                    $bits
                }
                #[inline(always)]
                fn of_bits($word: u32) -> Self {
                    $of
                }
            }
        )*};
    }
    bits! {
        u32: |value| value, |bits| bits;
        i32: |value| value as u32, |bits| bits as i32;
        f32: |value| value.to_bits(), |bits| f32::from_bits(bits);
    }
}

/// # Safety
/// All lanes of the warp come by.
#[inline(always)]
pub(crate) unsafe fn ballot(condition: bool) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { marks::ballot(u32::MAX, condition) }
}
