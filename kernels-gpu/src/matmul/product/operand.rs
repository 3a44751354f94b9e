//! How a block's piece of A or B gets into shared memory.
//!
//! In shared memory a stage holds [`STEP`] rows, one for each k, of `LINES` neighbouring rows of op(A) or columns of op(B)
//! and four words of padding: what a thread needs for one k lies side by side. In global memory either the lines are
//! contiguous ([`Straight`]: the copy keeps its form, 16 bytes at a time) or the k of each line are ([`Turned`]: 16
//! bytes of a line become four words, a row apart).
//!
//! A turned piece passes through registers: one load and four stores for four elements. Four asynchronous copies of 4
//! bytes would do the same without them, and cost the product 4 % (measured at 4096³): each touches as many sectors as
//! the one load.

use cuda_std::prelude::*;

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
use super::access::{copy_4, copy_16};
use super::access::{each, load_global, load_global_4, store_shared};

/// Elements along K that a stage holds.
pub const STEP: usize = 8;

/// The most that a thread holds of one step's piece.
pub type Held = [f32; 8];

/// Words from one k to the next in shared memory: with 4 more than the lines, stores down a column of lines × k find
/// each its own bank.
pub const fn pitch(lines: usize) -> usize {
    lines + 4
}

/// Where a piece begins.
#[derive(Clone, Copy)]
pub struct Place {
    /// The matrix.
    pub from: *const f32,
    /// Elements from one of its stored rows to the next.
    pub ld: u32,
    /// The block's first line.
    pub first: u32,
    /// How many lines the matrix has, at least 1.
    pub lines: u32,
    /// The first k, below zero where K is padded.
    pub k: i32,
    /// The piece's address in the first stage.
    pub to: u32,
}

/// A piece of A or B, as one thread moves its share of it from step to step.
pub trait Operand {
    /// Elements of a step that a thread holds between fetching and storing them; 0 where the step is copied
    /// asynchronously.
    const HOLDS: usize;

    /// The thread's share.
    ///
    /// # Safety
    /// The matrix is as `at` says.
    unsafe fn new(at: Place) -> Self;

    /// Fetches the first step into registers: the first `skip` k of it are zeros.
    ///
    /// # Safety
    /// The step is inside the matrix but for what is skipped.
    unsafe fn fetch_first(&mut self, skip: u32) -> Held;

    /// Fetches the next step into registers.
    ///
    /// # Safety
    /// As for [`fetch_first`](Self::fetch_first), with nothing skipped.
    unsafe fn fetch(&mut self) -> Held;

    /// Stores what was fetched into the stage that is `back` from the one to be filled.
    ///
    /// # Safety
    /// Nobody reads that stage before the next barrier.
    unsafe fn store(&self, back: u32, held: Held);

    /// Starts to copy the first step into the stage to be filled: the first `skip` k of it are zeros.
    ///
    /// # Safety
    /// As for [`fetch_first`](Self::fetch_first), and nobody reads the stage until the copies were waited for.
    unsafe fn copy_first(&mut self, skip: u32);

    /// Starts to copy the next step.
    ///
    /// # Safety
    /// As for [`copy_first`](Self::copy_first), with nothing skipped.
    unsafe fn copy(&mut self);

    /// Goes on to another stage, `flip` from the last.
    fn turn(&mut self, flip: u32);
}

