//! The fast transpose of any shape: rows may begin anywhere, and memory is still touched by 16 aligned bytes.
//!
//! Where rows are not a multiple of 16 bytes, each row of the source and each of the result has a shift of its own against
//! the 16-byte vectors of memory. Shared memory takes the shifts up:
//! - **Loading**, a lane loads memory's own vectors, once each. Elements of 4 and 8 bytes go to the columns of the tile
//!   where they belong, wherever in the vector they lay. Smaller ones are turned in registers, for which the rows of a
//!   thread must agree: a lane joins its vector with that of the next lane, by a shuffle. Either way a lane may give less
//!   than a vector to the block's columns, so the tile is one vector wider than what the block stores.
//! - **Storing**, memory's own vectors again, by words from wherever in the tile their rows begin. A sector of 32 bytes
//!   that two blocks write halves of costs up to 0.1, so a block owns the *sectors* that begin in its rows, and its tile
//!   is one sector higher than what it stores.
//! - **Edges.** Only what lies before the first and behind the last whole vector of a row of the result is written by
//!   elements, and only what lies so in the whole source is loaded by elements.

use cuda_std::prelude::*;
use tile::{Layout, RegisterTranspose, SharedTile, Straddle, VECTOR_BYTES, Vector};

use super::tiling::{Tile, load};

/// The tile for elements of 1 byte.
pub const TILE_1: Tile = Tile { rows: 256, cols: 128, threads: 512 };
pub const TILE_2: Tile = Tile { rows: 128, cols: 128, threads: 512 };
pub const TILE_4: Tile = Tile { rows: 64, cols: 128, threads: 512 };
pub const TILE_8: Tile = Tile { rows: 64, cols: 64, threads: 512 };
/// As [`TILE_1`], half as wide: for matrices whose whole tiles would leave multiprocessors without one.
pub const NARROW_1: Tile = Tile { rows: 256, cols: 64, threads: 256 };
/// As [`TILE_2`], half as wide.
pub const NARROW_2: Tile = Tile { rows: 128, cols: 64, threads: 256 };
/// As [`TILE_4`], half as wide.
pub const NARROW_4: Tile = Tile { rows: 64, cols: 64, threads: 512 };
/// How many tiles of bytes lie side by side before the next ones below: what they load of a row lies together.
pub const SIDE_1: u32 = 4;

/// A block's part of the result begins at a multiple of this number of bytes.
const SECTOR_BYTES: usize = 32;

/// Rows and columns of which a block with this tile stores the elements of `bytes` bytes.
pub const fn own(tile: Tile, bytes: usize) -> (usize, usize) {
    (tile.rows - SECTOR_BYTES / bytes, tile.cols - VECTOR_BYTES / bytes)
}

/// The work of a block on `ROWS` × `COLS` elements, of which `V` are a vector and `K` rows are turned at a time.
///
/// ```text
///   memory   ──┤ V │ V │ V │ … ├──   a row of the source, begun anywhere in a vector
///   tile       ┌ WIDE = COLS + V ┐   columns in shared memory, a vector more than the block stores
///   column     PIECES = ROWS / K     pieces of K rows, turned in registers by `RegisterTranspose<K, V>`, laid out by `L`
///   thread     LOADS × K vectors of THREADS threads; PAIRS: L2 fetches lines in pairs
/// ```
///
/// A row of the tile is one vector for each of `LANES` lanes. The tile in shared memory has `WIDE` columns, of which the
/// first of the block is the one numbered `LEAD`.
pub struct ShiftedTile<
    T,
    L,
    const K: usize,
    const V: usize,
    const ROWS: usize,
    const COLS: usize,
    const PIECES: usize,
    const WIDE: usize,
    const THREADS: usize,
    const LOADS: usize,
    const PAIRS: bool,
> where
    T: RegisterTranspose<K, V> + Default,
    L: Layout<WIDE, PIECES>,
{
    pub rows: u32,
    pub cols: u32,
    /// The block's first row and column.
    pub row0: u32,
    pub col0: u32,
    pub from: *const T,
    pub to: *mut T,
    pub tile: SharedTile<T::Piece, WIDE, PIECES, L>,
}

impl<
    T: RegisterTranspose<K, V> + Default,
    L: Layout<WIDE, PIECES>,
    const K: usize,
    const V: usize,
    const ROWS: usize,
    const COLS: usize,
    const PIECES: usize,
    const WIDE: usize,
    const THREADS: usize,
    const LOADS: usize,
    const PAIRS: bool,
