//! Matrices that are read.

/// A row-major matrix in global memory that nobody writes while the kernel runs. On the host it is a `&DeviceMatrix<T>`.
///
/// A slice to read is simply `&[T]`.
pub struct Matrix<T: 'static> {
    elements: &'static [T],
    rows: u32,
    cols: u32,
}

impl<T: Copy> Matrix<T> {
    /// # Safety
    /// The slice holds rows × cols elements, and is there for as long as the kernel runs.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(elements: &'static [T], [rows, cols]: [u32; 2]) -> Self {
        Self { elements, rows, cols }
    }

    /// How many rows it has.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// How many columns it has.
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.cols as usize
    }

    /// The element at a row and a column, or `outside` where the matrix has none: the guard that edges need.
    #[inline(always)]
    pub fn get_or(&self, row: usize, col: usize, outside: T) -> T {
        if row < self.rows() && col < self.cols() {
            // SAFETY: row · cols + col is below rows · cols, the length.
            unsafe { *self.elements.as_ptr().add(row * self.cols() + col) }
        } else {
            outside
        }
    }

    /// The element at a row and a column. Outside of the matrix it panics.
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, row: usize, col: usize) -> T {
        assert!(row < self.rows() && col < self.cols(), "there is no such element in the matrix");
        // SAFETY: as above.
        unsafe { *self.elements.as_ptr().add(row * self.cols() + col) }
    }
}
