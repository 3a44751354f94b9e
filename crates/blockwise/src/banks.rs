//! Bank conflicts of shared memory as constants, which a kernel may assert.

use ::tile::{ColumnOrder, ColumnOrderPadded, Layout, Padded, Plain, Swizzled};

use crate::{Element, Tile};

/// An access of all threads of a block to a tile: thread (x, y) touches the element at row and column
/// `from` + x · `along_x` + y · `along_y`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The row and the column that thread (0, 0) touches.
    pub from: [usize; 2],
    /// Rows and columns from a thread to the next along x.
    pub along_x: [usize; 2],
    /// Rows and columns from a thread to the next along y.
    pub along_y: [usize; 2],
}

/// A layout of which it is known in constants where its elements lie.
pub trait Banks<const ROWS: usize, const COLS: usize>: Layout<ROWS, COLS> + sealed::Sealed {
    /// [`Layout::place`], in constants.
    #[doc(hidden)]
    const PLACES: Places;
}

/// The places of a tile's elements.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Places {
    /// Elements from one row to the next, and from one column to the next.
    Lines { row: usize, col: usize },
    /// Rows of `cols` elements, their columns permuted by exclusive or with the row.
    Permuted { cols: usize },
}

impl Places {
    const fn of(self, row: usize, col: usize) -> usize {
        match self {
            Self::Lines { row: of_row, col: of_col } => row * of_row + col * of_col,
            Self::Permuted { cols } => row * cols + (col ^ (row % cols)),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! banks {
    ($(impl[$($generics:tt)*] $layout:ty: $places:expr;)*) => {$(
        impl<$($generics)*> sealed::Sealed for $layout {}
        impl<const ROWS: usize, const COLS: usize, $($generics)*> Banks<ROWS, COLS> for $layout {
            const PLACES: Places = $places;
        }
    )*};
}
banks! {
    impl[] Plain: Places::Lines { row: COLS, col: 1 };
    impl[const BY: usize] Padded<BY>: Places::Lines { row: COLS + BY, col: 1 };
    impl[] Swizzled: Places::Permuted { cols: COLS };
    impl[] ColumnOrder: Places::Lines { row: 1, col: ROWS };
    impl[const BY: usize] ColumnOrderPadded<BY>: Places::Lines { row: 1, col: ROWS + BY };
}

impl<T: Element, const ROWS: usize, const COLS: usize, L: Banks<ROWS, COLS>, P> Tile<T, ROWS, COLS, L, P> {
    /// The different words of one bank that the lanes of a warp ask for at once, in the worst warp of a block of `W` × `H`: 1 is
    /// free of conflicts. Lanes that ask for the same word are served together; of 8 bytes half a warp is at once, of 16 a quarter.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// /// Columns are read: thread x touches row x.
    /// const TURNED: Walk = Walk { from: [0, 0], along_x: [1, 0], along_y: [0, 1] };
    ///
    /// const _: () = assert!(Tile::<f32, 32, 32>::conflict_degree::<32, 8>(TURNED) == 32);
    /// const _: () = assert!(Tile::<f32, 32, 32, Padded<1>>::conflict_degree::<32, 8>(TURNED) == 1);
    /// const _: () = assert!(Tile::<f32, 32, 32, Swizzled>::conflict_degree::<32, 8>(TURNED) == 1);
    /// ```
    /// A tile that is made wider, and forgets its unused column, compiles no more:
    ///
    /// ```compile_fail,E0080
    /// # use blockwise::prelude::*;
    /// const TURNED: Walk = Walk { from: [0, 0], along_x: [1, 0], along_y: [0, 1] };
    /// const _: () = assert!(Tile::<f32, 32, 64>::conflict_degree::<32, 8>(TURNED) == 1);
    /// ```
    pub const fn conflict_degree<const W: usize, const H: usize>(walk: Walk) -> usize {
        let size = size_of::<T>();
        assert!(
            size.is_power_of_two() && size <= 16,
            "elements that one access moves are 1, 2, 4, 8 or 16 bytes"
        );
        let at_once = if size <= 4 { 32 } else { 128 / size };
        let (mut most, mut first) = (0, 0);
        while first < W * H {
            let (mut words, mut count) = ([0; 32], 0);
            let mut thread = first;
            while thread < first + at_once && thread < W * H {
                let (x, y) = (thread % W, thread / W);
                let row = walk.from[0] + x * walk.along_x[0] + y * walk.along_y[0];
                let col = walk.from[1] + x * walk.along_x[1] + y * walk.along_y[1];
                assert!(row < ROWS && col < COLS, "the walk leaves the tile");
                let byte = L::PLACES.of(row, col) * size;
                let mut part = 0;
                while part < size {
                    count = with(&mut words, count, (byte + part) / 4);
                    part += 4;
                }
                thread += 1;
            }
            let meet = fullest(&words, count);
            most = if meet > most { meet } else { most };
            first += at_once;
        }
        most
    }
}

/// Puts a word among others, unless it is there. Returns how many there are.
const fn with(words: &mut [usize; 32], count: usize, word: usize) -> usize {
    let mut i = 0;
    while i < count {
        if words[i] == word {
            return count;
        }
        i += 1;
    }
    words[count] = word;
    count + 1
}

/// The number of words in the fullest bank.
const fn fullest(words: &[usize; 32], count: usize) -> usize {
    let (mut banks, mut most, mut i) = ([0; 32], 0, 0);
    while i < count {
        let bank = words[i] % 32;
        banks[bank] += 1;
        most = if banks[bank] > most { banks[bank] } else { most };
        i += 1;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places_are_the_layouts<L: Banks<R, C>, const R: usize, const C: usize>() {
        for (row, col) in (0..R).flat_map(|row| (0..C).map(move |col| (row, col))) {
            assert_eq!(L::PLACES.of(row, col), L::place(row, col), "({row}, {col})");
        }
    }

    #[test]
    fn what_is_known_of_a_layout_is_what_it_does() {
        places_are_the_layouts::<Plain, 5, 7>();
        places_are_the_layouts::<Padded<3>, 5, 7>();
        places_are_the_layouts::<Swizzled, 32, 32>();
        places_are_the_layouts::<Swizzled, 40, 8>();
        places_are_the_layouts::<ColumnOrder, 5, 7>();
        places_are_the_layouts::<ColumnOrderPadded<2>, 5, 7>();
    }
}
