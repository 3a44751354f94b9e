//! Asynchronous copies of a stage, 16 bytes each, with zeros beyond the matrix.

use core::marker::PhantomData;

use cuda_std::ptx;

use crate::mma::order::Order;
use crate::mma::stage::StageTile;

/// An operand in global memory, as its tiles see it.
#[derive(Clone, Copy)]
pub struct Matrix<T> {
    /// Its first element, at a multiple of 16 bytes.
    pub first: *const T,
    /// From one line to the next, in elements: a multiple of 16 bytes.
    pub stride: usize,
    /// Rows of A, or columns of B.
    pub extent: usize,
    /// Elements along K.
    pub depth: usize,
}

/// One of `THREADS` threads that copy a tile stage by stage.
///
/// Neighbouring threads copy neighbouring chunks of a line, and the same thread takes lines at a fixed distance. Data
/// beyond the matrix, whole lines or the end of a chunk, becomes zero and is not read.
#[doc(alias = "cp.async")]
pub struct Filler<T, O, const EXTENT: usize, const DEPTH: usize, const THREADS: usize> {
    from: *const T,
    /// Where this thread's first chunk goes.
    to: u32,
    stride: usize,
    /// Bytes of this thread's chunks that the matrix has, from the end of its extent (`AcrossK`), or one bit for each of
    /// its lines (`AlongK`).
    inside: u32,
    /// The rest of K from this thread's first line or chunk on: bytes (`AlongK`) or lines (`AcrossK`).
    left: i32,
    kind: PhantomData<O>,
}

impl<T: Copy, O: Order, const EXTENT: usize, const DEPTH: usize, const THREADS: usize>
    Filler<T, O, EXTENT, DEPTH, THREADS>
{
    const CHUNKS: usize = StageTile::<T, O, EXTENT, DEPTH>::LINE / 16;
    /// Lines between two chunks of one thread.
    const DOWN: usize = {
        assert!(THREADS.is_multiple_of(Self::CHUNKS), "the threads copy whole lines at a time");
        let down = THREADS / Self::CHUNKS;
        // The permutation repeats after 8 lines, of 32-bit elements across K after 4.
        let period = if !O::ALONG_K && size_of::<T>() == 4 { 4 } else { 8 };
        assert!(down.is_multiple_of(period), "a thread's lines must be permuted alike");
        assert!(
            StageTile::<T, O, EXTENT, DEPTH>::LINES.is_multiple_of(down),
            "the threads share the lines evenly"
        );
        down
    };
    /// Copies of one thread for each stage.
    pub const COPIES: usize = StageTile::<T, O, EXTENT, DEPTH>::LINES / Self::DOWN;

    /// Thread `thread`, filling the tile at shared address `tile` with what begins at row or column `first`.
    #[inline(always)]
    pub fn new(matrix: Matrix<T>, first: usize, tile: u32, thread: usize) -> Self {
        let (line, chunk) = (thread / Self::CHUNKS, thread % Self::CHUNKS);
        let to = tile + StageTile::<T, O, EXTENT, DEPTH>::place(line, chunk) as u32;
        let elements = chunk * 16 / size_of::<T>();
        let (start, inside, left) = if O::ALONG_K {
            let mut inside = 0;
            for copy in 0..Self::COPIES {
                inside |= u32::from(first + line + copy * Self::DOWN < matrix.extent) << copy;
            }
            let left = (matrix.depth as i32 - elements as i32) * size_of::<T>() as i32;
            ((first + line).wrapping_mul(matrix.stride).wrapping_add(elements), inside, left)
        } else {
            let at = first + elements;
            let inside = (matrix.extent.saturating_sub(at).min(16) * size_of::<T>()).min(16) as u32;
            (line.wrapping_mul(matrix.stride).wrapping_add(at), inside, matrix.depth as i32 - line as i32)
        };
        // Beyond the matrix the address is computed but never read.
        let from = matrix.first.wrapping_add(start);
        Self { from, to, stride: matrix.stride, inside, left, kind: PhantomData }
    }

    /// Starts the copies of the next `DEPTH` elements of K into the stage at offset `stage`, with zeros beyond the matrix.
    ///
    /// # Safety
    /// No thread reads the stage; the matrix is where it was said to be.
    #[inline(always)]
    pub unsafe fn fill(&mut self, stage: u32) {
        let end = self.left.clamp(0, 16) as u32;
        for copy in 0..Self::COPIES {
            cuda_std::unroll!(full);
            let bytes = if O::ALONG_K {
                if self.inside & 1 << copy != 0 { end } else { 0 }
            } else if ((copy * Self::DOWN) as i32) < self.left {
                self.inside
            } else {
                0
            };
            let from = self.from.wrapping_add(copy * Self::DOWN * self.stride);
            // SAFETY: the caller's promise; no more than `bytes` are read.
            unsafe { copy_some(self.to + stage + Self::down(copy), from.cast(), bytes) };
        }
        self.advance();
    }

    /// Starts copy number `copy` of [`COPIES`](Self::COPIES) of the next `DEPTH` elements of K, without a look at where the
    /// matrix ends: an addition and a copy, where [`fill`](Self::fill) takes seven instructions.
    ///
    /// # Safety
    /// As [`fill`](Self::fill), and the whole tile lies inside the matrix.
    #[inline(always)]
    pub unsafe fn copy(&self, stage: u32, copy: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.from.add(copy * Self::DOWN * self.stride);
            copy_16(self.to + stage + Self::down(copy), from.cast());
        }
    }

    /// Goes to the next `DEPTH` elements of K, once all copies of these were started. [`fill`](Self::fill) does it itself.
    #[inline(always)]
    pub fn advance(&mut self) {
        let (elements, left) =
            if O::ALONG_K { (DEPTH, DEPTH * size_of::<T>()) } else { (DEPTH * self.stride, DEPTH) };
        self.from = self.from.wrapping_add(elements);
        self.left -= left as i32;
    }

    /// How far below the first copy's line copy `copy` goes.
    #[inline(always)]
    fn down(copy: usize) -> u32 {
        (copy * StageTile::<T, O, EXTENT, DEPTH>::LINE * Self::DOWN) as u32
    }
}

/// Starts to copy 16 bytes to shared memory, past L1.
#[inline(always)]
unsafe fn copy_16(to: u32, from: *const u8) {
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("cp.async.cg.shared.global.L2::128B [{to}], [{from}], 16;", to = in(u32) to, from = in(ptr) from);
    }
}

/// Starts to copy `bytes` (at most 16) to shared memory, past L1, and fills up with zeros.
#[inline(always)]
unsafe fn copy_some(to: u32, from: *const u8, bytes: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("cp.async.cg.shared.global.L2::128B [{to}], [{from}], 16, {bytes};",
             to = in(u32) to, from = in(ptr) from, bytes = in(u32) bytes);
    }
}
