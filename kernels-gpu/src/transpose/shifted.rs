//! The fast transpose of any shape: rows may begin anywhere, and memory is still touched by 16 aligned bytes.
//!
//! Where rows are no multiple of 16 bytes, each row of the source and each of the result has a shift of its own against
//! the 16-byte vectors of memory.
//! - **Loading**, a vector of the tile straddles two of memory's; both are loaded and joined by selections and funnel
//!   shifts. The second is the first of the neighbouring lane, so the cache answers it.
//! - **Storing**, there is no half vector: what is stored is memory's own vector, joined from the two chunks of the tile
//!   that it straddles. So a block owns the vectors that *begin* in its rows, and its tile is `V` rows higher than what it
//!   stores: no vector is written by two blocks.
//! - **Edges.** Only vectors that straddle two rows of the result are written by elements, and only blocks at the
//!   matrix's edge load by elements.

use cuda_std::prelude::*;
use tile::{Layout, SharedTile, Straddle, SwizzledChunks, Turn, VECTOR_BYTES, Vector, shared_tile};

use super::tiling::{Tile, Tiling, block};

/// The tile for elements of 1 byte.
pub const TILE_1: Tile = Tile { rows: 256, cols: 128, threads: 512 };
/// The tile for elements of 2 bytes.
pub const TILE_2: Tile = Tile { rows: 128, cols: 64, threads: 512 };
/// The tile for elements of 4 bytes.
pub const TILE_4: Tile = Tile { rows: 64, cols: 64, threads: 256 };
/// The tile for elements of 8 bytes.
pub const TILE_8: Tile = Tile { rows: 32, cols: 64, threads: 512 };

/// Moves the block's tile; see the file's own words.
///
/// # Safety
/// `from` and `to` hold rows × cols elements; the block has `THREADS` threads.
#[inline(always)]
unsafe fn turn<
    T: Turn<K, V> + Default,
    L: Layout<COLS, PIECES>,
    const K: usize,
    const V: usize,
    const ROWS: usize,
    const COLS: usize,
    const PIECES: usize,
    const THREADS: usize,
    const LOADS: usize,
    const STORES: usize,
>(
    (rows, cols): (u32, u32),
    from: &[T],
    to: *mut T,
    tile: SharedTile<T::Piece, COLS, PIECES, L>,
) {
    let (down, across) = block();
    let (rows, cols) = (rows as usize, cols as usize);
    // Rows of which the vectors that begin in them are this block's.
    let own = ROWS - V;
    let (row0, col0) = (down as usize * own, across as usize * COLS);
    if row0 >= rows || col0 >= cols {
        return; // The grid may be larger than the matrix.
    }
    // SAFETY: whole vectors are loaded only where the block's rows and all vectors that they touch are inside the
    // matrix; everything else is guarded element by element; a barrier parts the tile's stores from its loads.
    unsafe {
        let whole = row0 + ROWS <= rows && col0 + COLS <= cols && {
            let first = from.as_ptr().wrapping_add(row0 * cols + col0).addr() / VECTOR_BYTES * VECTOR_BYTES;
            let end = from.as_ptr().wrapping_add((row0 + ROWS - 1) * cols + col0 + COLS).addr();
            let limit = from.as_ptr().wrapping_add(rows * cols).addr();
            first >= from.as_ptr().addr() && end.next_multiple_of(VECTOR_BYTES) <= limit
        };
        if whole {
            let corner = from.as_ptr().add(row0 * cols + col0);
            let mut loaded = [[None::<Straddle>; K]; LOADS];
            for step in 0..LOADS {
                let (row, col) = Tiling::<K, V, ROWS, COLS, THREADS>::loads(step);
                for k in 0..K {
                    loaded[step][k] = Some(Straddle::load(corner.add((row + k) * cols + col)));
                }
            }
            for step in 0..LOADS {
                let place = Tiling::<K, V, ROWS, COLS, THREADS>::loads(step);
                let vectors = loaded[step].map(|straddle| straddle.map_or(Vector(0), Straddle::join));
                Tiling::<K, V, ROWS, COLS, THREADS>::put::<T, L, PIECES>(&tile, place, vectors);
            }
        } else {
            let mut i = thread::thread_idx_x() as usize;
            while i < ROWS * COLS {
                cuda_std::unroll!(4);
                let (row, col) = (i / COLS, i % COLS);
                let inside = row0 + row < rows && col0 + col < cols;
                let element =
                    if inside { *from.as_ptr().add((row0 + row) * cols + col0 + col) } else { T::default() };
                *element_of::<T, L, K, V, COLS, PIECES>(&tile, row, col) = element;
                i += THREADS;
            }
        }
        thread::sync_threads();

        for step in 0..STORES {
            let (chunk, col) = Tiling::<K, V, ROWS, COLS, THREADS>::reads(step);
            let end = (col0 + col + 1) * rows;
            // How far behind the rows of the tile memory's vectors begin.
            let shift =
                (to.addr() / size_of::<T>()).wrapping_add((col0 + col) * rows + row0).wrapping_neg() % V;
            let at = (col0 + col) * rows + row0 + chunk + shift;
            if chunk < own && col0 + col < cols && at + V <= end {
                let low = Tiling::<K, V, ROWS, COLS, THREADS>::chunk(&tile, chunk, col);
                let next = if shift == 0 { chunk } else { chunk + V };
                let high = Tiling::<K, V, ROWS, COLS, THREADS>::chunk(&tile, next, col);
                Straddle { low, high, begin: (shift * size_of::<T>()) as u32 }.join().store(to.add(at));
            }
        }

        // The elements of vectors that straddle two rows of the result: at the top and at the end of each column.
        if row0 == 0 || row0 + ROWS > rows {
            let mut i = thread::thread_idx_x() as usize;
            while i < COLS * V {
                cuda_std::unroll!(none);
                let (col, row) = (i / V, i % V);
                if col0 + col < cols {
                    let first = (col0 + col) * rows;
                    let place = (to.addr() / size_of::<T>()).wrapping_add(first);
                    let before = place.wrapping_neg() % V;
                    if row0 == 0 && row < before.min(rows) {
                        *to.add(first + row) = *element_of::<T, L, K, V, COLS, PIECES>(&tile, row, col);
                    }
                    let after = place.wrapping_add(rows) % V;
                    if after <= rows && row < after && (row0..row0 + own).contains(&(rows - after)) {
                        let row = rows - after + row;
                        *to.add(first + row) =
                            *element_of::<T, L, K, V, COLS, PIECES>(&tile, row - row0, col);
                    }
                }
                i += THREADS;
            }
        }
    }
}

