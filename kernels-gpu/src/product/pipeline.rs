//! The loop over K: a ring of stages in shared memory, filled ahead of the arithmetic.
//!
//! In step t a block multiplies what is in stage t mod `STAGES` and fills the stage that it read in step t − 1. Fragments
//! are loaded one k ahead of their multiply-adds, across the step's end too: the barrier that closes a step stands
//! before its last k, whose fragment is in registers already.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;
use cuda_std::ptx;
use cuda_std::shared::dynamic_shared_mem;
use tile::{Raster, SharedAddress, repeat};

use super::Product;
use super::access::store_shared;
use super::operand::{Operand, OperandStart, STEP};
use super::tile::{Sums, Tile};

/// The part of K that a block has, in steps.
struct KRange {
    steps: u32,
    /// Where it begins, below zero where K is padded at its front.
    k: i32,
    /// How many k of its first step are padding.
    skip: u32,
}

impl KRange {
    #[inline(always)]
    fn of(k: u32) -> Self {
        let (split, splits) = (thread::block_idx_y(), thread::grid_dim_y().max(1));
        let all = k.div_ceil(STEP as u32);
        let padding = all * STEP as u32 - k;
        // The first parts take one step more where the steps do not come out even. In 32 bits: a 64-bit division is a
        // call, after which the driver's compiler no longer believes that the loop is uniform.
        let (each, more) = (all / splits, all % splits);
        let begin = split * each + split.min(more);
        let steps = each + u32::from(split < more);
        let k = (begin * STEP as u32) as i32 - padding as i32;
        Self { steps, k, skip: if begin == 0 { padding } else { 0 } }
    }
}

