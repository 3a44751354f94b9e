//! Products with at most [`WIDTH`] rows or columns: matrix times vector, and a few vectors at once.
//!
//! Each element of the large operand is used at most eight times, so the time is that of reading it once: 26 instructions
//! of a lane could be issued while an H200's memory delivers an element. A block keeps a piece of the thin operand in
//! shared memory, four words of a k side by side, and every element that it loads meets all of them. Where K is split, each
//! part goes to a matrix of its own, and [`parts`](super::parts) adds them.
//!
//! Either operand may be the thin one: C = A · B with few rows is Cᵀ = Bᵀ · Aᵀ with few columns. So the kernels know a
//! large matrix of *lines*, a thin one, and strides.
//!
//! A single vector has a kernel of its own where the k of a line lie side by side and everything is aligned: nothing is staged, each
//! load has 16 bytes, and the warps of a block share two lines. A warp with lines of its own is slower, for too few warps then
//! ask for memory at one time.

use cuda_std::prelude::*;
use cuda_std::warp::warp_shuffle_xor;
use cuda_std::{GpuFloat, shared_array};

use tile::Four;

use crate::product::access::load_global_4;

listed! { product_thin_rows product_thin_columns product_vector_rows }

/// The most lines of the thin operand.
pub const WIDTH: usize = 8;
pub const BLOCK: u32 = 128;
/// Lines that a thread works on at once.
const LINES: usize = 4;
const WARPS: usize = BLOCK as usize / 32;
/// Lines of a block of [`fn@product_thin_rows`].
pub const LINES_OF_ROWS: u32 = (LINES * WARPS) as u32;
/// Lines of a block of [`fn@product_thin_columns`].
pub const LINES_OF_COLUMNS: u32 = (LINES * 32) as u32;
/// Lines of a block of [`fn@product_vector_rows`].
pub const LINES_OF_VECTOR: u32 = 2;
/// How many k of the thin operand lie in shared memory.
pub const CHUNK: u32 = 128;
/// How many k of each line a thread loads at once, while it works on as many others.
const AHEAD: usize = 4;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct Thin {
    /// Lines of the large operand, at least 1.
    pub lines: u32,
    /// Elements from one of its stored rows to the next.
    pub ld: u32,
    /// Lines of the thin operand, 1 to [`WIDTH`].
    pub width: u32,
    /// Elements of each line.
    pub k: u32,
    /// Elements of the thin operand from one k to the next.
    pub thin_k: u32,
    /// And from one line to the next.
    pub thin_line: u32,
    /// Elements of C from one line of the large operand to the next.
    pub c_line: u32,
    /// And from one line of the thin operand to the next.
    pub c_thin: u32,
    /// Elements of C, for each part of K.
    pub c_len: u64,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of what C held before; C is not read if this is zero.
    pub beta: f32,
}

/// For each of a thread's lines, its products with the lines of the thin operand.
type Sums = [[f32; WIDTH]; LINES];

/// A piece of the thin operand in shared memory: for each k its first four lines, and behind those of all k the last four.
type ThinChunk = *mut Four<f32>;

impl Thin {
    /// The part of K that this block has: whole chunks, but for the last.
    #[inline(always)]
    fn part(&self) -> (u32, u32) {
        let (chunks, parts) = (self.k.div_ceil(CHUNK), thread::grid_dim_y().max(1));
        let (each, more, part) = (chunks / parts, chunks % parts, thread::block_idx_y());
        let begin = part * each + part.min(more);
        let end = begin + each + u32::from(part < more);
        (begin * CHUNK, (end * CHUNK).min(self.k))
    }

