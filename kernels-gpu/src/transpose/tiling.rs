//! How a block of the fast transposes shares out its tile: who loads what, and what lies where in shared memory.
//!
//! A warp loads 4 rows × 8 vectors of 16 bytes: 128 contiguous bytes of each row. Turned, a thread's vector is one piece
//! for each of its columns, and each column is a row of the shared tile. There the 4 rows of the warp are 4 neighbours in
//! a chunk of 16 bytes, and the 8 vectors are 8 different chunks, since chunks are permuted by vector: 32 banks. Read back
//! by whole chunks, 8 lanes have 8 neighbouring chunks of one column: 32 banks again.

use cuda_std::prelude::*;
use tile::{Layout, RegisterTranspose, SharedTile, VECTOR_BYTES, Vector};

/// The tile of a block and its threads.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    pub rows: usize,
    pub cols: usize,
    pub threads: usize,
}

/// The block's place in the grid: which tile down the source's columns, which along its rows. `SIDE` tiles side by side
/// come before the next ones below.
///
/// Blocks that follow each other go down a column of tiles, because what they write then lies together: 0.03 ahead of
/// blocks along a row, and so are columns as long as the matrix is high: in bands of 8 to 128 tiles they lose 0.01 to
/// 0.07, and so do diagonals. There may be more tiles along a row than a grid is high, so it has a third axis.
#[inline(always)]
pub fn block<const SIDE: u32>() -> (u32, u32) {
    let column = thread::block_idx_z() * thread::grid_dim_y() + thread::block_idx_y();
    (thread::block_idx_x() / SIDE, column * SIDE + thread::block_idx_x() % SIDE)
}

/// Bytes of a row from one of two windows to the other.
const WINDOW: usize = 16 << 10;

/// How many columns of tiles are begun side by side: two where rows are a multiple of 128 KiB apart.
///
/// Blocks that run at one time read a column of tiles, a piece of each row. Rows 128 KiB apart have the same address bits below
/// 17, and by the others memory tells its banks apart badly: 0.93 of the copy. A second column of tiles, `WINDOW` bytes
/// further, brings it to 0.97; so do 8 and 64 KiB, while 2, 4 and 32 change nothing. Where rows lie closer a second column
/// only costs, 0.006, and four or eight cost everywhere.
pub const fn windows(row_bytes: usize) -> u32 {
    if row_bytes.is_multiple_of(128 << 10) { 2 } else { 1 }
}

/// The block's place where `windows` columns of tiles, of `tile_bytes` of a row each, are begun side by side.
#[inline(always)]
pub fn block_in(windows: u32, tile_bytes: usize) -> (u32, u32) {
    let (down, column) = block::<1>();
    if windows == 1 {
        return (down, column);
    }
    let distance = (WINDOW / tile_bytes) as u32;
    (down / 2, column / distance * (2 * distance) + down % 2 * distance + column % distance)
}

/// Loads a vector of the source, if told so with what surrounds it.
///
/// # Safety
/// As [`Vector::load_with_surroundings`].
#[inline(always)]
pub unsafe fn load<T, const PAIRS: bool>(from: *const T) -> Vector {
    // SAFETY: the caller's promise.
    unsafe { if PAIRS { Vector::load_with_surroundings(from) } else { Vector::load(from) } }
}

/// The beginning of Hopper's kernels: the next launch may begin where this one leaves room, and this one waits for the one
/// before it.
#[inline(always)]
pub fn overlap<const HOPPER: bool>() {
    if HOPPER {
        tile::hopper::admit_next_grid();
        tile::hopper::await_previous_grid();
    }
}

/// The work of a thread on `ROWS` × `COLS` elements, `V` of them in a vector, `K` rows turned at a time.
pub struct Tiling<const K: usize, const V: usize, const ROWS: usize, const COLS: usize, const THREADS: usize>;

impl<const K: usize, const V: usize, const ROWS: usize, const COLS: usize, const THREADS: usize>
    Tiling<K, V, ROWS, COLS, THREADS>
{
    /// How often a thread loads `K` vectors.
    pub const LOADS: usize = {
        assert!((ROWS * COLS).is_multiple_of(K * V * THREADS) && THREADS.is_multiple_of(32));
        assert!(COLS.is_multiple_of(8 * V) && ROWS.is_multiple_of(4 * K) && ROWS.is_multiple_of(8 * V));
        ROWS * COLS / (K * V * THREADS)
    };
    /// Chunks in a column of the tile.
    pub const CHUNKS: usize = ROWS / V;
    /// How often a thread stores a chunk.
    pub const STORES: usize = {
        assert!(THREADS.is_multiple_of(Self::CHUNKS));
        COLS * Self::CHUNKS / THREADS
    };

    /// Where in the tile this thread loads: the first of its `K` rows, and the first column of its vectors.
    #[inline(always)]
    pub fn loads(step: usize) -> (usize, usize) {
        let thread = thread::thread_idx_x() as usize;
        let (lane, warp) = (thread % 32, thread / 32);
        let unit = step * (THREADS / 32) + warp;
        let across = COLS / (8 * V);
        ((unit / across * 4 + lane / 8) * K, (unit % across * 8 + lane % 8) * V)
    }

    /// Where in the tile's columns this thread reads, as the first row of a chunk and a column. Consecutive threads have
    /// consecutive chunks of a column, which is a row of the result.
    #[inline(always)]
    pub fn reads(step: usize) -> (usize, usize) {
        let thread = thread::thread_idx_x() as usize;
        (thread % Self::CHUNKS * V, step * (THREADS / Self::CHUNKS) + thread / Self::CHUNKS)
    }

    /// Turns `K` vectors and puts the pieces into their columns.
    ///
    /// # Safety
    /// `row` and `col` are those of [`loads`](Self::loads), and no thread reads the tile.
    #[inline(always)]
    pub unsafe fn put<T: RegisterTranspose<K, V>, L: Layout<COLS, PIECES>, const PIECES: usize>(
        tile: &SharedTile<T::Piece, COLS, PIECES, L>,
        (row, col): (usize, usize),
        vectors: [Vector; K],
    ) {
        let pieces = T::transpose(vectors);
        for j in 0..V {
            cuda_std::unroll!(full);
            // SAFETY: the thread's own rows and columns of the tile.
            unsafe { tile.set(col + j, row / K, pieces[j]) };
        }
    }

    /// The chunk that begins at element (`row`, `col`) of the source's tile: `V` elements down a column.
    ///
    /// # Safety
    /// `row` is a multiple of `V`; the chunk is in the tile, was written, and a barrier lies between.
    #[inline(always)]
    pub unsafe fn chunk<P: Copy, L: Layout<COLS, PIECES>, const PIECES: usize>(
        tile: &SharedTile<P, COLS, PIECES, L>,
        row: usize,
        col: usize,
    ) -> Vector {
        const { assert!(PIECES * K == ROWS && size_of::<P>() * V == K * VECTOR_BYTES) }
        // SAFETY: the layout keeps the pieces of a chunk together, and chunks at multiples of 16 bytes.
        unsafe { Vector::load(tile.at(col, row / K)) }
    }
}