/// Lines whose k are contiguous: A as it is, B transposed.
pub struct Turned<const LINES: usize, const THREADS: usize, const VECTOR: bool> {
    from: *const f32,
    k: u32,
    to: u32,
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Turned<LINES, THREADS, VECTOR> {
    /// Contiguous elements of one line that a thread moves: 4 or 8.
    const SHARE: usize = LINES * STEP / THREADS;
    /// Threads for each line.
    const NEIGHBOURS: usize = STEP / Self::SHARE;

    #[inline(always)]
    unsafe fn load(&self, skip: u32) -> Held {
        let mut held = [0.0; 8];
        // SAFETY: the caller keeps to the matrix.
        unsafe {
            if VECTOR {
                each!(for V in 0..2 {
                    if 4 * V < Self::SHARE && self.k + 4 * V as u32 >= skip {
                        let four = load_global_4!(self.from, 16 * V);
                        [held[4 * V], held[4 * V + 1], held[4 * V + 2], held[4 * V + 3]] = four;
                    }
                });
            } else {
                each!(for I in 0..8 {
                    if I < Self::SHARE && self.k + I as u32 >= skip {
                        held[I] = load_global!(self.from, 4 * I);
                    }
                });
            }
        }
        held
    }
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Operand
    for Turned<LINES, THREADS, VECTOR>
{
    const HOLDS: usize = Self::SHARE;

    #[inline(always)]
    unsafe fn new(at: Place) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let (line, k) = (thread / Self::NEIGHBOURS, thread % Self::NEIGHBOURS * Self::SHARE);
        let clamped = (at.first + line as u32).min(at.lines - 1);
        let offset = clamped as isize * at.ld as isize + at.k as isize + k as isize;
        let to = at.to + 4 * (k * const { pitch(LINES) } + line) as u32;
        Self { from: at.from.wrapping_offset(offset), k: k as u32, to }
    }

    #[inline(always)]
    unsafe fn fetch_first(&mut self, skip: u32) -> Held {
        // SAFETY: the caller's promise.
        let held = unsafe { self.load(skip) };
        self.from = self.from.wrapping_add(STEP);
        held
    }

    #[inline(always)]
    unsafe fn fetch(&mut self) -> Held {
        // SAFETY: the caller's promise.
        let held = unsafe { self.load(0) };
        self.from = self.from.wrapping_add(STEP);
        held
    }

    #[inline(always)]
    unsafe fn store(&self, back: u32, held: Held) {
        let to = self.to ^ back;
        // SAFETY: the caller's promise.
        unsafe {
            each!(for I in 0..8 {
                if I < Self::SHARE {
                    store_shared!(to, 4 * I * pitch(LINES), held[I]);
                }
            });
        }
    }

    #[inline(always)]
    unsafe fn copy_first(&mut self, _skip: u32) {}

    #[inline(always)]
    unsafe fn copy(&mut self) {}

    #[inline(always)]
    fn turn(&mut self, flip: u32) {
        self.to ^= flip;
    }
}

/// Neighbouring lines side by side: B as it is, A transposed. Copied asynchronously.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub struct Straight<const LINES: usize, const THREADS: usize, const VECTOR: bool> {
    from: *const f32,
    base: *const f32,
    ld: u32,
    k: u32,
    to: u32,
}

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Straight<LINES, THREADS, VECTOR> {
    /// Elements of one copy.
    const WIDTH: usize = if VECTOR { 4 } else { 1 };
    /// Copies of a thread.
    const COPIES: usize = STEP * LINES / Self::WIDTH / THREADS;
    /// Rows of k between one of its copies and the next.
    const DOWN: usize = STEP / Self::COPIES;
}

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Operand
    for Straight<LINES, THREADS, VECTOR>
{
    const HOLDS: usize = 0;

    #[inline(always)]
    unsafe fn new(at: Place) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let across = const { LINES / Self::WIDTH };
        let (k, line) = (thread / across, thread % across * Self::WIDTH);
        let clamped = (at.first + line as u32).min(at.lines - Self::WIDTH as u32);
        let offset = (at.k as isize + k as isize) * at.ld as isize + clamped as isize;
        let to = at.to + 4 * (k * const { pitch(LINES) } + line) as u32;
        Self { from: at.from.wrapping_offset(offset), base: at.from, ld: at.ld, k: k as u32, to }
    }

    #[inline(always)]
    unsafe fn copy_first(&mut self, skip: u32) {
        let to = self.to;
        // SAFETY: the caller's promise; a copy of no bytes is given an address that exists.
        unsafe {
            each!(for I in 0..8 {
                if I < Self::COPIES {
                    let there = self.k + (I * Self::DOWN) as u32 >= skip;
                    let from = self.from.wrapping_add(I * Self::DOWN * self.ld as usize);
                    let from = if there { from } else { self.base };
                    if VECTOR {
                        let size = if there { 16u32 } else { 0 };
                        copy_16!(to, 4 * I * Self::DOWN * pitch(LINES), from, size);
                    } else {
                        let size = if there { 4u32 } else { 0 };
                        copy_4!(to, 4 * I * Self::DOWN * pitch(LINES), from, size);
                    }
                }
            });
        }
        self.from = self.from.wrapping_add(STEP * self.ld as usize);
    }

    #[inline(always)]
    unsafe fn copy(&mut self) {
        let to = self.to;
        // SAFETY: the caller's promise.
        unsafe {
            each!(for I in 0..8 {
                if I < Self::COPIES {
                    let from = self.from.wrapping_add(I * Self::DOWN * self.ld as usize);
                    if VECTOR {
                        copy_16!(to, 4 * I * Self::DOWN * pitch(LINES), from);
                    } else {
                        copy_4!(to, 4 * I * Self::DOWN * pitch(LINES), from);
                    }
                }
            });
        }
        self.from = self.from.wrapping_add(STEP * self.ld as usize);
    }

    #[inline(always)]
    unsafe fn fetch_first(&mut self, _skip: u32) -> Held {
        [0.0; 8]
    }

    #[inline(always)]
    unsafe fn fetch(&mut self) -> Held {
        [0.0; 8]
    }

    #[inline(always)]
    unsafe fn store(&self, _back: u32, _held: Held) {}

    #[inline(always)]
    fn turn(&mut self, flip: u32) {
        self.to ^= flip;
    }
}

