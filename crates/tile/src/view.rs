//! A row-major matrix in global memory, with the guard that the tiles at its edges need.

use core::marker::PhantomData;

/// A matrix that is read.
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    elements: &'a [T],
    rows: usize,
    cols: usize,
}

impl<'a, T: Copy> View<'a, T> {
    /// The first `rows` × `cols` elements as a matrix. That there are as many is tested here, once, and by no access.
    ///
    /// # Panics
    /// There are fewer.
    #[inline(always)]
    pub fn checked(elements: &'a [T], rows: usize, cols: usize) -> Self {
        assert!(
            rows.checked_mul(cols).is_some_and(|wanted| wanted <= elements.len()),
            "a matrix has more elements than its slice"
        );
        // SAFETY: just tested.
        unsafe { Self::new(elements, rows, cols) }
    }

    /// The same without that test.
    ///
    /// # Safety
    /// There are at least that many elements.
    #[inline(always)]
    pub unsafe fn new(elements: &'a [T], rows: usize, cols: usize) -> Self {
        Self { elements, rows, cols }
    }

    /// The element. Tested as [`SharedTile::at`](crate::SharedTile::at) is.
    ///
    /// # Safety
    /// The matrix has it: `row` and `col` are below its extents.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn element(&self, row: usize, col: usize) -> &'a T {
        debug_assert!(row < self.rows && col < self.cols, "element ({row}, {col}) is outside of a matrix");
        // SAFETY: `new` was promised rows × cols elements, and the caller keeps within them.
        unsafe { self.elements.get_unchecked(row * self.cols + col) }
    }

    /// The element, or `outside` where the matrix ends.
    #[inline(always)]
    pub fn get_or(&self, row: usize, col: usize, outside: T) -> T {
        if row < self.rows && col < self.cols {
            // SAFETY: both indices were compared.
            unsafe { *self.element(row, col) }
        } else {
            outside
        }
    }

    /// The same for a place that may lie above the matrix or to its left, such as the rim of a tile.
    #[inline(always)]
    pub fn around(&self, row: isize, col: isize, outside: T) -> T {
        // Negative numbers become larger than any extent.
        self.get_or(row as usize, col as usize, outside)
    }
}

/// A matrix that is written, each element by one thread.
#[derive(Clone, Copy)]
pub struct ViewMut<'a, T> {
    first: *mut T,
    rows: usize,
    cols: usize,
    borrowed: PhantomData<&'a mut T>,
}

impl<T: Copy> ViewMut<'_, T> {
    /// A matrix of `rows` × `cols` elements from `first` on.
    ///
    /// # Safety
    /// That many elements lie there, and no two threads write the same one.
    #[inline(always)]
    pub unsafe fn new(first: *mut T, rows: usize, cols: usize) -> Self {
        Self { first, rows, cols, borrowed: PhantomData }
    }

    /// Whether the matrix has such an element.
    #[inline(always)]
    pub fn contains(&self, row: usize, col: usize) -> bool {
        row < self.rows && col < self.cols
    }

    /// Reads an element that this thread may also write. Tested as [`SharedTile::at`](crate::SharedTile::at) is.
    ///
    /// # Safety
    /// The matrix [contains](Self::contains) the element.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn read(&self, row: usize, col: usize) -> T {
        debug_assert!(self.contains(row, col), "element ({row}, {col}) is outside of a matrix");
        // SAFETY: the caller's promise puts the element inside the allocation.
        unsafe { *self.first.add(row * self.cols + col) }
    }

    /// Writes the element if the matrix has it.
    ///
    /// # Safety
    /// No other thread reads or writes this element.
    #[inline(always)]
    pub unsafe fn set(&self, row: usize, col: usize, value: T) {
        if self.contains(row, col) {
            // SAFETY: `new` was promised rows × cols elements, and both indices were compared.
            unsafe { *self.first.add(row * self.cols + col) = value };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_the_matrix_nothing_is_touched() {
        let elements = [1, 2, 3, 4, 5, 6];
        // SAFETY: six elements, 2 × 3.
        let view = unsafe { View::new(&elements, 2, 3) };
        assert_eq!((view.get_or(1, 2, 0), view.get_or(2, 0, 0), view.get_or(0, 3, 0)), (6, 0, 0));

        assert_eq!((view.around(1, 2, 0), view.around(-1, 1, 9), view.around(1, -1, 9)), (6, 9, 9));

        let mut target = [0; 6];
        // SAFETY: six elements, one thread.
        unsafe {
            let matrix = ViewMut::new(target.as_mut_ptr(), 2, 3);
            matrix.set(1, 0, 7);
            matrix.set(0, 3, 8);
            matrix.set(2, 0, 9);
            assert_eq!(matrix.read(1, 0), 7);
        }
        assert_eq!(target, [0, 0, 0, 7, 0, 0]);
    }

    #[test]
    fn a_matrix_may_be_smaller_than_its_slice() {
        let elements = [1, 2, 3, 4, 5, 6];
        assert_eq!(View::checked(&elements, 1, 5).get_or(0, 4, 0), 5);
        assert_eq!(View::checked(&elements, 0, usize::MAX).get_or(0, 0, 9), 9);
    }

    #[test]
    #[should_panic(expected = "more elements than its slice")]
    fn a_matrix_larger_than_its_slice_is_refused() {
        View::checked(&[1, 2, 3, 4, 5, 6], 2, 4);
    }

    #[test]
    #[should_panic(expected = "more elements than its slice")]
    fn extents_that_overflow_are_refused() {
        View::checked(&[1, 2, 3, 4], usize::MAX, 4);
    }
}
