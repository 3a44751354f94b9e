//! Matrices that are read.

use core::mem::transmute_copy;

use ::tile::Vector;

/// A row-major matrix in global memory that is not written while the kernel runs. On the host it is a `&DeviceMatrix<T>`.
///
/// A slice to read is simply `&[T]`.
///
/// ```
/// # use blockwise::prelude::*;
/// /// The difference to the left neighbour; before the first column there is zero.
/// #[kernel]
/// #[requires(from.rows() == to.rows(), from.cols() == to.cols())]
/// pub fn differences(block: Block<32, 8>, from: Matrix<f32>, mut to: MatrixMut<f32, Tiles<8, 32>>) {
///     let (row, col) = (block.y() * 8, block.x() * 32);
///     to.write(&block, |_, (y, x)| {
///         let before = from.get_or(row + y, (col + x).wrapping_sub(1), 0.0);
///         from.at(row + y, col + x) - before
///     });
/// }
/// ```
/// Nothing writes to it, this kernel neither, so all threads read the same at any time, without a barrier.
///
/// ```compile_fail,E0070
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<32, 8>, from: Matrix<f32>) {
/// from.at(0, 0) = 1.0;
/// # }
/// ```
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

    /// Its number of rows.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Its number of columns.
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.cols as usize
    }

    /// The element at a row and a column, or `outside` where the matrix has none: the guard that edges need.
    #[inline(always)]
    pub fn get_or(&self, row: usize, col: usize, outside: T) -> T {
        if row < self.rows() && col < self.cols() {
            // SAFETY: it is inside.
            unsafe { *self.inside(row, col) }
        } else {
            outside
        }
    }

    /// The elements at a row and at columns 4 · `four` to 4 · `four` + 3, or `outside` where the matrix has none: one access,
    /// where the rows are whole fours.
    #[inline(always)]
    pub fn four_or(&self, row: usize, four: usize, outside: T) -> [T; 4] {
        let (row, four) = (short(row), short(four));
        if !((row < self.rows) & (four < self.cols.div_ceil(4))) {
            return [outside; 4];
        }
        // SAFETY: the first of the four is inside.
        let first = unsafe { self.inside(row as usize, 4 * four as usize) };
        if self.has_fours() {
            // SAFETY: then all four are, at a multiple of 16 bytes.
            let words = unsafe { Vector::load(first) }.words();
            // SAFETY: elements of 4 bytes, as they lie in memory. Not all at once: the compiler would load them apart.
            return words.map(|word| unsafe { transmute_copy(&word) });
        }
        let left = self.cols - 4 * four;
        // SAFETY: the row has as many neighbours left.
        [0, 1, 2, 3].map(|i| if i < left { unsafe { *first.add(i as usize) } } else { outside })
    }

    /// The address of an element that is inside. By the bytes of a row, which a loop over rows computes once: of elements it would
    /// multiply each row's number by the size again, 7 of 62 instructions of a transpose.
    ///
    /// # Safety
    /// The matrix has the element.
    #[inline(always)]
    unsafe fn inside(&self, row: usize, col: usize) -> *const T {
        // SAFETY: row · cols + col is below rows · cols, the length.
        unsafe { self.elements.as_ptr().byte_add(row * (self.cols() * size_of::<T>())).add(col) }
    }

    /// Whether each row is fours of 16 bytes, aligned. The same for all threads.
    #[inline(always)]
    pub(crate) fn has_fours(&self) -> bool {
        size_of::<T>() == 4 && self.cols.is_multiple_of(4) && self.elements.as_ptr().addr().is_multiple_of(16)
    }

    /// The address of an element, and whether it is inside: else it must not be read.
    #[inline(always)]
    pub(crate) fn place(&self, row: usize, col: usize) -> (*const T, bool) {
        let place = self.elements.as_ptr().wrapping_add(row.wrapping_mul(self.cols()).wrapping_add(col));
        (place, (short(row) < self.rows) & (short(col) < self.cols))
    }

    /// The elements of a row. Outside of the matrix it panics: at the level of the block once, instead of for each element.
    ///
    /// ```
    /// # use blockwise::prelude::*;
    /// /// The sum of each row, a block for each.
    /// #[kernel]
    /// pub fn sums(block: Block<128>, #[shared] mut scratch: Scratch<f32>, x: Matrix<f32>, mut sums: SliceMut<f32, Part<1>>) {
    ///     let row = x.row(block.x());
    ///     let own = block.each(|t| row.iter().skip(t.x()).step_by(128).sum());
    ///     let sum = block.reduce(&mut scratch, &own, |a, b| a + b);
    ///     sums.write(&block, |_, _| sum);
    /// }
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn row(&self, row: usize) -> &'static [T] {
        assert!(row < self.rows(), "there is no such row in the matrix");
        // SAFETY: the row is inside.
        unsafe { core::slice::from_raw_parts(self.elements.as_ptr().add(row * self.cols()), self.cols()) }
    }

    /// The element at a row and a column. Outside of the matrix it panics.
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, row: usize, col: usize) -> T {
        assert!(row < self.rows() && col < self.cols(), "there is no such element in the matrix");
        // SAFETY: as above.
        unsafe { *self.inside(row, col) }
    }
}

/// A row or a column in 32 bits, as extents are, or one that no matrix has. In 64 bits a comparison keeps two registers more through
/// the loop around it: 124 of a product in registers, now 120.
#[inline(always)]
fn short(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
