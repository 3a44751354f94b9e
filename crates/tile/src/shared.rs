//! Tiles in shared memory.

use core::marker::PhantomData;

use crate::block::{thread_in_block, threads_of_block};
use crate::layout::Layout;
use crate::view::View;

/// A `ROWS` × `COLS` tile in shared memory, laid out as `L` says. Made by [`shared_tile!`](crate::shared_tile).
pub struct SharedTile<T, const ROWS: usize, const COLS: usize, L> {
    first: *mut T,
    layout: PhantomData<L>,
}

/// A tile in static shared memory: `shared_tile![f32; 32, 32; Padded<1>]`.
///
/// Each place in the source that says so is one tile for each block; its content is undefined at first.
#[macro_export]
macro_rules! shared_tile {
    [$element:ty; $rows:expr, $cols:expr; $layout:ty] => {{
        let first =
            $crate::cuda_std::shared_array![$element; <$layout as $crate::Layout<{ $rows }, { $cols }>>::LEN];
        // SAFETY: the array was made as long as the layout asks for.
        unsafe { $crate::SharedTile::<$element, { $rows }, { $cols }, $layout>::from_raw(first) }
    }};
}

impl<T: Copy, const ROWS: usize, const COLS: usize, L: Layout<ROWS, COLS>> SharedTile<T, ROWS, COLS, L> {
    /// A tile that begins at `first`.
    ///
    /// # Safety
    /// `L::LEN` elements of shared memory lie there, used by nothing else.
    #[inline(always)]
    pub unsafe fn from_raw(first: *mut T) -> Self {
        Self { first, layout: PhantomData }
    }

    /// Reads an element.
    ///
    /// # Safety
    /// The element is inside the tile, was written, and a barrier lies between that write and this read.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get(&self, row: usize, col: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { *self.at(row, col) }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// The element is inside the tile, and no other thread touches it before the next barrier.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(&self, row: usize, col: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *self.at(row, col) = value };
    }

    /// Where an element lies: for what is moved with other elements, or in part.
    ///
    /// Where the kernels are built with `debug_assertions`, as `CudaBuilder::release(false)` does, an element outside of the tile
    /// is a panic, here and in [`get`](Self::get) and [`set`](Self::set). Else nothing is tested, and nothing is spent.
    ///
    /// # Safety
    /// The element is inside the tile.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn at(&self, row: usize, col: usize) -> *mut T {
        debug_assert!(
            row < ROWS && col < COLS,
            "element ({row}, {col}) is outside of a tile of {ROWS} × {COLS}"
        );
        // SAFETY: a layout keeps every element of the tile below its length.
        unsafe { self.first.add(L::place(row, col)) }
    }

    /// Fills the tile from the part of `from` whose first element is (`row`, `col`), with `outside` where the matrix has
    /// none. The part may begin above the matrix or to its left: a rim of one starts at row - 1 and column - 1.
    ///
    /// All threads of the block take part, whatever its shape and the tile's: neighbouring threads move neighbouring
    /// elements of a row. The caller puts a barrier between this and the first read.
    ///
    /// # Safety
    /// Every thread of the block calls this, and none still reads the tile.
    #[inline(always)]
    pub unsafe fn load(&self, from: View<T>, (row, col): (isize, isize), outside: T) {
        let mut i = thread_in_block();
        while i < ROWS * COLS {
            let (r, c) = (i / COLS, i % COLS);
            // SAFETY: r < ROWS and c < COLS, and this thread alone moves element i.
            unsafe { self.set(r, c, from.around(row + r as isize, col + c as isize, outside)) };
            i += threads_of_block();
        }
    }
}

/// A tile whose extents are known at launch only: element (row, column) lies at `row * row_step + col * col_step`.
#[derive(Clone, Copy)]
pub struct DynamicTile<T> {
    first: *mut T,
    row_step: usize,
    col_step: usize,
}

