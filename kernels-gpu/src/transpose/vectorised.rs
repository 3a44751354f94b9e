//! The fast transpose, for matrices whose rows begin at multiples of 16 bytes on both sides.
//!
//! A transpose is a copy whose two sides are far apart, so what limits it is what limits a copy: how many bytes are in
//! flight. The earlier steps move 4 bytes a lane at a time; here every access to global memory is 16 bytes wide, a thread issues all its loads before it uses the first, and the
//! turn takes place partly in registers (elements of 1 and 2 bytes), partly in the stores to shared memory
//! ([`tiling`](super::tiling)), with no bank conflict on either side.
//!
//! Elements are moved, not looked at: one kernel for each size, whatever the type.

use cuda_std::prelude::*;
use tile::{Layout, RegisterTranspose, SharedTile, VECTOR_BYTES, Vector};

use super::tiling::{Tile, Tiling, block, block_in, load, overlap, windows};

/// The tile for elements of 1 byte.
pub const TILE_1: Tile = Tile { rows: 128, cols: 256, threads: 1024 };
pub const TILE_2: Tile = Tile { rows: 128, cols: 128, threads: 1024 };
pub const TILE_4: Tile = Tile { rows: 64, cols: 64, threads: 512 };
pub const TILE_8: Tile = Tile { rows: 32, cols: 64, threads: 512 };
pub const TILE_16: Tile = Tile { rows: 32, cols: 32, threads: 512 };

/// Whether rows of the result begin in the middle of a sector of 32 bytes, every second one.
pub const fn splits_sectors(rows: usize, bytes: usize) -> bool {
    !(rows * bytes).is_multiple_of(2 * VECTOR_BYTES)
}

/// How many rows of the source a block for Hopper stores: where rows of the result split sectors, the sectors that begin in
/// all but its tile's last vector of rows.
pub const fn own_rows(tile: Tile, rows: usize, bytes: usize) -> usize {
    if splits_sectors(rows, bytes) { tile.rows - VECTOR_BYTES / bytes } else { tile.rows }
}

/// Moves the block's tile.
///
/// ```text
///   T  element        ┌─ COLS = lanes × V ─┐              K rows turn in registers (`RegisterTranspose<K, V>`):
///   V  elements in    │ V │ V │ V │ …      │ ┐ K rows     K vectors of V become V pieces of K elements
///      16 bytes       ├───┴───┴───┴────────┤ ┘
///   L  layout of the  │                    │ ROWS         shared: COLS × PIECES, PIECES = ROWS / K
///      shared tile    └────────────────────┘              a thread: LOADS × K vectors in, STORES vectors out
///   HOPPER: launches overlap, L2 fetches 256 bytes, windows and whole sectors
/// ```
///
/// # Safety
/// `from` and `to` hold rows × cols elements and begin, as all their rows do, at multiples of 16 bytes; the block has
/// `THREADS` threads.
#[inline(always)]
pub unsafe fn turn<
    T: RegisterTranspose<K, V>,
    L: Layout<COLS, PIECES>,
    const K: usize,
    const V: usize,
    const ROWS: usize,
    const COLS: usize,
    const PIECES: usize,
    const THREADS: usize,
    const LOADS: usize,
    const STORES: usize,
    const HOPPER: bool,
