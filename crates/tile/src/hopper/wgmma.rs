//! `wgmma`: products that a warpgroup starts and the tensor cores finish from shared memory.

use half::{bf16, f16};

use super::element::{Element, Tf32};
use super::operand::{Descriptor, Major};
use crate::sealed::Sealed;

/// The sums of one thread of a warpgroup: of 64 × N sums, thread t has those of rows 16 (t / 32) + t % 32 / 4 and 8 below,
/// and columns 8j + 2 (t % 4) and the next, as elements 4j, 4j + 1 (upper row), 4j + 2, 4j + 3 (lower row).
/// Sealed: `wgmma` writes all of them.
pub trait Sums: Sealed + Copy {
    /// Type of a sum.
    type Sum: Copy;
    /// How many a thread has.
    const COUNT: usize;

    /// Row and column of sum `index` of thread `thread` (0 to 127) of its warpgroup.
    ///
    /// ```
    /// use tile::hopper::Sums;
    /// assert_eq!(<[f32; 32]>::place(0, 0), (0, 0));
    /// assert_eq!(<[f32; 32]>::place(127, 31), (63, 63));
    /// ```
    #[inline(always)]
    fn place(thread: u32, index: usize) -> (u32, u32) {
        let index = index as u32;
        (thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8, index / 4 * 8 + thread % 4 * 2 + index % 2)
    }

    /// Sums before any product.
    const ZERO: Self;
    /// One sum; `index` is a constant once loops are unrolled, or the sums are no longer in registers.
    ///
    /// # Safety
    /// `index` is below [`COUNT`](Self::COUNT).
    unsafe fn get(&self, index: usize) -> Self::Sum;
    /// Sets one sum, likewise.
    ///
    /// # Safety
    /// As [`get`](Self::get); no product that adds to the sums runs.
    unsafe fn set(&mut self, index: usize, sum: Self::Sum);
}

macro_rules! sums {
    ($($t:ty, $zero:literal, $count:literal;)*) => {$(
        impl Sealed for [$t; $count] {}
        impl Sums for [$t; $count] {
            type Sum = $t;
            const COUNT: usize = $count;
            const ZERO: Self = [$zero; $count];
            #[inline(always)]
            unsafe fn get(&self, index: usize) -> $t {
                // SAFETY: the caller's promise.
                unsafe { *self.get_unchecked(index) }
            }
            #[inline(always)]
            unsafe fn set(&mut self, index: usize, sum: $t) {
                // SAFETY: the caller's promise.
                unsafe { *self.get_unchecked_mut(index) = sum }
            }
        }
    )*};
}
sums! {
    f32, 0.0, 32;
    f32, 0.0, 64;
    f32, 0.0, 96;
    f32, 0.0, 128;
    i32, 0, 32;
    i32, 0, 64;
    i32, 0, 96;
    i32, 0, 128;
}

/// An element type whose 64 × `N` products a warpgroup computes; `N` is 64, 128, 192 or 256.
///
/// ```compile_fail
/// # use tile::hopper::Multiply;
/// fn multiplies<T: Multiply<100>>() {}
/// multiplies::<half::f16>(); // not a width of the instruction
/// ```
///
/// A has 64 rows, B has `N` columns, and both the same type:
///
/// ```
/// # use half::f16;
/// # use tile::hopper::{KMajor, KTile, Multiply};
/// # type Sums = <f16 as Multiply<128>>::Sums;
/// unsafe fn product(sums: &mut Sums, a: KTile<f16, KMajor, 64>, b: KTile<f16, KMajor, 128>) {
///     unsafe { <f16 as Multiply<128>>::multiply(sums, a.whole(), b.whole(), false) }
/// }
/// ```
/// ```compile_fail
/// # use half::f16;
/// # use tile::hopper::{KMajor, KTile, Multiply};
/// # type Sums = <f16 as Multiply<128>>::Sums;
/// unsafe fn product(sums: &mut Sums, a: KTile<f16, KMajor, 64>, b: KTile<f16, KMajor, 64>) {
///     unsafe { <f16 as Multiply<128>>::multiply(sums, a.whole(), b.whole(), false) } // 64 columns for 128
/// }
/// ```
#[doc(alias = "wgmma")]
#[doc(alias = "wgmma.mma_async")]
pub trait Multiply<const N: u32>: Element {
    /// A thread's registers.
    type Sums: Sums;

