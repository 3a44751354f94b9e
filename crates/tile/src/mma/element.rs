//! The types that tensor cores multiply.

use cuda_std::ptx;
use half::{bf16, f16};

use crate::sealed::Sealed;
pub use crate::tf32::Tf32;

/// The type in which products are added up.
pub trait Number: Copy {
    /// Nothing.
    const ZERO: Self;

    /// `alpha · sum + beta · before`; integers wrap, and take the factors' whole part.
    fn finish(self, alpha: f32, beta: f32, before: Self) -> Self;

    /// `alpha · sum`.
    fn scale(self, alpha: f32) -> Self;

    /// The bits in a 32-bit word.
    fn to_bits(self) -> u32;

    /// The number of these bits.
    fn from_bits(bits: u32) -> Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn finish(self, alpha: f32, beta: f32, before: Self) -> Self {
        alpha * self + beta * before
    }

    #[inline(always)]
    fn scale(self, alpha: f32) -> Self {
        alpha * self
    }

    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        f32::from_bits(bits)
    }
}

impl Number for i32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn finish(self, alpha: f32, beta: f32, before: Self) -> Self {
        // SAFETY: the host admits factors that fit 32 bits, and nothing else reaches a kernel.
        let (alpha, beta) = unsafe { (alpha.to_int_unchecked::<i32>(), beta.to_int_unchecked::<i32>()) };
        self.wrapping_mul(alpha).wrapping_add(before.wrapping_mul(beta))
    }

    #[inline(always)]
    fn scale(self, alpha: f32) -> Self {
        // SAFETY: as above.
        self.wrapping_mul(unsafe { alpha.to_int_unchecked::<i32>() })
    }

    #[inline(always)]
    fn to_bits(self) -> u32 {
        self as u32
    }

    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        bits as i32
    }
}

/// A type that tensor cores multiply. Sealed: fragments are read as its size says.
#[doc(alias = "mma.sync")]
pub trait Element: Sealed + Copy {
    /// The type of the sums.
    type Sum: Number;

    /// D += A · B for one 16 × 8 piece: four words of A, two of B.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    unsafe fn multiply(sums: &mut [Self::Sum; 4], a: [u32; 4], b: [u32; 2]);
}

macro_rules! elements {
    ($($element:ty, $sum:ident, $form:literal;)*) => {$(
        impl Element for $element {
            type Sum = $sum;

            #[inline(always)]
            unsafe fn multiply(sums: &mut [$sum; 4], a: [u32; 4], b: [u32; 2]) {
                let [mut d0, mut d1, mut d2, mut d3] = *sums;
                // SAFETY: the caller's promise.
                unsafe {
                    ptx!(concat!("mma.sync.aligned.", $form,
                                 " {{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, ",
                                 "{{{d0}, {d1}, {d2}, {d3}}};"),
                         d0 = inout($sum) d0, d1 = inout($sum) d1, d2 = inout($sum) d2, d3 = inout($sum) d3,
                         a0 = in(u32) a[0], a1 = in(u32) a[1], a2 = in(u32) a[2], a3 = in(u32) a[3],
                         b0 = in(u32) b[0], b1 = in(u32) b[1];
                         options(nomem, convergent));
                }
                *sums = [d0, d1, d2, d3];
            }
        }
    )*};
}
elements! {
    f16, f32, "m16n8k16.row.col.f32.f16.f16.f32";
    bf16, f32, "m16n8k16.row.col.f32.bf16.bf16.f32";
    Tf32, f32, "m16n8k8.row.col.f32.tf32.tf32.f32";
    i8, i32, "m16n8k32.row.col.s32.s8.s8.s32";
}

/// A 16-bit type: two of them in a word, the first in its lower half.
pub trait Narrow: Element<Sum = f32> {
    /// Rounds two numbers to nearest, ties to even.
    fn pack(first: f32, second: f32) -> u32;

    /// The two numbers of a word.
    fn unpack(word: u32) -> [f32; 2];
}

macro_rules! pack {
    ($instruction:literal, $first:ident, $second:ident) => {{
        let word: u32;
        // SAFETY: computes only. The first source becomes the upper half.
        unsafe {
            ptx!(concat!($instruction, " {word}, {second}, {first};"),
                 word = out(u32) word, second = in(f32) $second, first = in(f32) $first; options(pure, nomem));
        }
        word
    }};
}

impl Narrow for f16 {
    #[inline(always)]
    fn pack(first: f32, second: f32) -> u32 {
        pack!("cvt.rn.f16x2.f32", first, second)
    }

    #[inline(always)]
    fn unpack(word: u32) -> [f32; 2] {
        let (first, second): (f32, f32);
        // SAFETY: computes only.
        unsafe {
            ptx!("{{", ".reg .b16 low, high;", "mov.b32 {{low, high}}, {word};", "cvt.f32.f16 {first}, low;",
                 "cvt.f32.f16 {second}, high;", "}}",
                 word = in(u32) word, first = out(f32) first, second = out(f32) second; options(pure, nomem));
        }
        [first, second]
    }
}

impl Narrow for bf16 {
    #[inline(always)]
    fn pack(first: f32, second: f32) -> u32 {
        pack!("cvt.rn.bf16x2.f32", first, second)
    }

    #[inline(always)]
    fn unpack(word: u32) -> [f32; 2] {
        [f32::from_bits(word << 16), f32::from_bits(word & 0xffff_0000)]
    }
}
