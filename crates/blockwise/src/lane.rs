//! Values that lanes of a warp exchange.

use crate::{Element, marks};

/// A value of 4 bytes, which shuffles move.
pub trait Lane: Element + sealed::Bits {}
impl<T: Element + sealed::Bits> Lane for T {}

mod sealed {
    /// Values that are 32 bits.
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
