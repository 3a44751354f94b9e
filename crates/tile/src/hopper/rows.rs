//! The left operand of a product in registers: what one product gave, the next one takes.

use core::marker::PhantomData;

use cuda_std::ptx;
use half::{bf16, f16};

use super::operand::{Descriptor, Major};
use super::wgmma::Multiply;
use crate::mma::Narrow;

/// 64 rows by 64 steps of k of the left operand, as the threads of a warpgroup hold them: where a product of 64 columns
/// leaves its sums ([`Sums::place`](super::Sums::place)).
///
/// So the sums of one product become the operand of another without a way through shared memory: the probabilities of
/// attention, which multiply the values, or the inner layer of two.
///
/// ```
/// use half::f16;
/// use tile::hopper::{KTile, MnMajor, Multiply, MultiplyRows, Rows, Sums};
///
/// /// Adds max(inner, 0) · B, where `inner` is the result of a product of 64 columns, to `sums`.
/// unsafe fn outer(sums: &mut [f32; 64], inner: &[f32; 32], b: KTile<f16, MnMajor, 128>) {
///     unsafe {
///         let rows = Rows::pack(|i| inner.get(i).max(0.0));
///         <f16 as MultiplyRows<128>>::multiply_rows(sums, rows, b.whole(), true);
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Rows<T> {
    /// Four steps of 16 along k, four registers each.
    words: [[u32; 4]; 4],
    element: PhantomData<T>,
}

impl<T: Narrow> Rows<T> {
    /// This thread's 32 elements, rounded: `element(i)` is that at row and column `<[f32; 32]>::place(thread, i)`.
    #[inline(always)]
    pub fn pack(element: impl Fn(usize) -> f32) -> Self {
        let mut words = [[0; 4]; 4];
        for step in 0..4 {
            cuda_std::unroll!(full);
            for i in 0..4 {
                cuda_std::unroll!(full);
                // A step's upper rows, lower rows, and both of its next eight columns: the order of the sums.
                let first = 8 * step + 2 * i;
                words[step][i] = T::pack(element(first), element(first + 1));
            }
        }
        Self { words, element: PhantomData }
    }
}

/// An element type whose 64 × `N` products a warpgroup computes from rows in registers.
///
/// Only types of 16 bits keep their place from sum to operand:
///
/// ```compile_fail
/// # use tile::hopper::MultiplyRows;
/// fn multiplies<T: MultiplyRows<128>>() {}
/// multiplies::<i8>();
/// ```
pub trait MultiplyRows<const N: u32>: Multiply<N> + Narrow {
    /// Adds the product of 64 rows and a tile to `sums`, or begins with it unless `keep`, and waits until it is done: the
    /// registers of `rows` may be used again then, as may what earlier products read.
    ///
    /// # Safety
    /// As [`Multiply::multiply`], for `b`.
    unsafe fn multiply_rows<B: Major<Self>>(
        sums: &mut Self::Sums,
        rows: Rows<Self>,
        b: Descriptor<Self, B, N>,
        keep: bool,
    );
}

macro_rules! products {
    ($($t:ty, $types:literal: $($n:literal: $count:literal),*;)*) => {$($(
        products!(@ $t, $types, $n, $count);
    )*)*};
    (@ $t:ty, $types:literal, $n:literal, $count:literal) => {
        impl MultiplyRows<$n> for $t {
            #[inline(always)]
            unsafe fn multiply_rows<B: Major<Self>>(
                sums: &mut [f32; $count],
                Rows { words: [first, second, third, fourth], .. }: Rows<Self>,
                b: Descriptor<Self, B, $n>,
                keep: bool,
            ) {
                // SAFETY: the caller's promise is the instructions' own; the rows are in use until the wait, and no longer.
                unsafe { ptx!(
                    "{{",
                    ".reg .pred keep, yes;",
                    ".reg .b64 b;",
                    "setp.ne.u32 keep, {keep}, 0;",
                    "setp.eq.u32 yes, 0, 0;",
                    "wgmma.fence.sync.aligned;",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, "k16.f32.", $types, " {{{sums}}}, {{{first}}}, {b}, keep, 1, 1, {tb};"),
                    "add.u64 b, {b}, {sb};",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, "k16.f32.", $types, " {{{sums}}}, {{{second}}}, b, yes, 1, 1, {tb};"),
                    "add.u64 b, b, {sb};",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, "k16.f32.", $types, " {{{sums}}}, {{{third}}}, b, yes, 1, 1, {tb};"),
                    "add.u64 b, b, {sb};",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, "k16.f32.", $types, " {{{sums}}}, {{{fourth}}}, b, yes, 1, 1, {tb};"),
                    "wgmma.commit_group.sync.aligned;",
                    "wgmma.wait_group.sync.aligned 0;",
                    "}}",
                    sums = inout([f32; $count]) sums,
                    first = in([u32; 4]) first, second = in([u32; 4]) second,
                    third = in([u32; 4]) third, fourth = in([u32; 4]) fourth,
                    b = in(u64) b.bits(), keep = in(u32) keep as u32,
                    sb = imm(Descriptor::<Self, B, $n>::STEP), tb = imm(B::ACROSS);
                    options(convergent)
                ) }
            }
        }
    };
}
products! {
    f16, "f16.f16": 64: 32, 128: 64, 192: 96, 256: 128;
    bf16, "bf16.bf16": 64: 32, 128: 64, 192: 96, 256: 128;
}