    /// Brings the k from `begin` on into shared memory, zeros where the operand has no line or ends before `end`.
    #[inline(always)]
    unsafe fn stage(&self, thin: *const f32, piece: ThinChunk, begin: u32, end: u32) {
        thread::sync_threads();
        for half in 0..2 {
            let mut k = thread::thread_idx_x();
            while k < CHUNK {
                let mut four = [0.0; 4];
                for l in 0..4 {
                    cuda_std::unroll!(full);
                    let line = 4 * half + l;
                    if line < self.width && begin + k < end {
                        let at = (begin + k) as usize * self.thin_k as usize;
                        let from = thin.wrapping_add(at + line as usize * self.thin_line as usize);
                        // SAFETY: the operand has this line and this k.
                        four[l as usize] = unsafe { *from };
                    }
                }
                // SAFETY: within the piece, which no thread reads between the barriers.
                unsafe { *piece.wrapping_add((half * CHUNK + k) as usize) = Four(four) };
                k += BLOCK;
            }
        }
        thread::sync_threads();
    }

    /// Stores the sums of one line.
    #[inline(always)]
    unsafe fn store(&self, c: *mut f32, line: u32, sums: &[f32; WIDTH]) {
        let part = thread::block_idx_y() as usize * self.c_len as usize;
        let to = c.wrapping_add(part + line as usize * self.c_line as usize);
        for thin in 0..WIDTH {
            cuda_std::unroll!(full);
            if line < self.lines && (thin as u32) < self.width {
                let to = to.wrapping_add(thin * self.c_thin as usize);
                // SAFETY: the element is one of C's, and this thread's alone.
                unsafe {
                    let before = if self.beta == 0.0 { 0.0 } else { self.beta * *to };
                    *to = self.alpha * sums[thin] + before;
                }
            }
        }
    }
}

/// Elements of the large operand: for each of a thread's lines, four k that are loaded before the first is used.
type Batch = [[f32; LINES]; AHEAD];

/// Adds the products of a batch; its k are `step` apart in the piece.
#[inline(always)]
unsafe fn add(sums: &mut Sums, batch: &Batch, piece: ThinChunk, k: u32, step: u32) {
    for ahead in 0..AHEAD {
        cuda_std::unroll!(full);
        let at = (k + ahead as u32 * step) as usize;
        // SAFETY: the caller's k are in the piece.
        let (low, high) =
            unsafe { ((*piece.wrapping_add(at)).0, (*piece.wrapping_add(CHUNK as usize + at)).0) };
        for line in 0..LINES {
            cuda_std::unroll!(full);
            for thin in 0..4 {
                cuda_std::unroll!(full);
                let element = batch[ahead][line];
                sums[line][thin] = GpuFloat::mul_add(element, low[thin], sums[line][thin]);
                sums[line][thin + 4] = GpuFloat::mul_add(element, high[thin], sums[line][thin + 4]);
            }
        }
    }
}

/// Loads a batch whose k are `stride` elements apart, zeros from `k` = `end` on; then goes on to the next.
///
/// # Safety
/// The lines have the k from `k` to below `end` in steps of `step`.
#[inline(always)]
unsafe fn load(from: &mut [*const f32; LINES], stride: usize, k: u32, step: u32, end: u32) -> Batch {
    let mut batch = [[0.0; LINES]; AHEAD];
    for ahead in 0..AHEAD {
        cuda_std::unroll!(full);
        if k + ahead as u32 * step < end {
            for line in 0..LINES {
                cuda_std::unroll!(full);
                // SAFETY: the caller's promise.
                batch[ahead][line] = unsafe { *from[line].wrapping_add(ahead * stride) };
            }
        }
    }
    for line in 0..LINES {
        cuda_std::unroll!(full);
        from[line] = from[line].wrapping_add(AHEAD * stride);
    }
    batch
}

/// The thread's sums over the block's part of K. Its first k in each chunk is `first`, the others follow in steps of `step`,
/// which are `stride` elements apart in the large operand.
///
/// # Safety
/// The matrices are as `p` describes them; `from` is where the lines have the part's k of that number.
#[inline(always)]
unsafe fn sums<const STEP: u32>(
    p: &Thin,
    mut from: [*const f32; LINES],
    thin: *const f32,
    piece: ThinChunk,
    first: u32,
    stride: usize,
) -> Sums {
    let mut sums = [[0.0; WIDTH]; LINES];
    let (begin, end) = p.part();
    let all = const { STEP * AHEAD as u32 };
    let mut at = begin;
    // SAFETY: the caller's promises; the piece has CHUNK k, a multiple of those of a batch.
    unsafe {
        let mut next = load(&mut from, stride, begin + first, STEP, end);
        while at < end {
            p.stage(thin, piece, at, end);
            let mut inside = 0;
            while inside < CHUNK {
                let batch = next;
                next = load(&mut from, stride, at + inside + all + first, STEP, end);
                add(&mut sums, &batch, piece, inside + first, STEP);
                inside += all;
            }
            at += CHUNK;
        }
    }
    sums
}

