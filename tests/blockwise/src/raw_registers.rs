//! Twins in raw pointers of the products in registers. Those of the ladder take whole tiles only; these take what the kernels
//! without `unsafe` take: edges are guarded, and where rows are no whole fours elements are loaded one by one.

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_group};
use cuda_std::cfg::ComputeCapability;
use cuda_std::prelude::*;
use cuda_std::{GpuFloat, ptx, shared_array, unroll};
use tile::{Four, Vector};

/// Rows and columns of C that a block computes.
const BLOCK: usize = 128;
/// Elements along k in a tile.
const STEP: usize = 8;
/// Words from one k to the next in A's tile.
const PITCH: usize = BLOCK + 4;
const STAGE_A: usize = STEP * PITCH;
const STAGE_B: usize = STEP * BLOCK;

/// A matrix that is read.
#[derive(Clone, Copy)]
struct From {
    first: *const f32,
    rows: usize,
    cols: usize,
}

impl From {
    /// Whether each row is fours of 16 bytes, aligned.
    fn has_fours(self) -> bool {
        self.cols.is_multiple_of(4) && self.first.addr().is_multiple_of(16)
    }

    /// Four neighbours of a row, zeros outside.
    ///
    /// # Safety
    /// It is there.
    #[inline(always)]
    unsafe fn four(self, row: usize, col: usize) -> [f32; 4] {
        if row >= self.rows || col >= self.cols {
            return [0.0; 4];
        }
        // SAFETY: the first one is inside, and as many as the row has left.
        unsafe {
            let first = self.first.add(row * self.cols + col);
            if self.has_fours() {
                return Vector::load(first).words().map(f32::from_bits);
            }
            [0, 1, 2, 3].map(|i| if col + i < self.cols { *first.add(i) } else { 0.0 })
        }
    }

    /// Where an element lies, and whether it is inside.
    #[inline(always)]
    fn place(self, row: usize, col: usize) -> (*const f32, bool) {
        let place = self.first.wrapping_add(row.wrapping_mul(self.cols).wrapping_add(col));
        (place, row < self.rows && col < self.cols)
    }
}

type Sums = [[f32; 8]; 8];

/// Adds the products of a step.
///
/// # Safety
/// The tiles are full, and no thread writes them.
#[inline(always)]
unsafe fn multiply(sums: &mut Sums, tile_a: *const f32, tile_b: *const f32) {
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: 8 × 16 threads by fours are inside the tiles.
    unsafe {
        let (from_a, from_b) = (tile_a.add(4 * (thread / 16)), tile_b.add(4 * (thread % 16)));
        for k in 0..STEP {
            unroll!(full);
            let eight = |from: *const f32| [0, 64].map(|apart| (*from.add(apart).cast::<Four<f32>>()).0);
            let (rows, cols) = (eight(from_a.add(k * PITCH)), eight(from_b.add(k * BLOCK)));
            for r in 0..8 {
                unroll!(full);
                for c in 0..8 {
                    unroll!(full);
                    sums[r][c] = GpuFloat::mul_add(rows[r / 4][r % 4], cols[c / 4][c % 4], sums[r][c]);
                }
            }
        }
    }
}

/// Stores what is inside of C.
///
/// # Safety
/// `c` holds m × n elements.
#[inline(always)]
unsafe fn store(sums: &Sums, [m, n]: [usize; 2], c: *mut f32) {
    let (thread, [row, col]) = (thread::thread_idx_x() as usize, block_place());
    let (row, col) = (row + 4 * (thread / 16), col + 4 * (thread % 16));
    for r in 0..8 {
        unroll!(full);
        for i in 0..8 {
            unroll!(full);
            let (row, col) = (row + r / 4 * 64 + r % 4, col + i / 4 * 64 + i % 4);
            if row < m && col < n {
                // SAFETY: it is inside.
                unsafe { *c.add(row * n + col) = sums[r][i] };
            }
        }
    }
}

/// The block's first row and column of C.
#[inline(always)]
fn block_place() -> [usize; 2] {
    [thread::block_idx_y() as usize * BLOCK, thread::block_idx_x() as usize * BLOCK]
}

