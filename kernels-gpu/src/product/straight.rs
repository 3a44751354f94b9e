//! Operands whose lines lie side by side: B as it is, A transposed.

use cuda_std::prelude::*;
use tile::repeat;

use super::access::{copy_4, copy_16};
use super::access::{load_global, store_shared};
use super::operand::{Held, Operand, OperandStart, STEP, pitch};

/// Neighbouring lines side by side: B as it is, A transposed. Copied asynchronously.
pub struct Straight<const LINES: usize, const THREADS: usize, const VECTOR: bool> {
    from: *const f32,
    base: *const f32,
    ld: u32,
    k: u32,
    to: u32,
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Straight<LINES, THREADS, VECTOR> {
    /// Elements of one copy.
    const WIDTH: usize = if VECTOR { 4 } else { 1 };
    /// Copies of a thread.
    const COPIES: usize = STEP * LINES / Self::WIDTH / THREADS;
    /// Rows of k between one of its copies and the next.
    const DOWN: usize = STEP / Self::COPIES;
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Operand
    for Straight<LINES, THREADS, VECTOR>
{
    const HOLDS: usize = 0;

    #[inline(always)]
    unsafe fn new(at: OperandStart) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let across = const { LINES / Self::WIDTH };
        let (k, line) = (thread / across, thread % across * Self::WIDTH);
        let from = at.line(line, Self::WIDTH as u32) as isize;
        let offset = (at.k as isize + k as isize) * at.ld as isize + from;
        let to = at.to + 4 * (k * const { pitch(LINES) } + line) as u32;
        Self { from: at.from.wrapping_offset(offset), base: at.from, ld: at.ld, k: k as u32, to }
    }

    #[inline(always)]
    unsafe fn copy_first(&mut self, skip: u32) {
        let to = self.to;
        // SAFETY: the caller's promise; a copy of no bytes is given an address that exists.
        unsafe {
            repeat!(for I in 0..8 {
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
            repeat!(for I in 0..8 {
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
            repeat!(for I in 0..8 {
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
    unsafe fn new(at: OperandStart) -> Self {
        const { assert!(!VECTOR, "this loader moves single elements") };
        let thread = thread::thread_idx_x() as usize;
        let (k, line) = (thread / LINES, thread % LINES);
        let offset = (at.k as isize + k as isize) * at.ld as isize + at.line(line, 1) as isize;
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
            repeat!(for I in 0..8 {
                if I < Self::SHARE {
                    store_shared!(to, 4 * I * Self::DOWN * pitch(LINES), held[I]);
                }
            });
        }
    }

    #[inline(always)]
    fn turn(&mut self, flip: u32) {
        self.to ^= flip;
    }
}