/// Where element (`row`, `col`) of the source's tile lies: a piece holds `K` rows.
#[inline(always)]
unsafe fn element_of<
    T: Turn<K, V>,
    L: Layout<COLS, PIECES>,
    const K: usize,
    const V: usize,
    const COLS: usize,
    const PIECES: usize,
>(
    tile: &SharedTile<T::Piece, COLS, PIECES, L>,
    row: usize,
    col: usize,
) -> *mut T {
    // SAFETY: the caller's element is inside the tile.
    unsafe { tile.at(col, row / K).cast::<T>().add(row % K) }
}

macro_rules! kernels {
    ($($(#[$meta:meta])* $name:ident: $element:ty, $piece:ty, $k:literal, $tile:ident, $threads:literal;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements; blocks are those of the tile, one down for each `rows - V` rows of
        /// it, then across.
        #[kernel]
        #[block_dim($threads)]
        pub unsafe fn $name(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            const V: usize = 16 / size_of::<$element>();
            const PIECES: usize = $tile.rows / $k;
            const THREADS: usize = $tile.threads;
            type Work = Tiling<$k, V, { $tile.rows }, { $tile.cols }, THREADS>;
            type Swizzle = SwizzledChunks<{ 16 / size_of::<$piece>() }, V>;
            let tile = shared_tile![$piece; $tile.cols, PIECES; Swizzle];
            // SAFETY: as the contract says.
            unsafe {
                turn::<
                    $element, Swizzle, $k, V, { $tile.rows }, { $tile.cols }, PIECES, THREADS,
                    { Work::LOADS }, { Work::STORES },
                >((rows, cols), from, to, tile)
            }
        }
    )*};
}
kernels! {
    /// Bytes.
    transpose_shifted_1_byte: u8, u32, 4, TILE_1, 512;
    /// Elements of 2 bytes.
    transpose_shifted_2_bytes: u16, u32, 2, TILE_2, 512;
    /// Elements of 4 bytes.
    transpose_shifted_4_bytes: u32, u32, 1, TILE_4, 256;
    /// Elements of 8 bytes.
    transpose_shifted_8_bytes: u64, u64, 1, TILE_8, 512;
}