impl<T: Copy> DynamicTile<T> {
    /// A tile that begins at `first`, usually a part of [`dynamic_shared_mem`](cuda_std::shared::dynamic_shared_mem):
    /// there is one dynamic allocation a block, so each tile takes its own offset.
    ///
    /// # Safety
    /// Shared memory for every element that will be touched lies there.
    #[inline(always)]
    pub unsafe fn new(first: *mut T, row_step: usize, col_step: usize) -> Self {
        Self { first, row_step, col_step }
    }

    #[inline(always)]
    fn place(&self, row: usize, col: usize) -> usize {
        row * self.row_step + col * self.col_step
    }

    /// Reads an element.
    ///
    /// # Safety
    /// As for [`SharedTile::get`].
    #[inline(always)]
    pub unsafe fn get(&self, row: usize, col: usize) -> T {
        // SAFETY: the caller's promise puts the element inside the tile.
        unsafe { *self.first.add(self.place(row, col)) }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// As for [`SharedTile::set`].
    #[inline(always)]
    pub unsafe fn set(&self, row: usize, col: usize, value: T) {
        // SAFETY: the caller's promise puts the element inside the tile.
        unsafe { *self.first.add(self.place(row, col)) = value };
    }

    /// A walk along a row, from its first element on.
    #[inline(always)]
    pub fn along(&self, row: usize) -> Walk<T> {
        self.walk(self.place(row, 0), self.col_step)
    }

    /// A walk down a column, from its first element on.
    #[inline(always)]
    pub fn down(&self, col: usize) -> Walk<T> {
        self.walk(self.place(0, col), self.row_step)
    }

    #[inline(always)]
    fn walk(&self, place: usize, step: usize) -> Walk<T> {
        let bytes = |elements: usize| (elements * size_of::<T>()) as u32;
        Walk { first: self.first, at: bytes(place), step: bytes(step) }
    }
}

/// A walk through a tile in steps of one length.
///
/// Its place is one offset of 32 bits, which the optimiser cannot look through: left to itself it keeps a pointer of 64 bits
/// for every element that an unrolled loop reads, and moves them all.
pub struct Walk<T> {
    first: *mut T,
    at: u32,
    step: u32,
}

impl<T: Copy> Walk<T> {
    /// Reads the element and steps on.
    ///
    /// # Safety
    /// As for [`SharedTile::get`]; the walk is still inside the tile.
    #[inline(always)]
    pub unsafe fn read(&mut self) -> T {
        // SAFETY: the caller's promise.
        let value = unsafe { *self.first.byte_add(self.at as usize) };
        self.at = opaque(self.at.wrapping_add(self.step));
        value
    }
}

/// The same number, of which the optimiser knows nothing more.
#[inline(always)]
fn opaque(number: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let same: u32;
        // SAFETY: it moves a number from register to register.
        unsafe {
            cuda_std::ptx!("mov.b32 {same}, {number};",
                same = out(u32) same, number = in(u32) number; options(pure, nomem));
        }
        same
    }
    #[cfg(not(target_os = "cuda"))]
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Plain;

    #[test]
    fn elements_inside_are_reached() {
        let mut memory = [0; 6];
        // SAFETY: six elements, one thread.
        unsafe {
            let tile = SharedTile::<i32, 2, 3, Plain>::from_raw(memory.as_mut_ptr());
            tile.set(1, 2, 7);
            assert_eq!(tile.get(1, 2), 7);
        }
        assert_eq!(memory, [0, 0, 0, 0, 0, 7]);
    }

    /// In this layout it would be the next row's first element: no other check finds it.
    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "element (0, 3) is outside of a tile of 2 × 3")]
    fn an_element_beyond_its_row_is_refused() {
        let mut memory = [0; 6];
        // SAFETY: not kept on purpose: it panics before anything is touched.
        unsafe { SharedTile::<i32, 2, 3, Plain>::from_raw(memory.as_mut_ptr()).get(0, 3) };
    }
}