/// [`Straight`] through registers, for devices without asynchronous copies.
pub struct StraightHeld<const LINES: usize, const THREADS: usize, const VECTOR: bool> {
    from: *const f32,
    ld: u32,
    k: u32,
    to: u32,
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> StraightHeld<LINES, THREADS, VECTOR> {
    /// Elements of a thread, and rows of k between one and the next.
    const SHARE: usize = STEP * LINES / THREADS;
    const DOWN: usize = STEP / Self::SHARE;

    #[inline(always)]
    unsafe fn load(&mut self, skip: u32) -> Held {
        let mut held = [0.0; 8];
        // SAFETY: the caller keeps to the matrix.
        unsafe {
            each!(for I in 0..8 {
                if I < Self::SHARE && self.k + (I * Self::DOWN) as u32 >= skip {
                    let from = self.from.wrapping_add(I * Self::DOWN * self.ld as usize);
                    held[I] = load_global!(from, 0);
                }
            });
        }
        self.from = self.from.wrapping_add(STEP * self.ld as usize);
        held
    }
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Operand
    for StraightHeld<LINES, THREADS, VECTOR>
{
    const HOLDS: usize = Self::SHARE;

    #[inline(always)]
    unsafe fn new(at: Place) -> Self {
        const { assert!(!VECTOR, "this loader moves single elements") };
        let thread = thread::thread_idx_x() as usize;
        let (k, line) = (thread / LINES, thread % LINES);
        let clamped = (at.first + line as u32).min(at.lines - 1);
        let offset = (at.k as isize + k as isize) * at.ld as isize + clamped as isize;
        let to = at.to + 4 * (k * const { pitch(LINES) } + line) as u32;
        Self { from: at.from.wrapping_offset(offset), ld: at.ld, k: k as u32, to }
    }

    #[inline(always)]
    unsafe fn fetch_first(&mut self, skip: u32) -> Held {
        // SAFETY: the caller's promise.
        unsafe { self.load(skip) }
    }

    #[inline(always)]
    unsafe fn fetch(&mut self) -> Held {
        // SAFETY: the caller's promise.
        unsafe { self.load(0) }
    }

    #[inline(always)]
    unsafe fn store(&self, back: u32, held: Held) {
        let to = self.to ^ back;
        // SAFETY: the caller's promise.
        unsafe {
            each!(for I in 0..8 {
                if I < Self::SHARE {
                    store_shared!(to, 4 * I * Self::DOWN * pitch(LINES), held[I]);
                }
            });
        }
    }

    #[inline(always)]
    unsafe fn copy_first(&mut self, _skip: u32) {}

    #[inline(always)]
    unsafe fn copy(&mut self) {}

    #[inline(always)]
    fn turn(&mut self, flip: u32) {
        self.to ^= flip;
    }
}