> ShiftedTile<T, L, K, V, ROWS, COLS, PIECES, WIDE, THREADS, LOADS, PAIRS>
{
    const BYTES: usize = VECTOR_BYTES / V;
    /// Lanes that load a row.
    const LANES: usize = COLS / V;
    /// Columns of the tile before the block's own: where a lane's elements of the block before it go.
    const LEAD: usize = WIDE - COLS;
    const SECTOR: usize = SECTOR_BYTES / Self::BYTES;
    const OWN_ROWS: usize = ROWS - Self::SECTOR;
    const OWN_COLS: usize = COLS - V;

    /// Elements of the source.
    #[inline(always)]
    fn len(&self) -> usize {
        self.rows as usize * self.cols as usize
    }

    /// Where in the source element (`row`, `col`) is.
    #[inline(always)]
    fn index(&self, row: u32, col: u32) -> usize {
        row as usize * self.cols as usize + col as usize
    }

    /// Where in the result what was element (`row`, `col`) of the source goes.
    #[inline(always)]
    fn place(&self, row: u32, col: u32) -> usize {
        col as usize * self.rows as usize + row as usize
    }

    /// The whole vectors of the source, counted from the aligned one that it begins in: the first, and one past the last.
    #[inline(always)]
    fn vectors(&self) -> (usize, usize) {
        let begin = self.from.addr() % VECTOR_BYTES;
        (begin.div_ceil(VECTOR_BYTES), (begin + self.len() * Self::BYTES) / VECTOR_BYTES)
    }

    /// Loads the block's rows into the tile.
    ///
    /// # Safety
    /// The source holds rows × cols elements, at least a whole vector, and no thread reads the tile.
    #[inline(always)]
    unsafe fn load(&self) {
        const { assert!(LOADS * K * THREADS == ROWS * COLS / V && 32 % (COLS / V) == 0) }
        let thread = thread::thread_idx_x() as usize;
        let (lane, line) = (thread % Self::LANES, thread / Self::LANES);
        let row_of = |step: usize| (step * (THREADS / Self::LANES) + line) * K;
        let begin = self.from.addr() % VECTOR_BYTES;
        let aligned = self.from.wrapping_byte_sub(begin).cast::<Vector>();
        let (first, end) = self.vectors();
        // SAFETY: only whole vectors of the source are loaded; at its ends the nearest one, which `mend` writes over or
        // is not used. Each thread writes its own rows and columns of the tile.
        unsafe {
            let mut loaded = [[Vector::default(); K]; LOADS];
            let mut shifts = [[0; K]; LOADS];
            for step in 0..LOADS {
                cuda_std::unroll!(full);
                for k in 0..K {
                    cuda_std::unroll!(full);
                    let row = (self.row0 + (row_of(step) + k) as u32).min(self.rows - 1);
                    let byte = begin + self.index(row, self.col0) * Self::BYTES;
                    let vector = (byte / VECTOR_BYTES + lane).max(first).min(end - 1);
                    shifts[step][k] = (byte % VECTOR_BYTES) as u32;
                    loaded[step][k] = load::<_, PAIRS>(aligned.add(vector));
                }
            }
            for step in 0..LOADS {
                cuda_std::unroll!(full);
                let mut col = lane * V;
                if Self::LEAD == 0 {
                    for k in 0..K {
                        cuda_std::unroll!(full);
                        let low = loaded[step][k];
                        let straddle = Straddle { low, high: low.of_next_lane(), begin: shifts[step][k] };
                        loaded[step][k] = straddle.join();
                    }
                } else {
                    col += Self::LEAD - shifts[step][0] as usize / Self::BYTES;
                }
                let pieces = T::transpose(loaded[step]);
                for j in 0..V {
                    cuda_std::unroll!(full);
                    self.tile.set(col + j, row_of(step) / K, pieces[j]);
                }
            }
        }
    }

    /// Where element (`row`, `col`) of the block lies in the tile.
    ///
    /// # Safety
    /// It is inside.
    #[inline(always)]
    unsafe fn element(&self, row: usize, col: usize) -> *mut T {
        // SAFETY: the caller's promise; a piece holds `K` rows.
        unsafe { self.tile.at(Self::LEAD + col, row / K).cast::<T>().add(row % K) }
    }

    /// Writes those elements of the source into the tile that no whole vector holds: less than a vector at each end.
    ///
    /// # Safety
    /// As [`load`](Self::load), for any source.
    #[inline(always)]
    unsafe fn mend(&self) {
        const { assert!(2 * V <= THREADS) }
        let len = self.len();
        let last_row = (self.row0 + ROWS as u32).min(self.rows) - 1;
        let last = self.index(last_row, (self.col0 + COLS as u32).min(self.cols) - 1);
        if self.index(self.row0, self.col0) >= V && last + V < len {
            return; // The block has none of them.
        }
        let (first, end) = self.vectors();
        let before = self.from.addr() % VECTOR_BYTES / Self::BYTES;
        // How many elements lie before the whole vectors and behind them; without any there are less than two vectors of
        // elements, and all count as behind.
        let (head, tail) = if first < end { (first * V - before, len + before - end * V) } else { (0, len) };
        thread::sync_threads();
        let thread = thread::thread_idx_x();
        let (head, tail) = (head as u32, tail as u32);
        // Divided by 32 bits: a 64-bit division is a call, which would cost all blocks registers.
        let (row, col) = if thread < head {
            (thread / self.cols, thread % self.cols)
        } else {
            let back = thread - head;
            (self.rows.wrapping_sub(1 + back / self.cols), self.cols - 1 - back % self.cols)
        };
        let (r, c) = (row.wrapping_sub(self.row0), col.wrapping_sub(self.col0));
        if thread < head + tail && r < ROWS as u32 && c < COLS as u32 {
            // SAFETY: the element is in the source and in the tile; a barrier parts this from what `load` wrote.
            unsafe { *self.element(r as usize, c as usize) = *self.from.add(self.index(row, col)) };
        }
    }

    /// How many rows below the block's first one the sectors begin in column `col` of the source.
    #[inline(always)]
    fn shift(&self, col: u32) -> u32 {
        // Only the lowest bits count, so 32 are enough.
        let place = ((self.to.addr() / Self::BYTES) as u32).wrapping_add(col.wrapping_mul(self.rows));
        place.wrapping_add(self.row0).wrapping_neg() % Self::SECTOR as u32
    }

    /// Stores all whole vectors of the block's sectors.
    ///
    /// # Safety
    /// The result has room for rows × cols elements; the tile is full, behind a barrier.
    #[inline(always)]
    unsafe fn store(&self) {
        let chunks = Self::OWN_ROWS / V;
        let all = chunks * Self::OWN_COLS;
        for step in 0..all.div_ceil(THREADS) {
            cuda_std::unroll!(full);
            let index = (step * THREADS) as u32 + thread::thread_idx_x();
            let (chunk, c) = (index % chunks as u32, index / chunks as u32);
            let col = self.col0 + c;
            let r = self.shift(col) + chunk * V as u32;
            if index < all as u32 && col < self.cols && self.row0 + r + V as u32 <= self.rows {
                // SAFETY: whole vectors inside of the column; rows of the tile end one sector behind the own ones.
                unsafe {
                    let vector = self.vector(r as usize, c as usize);
                    vector.store(self.to.add(self.place(self.row0 + r, col)));
                }
            }
        }
    }

    /// `V` elements down a column, from any row on: by words, and shifted into place where elements are less.
    ///
    /// # Safety
    /// They are inside, behind a barrier.
    #[inline(always)]
    unsafe fn vector(&self, row: usize, col: usize) -> Vector {
        // SAFETY: the caller's promise. A column begins at a whole word, and behind the last there is an unused one.
        unsafe {
            let at = self.tile.at(Self::LEAD + col, 0).cast::<u8>().add(row * Self::BYTES);
            if Self::BYTES == 8 {
                let at = at.cast::<u64>();
                return Vector(u128::from(*at) | u128::from(*at.add(1)) << 64);
            }
            let words = at.sub(row * Self::BYTES % 4).cast::<u32>();
            let [a, b, c, d] = [*words, *words.add(1), *words.add(2), *words.add(3)];
            if Self::BYTES == 4 {
                return Vector::of_words([a, b, c, d]);
            }
            let bits = row * Self::BYTES % 4 * 8;
            let e = if bits == 0 { d } else { *words.add(4) };
            let funnel = |low: u32, high: u32| ((u64::from(high) << 32 | u64::from(low)) >> bits) as u32;
            Vector::of_words([funnel(a, b), funnel(b, c), funnel(c, d), funnel(d, e)])
        }
    }

    /// Stores what no whole vector of the sectors holds: the rows above the first sector, and those behind the last
    /// vector of a column.
    ///
    /// # Safety
    /// As [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_ends(&self) {
        if self.row0 > 0 && self.row0 + (ROWS + V) as u32 <= self.rows {
            return; // The block is at neither end.
        }
        let (sector, own_rows) = (Self::SECTOR as u32, Self::OWN_ROWS as u32);
        let parts = sector + V as u32;
        let mut i = thread::thread_idx_x();
        while i < Self::OWN_COLS as u32 * parts {
            cuda_std::unroll!(none);
            let (c, part) = (i / parts, i % parts);
            let col = self.col0 + c;
            if col < self.cols {
                let sectors = self.row0 + self.shift(col);
                let behind = (self.to.addr() / Self::BYTES + self.place(self.rows, col)) % V;
                let whole = self.rows.saturating_sub(behind as u32).max(sectors);
                let (row, end) = if part < sector {
                    (part, if self.row0 == 0 { sectors.min(self.rows) } else { 0 })
                } else {
                    (whole + part - sector, self.rows.min(sectors + own_rows))
                };
                if row < end {
                    // SAFETY: rows of the block, which its tile holds, and of the column.
                    unsafe {
                        *self.to.add(self.place(row, col)) =
                            *self.element((row - self.row0) as usize, c as usize);
                    }
                }
            }
            i += THREADS as u32;
        }
    }

    /// Moves the block's tile; see the file's own words.
    ///
    /// # Safety
    /// Source and result are of rows × cols elements; the block has `THREADS` threads.
    #[inline(always)]
    pub unsafe fn transpose(&self) {
        // SAFETY: the caller's promise; barriers part what is written to the tile from what is read.
        unsafe {
            let (first, end) = self.vectors();
            if first < end {
                self.load();
            }
            self.mend();
            thread::sync_threads();
            self.store();
            self.store_ends();
        }
    }
}

