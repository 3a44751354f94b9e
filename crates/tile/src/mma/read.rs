//! Fragments out of shared memory.

use core::marker::PhantomData;

use cuda_std::ptx;

use crate::mma::element::Element;
use crate::mma::fragment::{ColumnFragment, RowFragment};
use crate::mma::order::Order;
use crate::mma::stage::StageTile;

/// Reads one warp's fragments of a tile: `BLOCKS` blocks of 16 rows of A, or of 16 columns of B.
///
/// All address arithmetic but one addition a load is done once. Along K a step of 32 bytes only flips bits 5 and 6 of
/// an address, whatever the block, and a block adds a constant; across K it is the other way round.
#[doc(alias = "ldmatrix")]
pub struct Reader<T, O, const EXTENT: usize, const DEPTH: usize, const BLOCKS: usize> {
    /// One for each step along K (`AlongK`) or for each block (`AcrossK`).
    bases: [u32; 4],
    /// Whether the four words of a block are two fragments of columns rather than one of rows.
    columns: bool,
    kind: PhantomData<(T, O)>,
}

impl<T: Element, O: Order, const EXTENT: usize, const DEPTH: usize, const BLOCKS: usize>
    Reader<T, O, EXTENT, DEPTH, BLOCKS>
{
    /// Products along K that the tile holds.
    pub const STEPS: usize = {
        let steps = DEPTH * size_of::<T>() / 32;
        assert!(if O::ALONG_K { steps } else { BLOCKS } <= 4, "a reader keeps at most 4 addresses");
        assert!(BLOCKS * 16 <= EXTENT, "more blocks than the tile has");
        steps
    };

    /// A reader of rows of A for lane `lane`: the blocks from row `first` on, a multiple of `16 · BLOCKS`, in the tile
    /// that begins at shared address `tile`, a multiple of 128.
    #[inline(always)]
    pub fn of_rows(tile: u32, first: usize, lane: usize) -> Self {
        Self::new(tile, first, lane, false)
    }

    /// The same for columns of B.
    #[inline(always)]
    pub fn of_columns(tile: u32, first: usize, lane: usize) -> Self {
        Self::new(tile, first, lane, true)
    }

    #[inline(always)]
    fn new(tile: u32, first: usize, lane: usize, columns: bool) -> Self {
        // Lane l names row l % 8 of matrix l / 8. Of A, matrices 0 and 1 are rows 0 to 7 and 8 to 15 in the first half of
        // K, matrices 2 and 3 in the second. Of B, the halves of K come first: a product takes its words from a pair of
        // registers that follow each other.
        let (row, matrix) = (lane % 8, lane / 8);
        let (outer, half) = if columns { (matrix / 2 * 8, matrix % 2) } else { (matrix % 2 * 8, matrix / 2) };
        let mut bases = [0; 4];
        if O::ALONG_K {
            let place = StageTile::<T, O, EXTENT, DEPTH>::place(first + outer + row, half);
            for step in 0..Self::STEPS {
                bases[step] = (tile + place as u32) ^ (step * 32) as u32;
            }
        } else if size_of::<T>() == 2 {
            for block in 0..BLOCKS {
                let chunk = (first + 16 * block + outer) / 8;
                let place = StageTile::<T, O, EXTENT, DEPTH>::place(half * 8 + row, chunk);
                bases[block] = tile + place as u32;
            }
        } else {
            let (g, t) = (lane / 4, lane % 4);
            for block in 0..BLOCKS {
                let at = first + 16 * block + g;
                let place = StageTile::<T, O, EXTENT, DEPTH>::place(t, at / 4) + at % 4 * 4;
                bases[block] = tile + place as u32;
            }
        }
        Self { bases, columns, kind: PhantomData }
    }

    /// The rows of block `block` at step `step` of K, from the stage at offset `stage`.
    ///
    /// Both numbers should be known to the compiler, as the counters of unrolled loops are.
    ///
    /// # Safety
    /// The stage has landed for all threads and no thread fills it; the reader is one of rows; all lanes of the warp come
    /// here together.
    #[inline(always)]
    pub unsafe fn rows(&self, stage: u32, block: usize, step: usize) -> RowFragment<T> {
        // SAFETY: the caller's promise.
        RowFragment::from_words(unsafe { self.words(stage, block, step) })
    }

    /// The columns of block `block`: number 0 to 7, and 8 to 15.
    ///
    /// # Safety
    /// As [`rows`](Self::rows), of a reader of columns.
    #[inline(always)]
    pub unsafe fn columns(&self, stage: u32, block: usize, step: usize) -> [ColumnFragment<T>; 2] {
        // SAFETY: the caller's promise.
        let [a, b, c, d] = unsafe { self.words(stage, block, step) };
        [ColumnFragment::from_words([a, b]), ColumnFragment::from_words([c, d])]
    }

    #[inline(always)]
    unsafe fn words(&self, stage: u32, block: usize, step: usize) -> [u32; 4] {
        let line = StageTile::<T, O, EXTENT, DEPTH>::LINE as u32;
        let (block_lines, step_lines) = (16 * block as u32, (step * 32 / size_of::<T>()) as u32);
        // SAFETY: the caller's promise; the addresses are those of the tile's own lines.
        unsafe {
            if O::ALONG_K {
                load_matrices(self.bases[step] + stage + block_lines * line)
            } else if size_of::<T>() == 2 {
                load_transposed(self.bases[block] + stage + step_lines * line)
            } else {
                let low = self.bases[block] + stage + step_lines * line;
                let high = low + 4 * line;
                // 8 rows or columns further is 2 chunks, and the permutation is even: it flips bit 5, as blocks begin at
                // multiples of 16.
                let words = [load(low), load(low ^ 32), load(high), load(high ^ 32)];
                if self.columns { [words[0], words[2], words[1], words[3]] } else { words }
            }
        }
    }
}

macro_rules! load_matrices {
    ($form:literal, $address:ident) => {{
        let (a, b, c, d): (u32, u32, u32, u32);
        ptx!(concat!("ldmatrix.sync.aligned.m8n8.x4", $form, ".shared.b16 {{{a}, {b}, {c}, {d}}}, [{address}];"),
             a = out(u32) a, b = out(u32) b, c = out(u32) c, d = out(u32) d, address = in(u32) $address;
             options(convergent));
        [a, b, c, d]
    }};
}

/// Four 8 × 8 matrices of 16-bit elements, or 8 × 4 of 32-bit ones: lane l gives the address of row l % 8 of matrix l / 8.
#[inline(always)]
unsafe fn load_matrices(address: u32) -> [u32; 4] {
    // SAFETY: the caller's promise.
    unsafe { load_matrices!("", address) }
}

/// The same, each 8 × 8 matrix transposed on the way.
#[inline(always)]
unsafe fn load_transposed(address: u32) -> [u32; 4] {
    // SAFETY: the caller's promise.
    unsafe { load_matrices!(".trans", address) }
}

#[inline(always)]
unsafe fn load(address: u32) -> u32 {
    let word: u32;
    // SAFETY: the caller's promise.
    unsafe { ptx!("ld.shared.u32 {word}, [{address}];", word = out(u32) word, address = in(u32) address) };
    word
}
