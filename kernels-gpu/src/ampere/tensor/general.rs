//! The tensor-core product of matrices of any size, pitch and place: where rows do not begin at multiples of 16 bytes.
//!
//! `cp.async` cannot copy such rows, so elements are loaded one by one, checked against the matrix's end, and packed into
//! chunks of 16 bytes along K, whichever way the matrix is stored. From there on it is the fast kernel's way on half of
//! its tile: while a stage of two is multiplied, the next is on its way in registers.

use cuda_std::prelude::*;
use cuda_std::ptx;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::unroll;
use half::{bf16, f16};
use tile::mma::{AlongK, Reader, StageTile, Sums, Tf32};
use tile::{Raster, SharedAddress};

use super::TensorGemm;
use super::epilogue::{Stored, store_one};
#[cfg(feature = "host")]
use crate::choice::UseKernel;

/// Rows and columns of C a block computes.
pub const BLOCK: usize = 128;
pub const THREADS: usize = 256;
/// Bytes of K in a stage, and how many chunks these are.
const DEPTH: usize = 64;
const CHUNKS: usize = DEPTH / 16;
/// Bytes of one operand in a stage.
const TILE: usize = BLOCK * DEPTH;
/// Chunks of one operand that a thread packs.
const SHARE: usize = TILE / 16 / THREADS;

pub const SHARED_BYTES: u32 = 4 * TILE as u32;

/// Where A's rows, or B's columns, lie: any strides at all.
#[derive(Clone, Copy)]
struct Lines<T> {
    first: *const T,
    /// How many, and from one to the next.
    extent: usize,
    stride: usize,
    /// Elements along K, and from one to the next.
    depth: usize,
    step: usize,
}

impl<T: Copy> Lines<T> {
    /// The chunk of a thread: number `share` of its [`SHARE`]. Neighbouring threads take what is near in memory.
    #[inline(always)]
    fn chunk(&self, thread: usize, share: usize) -> (usize, usize) {
        let index = thread + share * THREADS;
        if self.step == 1 { (index / CHUNKS, index % CHUNKS) } else { (index % BLOCK, index / BLOCK) }
    }

    /// 16 bytes along K of line `line`, from element `k` on; zeros beyond the matrix.
    #[inline(always)]
    unsafe fn load(&self, line: usize, k: usize) -> [u32; 4] {
        let mut words = [0; 4];
        if line < self.extent {
            for i in 0..16 / size_of::<T>() {
                unroll!(full);
                if k + i < self.depth {
                    // SAFETY: the element is inside the matrix.
                    let bits = unsafe { bits(self.first.add(line * self.stride + (k + i) * self.step)) };
                    let at = i * size_of::<T>();
                    words[at / 4] |= bits << (at % 4 * 8);
                }
            }
        }
        words
    }
}

/// An element's bits in a word.
#[inline(always)]
unsafe fn bits<T>(element: *const T) -> u32 {
    // SAFETY: the caller's promise; the element has this size.
    unsafe {
        match size_of::<T>() {
            1 => u32::from(*element.cast::<u8>()),
            2 => u32::from(*element.cast::<u16>()),
            _ => *element.cast::<u32>(),
        }
    }
}