impl<const ROWS: usize, const COLS: usize, const DOWN: usize, const ACROSS: usize>
    Tile<ROWS, COLS, DOWN, ACROSS>
{
    /// The whole of a kernel: this block's tile of C, or its part of K of it.
    ///
    /// # Safety
    /// As for the kernels.
    #[inline(always)]
    pub unsafe fn product<
        A: Operand,
        B: Operand,
        const STAGES: usize,
        const VECTOR: bool,
        const ORDER: usize,
    >(
        p: Product,
        a: *const f32,
        b: *const f32,
        c: *mut f32,
    ) {
        let (m, n) = (const { Self::M as u32 }, const { Self::N as u32 });
        let raster = Raster { down: p.m.div_ceil(m), across: p.n.div_ceil(n), group: 8 };
        let (block_row, block_col) = raster.tile(thread::block_idx_x());
        let part = KRange::of(p.k);
        let to = SharedAddress::of(dynamic_shared_mem::<f32>()).bits();
        if to > const { (Self::STRIDE - Self::STAGE) as u32 } {
            // A stage would not lie within its stride, see `Tile::stage`. No device reserves that much.
            // SAFETY: it ends the kernel.
            unsafe { ptx!("trap;") };
        }
        // SAFETY: the kernels' contract.
        unsafe {
            let a = OperandStart { from: a, ld: p.lda, first: block_row * m, lines: p.m, k: part.k, to };
            let to = to + const { Self::TO_B as u32 };
            let b = OperandStart { from: b, ld: p.ldb, first: block_col * n, lines: p.n, k: part.k, to };
            let sums = Self::sums::<A, B, STAGES, ORDER>(a, b, &part);
            // Each part of K has a matrix of its own.
            let c = c.wrapping_add(thread::block_idx_y() as usize * p.m as usize * p.ldc as usize);
            Self::store::<VECTOR>(sums, p, c, ((block_row * m) as usize, (block_col * n) as usize));
        }
    }

    /// The thread's sums over the block's part of K.
    #[inline(always)]
    unsafe fn sums<A: Operand, B: Operand, const STAGES: usize, const ORDER: usize>(
        a: OperandStart,
        b: OperandStart,
        part: &KRange,
    ) -> Sums<ROWS, COLS> {
        let (row, col) = Self::corner();
        let (mut from_a, mut from_b) = (a.to + 4 * row as u32, b.to + 4 * col as u32);
        let (in_a, in_b) = (a.to, b.to);
        let steps = part.steps;
        // SAFETY: the kernels' contract; every offset into shared memory is below STAGES stages.
        unsafe {
            let (mut a, mut b) = (A::new(a), B::new(b));

            // All loads of the first stages before the first store, which waits for its load.
            let mut held = [([0.0; 8], [0.0; 8]); 4];
            repeat!(for S in 0..4 {
                if S < STAGES - 1 {
                    if (S as u32) < steps {
                        if S == 0 {
                            a.copy_first(part.skip);
                            b.copy_first(part.skip);
                            held[S] = (a.fetch_first(part.skip), b.fetch_first(part.skip));
                        } else {
                            a.copy();
                            b.copy();
                            held[S] = (a.fetch(), b.fetch());
                        }
                    }
                    commit::<A, B>();
                    a.turn(const { Self::stage(S) ^ Self::stage(S + 1) });
                    b.turn(const { Self::stage(S) ^ Self::stage(S + 1) });
                }
            });
            repeat!(for S in 0..4 {
                if S < STAGES - 1 && (S as u32) < steps {
                    let back = const { Self::stage(S) ^ Self::stage(STAGES - 1) };
                    a.store(back, held[S].0);
                    b.store(back, held[S].1);
                }
            });
            if steps < STAGES as u32 {
                // The last step loads a fragment of the stage after it, and throws it away.
                let stage = (steps ^ (steps / 2)) * const { Self::STRIDE as u32 };
                let mut word = thread::thread_idx_x();
                while word < const { (if Self::M > Self::N { Self::M } else { Self::N }) as u32 } {
                    if word < const { Self::M as u32 } {
                        store_shared!((in_a + 4 * word) ^ stage, 0, 0.0);
                    }
                    if word < const { Self::N as u32 } {
                        store_shared!((in_b + 4 * word) ^ stage, 0, 0.0);
                    }
                    word += const { Self::THREADS as u32 };
                }
            }
            wait::<A, B, STAGES>();
            thread::sync_threads();

            let mut sums = [[0.0f32; COLS]; ROWS];
            // What leads from the stage that is read to the next. Reading and filling are a stage apart, and of a ring of
            // four every second step flips the same bit.
            let mut flip = const { Self::stage(0) ^ Self::stage(1) };
            // Where there are registers for it, a thread fetches a step early: a whole step for the memory to answer. With
            // 128 sums and more than four to hold, the multiply-adds would miss them.
            let early = const { ROWS < 16 || A::HOLDS + B::HOLDS <= 4 };
            let mut held = MaybeUninit::uninit();
            if early && steps >= STAGES as u32 {
                held.write((a.fetch(), b.fetch()));
            }
            let mut now = Self::fragment::<0>(from_a, from_b);
            for step in STAGES as u32 - 1..steps + STAGES as u32 - 1 {
                let more = step < steps;
                if more {
                    a.copy();
                    b.copy();
                    if !early {
                        held.write((a.fetch(), b.fetch()));
                    }
                }
                commit::<A, B>();
                repeat!(for K in 0..8 {
                    if K == STEP - 2 {
                        if more {
                            let (held_a, held_b) = held.assume_init();
                            a.store(0, held_a);
                            b.store(0, held_b);
                        }
                        if early && step + 1 < steps {
                            held.write((a.fetch(), b.fetch()));
                        }
                    }
                    if K == STEP - 1 {
                        wait::<A, B, STAGES>();
                        thread::sync_threads();
                        from_a ^= flip;
                        from_b ^= flip;
                        flip ^= const { if STAGES == 2 { 0 } else { Self::stage(2) } };
                        a.turn(flip);
                        b.turn(flip);
                    }
                    let next = Self::fragment::<{ (K + 1) % STEP }>(from_a, from_b);
                    Self::multiply::<ORDER>(&mut sums, &now);
                    now = next;
                });
            }
            sums
        }
    }
}

/// Closes the asynchronous copies of a step, if there are any.
#[inline(always)]
fn commit<A: Operand, B: Operand>() {
    if A::HOLDS == 0 || B::HOLDS == 0 {
        // SAFETY: it only groups what this thread began.
        unsafe { ptx!("cp.async.commit_group;") };
    }
}

/// Waits for the copies of the step after this one.
#[inline(always)]
fn wait<A: Operand, B: Operand, const STAGES: usize>() {
    if A::HOLDS == 0 || B::HOLDS == 0 {
        // SAFETY: it only waits.
        unsafe { ptx!("cp.async.wait_group {n};", n = imm(STAGES - 2)) };
    }
}