    /// Adds the product of two tiles of 128 bytes of k to `sums`, or begins with it unless `keep`; then waits until the
    /// product *before* this one is done, whose operands may be overwritten then. This one still runs.
    ///
    /// It is one piece of assembly: the sums are in flight from its first instruction until [`finish`](Self::finish), and
    /// between pieces the compiler could put something that touches them.
    ///
    /// # Safety
    /// The four warps of a warpgroup come here together. The operands were brought by copies that have landed, or written
    /// by threads that called `fence_tensor_copies` before a barrier, and stay until the product is done. Nothing reads
    /// `sums` until `finish`.
    unsafe fn multiply<A: Major<Self>, B: Major<Self>>(
        sums: &mut Self::Sums,
        a: Descriptor<Self, A, 64>,
        b: Descriptor<Self, B, N>,
        keep: bool,
    );

    /// Waits until all products of this warpgroup are done.
    ///
    /// # Safety
    /// The four warps of a warpgroup come here together.
    unsafe fn finish(sums: &mut Self::Sums);
}

macro_rules! products {
    // Types of 16 bits, whose operands may lie either way: two more words for the instruction.
    ($t:ty, f32; $shape:literal, either; $($n:literal: $count:literal),*) => {
        products!(@ $t, f32, $shape, ", 1, 1, {ta}, {tb};",
                  (ta = imm(A::ACROSS), tb = imm(B::ACROSS)); $($n: $count),*);
    };
    ($t:ty, f32; $shape:literal, along; $($n:literal: $count:literal),*) => {
        products!(@ $t, f32, $shape, ", 1, 1;", (); $($n: $count),*);
    };
    ($t:ty, i32; $shape:literal, along; $($n:literal: $count:literal),*) => {
        products!(@ $t, i32, $shape, ";", (); $($n: $count),*);
    };
    (@ $t:ty, $sum:ident, $shape:literal, $end:literal, $constants:tt; $($n:literal: $count:literal),*) => {$(
        products!(@one $t, $sum, $shape, $end, $constants, $n, $count);
    )*};
    (@one $t:ty, $sum:ident, $shape:literal, $end:literal, ($($name:ident = imm($constant:expr)),*), $n:literal, $count:literal) => {
        impl Multiply<$n> for $t {
            type Sums = [$sum; $count];

            #[inline(always)]
            unsafe fn multiply<A: Major<Self>, B: Major<Self>>(
                sums: &mut [$sum; $count],
                a: Descriptor<Self, A, 64>,
                b: Descriptor<Self, B, $n>,
                keep: bool,
            ) {
                // SAFETY: the caller's promise is the instructions' own.
                unsafe { cuda_std::ptx!(
                    "{{",
                    ".reg .pred keep, yes;",
                    ".reg .b64 a, b;",
                    "setp.ne.u32 keep, {keep}, 0;",
                    "setp.eq.u32 yes, 0, 0;",
                    "wgmma.fence.sync.aligned;",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, $shape, " {{{sums}}}, {a}, {b}, keep", $end),
                    "add.u64 a, {a}, {sa};",
                    "add.u64 b, {b}, {sb};",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, $shape, " {{{sums}}}, a, b, yes", $end),
                    "add.u64 a, a, {sa};",
                    "add.u64 b, b, {sb};",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, $shape, " {{{sums}}}, a, b, yes", $end),
                    "add.u64 a, a, {sa};",
                    "add.u64 b, b, {sb};",
                    concat!("wgmma.mma_async.sync.aligned.m64n", $n, $shape, " {{{sums}}}, a, b, yes", $end),
                    "wgmma.commit_group.sync.aligned;",
                    "wgmma.wait_group.sync.aligned 1;",
                    "}}",
                    sums = inout([$sum; $count]) sums,
                    a = in(u64) a.bits(), b = in(u64) b.bits(), keep = in(u32) keep as u32,
                    sa = imm(Descriptor::<Self, A, 64>::STEP), sb = imm(Descriptor::<Self, B, $n>::STEP)
                    $(, $name = imm($constant))*;
                    options(convergent)
                ) }
            }

            #[inline(always)]
            unsafe fn finish(sums: &mut [$sum; $count]) {
                // SAFETY: the caller's promise. The sums are named so that nothing reads them before the wait.
                unsafe { cuda_std::ptx!("wgmma.wait_group.sync.aligned 0; // {sums}",
                                        sums = inout([$sum; $count]) sums; options(convergent)) }
            }
        }
    };
}
products!(f16, f32; "k16.f32.f16.f16", either; 64: 32, 128: 64, 192: 96, 256: 128);
products!(bf16, f32; "k16.f32.bf16.bf16", either; 64: 32, 128: 64, 192: 96, 256: 128);
products!(Tf32, f32; "k8.f32.tf32.tf32", along; 64: 32, 128: 64, 192: 96, 256: 128);
products!(i8, i32; "k32.s32.s8.s8", along; 64: 32, 128: 64, 192: 96, 256: 128);