/// The large operand has the k of each line side by side: a warp reads along four lines, and its lanes' sums are added last.
///
/// # Safety
/// The matrices are as `p` describes them. The grid has, along x, a block for each [`LINES_OF_ROWS`] lines, and as many along y
/// as K is split into; `c` then holds as many matrices of `c_len` elements.
#[kernel]
#[block_dim(128)]
pub unsafe fn product_thin_rows(p: Thin, large: *const f32, thin: *const f32, c: *mut f32) {
    let piece: ThinChunk = shared_array![Four<f32>; 2 * CHUNK as usize];
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let first = thread::block_idx_x() * LINES_OF_ROWS + warp * LINES as u32;
    let mut from = [large; LINES];
    for line in 0..LINES {
        cuda_std::unroll!(full);
        let clamped = (first + line as u32).min(p.lines - 1);
        from[line] = large.wrapping_add(clamped as usize * p.ld as usize + (p.part().0 + lane) as usize);
    }
    // SAFETY: the lines have the part's k, of which a lane takes every 32nd.
    let mut sums = unsafe { sums::<32>(&p, from, thin, piece, lane, 32) };
    for line in 0..LINES {
        cuda_std::unroll!(full);
        for thin in 0..WIDTH {
            cuda_std::unroll!(full);
            if (thin as u32) < p.width {
                for distance in [16, 8, 4, 2, 1] {
                    cuda_std::unroll!(full);
                    // SAFETY: all lanes of the warp are here.
                    let other = unsafe { warp_shuffle_xor(u32::MAX, sums[line][thin], distance, 32) };
                    sums[line][thin] += other.0;
                }
            }
        }
        if lane == 0 {
            // SAFETY: a line of this warp's.
            unsafe { p.store(c, first + line as u32, &sums[line]) };
        }
    }
}