/// C = A · B, one step along k at a time.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements; blocks of 128 × 128 elements cover C.
#[kernel]
#[block_dim(256)]
pub unsafe fn raw_matmul_registers(m: u32, n: u32, k: u32, a: *const f32, b: *const f32, c: *mut f32) {
    let (tile_a, tile_b) = (shared_array![f32; STAGE_A], shared_array![f32; STAGE_B]);
    let ([m, n, k], [block_row, block_col]) = ([m, n, k].map(|extent| extent as usize), block_place());
    let thread = thread::thread_idx_x() as usize;
    let (a, b) = (From { first: a, rows: m, cols: k }, From { first: b, rows: k, cols: n });
    // SAFETY: what is inside is loaded, and two barriers part the stores of a step from the loads.
    unsafe {
        let mut sums = [[0.0; 8]; 8];
        let mut first = 0;
        while first < k {
            let (row_a, col_a) = (thread / 2, thread % 2 * 4);
            let (row_b, col_b) = (thread / 32, thread % 32 * 4);
            let from_a = a.four(block_row + row_a, first + col_a);
            let from_b = b.four(first + row_b, block_col + col_b);
            for i in 0..4 {
                *tile_a.add((col_a + i) * PITCH + row_a) = from_a[i];
            }
            *tile_b.add(row_b * BLOCK + col_b).cast::<Four<f32>>() = Four(from_b);
            thread::sync_threads();
            multiply(&mut sums, tile_a, tile_b);
            thread::sync_threads();
            first += STEP;
        }
        store(&sums, [m, n], c);
    }
}

/// Before 8.0 there are no copies that run ahead, and the one text is compiled for all.
#[inline(always)]
fn is_asynchronous() -> bool {
    ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute80
}

/// Starts to copy 4 bytes, or zeros.
///
/// # Safety
/// `to` lies in shared memory, `from` is inside of its matrix if that is said, and no thread touches `to` until the copy has been
/// waited for.
#[inline(always)]
unsafe fn copy_one(to: *mut f32, from: *const f32, inside: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_asynchronous() {
            let bytes = if inside { 4u32 } else { 0 };
            ptx!("{{ .reg .u64 to, from; cvta.to.shared.u64 to, {to}; cvta.to.global.u64 from, {from};",
                "cp.async.ca.shared.global [to], [from], 4, {bytes}; }}",
                to = in(ptr) to, from = in(ptr) from, bytes = in(u32) bytes);
        } else {
            *to = if inside { *from } else { 0.0 };
        }
    }
}

/// As [`copy_one`], 16 bytes.
///
/// # Safety
/// As there, and both are aligned to 16 bytes.
#[inline(always)]
unsafe fn copy_four(to: *mut f32, from: *const f32, inside: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_asynchronous() {
            let bytes = if inside { 16u32 } else { 0 };
            ptx!("{{ .reg .u64 to, from; cvta.to.shared.u64 to, {to}; cvta.to.global.u64 from, {from};",
                "cp.async.cg.shared.global [to], [from], 16, {bytes}; }}",
                to = in(ptr) to, from = in(ptr) from, bytes = in(u32) bytes);
        } else {
            *to.cast::<Four<f32>>() = if inside { *from.cast() } else { Four([0.0; 4]) };
        }
    }
}

/// The same with two stages: the copies of the next step run while this one is multiplied.
///
/// # Safety
/// As of [`raw_matmul_registers()`].
#[kernel]
#[block_dim(256)]
pub unsafe fn raw_matmul_ahead(m: u32, n: u32, k: u32, a: *const f32, b: *const f32, c: *mut f32) {
    let (tiles_a, tiles_b) = (shared_array![f32; 2 * STAGE_A], shared_array![f32; 2 * STAGE_B]);
    let ([m, n, k], [block_row, block_col]) = ([m, n, k].map(|extent| extent as usize), block_place());
    let thread = thread::thread_idx_x() as usize;
    let (a, b) = (From { first: a, rows: m, cols: k }, From { first: b, rows: k, cols: n });
    // SAFETY: what is inside is copied, and barriers part the copies from the loads.
    unsafe {
        let copy = |stage: usize, first: usize| {
            let tile_a = tiles_a.add(stage * STAGE_A);
            for i in 0..4 {
                unroll!(full);
                let (col, row) = (thread % STEP, thread / STEP + 32 * i);
                let (from, inside) = a.place(block_row + row, first + col);
                copy_one(tile_a.add(col * PITCH + row), from, inside);
            }
            let (row, col) = (thread / 32, thread % 32 * 4);
            let tile_b = tiles_b.add(stage * STAGE_B + row * BLOCK + col);
            if b.has_fours() {
                let (from, inside) = b.place(first + row, block_col + col);
                copy_four(tile_b, from, inside);
            } else {
                for i in 0..4 {
                    unroll!(full);
                    let (from, inside) = b.place(first + row, block_col + col + i);
                    copy_one(tile_b.add(i), from, inside);
                }
            }
            if is_asynchronous() {
                cp_async_commit_group();
            }
        };
        let mut sums = [[0.0; 8]; 8];
        let (mut stage, mut first) = (0, 0);
        copy(stage, first);
        while first < k {
            copy(1 - stage, first + STEP);
            if is_asynchronous() {
                cp_async_wait_group::<1>();
            }
            thread::sync_threads();
            multiply(&mut sums, tiles_a.add(stage * STAGE_A), tiles_b.add(stage * STAGE_B));
            thread::sync_threads();
            stage = 1 - stage;
            first += STEP;
        }
        store(&sums, [m, n], c);
    }
}