/// The kernels of each size, for Hopper or for any chip.
///
/// `blocks` should fit on a multiprocessor, two on any. On Hopper four do if a thread has 32 registers; without the bound bytes get 39 and
/// 0.80 of the copy instead of 0.87. Lines in pairs gain 0.01 with elements of 8 bytes and lose up to 0.02 with smaller ones.
macro_rules! kernels {
    ($hopper:literal, $blocks:literal; $($(#[$meta:meta])* $name:ident: $element:ty, $piece:ty, $k:literal, $tile:ident, $threads:literal,
        $side:expr;)*) => {
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
        /// `from` and `to` hold rows × cols elements; blocks are those of the tile, one for each `own` rows and columns,
        /// `side` of them side by side, then down, then across.
        #[kernel]
        #[block_dim($threads)]
        #[launch_bounds(min_blocks = $blocks)]
        pub unsafe fn $name(rows: u32, cols: u32, from: &[$element], to: *mut $element) {
            use $crate::transpose::shifted::{self as s, ShiftedTile};
            const TILE: $crate::transpose::tiling::Tile = s::$tile;
            const BYTES: usize = size_of::<$element>();
            const V: usize = 16 / BYTES;
            const PIECES: usize = TILE.rows / $k;
            const WIDE: usize = TILE.cols + if BYTES < 4 { 0 } else { V };
            const LOADS: usize = TILE.rows * TILE.cols / (V * $k * TILE.threads);
            const OWN: (usize, usize) = s::own(TILE, BYTES);
            // One word after each column, and as many after each vector of columns as a warp loads rows: 32 lanes that
            // write rows meet 32 banks, and so do 8 vectors down each of 4 columns, if these are not shifted apart.
            type Columns = tile::PaddedGroups<1, V, { 32 * V / TILE.cols }>;
            $crate::transpose::tiling::overlap::<$hopper>();
            let (down, across) = $crate::transpose::tiling::block::<{ $side }>();
            let (row0, col0) = (down * OWN.0 as u32, across * OWN.1 as u32);
            if row0 >= rows || col0 >= cols {
                return; // The grid may be larger than the matrix.
            }
            let tile = tile::shared_tile![$piece; WIDE, PIECES; Columns];
            let from = from.as_ptr();
            // SAFETY: as the contract says.
            unsafe {
                ShiftedTile::<
                    $element, Columns, $k, V, { TILE.rows }, { TILE.cols }, PIECES, WIDE, { TILE.threads }, LOADS,
                    { $hopper && BYTES == 8 },
                > { rows, cols, row0, col0, from, to, tile }.transpose();
            }
        }
        )*
    };
}
pub(crate) use kernels;
