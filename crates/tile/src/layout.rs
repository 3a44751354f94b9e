//! Where element (row, column) of a shared tile lies: the choice that decides its bank conflicts.

/// The place of each element of a `ROWS` × `COLS` tile, counted in elements from the tile's start.
///
/// ```compile_fail,E0200
/// struct Outside;
/// impl tile::Layout<8, 8> for Outside { // tiles would be read and written outside of their memory: `unsafe impl`
///     const LEN: usize = 1;
///     fn place(row: usize, col: usize) -> usize { 8 * row + col }
/// }
/// ```
///
/// # Safety
/// Two elements never share a place, and the place of every element of the tile is below [`LEN`](Self::LEN): a
/// [`SharedTile`](crate::SharedTile) has that number of elements and does not compare.
pub unsafe trait Layout<const ROWS: usize, const COLS: usize> {
    /// How many elements of shared memory the tile takes.
    const LEN: usize;

    /// The place of element (`row`, `col`).
    fn place(row: usize, col: usize) -> usize;
}

/// Row by row. A warp that walks along a row hits 32 banks; one that walks down a column of 32 hits one bank.
pub struct Plain;

// SAFETY: tested below for every element of tiles.
unsafe impl<const ROWS: usize, const COLS: usize> Layout<ROWS, COLS> for Plain {
    const LEN: usize = ROWS * COLS;

    #[inline(always)]
    fn place(row: usize, col: usize) -> usize {
        row * COLS + col
    }
}

/// Row by row, each row followed by `BY` unused elements. With 32 columns and one more, a column's elements are 33
/// words apart, and gcd(33, 32) = 1 puts each in a bank of its own.
pub struct Padded<const BY: usize>;

// SAFETY: tested below for every element of tiles.
unsafe impl<const ROWS: usize, const COLS: usize, const BY: usize> Layout<ROWS, COLS> for Padded<BY> {
    const LEN: usize = ROWS * (COLS + BY);

    #[inline(always)]
    fn place(row: usize, col: usize) -> usize {
        row * (COLS + BY) + col
    }
}

/// Row by row, each row followed by `PAD` unused elements and each `GROUP` rows by `EXTRA` more: for tiles that lanes write
/// `GROUP` rows apart and read by neighbouring rows, so that both steps choose the bank.
pub struct PaddedGroups<const PAD: usize, const GROUP: usize, const EXTRA: usize>;

// SAFETY: tested below for every element of tiles.
unsafe impl<const ROWS: usize, const COLS: usize, const PAD: usize, const GROUP: usize, const EXTRA: usize>
    Layout<ROWS, COLS> for PaddedGroups<PAD, GROUP, EXTRA>
{
    const LEN: usize = ROWS * (COLS + PAD) + ROWS / GROUP * EXTRA;

    #[inline(always)]
    fn place(row: usize, col: usize) -> usize {
        row * (COLS + PAD) + row / GROUP * EXTRA + col
    }
}

/// Row by row, the columns of row *r* permuted by exclusive or with *r*: free of conflicts along rows and columns, and
/// no element is wasted. The number of columns must be a power of two.
pub struct Swizzled;

// SAFETY: tested below for every element of tiles.
unsafe impl<const ROWS: usize, const COLS: usize> Layout<ROWS, COLS> for Swizzled {
    const LEN: usize = {
        assert!(COLS.is_power_of_two(), "a swizzled tile has a power of two of columns");
        ROWS * COLS
    };

    #[inline(always)]
    fn place(row: usize, col: usize) -> usize {
        row * COLS + (col ^ (row % COLS))
    }
}

/// Row by row, the 16-byte chunks of row *r* (`CHUNK` elements each) permuted by exclusive or with *r* / `GROUP`, up
/// to 7: for tiles whose rows are read by chunks, 8 lanes a wavefront, and written by elements down a column.
///
/// The number of chunks in a row must be a multiple of 8.
pub struct SwizzledChunks<const CHUNK: usize, const GROUP: usize>;

// SAFETY: tested below for every element of tiles.
unsafe impl<const ROWS: usize, const COLS: usize, const CHUNK: usize, const GROUP: usize> Layout<ROWS, COLS>
    for SwizzledChunks<CHUNK, GROUP>
{
    const LEN: usize = {
        assert!(COLS.is_multiple_of(8 * CHUNK), "a row of chunks is a multiple of 8 chunks");
        ROWS * COLS
    };

    #[inline(always)]
    fn place(row: usize, col: usize) -> usize {
        row * COLS + ((col / CHUNK) ^ (row / GROUP % 8)) * CHUNK + col % CHUNK
    }
}

/// Column by column: what is a row for the matrix is a column for the banks.
pub struct ColumnOrder;