/// The thin operand is a single line, and both have 16 bytes of k side by side: a block reads along two lines, four vectors of each in
/// a thread, before it uses the first.
///
/// # Safety
/// As for [`fn@product_thin_rows`], but with a block for each [`LINES_OF_VECTOR`] lines. `p.width` and `p.thin_k` are 1, `p.k` and
/// `p.ld` are multiples of 4, and both operands begin at multiples of 16 bytes.
#[kernel]
#[block_dim(128)]
pub unsafe fn product_vector_rows(p: Thin, large: *const f32, thin: *const f32, c: *mut f32) {
    const LINES: usize = LINES_OF_VECTOR as usize;
    const STEP: u32 = 4 * BLOCK;
    let of_warps = shared_array![f32; WARPS * LINES];
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let first = thread::block_idx_x() * LINES_OF_VECTOR;
    let (begin, end) = p.part();
    let mut k = begin + 4 * thread::thread_idx_x();
    let mut x = thin.wrapping_add(k as usize);
    let mut from = [large; LINES];
    for line in 0..LINES {
        cuda_std::unroll!(full);
        let clamped = (first + line as u32).min(p.lines - 1);
        from[line] = large.wrapping_add(clamped as usize * p.ld as usize + k as usize);
    }
    let mut sums = [0.0f32; LINES];
    while k < end {
        let mut batch = [[[0.0; 4]; LINES]; AHEAD];
        for ahead in 0..AHEAD {
            cuda_std::unroll!(full);
            for line in 0..LINES {
                cuda_std::unroll!(full);
                if k + ahead as u32 * STEP < end {
                    let from = from[line].wrapping_add(ahead * STEP as usize);
                    // SAFETY: four k of the line, for the part ends at a multiple of 4.
                    batch[ahead][line] = unsafe { load_global_4!(from, 0) };
                }
            }
        }
        for ahead in 0..AHEAD {
            cuda_std::unroll!(full);
            if k + ahead as u32 * STEP < end {
                let x = x.wrapping_add(ahead * STEP as usize);
                // SAFETY: as above.
                let x = unsafe { load_global_4!(x, 0) };
                for line in 0..LINES {
                    cuda_std::unroll!(full);
                    for i in 0..4 {
                        cuda_std::unroll!(full);
                        sums[line] = GpuFloat::mul_add(batch[ahead][line][i], x[i], sums[line]);
                    }
                }
            }
        }
        k += AHEAD as u32 * STEP;
        x = x.wrapping_add(AHEAD * STEP as usize);
        for line in 0..LINES {
            cuda_std::unroll!(full);
            from[line] = from[line].wrapping_add(AHEAD * STEP as usize);
        }
    }
    for line in 0..LINES {
        cuda_std::unroll!(full);
        for distance in [16, 8, 4, 2, 1] {
            cuda_std::unroll!(full);
            // SAFETY: all lanes of the warp are here.
            sums[line] += unsafe { warp_shuffle_xor(u32::MAX, sums[line], distance, 32) }.0;
        }
        if lane == 0 {
            // SAFETY: this warp's own word.
            unsafe { *of_warps.wrapping_add(warp as usize * LINES + line) = sums[line] };
        }
    }
    thread::sync_threads();
    let own = thread::thread_idx_x();
    if own < LINES_OF_VECTOR {
        let mut sums = [0.0; WIDTH];
        for warp in 0..WARPS {
            cuda_std::unroll!(full);
            // SAFETY: written before the barrier.
            sums[0] += unsafe { *of_warps.wrapping_add(warp * LINES + own as usize) };
        }
        // SAFETY: a line of this thread's.
        unsafe { p.store(c, first + own, &sums) };
    }
}

/// The large operand has its lines side by side: a lane has four of them, and the warps share the k.
///
/// # Safety
/// As for [`fn@product_thin_rows`], but with a block for each [`LINES_OF_COLUMNS`] lines.
#[kernel]
#[block_dim(128)]
pub unsafe fn product_thin_columns(p: Thin, large: *const f32, thin: *const f32, c: *mut f32) {
    let piece: ThinChunk = shared_array![Four<f32>; 2 * CHUNK as usize];
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let first = thread::block_idx_x() * LINES_OF_COLUMNS + lane;
    let mut from = [large; LINES];
    for line in 0..LINES {
        cuda_std::unroll!(full);
        let clamped = (first + 32 * line as u32).min(p.lines - 1);
        from[line] = large.wrapping_add((p.part().0 + warp) as usize * p.ld as usize + clamped as usize);
    }
    // SAFETY: the lines have the part's k, of which a warp takes every fourth.
    let sums = unsafe { sums::<{ WARPS as u32 }>(&p, from, thin, piece, warp, WARPS * p.ld as usize) };
    // The warps' sums through shared memory, always in the same order: it has room for one line of each lane.
    let all = piece.cast::<f32>();
    for line in 0..LINES {
        cuda_std::unroll!(full);
        thread::sync_threads();
        for thin in 0..WIDTH {
            cuda_std::unroll!(full);
            let at = (warp as usize * WIDTH + thin) * 32 + lane as usize;
            // SAFETY: this thread's own word, which no other thread reads between these barriers.
            unsafe { *all.wrapping_add(at) = sums[line][thin] };
        }
        thread::sync_threads();
        if warp == 0 {
            let mut total = sums[line];
            for other in 1..WARPS {
                cuda_std::unroll!(full);
                for thin in 0..WIDTH {
                    cuda_std::unroll!(full);
                    let at = (other * WIDTH + thin) * 32 + lane as usize;
                    // SAFETY: written before the barrier.
                    total[thin] += unsafe { *all.wrapping_add(at) };
                }
            }
            // SAFETY: a line of this lane's.
            unsafe { p.store(c, first + 32 * line as u32, &total) };
        }
    }
}