/// The product; `D` is a stage's depth in elements.
///
/// # Safety
/// As the kernels below.
#[inline(always)]
unsafe fn multiply<T: Stored, const D: usize>(
    p: TensorGemm,
    (a_by_columns, b_by_columns): (u32, u32),
    a: *const T,
    b: *const T,
    c: *mut u8,
) {
    let thread = thread::thread_idx_x() as usize;
    let (lane, warp) = (thread % 32, thread / 32);
    let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
    let raster = Raster { down: m.div_ceil(BLOCK), across: n.div_ceil(BLOCK), group: 8 };
    let (row, col) = raster.tile(thread::block_idx_x() as usize);
    let (row, col) = (row * BLOCK, col * BLOCK);
    // A warp computes 64 × 32 elements.
    let (warp_row, warp_col) = (warp / 4 * 64, warp % 4 * 32);
    let shared = SharedAddress::of(dynamic_shared_mem::<u8>()).bits();

    let strides =
        |contiguous: bool, pitch: u32| if contiguous { (pitch as usize, 1) } else { (1, pitch as usize) };
    let (stride, step) = strides(a_by_columns == 0, p.lda);
    let lines_a = Lines { first: a, extent: m, stride, depth: k, step };
    let (stride, step) = strides(b_by_columns != 0, p.ldb);
    let lines_b = Lines { first: b, extent: n, stride, depth: k, step };
    let read_a = Reader::<T, AlongK, BLOCK, D, 4>::of_rows(shared, warp_row, lane);
    let read_b = Reader::<T, AlongK, BLOCK, D, 2>::of_columns(shared + TILE as u32, warp_col, lane);

    // SAFETY: loads are checked against the matrices' ends; stages of shared memory are parted by barriers.
    unsafe {
        let load = |stage: usize| -> [[[u32; 4]; SHARE]; 2] {
            let mut words = [[[0; 4]; SHARE]; 2];
            for share in 0..SHARE {
                unroll!(full);
                let (line, chunk) = lines_a.chunk(thread, share);
                words[0][share] = lines_a.load(row + line, stage * D + chunk * D / CHUNKS);
                let (line, chunk) = lines_b.chunk(thread, share);
                words[1][share] = lines_b.load(col + line, stage * D + chunk * D / CHUNKS);
            }
            words
        };
        let keep = |stage: u32, words: &[[[u32; 4]; SHARE]; 2]| {
            for share in 0..SHARE {
                unroll!(full);
                let (line, chunk) = lines_a.chunk(thread, share);
                let place = StageTile::<T, AlongK, BLOCK, D>::place(line, chunk) as u32;
                store_16(shared + stage + place, words[0][share]);
                let (line, chunk) = lines_b.chunk(thread, share);
                let place = StageTile::<T, AlongK, BLOCK, D>::place(line, chunk) as u32;
                store_16(shared + stage + TILE as u32 + place, words[1][share]);
            }
        };

        let mut sums = [[Sums::<T>::ZERO; 4]; 4];
        let stages = k.div_ceil(D);
        let mut words = load(0);
        let mut offset = 0;
        for stage in 0..stages {
            unroll!(none);
            // The other half was read a turn ago, and a barrier lies between.
            keep(offset, &words);
            thread::sync_threads();
            words = load(stage + 1);
            for step in 0..DEPTH / 32 {
                unroll!(full);
                for j in 0..2 {
                    unroll!(full);
                    let columns = read_b.columns(offset, j, step);
                    for i in 0..4 {
                        unroll!(full);
                        let rows = read_a.rows(offset, i, step);
                        sums[i][2 * j].add(rows, columns[0]);
                        sums[i][2 * j + 1].add(rows, columns[1]);
                    }
                }
            }
            offset ^= 2 * TILE as u32;
        }

        for i in 0..4 {
            unroll!(full);
            for j in 0..4 {
                unroll!(full);
                let elements = sums[i][j].elements();
                for index in 0..4 {
                    unroll!(full);
                    let (r, l) = Sums::<T>::place(lane, index);
                    store_one::<T>(
                        &p,
                        c,
                        row + warp_row + 16 * i + r,
                        col + warp_col + 8 * j + l,
                        elements[index],
                    );
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn store_16(to: u32, words: [u32; 4]) {
    let [a, b, c, d] = words;
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("st.shared.v4.u32 [{to}], {{{a}, {b}, {c}, {d}}};",
             to = in(u32) to, a = in(u32) a, b = in(u32) b, c = in(u32) c, d = in(u32) d);
    }
}

/// A type that is multiplied, and its kernel.
#[cfg(feature = "host")]
pub trait Family {
    /// Its type in the kernel's signature.
    type Passed;
    fn choose<R>(user: impl UseKernel<Signature<Self::Passed>, R>) -> R;
}

/// The signature of kernels that are passed `T`.
pub type Signature<T> = fn(TensorGemm, u32, u32, *const T, *const T, *mut u8);

macro_rules! kernels {
    ($($element:ident $type:ident $passed:ident $depth:literal;)*) => { pastey::paste! {
        listed! { $([<tensor_ $type _general>])* }
        $(
            #[doc = concat!("Elements of type ", stringify!($type), ": matrices of any size, pitch and place.")]
            ///
            /// # Safety
            /// `a`, `b` and `c` hold the matrices that `p` describes, A and B column by column where `a_by_columns` and
            /// `b_by_columns` are not zero; blocks have 256 threads and [`SHARED_BYTES`] of dynamic shared memory; the grid has
            /// one block for each 128 × 128 elements of C.
            #[kernel]
            #[block_dim(256)]
            pub unsafe fn [<tensor_ $type _general>](
                p: TensorGemm,
                a_by_columns: u32,
                b_by_columns: u32,
                a: *const $passed,
                b: *const $passed,
                c: *mut u8,
            ) {
                // SAFETY: as the contract says.
                unsafe { multiply::<$element, $depth>(p, (a_by_columns, b_by_columns), a.cast(), b.cast(), c) }
            }

            #[cfg(feature = "host")]
            impl Family for $element {
                type Passed = $passed;

                fn choose<R>(user: impl UseKernel<Signature<$passed>, R>) -> R {
                    user.with::<[<tensor_ $type _general>]>()
                }
            }
        )*
    } };
}
kernels! {
    f16 f16 f16 32;
    bf16 bf16 bf16 32;
    Tf32 tf32 f32 16;
    i8 s8 i8 64;
}
