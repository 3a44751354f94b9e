//! The tensor-core product of every chip from 2020 on: a block computes 128 × 256 elements of C, a warp 64 × 64.
//!
//! - Global to shared memory: `cp.async`, three stages of 64 bytes of K ahead of the one that is multiplied. What lies
//!   beyond a matrix arrives as zero, so no loop knows about edges.
//! - Shared memory to registers: `ldmatrix`, transposing where K is not contiguous, from swizzled lines: no conflicts.
//!   While one step's 32 products run, the next step's fragments are on their way, also across the border of two stages.
//! - Registers: 128 sums a thread, and twice 32 words of fragments. 64 × 64 elements share 4 KB of operands a step; with
//!   fewer, shared memory would be the limit.
//! - Registers to global memory: through shared memory, so that each row is written 16 bytes a lane.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::unroll;
use half::{bf16, f16};
use tile::mma::{
    AcrossK, AlongK, ColumnFragment, Element, Filler, Matrix, Order, Reader, Ring, RowFragment, StageTile,
    Sums, Tf32,
};
use tile::{Raster, SharedAddress};

use super::TensorGemm;
use super::epilogue::{Patch, Stored, store};
#[cfg(feature = "host")]
use crate::choice::{Transposed, UseKernel};

pub const BLOCK_M: usize = 128;
pub const BLOCK_N: usize = 256;
pub const THREADS: usize = 256;
const STAGES: usize = 4;
/// Bytes of K in a stage.
const DEPTH: usize = 64;
/// Steps of 32 bytes in a stage.
const STEPS: usize = DEPTH / 32;
/// Parts of a step: each loads one fragment of the next step, and multiplies four pairs.
const PARTS: usize = 8;
/// Bytes of a stage, of A's part and of all.
const STAGE_A: usize = BLOCK_M * DEPTH;
const STAGE: usize = STAGE_A + BLOCK_N * DEPTH;
const WARP: usize = 64;

/// Bytes of dynamic shared memory a block needs: what every chip of capability 8 admits, and one block fills.
pub const SHARED_BYTES: u32 = (STAGES * STAGE) as u32;