>(
    (rows, cols): (u32, u32),
    from: &[T],
    to: *mut T,
    tile: SharedTile<T::Piece, COLS, PIECES, L>,
) {
    overlap::<HOPPER>();
    let (bytes, tile_size) =
        (const { VECTOR_BYTES / V }, const { Tile { rows: ROWS, cols: COLS, threads: THREADS } });
    let (down, across, own) = if HOPPER {
        let (down, across) = block_in(windows(cols as usize * bytes), const { COLS * VECTOR_BYTES / V });
        (down, across, own_rows(tile_size, rows as usize, bytes) as u32)
    } else {
        let (down, across) = block::<1>();
        (down, across, ROWS as u32)
    };
    let (row0, col0) = (down * own, across * COLS as u32);
    if row0 >= rows || col0 >= cols {
        return; // The grid may be larger than the matrix.
    }
    // SAFETY: loads are held inside the matrix, stores are guarded; rows and columns are multiples of V, so a vector is
    // inside or outside as a whole; a barrier parts the tile's stores from its loads.
    unsafe {
        let mut loaded = [[Vector::default(); K]; LOADS];
        for step in 0..LOADS {
            let (row, col) = Tiling::<K, V, ROWS, COLS, THREADS>::loads(step);
            for k in 0..K {
                // At the edge the last row or column is loaded again: no branch stands between the loads.
                let row = (row0 + (row + k) as u32).min(rows - 1);
                let col = (col0 + col as u32).min(cols - V as u32);
                loaded[step][k] =
                    load::<_, HOPPER>(from.as_ptr().add(row as usize * cols as usize + col as usize));
            }
        }
        for step in 0..LOADS {
            let place = Tiling::<K, V, ROWS, COLS, THREADS>::loads(step);
            Tiling::<K, V, ROWS, COLS, THREADS>::put::<T, L, PIECES>(&tile, place, loaded[step]);
        }
        thread::sync_threads();
        let mut chunks = [Vector::default(); STORES];
        for step in 0..STORES {
            let (row, col) = Tiling::<K, V, ROWS, COLS, THREADS>::reads(step);
            chunks[step] = Tiling::<K, V, ROWS, COLS, THREADS>::chunk(&tile, row, col);
        }
        // Of a sector that two blocks would write halves of, the one in which it begins writes both. A thread's columns are
        // all even or all odd, so that it has the same rows in each.
        const { assert!((THREADS / (ROWS / V)).is_multiple_of(2)) };
        let (first, end) = if HOPPER && own < ROWS as u32 {
            let odd = (Tiling::<K, V, ROWS, COLS, THREADS>::reads(0).1 as u32 ^ (row0 / V as u32)) & 1;
            (if row0 == 0 { 0 } else { odd * V as u32 }, ROWS as u32 - odd * V as u32)
        } else {
            (0, ROWS as u32)
        };
        for step in 0..STORES {
            let (row, col) = Tiling::<K, V, ROWS, COLS, THREADS>::reads(step);
            let mine = (first..end).contains(&(row as u32));
            let (row, col) = (row0 + row as u32, col0 + col as u32);
            if mine && row < rows && col < cols {
                chunks[step].store(to.add(col as usize * rows as usize + row as usize));
            }
        }
    }
}

/// The kernels of each size, for Hopper or for any chip.
macro_rules! kernels {
    ($hopper:literal; $($(#[$meta:meta])* $name:ident: $element:ty, $piece:ty, $k:literal, $tile:expr, $threads:literal;)*) => {
        listed! { $($name)* }

        /// Uses the kernel for elements of `bytes` bytes.
        #[cfg(feature = "host")]
        pub fn choose<R>(bytes: usize, user: impl $crate::transpose::UseTranspose<R>) -> Option<R> {
            use $crate::{choice::UseKernel, transpose::Signature};
            match bytes {
                $(n if n == size_of::<$element>() => Some(UseKernel::<Signature<$element>, R>::with::<$name>(user)),)*
                _ => None,
            }
        }

        $(
        $(#[$meta])*
        ///
        /// # Safety
        /// `from` and `to` hold rows × cols elements and begin, as all their rows do, at multiples of 16 bytes; blocks
        /// are those of the tile, as many down as the source has tiles of rows, then across. Those for Hopper may be launched
        /// to begin early.
        #[kernel]
        #[block_dim($threads)]
        pub unsafe fn $name(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            const TILE: $crate::transpose::tiling::Tile = $tile;
            const V: usize = 16 / size_of::<$element>();
            const PIECES: usize = TILE.rows / $k;
            const THREADS: usize = TILE.threads;
            type Shares = $crate::transpose::tiling::Tiling<$k, V, { TILE.rows }, { TILE.cols }, THREADS>;
            type Swizzle = tile::SwizzledChunks<{ 16 / size_of::<$piece>() }, V>;
            let tile = tile::shared_tile![$piece; TILE.cols, PIECES; Swizzle];
            // SAFETY: as the contract says.
            unsafe {
                $crate::transpose::vectorised::turn::<
                    $element, Swizzle, $k, V, { TILE.rows }, { TILE.cols }, PIECES, THREADS,
                    { Shares::LOADS }, { Shares::STORES }, $hopper,
                >((rows, cols), from, to, tile)
            }
        }
        )*
    };
}
pub(crate) use kernels;
