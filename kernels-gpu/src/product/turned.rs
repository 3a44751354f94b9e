//! Operands whose lines have their k side by side: A as it is, B transposed.
//!
//! In large tiles a piece passes through registers: one load of 16 bytes and four stores for four elements. Four asynchronous
//! copies of 4 bytes do the same without them; they cost those tiles 4 % (measured at 4096³), for each touches as many
//! sectors as the one load. In smaller tiles, where a multiprocessor has few warps, they are 1 to 8 % faster: three steps
//! are under way, not one. And they need no alignment.

use cuda_std::prelude::*;
use tile::repeat;

use super::access::copy_4;
use super::access::{load_global, load_global_4, store_shared};
use super::operand::{Held, Operand, OperandStart, STEP, pitch};

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
                repeat!(for V in 0..2 {
                    if 4 * V < Self::SHARE && self.k + 4 * V as u32 >= skip {
                        let four = load_global_4!(self.from, 16 * V);
                        [held[4 * V], held[4 * V + 1], held[4 * V + 2], held[4 * V + 3]] = four;
                    }
                });
            } else {
                repeat!(for I in 0..8 {
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
    unsafe fn new(at: OperandStart) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let (line, k) = (thread / Self::NEIGHBOURS, thread % Self::NEIGHBOURS * Self::SHARE);
        let offset = at.line(line, 1) as isize * at.ld as isize + at.k as isize + k as isize;
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
            repeat!(for I in 0..8 {
                if I < Self::SHARE {
                    store_shared!(to, 4 * I * pitch(LINES), held[I]);
                }
            });
        }
    }

    #[inline(always)]
    fn turn(&mut self, flip: u32) {
        self.to ^= flip;
    }
}

/// [`Turned`], copied asynchronously: single elements, which need no alignment.
///
/// Eight neighbouring threads copy the eight k of a line, which lie in one sector or two; in shared memory the 32 words of a
/// warp, eight k of four lines, find each its own bank.
pub struct TurnedCopied<const LINES: usize, const THREADS: usize, const VECTOR: bool> {
    from: [*const f32; 8],
    k: u32,
    to: u32,
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> TurnedCopied<LINES, THREADS, VECTOR> {
    /// Copies of a thread.
    const COPIES: usize = LINES * STEP / THREADS;
    /// Lines between one of its copies and the next.
    const DOWN: usize = THREADS / STEP;
}

impl<const LINES: usize, const THREADS: usize, const VECTOR: bool> Operand
    for TurnedCopied<LINES, THREADS, VECTOR>
{
    const HOLDS: usize = 0;

    #[inline(always)]
    unsafe fn new(at: OperandStart) -> Self {
        let thread = thread::thread_idx_x() as usize;
        let (line, k) = (thread / STEP, thread % STEP);
        let mut from = [at.from; 8];
        repeat!(for I in 0..8 {
            if I < Self::COPIES {
                let line = at.line(line + I * Self::DOWN, 1);
                let offset = line as isize * at.ld as isize + at.k as isize + k as isize;
                from[I] = at.from.wrapping_offset(offset);
            }
        });
        let to = at.to + 4 * (k * const { pitch(LINES) } + line) as u32;
        Self { from, k: k as u32, to }
    }

    #[inline(always)]
    unsafe fn copy_first(&mut self, skip: u32) {
        let (to, there) = (self.to, self.k >= skip);
        let size = if there { 4u32 } else { 0 };
        // SAFETY: the caller's promise; a copy of no bytes is given an address that exists.
        unsafe {
            repeat!(for I in 0..8 {
                if I < Self::COPIES {
                    let from = self.from[I];
                    // The line's first element.
                    let from = if there { from } else { from.wrapping_add((skip - self.k) as usize) };
                    copy_4!(to, 4 * I * Self::DOWN, from, size);
                    self.from[I] = self.from[I].wrapping_add(STEP);
                }
            });
        }
    }

    #[inline(always)]
    unsafe fn copy(&mut self) {
        let to = self.to;
        // SAFETY: the caller's promise.
        unsafe {
            repeat!(for I in 0..8 {
                if I < Self::COPIES {
                    copy_4!(to, 4 * I * Self::DOWN, self.from[I]);
                    self.from[I] = self.from[I].wrapping_add(STEP);
                }
            });
        }
    }

    #[inline(always)]
    fn turn(&mut self, flip: u32) {
        self.to ^= flip;
    }
}