// SAFETY: tested below for every element of tiles.
unsafe impl<const ROWS: usize, const COLS: usize> Layout<ROWS, COLS> for ColumnOrder {
    const LEN: usize = ROWS * COLS;

    #[inline(always)]
    fn place(row: usize, col: usize) -> usize {
        col * ROWS + row
    }
}

/// Column by column, each column followed by `BY` unused elements.
pub struct ColumnOrderPadded<const BY: usize>;

// SAFETY: tested below for every element of tiles.
unsafe impl<const ROWS: usize, const COLS: usize, const BY: usize> Layout<ROWS, COLS>
    for ColumnOrderPadded<BY>
{
    const LEN: usize = COLS * (ROWS + BY);

    #[inline(always)]
    fn place(row: usize, col: usize) -> usize {
        col * (ROWS + BY) + row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_element_has_its_own_place<L: Layout<R, C>, const R: usize, const C: usize>() {
        let mut taken = [false; 64 * 64];
        for (row, col) in (0..R).flat_map(|row| (0..C).map(move |col| (row, col))) {
            let place = L::place(row, col);
            assert!(place < L::LEN);
            assert!(!core::mem::replace(&mut taken[place], true), "({row}, {col}) shares its place");
        }
    }

    #[test]
    fn layouts_are_injective() {
        every_element_has_its_own_place::<Plain, 16, 8>();
        every_element_has_its_own_place::<Padded<1>, 32, 32>();
        every_element_has_its_own_place::<Padded<3>, 5, 7>();
        every_element_has_its_own_place::<Swizzled, 32, 32>();
        every_element_has_its_own_place::<Swizzled, 32, 8>();
        every_element_has_its_own_place::<SwizzledChunks<4, 4>, 64, 64>();
        every_element_has_its_own_place::<SwizzledChunks<4, 16>, 32, 32>();
        every_element_has_its_own_place::<SwizzledChunks<2, 2>, 40, 32>();
        every_element_has_its_own_place::<SwizzledChunks<1, 1>, 64, 16>();
        every_element_has_its_own_place::<PaddedGroups<1, 4, 2>, 32, 32>();
        every_element_has_its_own_place::<PaddedGroups<2, 3, 5>, 7, 9>();
        every_element_has_its_own_place::<ColumnOrder, 8, 16>();
        every_element_has_its_own_place::<ColumnOrderPadded<1>, 16, 16>();
    }

    /// The number of lanes that meet in the fullest bank when lane *i* touches `word(i)`, for 4-byte words.
    fn degree(word: impl Fn(usize) -> usize) -> usize {
        let mut banks = [0; 32];
        (0..32).for_each(|lane| banks[word(lane) % 32] += 1);
        banks.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn columns_of_32_are_free_of_conflicts_when_padded_or_swizzled() {
        for col in 0..32 {
            assert_eq!(degree(|lane| <Plain as Layout<32, 32>>::place(lane, col)), 32);
            assert_eq!(degree(|lane| <Padded<1> as Layout<32, 32>>::place(lane, col)), 1);
            assert_eq!(degree(|lane| <Swizzled as Layout<32, 32>>::place(lane, col)), 1);
            assert_eq!(degree(|lane| <Swizzled as Layout<32, 32>>::place(col, lane)), 1);
        }
    }

    #[test]
    fn swizzled_chunks_are_written_down_and_read_along_without_conflict() {
        // Vectors of 4 columns: lanes of 8 vectors × 4 rows of the source store element j of their vector.
        for (j, row) in (0..4).flat_map(|j| [0, 4, 60].map(|row| (j, row))) {
            let store = |lane: usize| (4 * (lane % 8) + j, row + lane / 8);
            let place = |lane| <SwizzledChunks<4, 4> as Layout<64, 64>>::place(store(lane).0, store(lane).1);
            assert_eq!(degree(place), 1);
        }
        // 8 lanes read 8 chunks, which is 32 words.
        for row in 0..64 {
            let word =
                |lane: usize| <SwizzledChunks<4, 4> as Layout<64, 64>>::place(row, lane / 4 * 4) + lane % 4;
            assert_eq!(degree(word), 1);
        }
    }

    #[test]
    fn two_columns_of_16_in_column_order_meet_8_times_and_twice_when_padded() {
        let lane = |lane: usize| (lane / 16, lane % 16);
        let store = |l: usize| <ColumnOrder as Layout<16, 16>>::place(lane(l).0, lane(l).1);
        let padded = |l: usize| <ColumnOrderPadded<1> as Layout<16, 16>>::place(lane(l).0, lane(l).1);
        assert_eq!(degree(store), 8);
        assert_eq!(degree(padded), 2);
    }
}