/// The product with one thread's part in all of it. `D` is a stage's depth in elements.
///
/// # Safety
/// As the kernels below.
#[inline(always)]
unsafe fn multiply<T: Stored, A: Order, B: Order, const D: usize>(
    p: TensorGemm,
    a: *const T,
    b: *const T,
    c: *mut u8,
) {
    const {
        assert!(StageTile::<T, A, BLOCK_M, D>::BYTES == STAGE_A);
        assert!(StageTile::<T, B, BLOCK_N, D>::BYTES == STAGE - STAGE_A);
    }
    let thread = thread::thread_idx_x() as usize;
    let (lane, warp) = (thread % 32, thread / 32);
    let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
    let raster = Raster { down: m.div_ceil(BLOCK_M), across: n.div_ceil(BLOCK_N), group: 8 };
    let (row, col) = raster.tile(thread::block_idx_x() as usize);
    let (row, col) = (row * BLOCK_M, col * BLOCK_N);
    let (warp_row, warp_col) = (warp / 4 * WARP, warp % 4 * WARP);
    let shared = SharedAddress::of(dynamic_shared_mem::<u8>()).bits();

    let from_a = Matrix { first: a, stride: p.lda as usize, extent: m, depth: k };
    let from_b = Matrix { first: b, stride: p.ldb as usize, extent: n, depth: k };
    let mut copies = Copies {
        a: Filler::<T, A, BLOCK_M, D, THREADS>::new(from_a, row, shared, thread),
        b: Filler::<T, B, BLOCK_N, D, THREADS>::new(from_b, col, shared + STAGE_A as u32, thread),
    };
    let readers = Readers {
        a: Reader::<T, A, BLOCK_M, D, 4>::of_rows(shared, warp_row, lane),
        b: Reader::<T, B, BLOCK_N, D, 4>::of_columns(shared + STAGE_A as u32, warp_col, lane),
    };
    let mut ring = Ring::<STAGES, STAGE>::new();
    let mut sums = [[Sums::<T>::ZERO; 8]; 4];

    // SAFETY: the kernels' contract; copies end where the matrices do, and stages are filled as the ring says.
    unsafe {
        for stage in 0..STAGES as u32 - 1 {
            // Stages beyond K become zeros, which add nothing.
            copies.fill(stage * STAGE as u32);
            Ring::<STAGES, STAGE>::commit();
        }
        Ring::<STAGES, STAGE>::wait();
        let mut now = Operands::<T>::EMPTY;
        for part in 0..PARTS {
            unroll!(full);
            readers.load(&mut now, part, ring.reading(), 0);
        }

        // One stage: its steps are multiplied, each while the fragments of the next one are loaded, and the stage that was
        // free is filled. The last step's next one is the first of the stage that follows, which has landed by then.
        macro_rules! stage {
            ($whole:literal) => {
                let free = ring.writing();
                if !$whole {
                    copies.fill(free);
                }
                for step in 0..STEPS {
                    unroll!(full);
                    if step == STEPS - 1 {
                        if $whole {
                            copies.advance();
                        }
                        Ring::<STAGES, STAGE>::commit();
                        ring.advance();
                        Ring::<STAGES, STAGE>::wait();
                    }
                    let mut next = Operands::<T>::EMPTY;
                    for part in 0..PARTS {
                        unroll!(full);
                        readers.load(&mut next, part, ring.reading(), (step + 1) % STEPS);
                        if $whole && step < STEPS - 1 {
                            copies.start_some(free, step * PARTS + part, (STEPS - 1) * PARTS);
                        }
                        now.multiply(part, &mut sums);
                    }
                    now = next;
                }
            };
        }
        let stages = k.div_ceil(D) as u32;
        let inside = row + BLOCK_M <= m && col + BLOCK_N <= n;
        // The stage that is filled is three further than the one that is multiplied.
        let whole = if inside { (k / D).saturating_sub(STAGES - 1) as u32 } else { 0 };
        for _ in 0..whole {
            unroll!(none);
            stage!(true);
        }
        for _ in whole..stages {
            unroll!(none);
            stage!(false);
        }
        cuda_std::async_copy::cp_async_wait_all();
        thread::sync_threads();

        store(p, c, &sums, Patch { row: row + warp_row, col: col + warp_col, warp, lane });
    }
}

/// A thread's copies of both operands.
struct Copies<T, A, B, const D: usize> {
    a: Filler<T, A, BLOCK_M, D, THREADS>,
    b: Filler<T, B, BLOCK_N, D, THREADS>,
}

