//! A piece of an operand in shared memory, and the ring of stages.

use core::marker::PhantomData;

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_group};
use cuda_std::thread;

use crate::mma::order::Order;

/// `EXTENT` rows of A, or columns of B, by `DEPTH` elements of K.
///
/// It is stored in lines of contiguous bytes, in the order of the matrix itself (`O`); within a line the chunks of 16
/// bytes are permuted, so that `ldmatrix` finds each of its 8 rows in other banks.
pub struct StageTile<T, O, const EXTENT: usize, const DEPTH: usize>(PhantomData<(T, O)>);

impl<T, O: Order, const EXTENT: usize, const DEPTH: usize> StageTile<T, O, EXTENT, DEPTH> {
    /// Bytes of a line.
    pub const LINE: usize = {
        let line = if O::ALONG_K { DEPTH } else { EXTENT } * size_of::<T>();
        assert!((DEPTH * size_of::<T>()).is_multiple_of(32), "one product takes 32 bytes along K");
        assert!(EXTENT.is_multiple_of(16), "one product takes 16 rows, or twice 8 columns");
        if O::ALONG_K {
            assert!(
                line == 64 || line == 128,
                "lines along K are 64 or 128 bytes: others would conflict in banks"
            );
        } else {
            assert!(
                line.is_multiple_of(128),
                "lines across K are multiples of 128 bytes: others would conflict in banks"
            );
            assert!(
                size_of::<T>() > 1,
                "bytes are multiplied along K alone: there is no transposing load of bytes"
            );
        }
        line
    };
    /// How many lines.
    pub const LINES: usize = if O::ALONG_K { EXTENT } else { DEPTH };
    /// Bytes of shared memory. The tile begins at a multiple of 128.
    pub const BYTES: usize = Self::LINE * Self::LINES;

    /// Where a chunk of 16 bytes lies, from the tile's start.
    #[inline(always)]
    pub fn place(line: usize, chunk: usize) -> usize {
        line * Self::LINE + (chunk ^ permutation::<T, O>(Self::LINE, line)) * 16
    }
}

#[inline(always)]
fn permutation<T, O: Order>(line: usize, index: usize) -> usize {
    match size_of::<T>() {
        1 => O::permutation::<1>(line, index),
        2 => O::permutation::<2>(line, index),
        _ => O::permutation::<4>(line, index),
    }
}

/// `STAGES` pieces of shared memory of `BYTES` each, used in turn: one is read while the others are filled.
///
/// The loop over K is always the same: [`wait`](Self::wait), read, and in between fill the stage that the reads before
/// that barrier have set free. Each turn commits one group of copies, an empty one if K has ended, so that the count
/// of groups under way says which stages have landed.
pub struct Ring<const STAGES: usize, const BYTES: usize> {
    reading: u32,
    writing: u32,
}

impl<const STAGES: usize, const BYTES: usize> Ring<STAGES, BYTES> {
    /// Bytes of all stages.
    pub const TOTAL: usize = {
        assert!(STAGES >= 2, "one stage cannot be read and filled at once");
        assert!(
            BYTES.is_multiple_of(128),
            "stages begin at multiples of 128 bytes, as the swizzle counts on"
        );
        STAGES * BYTES
    };

    /// The ring before its first turn: stages 0 to `STAGES - 2` are to be filled in advance.
    #[allow(clippy::new_without_default)]
    #[inline(always)]
    pub fn new() -> Self {
        let _ = const { Self::TOTAL };
        Self { reading: 0, writing: ((STAGES - 1) * BYTES) as u32 }
    }

    /// The offset of the stage that is read.
    #[inline(always)]
    pub fn reading(&self) -> u32 {
        self.reading
    }

    /// The offset of the stage that is free to be filled.
    #[inline(always)]
    pub fn writing(&self) -> u32 {
        self.writing
    }

