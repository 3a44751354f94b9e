//! A lane's part of each matrix of one `mma.sync`.
//!
//! With *g* = lane / 4 and *t* = lane % 4, a word is 4 bytes of a row of A or of a column of B along K:
//!
//! | fragment | word | place |
//! | --- | --- | --- |
//! | A, 16 rows | 0, 1, 2, 3 | row g, g + 8, g, g + 8; bytes 4t (words 0 and 1) or 16 + 4t (2 and 3) |
//! | B, 8 columns | 0, 1 | column g; bytes 4t or 16 + 4t |
//! | sums | 0, 1, 2, 3 | row g (0 and 1) or g + 8 (2 and 3), columns 2t and 2t + 1 |

use core::marker::PhantomData;

use crate::mma::element::{Element, Number};

/// 16 rows of A, 32 bytes of K.
#[derive(Clone, Copy)]
pub struct RowFragment<T> {
    words: [u32; 4],
    element: PhantomData<T>,
}

/// 8 columns of B, 32 bytes of K.
#[derive(Clone, Copy)]
pub struct ColumnFragment<T> {
    words: [u32; 2],
    element: PhantomData<T>,
}

impl<T: Element> RowFragment<T> {
    /// Nothing but zeros.
    pub const EMPTY: Self = Self { words: [0; 4], element: PhantomData };

    /// The fragment of these words.
    #[inline(always)]
    pub fn from_words(words: [u32; 4]) -> Self {
        Self { words, element: PhantomData }
    }

    /// Its words.
    #[inline(always)]
    pub fn words(self) -> [u32; 4] {
        self.words
    }
}

impl<T: Element> ColumnFragment<T> {
    /// Nothing but zeros.
    pub const EMPTY: Self = Self { words: [0; 2], element: PhantomData };

    /// The fragment of these words.
    #[inline(always)]
    pub fn from_words(words: [u32; 2]) -> Self {
        Self { words, element: PhantomData }
    }

    /// Its words.
    #[inline(always)]
    pub fn words(self) -> [u32; 2] {
        self.words
    }
}

/// A lane's four elements of a 16 × 8 piece of the product.
#[derive(Clone, Copy)]
pub struct Sums<T: Element>([T::Sum; 4]);

impl<T: Element> Sums<T> {
    /// Nothing added yet.
    pub const ZERO: Self = Self([T::Sum::ZERO; 4]);

    /// Adds A · B.
    ///
    /// # Safety
    /// All lanes of the warp come here together.
    #[inline(always)]
    pub unsafe fn add(&mut self, a: RowFragment<T>, b: ColumnFragment<T>) {
        // SAFETY: the caller's promise.
        unsafe { T::multiply(&mut self.0, a.words, b.words) }
    }

    /// The four elements.
    #[inline(always)]
    pub fn elements(self) -> [T::Sum; 4] {
        self.0
    }

    /// Row and column of element `index` that lane `lane` holds.
    #[inline(always)]
    pub const fn place(lane: usize, index: usize) -> (usize, usize) {
        (lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lanes_share_a_16_by_8_piece_without_overlap() {
        let mut held = [[0; 8]; 16];
        for (lane, index) in (0..32).flat_map(|lane| (0..4).map(move |index| (lane, index))) {
            let (row, col) = Sums::<i8>::place(lane, index);
            held[row][col] += 1;
        }
        assert_eq!(held, [[1; 8]; 16]);
        assert_eq!(Sums::<i8>::place(31, 3), (15, 7));
    }
}
