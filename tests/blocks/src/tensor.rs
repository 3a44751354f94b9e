//! The building blocks of [`tile::mma`], one by one: what a copy, a read and a product do to each word.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::unroll;
use half::{bf16, f16};
use tile::SharedAddress;
use tile::mma::{
    AcrossK, AlongK, ColumnFragment, Element, Filler, Matrix, Number, Order, Reader, Ring, RowFragment,
    StageTile, Sums, Tf32,
};

/// Rows of A, or columns of B, of the tile.
pub const EXTENT: usize = 64;
/// Bytes of K of the tile.
pub const DEPTH: usize = 64;
const THREADS: usize = 64;
const STAGES: usize = 3;
const STAGE: usize = EXTENT * DEPTH;

pub const SHARED_BYTES: u32 = (STAGES * STAGE) as u32;

/// Copies an operand stage by stage through a ring of three, and writes the words of every fragment: by stage, step, block
/// of 16, lane, and word. The operand is `extent` × `depth` elements, its lines `pitch` elements apart.
///
/// # Safety
/// As the kernels below.
#[inline(always)]
unsafe fn read<T: Element, O: Order, const D: usize>(
    (pitch, extent, depth): (u32, u32, u32),
    columns: u32,
    from: *const T,
    words: *mut u32,
) {
    const { assert!(StageTile::<T, O, EXTENT, D>::BYTES == STAGE) }
    let thread = thread::thread_idx_x() as usize;
    let (lane, warp) = (thread % 32, thread / 32);
    let shared = SharedAddress::of(dynamic_shared_mem::<u8>()).bits();
    let matrix =
        Matrix { first: from, stride: pitch as usize, extent: extent as usize, depth: depth as usize };
    let mut filler = Filler::<T, O, EXTENT, D, THREADS>::new(matrix, 0, shared, thread);
    let as_rows = Reader::<T, O, EXTENT, D, 2>::of_rows(shared, warp * 32, lane);
    let as_columns = Reader::<T, O, EXTENT, D, 2>::of_columns(shared, warp * 32, lane);
    let mut ring = Ring::<STAGES, STAGE>::new();
    let stages = matrix.depth.div_ceil(D);
    // SAFETY: the contract; stages are filled and read as the ring says.
    unsafe {
        for stage in 0..STAGES as u32 - 1 {
            filler.fill(stage * STAGE as u32);
            Ring::<STAGES, STAGE>::commit();
        }
        for stage in 0..stages {
            unroll!(none);
            Ring::<STAGES, STAGE>::wait();
            filler.fill(ring.writing());
            Ring::<STAGES, STAGE>::commit();
            for step in 0..2 {
                unroll!(full);
                for block in 0..2 {
                    unroll!(full);
                    let found = if columns == 0 {
                        as_rows.rows(ring.reading(), block, step).words()
                    } else {
                        let [low, high] =
                            as_columns.columns(ring.reading(), block, step).map(ColumnFragment::words);
                        [low[0], low[1], high[0], high[1]]
                    };
                    let at = ((stage * 2 + step) * 4 + warp * 2 + block) * 32 + lane;
                    for i in 0..4 {
                        unroll!(full);
                        *words.add(at * 4 + i) = found[i];
                    }
                }
            }
            ring.advance();
        }
        cuda_std::async_copy::cp_async_wait_all();
    }
}

/// Multiplies one fragment of A, four words a lane, by one of B, two words a lane, on top of what C holds, four words a lane.
///
/// # Safety
/// As the kernels below.
#[inline(always)]
unsafe fn multiply<T: Element>(a: *const u32, b: *const u32, c: *mut u32) {
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: the contract; the one warp of the block is here.
    unsafe {
        let a = RowFragment::<T>::from_words([0, 1, 2, 3].map(|i| *a.add(lane * 4 + i)));
        let b = ColumnFragment::<T>::from_words([0, 1].map(|i| *b.add(lane * 2 + i)));
        let mut sums = Sums::<T>::ZERO;
        sums.add(a, b);
        sums.add(a, b);
        let elements = sums.elements();
        for i in 0..4 {
            unroll!(full);
            *c.add(lane * 4 + i) = elements[i].to_bits();
        }
    }
}

macro_rules! readers {
    ($($name:ident($passed:ty as $element:ty, $order:ident, $depth:literal);)*) => {$(
        /// Copies an operand and writes the words of its fragments, read as rows of A or as columns of B.
        ///
        /// # Safety
        /// `from` holds the operand, its first element and pitch at multiples of 16 bytes; `words` has room for 1,024 words
        /// for each 64 bytes of K that have begun; there is one block of 64 threads with [`SHARED_BYTES`] of dynamic
        /// shared memory.
        #[kernel]
        #[block_dim(64)]
        pub unsafe fn $name(
            pitch: u32,
            extent: u32,
            depth: u32,
            columns: u32,
            from: *const $passed,
            words: *mut u32,
        ) {
            // SAFETY: as the contract says.
            unsafe { read::<$element, $order, $depth>((pitch, extent, depth), columns, from.cast(), words) }
        }
    )*};
}
readers! {
    blocks_read_f16_along(f16 as f16, AlongK, 32);
    blocks_read_f16_across(f16 as f16, AcrossK, 32);
    blocks_read_tf32_along(f32 as Tf32, AlongK, 16);
    blocks_read_tf32_across(f32 as Tf32, AcrossK, 16);
    blocks_read_s8_along(i8 as i8, AlongK, 64);
}

macro_rules! products {
    ($($name:ident($element:ty);)*) => {$(
        /// Twice the product of two fragments.
        ///
        /// # Safety
        /// `a`, `b` and `c` hold 128, 64 and 128 words; there is one block of 32 threads.
        #[kernel]
        #[block_dim(32)]
        pub unsafe fn $name(a: *const u32, b: *const u32, c: *mut u32) {
            // SAFETY: as the contract says.
            unsafe { multiply::<$element>(a, b, c) }
        }
    )*};
}
products! {
    blocks_multiply_f16(f16);
    blocks_multiply_bf16(bf16);
    blocks_multiply_tf32(Tf32);
    blocks_multiply_s8(i8);
}