    /// Goes one stage further.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.reading = Self::after(self.reading);
        self.writing = Self::after(self.writing);
    }

    #[inline(always)]
    fn after(stage: u32) -> u32 {
        if stage == ((STAGES - 1) * BYTES) as u32 { 0 } else { stage + BYTES as u32 }
    }

    /// Closes this thread's copies of one stage.
    #[inline(always)]
    pub fn commit() {
        cp_async_commit_group();
    }
}

macro_rules! waits {
    ($($stages:literal)*) => {$(
        impl<const BYTES: usize> Ring<$stages, BYTES> {
            /// Waits until the oldest stage under way has landed, for all threads of the block; the stage that was read
            /// before is free from here on. All threads of the block come here.
            #[inline(always)]
            pub fn wait() {
                cp_async_wait_group::<{ $stages - 2 }>();
                thread::sync_threads();
            }
        }
    )*};
}
// The count is an immediate of the instruction, and Rust computes none from a generic parameter.
waits!(2 3 4 5 6 7 8);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mma::{AcrossK, AlongK, Tf32};
    use half::f16;

    fn every_chunk_has_its_own_place<T, O: Order, const E: usize, const D: usize>() {
        let mut taken = [false; 4096];
        for line in 0..StageTile::<T, O, E, D>::LINES {
            for chunk in 0..StageTile::<T, O, E, D>::LINE / 16 {
                let place = StageTile::<T, O, E, D>::place(line, chunk);
                assert!(place < StageTile::<T, O, E, D>::BYTES && place.is_multiple_of(16));
                assert!(!core::mem::replace(&mut taken[place / 16], true), "chunk {chunk} of line {line}");
            }
        }
    }

    #[test]
    fn no_chunk_is_lost() {
        every_chunk_has_its_own_place::<f16, AlongK, 128, 32>();
        every_chunk_has_its_own_place::<f16, AlongK, 64, 64>();
        every_chunk_has_its_own_place::<i8, AlongK, 128, 64>();
        every_chunk_has_its_own_place::<f16, AcrossK, 256, 32>();
        every_chunk_has_its_own_place::<Tf32, AcrossK, 128, 16>();
        every_chunk_has_its_own_place::<Tf32, AlongK, 128, 16>();
    }

    /// Whether 8 chunks of 16 bytes touch each bank once.
    fn free_of_conflicts(places: impl Iterator<Item = usize>) -> bool {
        let mut groups = [0; 8];
        places.for_each(|place| groups[place / 16 % 8] += 1);
        groups == [1; 8]
    }

    #[test]
    fn eight_lines_of_a_chunk_lie_in_all_banks() {
        for (first, chunk) in (0..16).step_by(8).flat_map(|first| (0..4).map(move |chunk| (first, chunk))) {
            let lines = first..first + 8;
            assert!(free_of_conflicts(
                lines.clone().map(|line| StageTile::<f16, AlongK, 128, 32>::place(line, chunk))
            ));
            assert!(free_of_conflicts(
                lines.clone().map(|line| StageTile::<f16, AlongK, 128, 64>::place(line, chunk))
            ));
            assert!(free_of_conflicts(
                lines.clone().map(|line| StageTile::<f16, AcrossK, 128, 32>::place(line, chunk))
            ));
        }
        // 32-bit elements: 4 lines of 2 chunks each.
        let words = (0..8).map(|i| StageTile::<Tf32, AcrossK, 128, 16>::place(i / 2, i % 2));
        assert!(free_of_conflicts(words));
    }

    #[test]
    fn the_ring_reads_what_was_filled_three_turns_before() {
        let mut ring = Ring::<4, 1024>::new();
        let (mut read, mut written) = ([0; 8], [0; 8]);
        for turn in 0..8 {
            (read[turn], written[turn]) = (ring.reading() / 1024, ring.writing() / 1024);
            ring.advance();
        }
        assert_eq!(read, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(written, [3, 0, 1, 2, 3, 0, 1, 2]);
    }
}