impl<T: Element, A: Order, B: Order, const D: usize> Copies<T, A, B, D> {
    /// All copies of a stage, up to the matrices' ends.
    ///
    /// # Safety
    /// As [`Filler::fill`].
    #[inline(always)]
    unsafe fn fill(&mut self, stage: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            self.a.fill(stage);
            self.b.fill(stage);
        }
    }

    /// The copies that are due in turn `turn` of `turns`, in a stage inside the matrices. All at once, they would hold up
    /// the products of a whole step: spread out, the product of 4096² went from 376 to 430 TFLOP/s.
    ///
    /// # Safety
    /// As [`Filler::copy`].
    #[inline(always)]
    unsafe fn start_some(&self, stage: u32, turn: usize, turns: usize) {
        let of_a = Filler::<T, A, BLOCK_M, D, THREADS>::COPIES;
        let all = of_a + Filler::<T, B, BLOCK_N, D, THREADS>::COPIES;
        for copy in 0..all {
            unroll!(full);
            if copy * turns / all == turn {
                // SAFETY: the caller's promise.
                unsafe {
                    if copy < of_a {
                        self.a.copy(stage, copy);
                    } else {
                        self.b.copy(stage, copy - of_a);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.a.advance();
        self.b.advance();
    }
}

/// A warp's readers of both operands.
struct Readers<T, A, B, const D: usize> {
    a: Reader<T, A, BLOCK_M, D, 4>,
    b: Reader<T, B, BLOCK_N, D, 4>,
}

impl<T: Element, A: Order, B: Order, const D: usize> Readers<T, A, B, D> {
    /// Loads the eighth `part` of what one step needs, in the order in which it is needed: a block of rows, all columns,
    /// and the other rows.
    ///
    /// # Safety
    /// As [`Reader::rows`].
    #[inline(always)]
    unsafe fn load(&self, to: &mut Operands<T>, part: usize, stage: u32, step: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match part {
                0 => to.a[0] = self.a.rows(stage, 0, step),
                1..5 => to.b[part - 1] = self.b.columns(stage, part - 1, step),
                _ => to.a[part - 4] = self.a.rows(stage, part - 4, step),
            }
        }
    }
}

/// A warp's part of one step of K: 64 rows and 64 columns.
struct Operands<T> {
    a: [RowFragment<T>; 4],
    b: [[ColumnFragment<T>; 2]; 4],
}

impl<T: Element> Operands<T> {
    const EMPTY: Self = Self { a: [RowFragment::EMPTY; 4], b: [[ColumnFragment::EMPTY; 2]; 4] };

    /// The eighth `part` of 4 × 8 products: half a row of them, forward and back, so that each shares an operand with the
    /// one before.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    #[inline(always)]
    unsafe fn multiply(&self, part: usize, sums: &mut [[Sums<T>; 8]; 4]) {
        let i = part / 2;
        for j in 0..4 {
            unroll!(full);
            let j = if i.is_multiple_of(2) { part % 2 * 4 + j } else { 7 - part % 2 * 4 - j };
            // SAFETY: the caller's promise.
            unsafe { sums[i][j].add(self.a[i], self.b[j / 2][j % 2]) };
        }
    }
}

/// A type that is multiplied, and its kernels.
#[cfg(feature = "host")]
pub trait Family {
    /// Its type in the kernels' signature.
    type Passed;
    const KERNELS: &'static [cuda_std::Description];
    /// Uses the kernel for operands that are stored so.
    fn choose<R>(transposed: Transposed, user: impl UseKernel<Signature<Self::Passed>, R>) -> Option<R>;
}

/// The signature of kernels that are passed `T`.
pub type Signature<T> = fn(TensorGemm, *const T, *const T, *mut u8);

macro_rules! kernels {
    ($element:ident $type:ident $passed:ident $depth:literal: all) => {
        kernels! { $element $type $passed $depth:
            nn AlongK AcrossK (false, false); nt AlongK AlongK (false, true);
            tn AcrossK AcrossK (true, false); tt AcrossK AlongK (true, true);
        }
    };
    ($element:ident $type:ident $passed:ident $depth:literal:
        $($layout:ident $a:ident $b:ident $transposed:tt;)*
    ) => { pastey::paste! {
        $(
            #[doc = concat!("Elements of type ", stringify!($type), ", layout ", stringify!($layout), ".")]
            ///
            /// # Safety
            /// `a`, `b` and `c` hold the matrices that `p` describes; their first elements and their pitches are multiples
            /// of 16 bytes; blocks have 256 threads and [`SHARED_BYTES`] of dynamic shared memory; the grid has one block for
            /// each 128 × 256 elements of C.
            #[kernel]
            #[block_dim(256)]
            pub unsafe fn [<tensor_ $type _ $layout>](p: TensorGemm, a: *const $passed, b: *const $passed, c: *mut u8) {
                // SAFETY: as the contract says.
                unsafe { multiply::<$element, $a, $b, $depth>(p, a.cast(), b.cast(), c) }
            }
        )*

        #[cfg(feature = "host")]
        impl Family for $element {
            type Passed = $passed;
            const KERNELS: &'static [cuda_std::Description] = &[$(cuda_std::Description::of::<[<tensor_ $type _ $layout>]>()),*];

            fn choose<R>(transposed: Transposed, user: impl UseKernel<Signature<$passed>, R>) -> Option<R> {
                match transposed {
                    $($transposed => Some(user.with::<[<tensor_ $type _ $layout>]>()),)*
                    #[allow(unreachable_patterns, reason = "not all types have all layouts")]
                    _ => None,
                }
            }
        }
    } };
}
kernels! { f16 f16 f16 32: all }
kernels! { bf16 bf16 bf16 32: all }
kernels! { Tf32 tf32 f32 16: all }
kernels! { i8 s8 i8 64: nt AlongK AlongK (false, true); }
