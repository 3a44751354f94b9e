//! The order of the multiply-adds: a block computes 128 × 256 elements of C, a warp 64 × 64, a thread 16 × 8.
//!
//! The limit of a product of this kind is not memory but the issue of instructions: one multiply-add a cycle for each
//! quarter of a multiprocessor, and every other instruction takes a slot from it. So:
//! - 128 multiply-adds of a thread share 6 loads of 16 bytes from shared memory.
//! - Lanes are numbered so that neighbours want the same words: each of these loads is 2 wavefronts, not 4.
//! - Global memory is copied to shared memory asynchronously, three steps ahead; A is turned on the way, 4 bytes at a
//!   time, so that a thread's 16 rows lie side by side.
//! - A multiply-add reads three registers, and the register file gives two a cycle. The order of the 128 leaves one
//!   operand where it is (row by row, forward and back), and the factor alpha at the end keeps the assembler from
//!   laying the accumulators out for the stores, which would put them in the banks of the other operand.
//!
//! Measured: 52.8 TFLOP/s at 4096³ on an H200, 1.20 times the step before (`warpsmith bench ladder`,
//! `benches/results/h200-2026-11-21-ladder.md`).

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_group};
use cuda_std::prelude::*;
use cuda_std::ptx;
use cuda_std::shared::dynamic_shared_mem;
use tile::{Four, Raster, SharedAddress, repeat};

use crate::gemm::Gemm;

pub const BLOCK_M: usize = 128;
pub const BLOCK_N: usize = 256;
pub const THREADS: usize = 256;
const WARP: usize = 64;
/// Elements along K that a stage holds.
pub const STEP: usize = 8;
const STAGES: usize = 4;
/// A column of A's stage and four words, so that the 8 lanes that store a column each find another bank.
const PITCH_A: usize = BLOCK_M + 4;
const STAGE: usize = STEP * (PITCH_A + BLOCK_N);
/// Rows and columns of a thread.
const ROWS: usize = 16;
const COLS: usize = 8;

/// The order of a thread's rows. Row by row forward and back, the column at the turn serves twice from where it is; which
/// row follows which decides only how the assembler lays out the registers, and so how often a multiply-add finds two
/// of its operands in one bank. Of 900 orders timed on an H200 this one was the fastest: 2.57 ms at 4096², against
/// 2.65 ms for an order taken at random.
const ROW_ORDER: [usize; ROWS] = [0, 1, 10, 11, 2, 3, 4, 5, 12, 13, 6, 7, 14, 15, 8, 9];
/// The order of its columns in even rows; odd rows go back.
const COLUMN_ORDER: [usize; COLS] = [0, 2, 4, 6, 1, 3, 5, 7];

pub const SHARED_BYTES: u32 = (STAGES * STAGE * size_of::<f32>()) as u32;

/// C = alpha · A · B + beta · C for m, n and k that are multiples of 128, 256 and 8.
///
/// # Safety
/// `a`, `b` and `c` hold m × k, k × n and m × n elements and are aligned to 16 bytes; blocks have 256 threads and
/// [`SHARED_BYTES`] of dynamic shared memory; the grid has one block for each 128 × 256 elements.
#[kernel]
#[block_dim(256)]
pub unsafe fn matmul_ordered(p: Gemm, a: *const f32, b: *const f32, c: *mut f32) {
    let thread = thread::thread_idx_x() as usize;
    let (lane, warp) = (thread % 32, thread / 32);
    let (n, k) = (p.n as usize, p.k as usize);
    let raster = Raster { down: p.m / BLOCK_M as u32, across: p.n / BLOCK_N as u32, group: 8 };
    let (block_row, block_col) = raster.tile(thread::block_idx_x());
    let (block_row, block_col) = (block_row as usize, block_col as usize);
    let shared = SharedAddress::of(dynamic_shared_mem::<f32>()).bits();

    // Each thread's part of the copies: A by single elements down a column, B by four along a row.
    let (a_k, a_row) = (thread % STEP, thread / STEP);
    let (b_k, b_col) = (thread / (BLOCK_N / 4), thread % (BLOCK_N / 4) * 4);
    // Each thread's part of the product. Lanes in the order of a Z: lane and lane ^ 1 share rows, lane and lane ^ 2 share
    // columns, which is what halves the wavefronts of a 16-byte load.
    let (x, y) = (2 * (lane / 8) + lane % 2, lane / 2 % 4);
    let (warp_row, warp_col) = (warp / 4 * WARP, warp % 4 * WARP);

    // SAFETY: as the contract says; every offset into shared memory is below STAGES * STAGE.
    unsafe {
        let mut from_a = a.add((block_row * BLOCK_M + a_row) * k + a_k);
        let mut from_b = b.add(b_k * n + block_col * BLOCK_N + b_col);
        let to_a = shared + 4 * (a_k * PITCH_A + a_row) as u32;
        let to_b = shared + 4 * (STEP * PITCH_A + b_k * BLOCK_N + b_col) as u32;
        let mut copy = |stage: u32| {
            repeat!(for I in 0..4 {
                copy_4::<{ 4 * I * (THREADS / STEP) }>(to_a + stage, from_a.add(I * (THREADS / STEP) * k));
            });
            repeat!(for I in 0..2 {
                const DOWN: usize = THREADS * 4 / BLOCK_N;
                copy_16::<{ 4 * I * DOWN * BLOCK_N }>(to_b + stage, from_b.add(I * DOWN * n));
            });
            from_a = from_a.add(STEP);
            from_b = from_b.add(STEP * n);
        };

        let steps = p.k / STEP as u32;
        for stage in 0..STAGES as u32 - 1 {
            if stage < steps {
                copy(stage * (STAGE * 4) as u32);
            }
            cp_async_commit_group();
        }
        cp_async_wait_group::<{ STAGES as u32 - 2 }>();
        thread::sync_threads();

        let load_a = shared + 4 * (warp_row + 4 * y) as u32;
        let load_b = shared + 4 * (STEP * PITCH_A + warp_col + 4 * x) as u32;
        macro_rules! fragments {
            ($stage:expr, $k:expr) => {{
                let mut fa = [0.0; ROWS];
                let mut fb = [0.0; COLS];
                repeat!(for J in 0..2 {
                    let four = load_4::<{ 4 * ($k * BLOCK_N + J * 32) }>(load_b + $stage);
                    [fb[4 * J], fb[4 * J + 1], fb[4 * J + 2], fb[4 * J + 3]] = four;
                });
                repeat!(for I in 0..4 {
                    let four = load_4::<{ 4 * ($k * PITCH_A + I * 16) }>(load_a + $stage);
                    [fa[4 * I], fa[4 * I + 1], fa[4 * I + 2], fa[4 * I + 3]] = four;
                });
                (fa, fb)
            }};
        }

        let mut sums = [[0.0f32; COLS]; ROWS];
        let (mut reading, mut writing) = (0, ((STAGES - 1) * STAGE * 4) as u32);
        let mut now = fragments!(0, 0);
        for step in STAGES as u32 - 1..steps + STAGES as u32 - 1 {
            if step < steps {
                copy(writing);
            }
            cp_async_commit_group();
            repeat!(for K in 0..8 {
                if K == STEP - 1 {
                    cp_async_wait_group::<{ STAGES as u32 - 2 }>();
                    thread::sync_threads();
                    reading = after(reading);
                    writing = after(writing);
                }
                let next = fragments!(reading, (K + 1) % STEP);
                repeat!(for I in 0..16 {
                    const ROW: usize = ROW_ORDER[I];
                    repeat!(for J in 0..8 {
                        const COL: usize = column(I, J);
                        sums[ROW][COL] = cuda_std::GpuFloat::mul_add(now.1[COL], now.0[ROW], sums[ROW][COL]);
                    });
                });
                now = next;
            });
        }

        repeat!(for I in 0..16 {
            let row = block_row * BLOCK_M + warp_row + I / 4 * 16 + 4 * y + I % 4;
            repeat!(for J in 0..2 {
                let col = block_col * BLOCK_N + warp_col + J * 32 + 4 * x;
                let to = c.add(row * n + col).cast::<Four<f32>>();
                let mut out = [sums[I][4 * J], sums[I][4 * J + 1], sums[I][4 * J + 2], sums[I][4 * J + 3]];
                out = out.map(|sum| p.alpha * sum);
                if p.beta != 0.0 {
                    let before = (*to).0;
                    out = [0, 1, 2, 3].map(|l: usize| out[l] + p.beta * before[l]);
                }
                *to = Four(out);
            });
        });
    }
}

/// The column that comes at place `j` of the row at place `i`.
const fn column(i: usize, j: usize) -> usize {
    COLUMN_ORDER[if i & 1 == 0 { j } else { COLS - 1 - j }]
}

/// The offset of the stage that follows.
#[inline(always)]
fn after(stage: u32) -> u32 {
    if stage == ((STAGES - 1) * STAGE * 4) as u32 { 0 } else { stage + (STAGE * 4) as u32 }
}

/// Loads 16 bytes of shared memory, in this place of the program and no other.
#[inline(always)]
unsafe fn load_4<const OFFSET: usize>(address: u32) -> [f32; 4] {
    let (a, b, c, d): (f32, f32, f32, f32);
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("ld.shared.v4.f32 {{{a}, {b}, {c}, {d}}}, [{address}+{offset}];",
             a = out(f32) a, b = out(f32) b, c = out(f32) c, d = out(f32) d,
             address = in(u32) address, offset = imm(OFFSET as u32));
    }
    [a, b, c, d]
}

/// Starts to copy 4 bytes to shared memory.
#[inline(always)]
unsafe fn copy_4<const OFFSET: usize>(to: u32, from: *const f32) {
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("cp.async.ca.shared.global [{to}+{offset}], [{from}], 4;",
             to = in(u32) to, offset = imm(OFFSET as u32), from = in(ptr) from);
    }
}

/// Starts to copy 16 bytes to shared memory, past L1.
#[inline(always)]
unsafe fn copy_16<const OFFSET: usize>(to: u32, from: *const f32) {
    // SAFETY: the caller's promise.
    unsafe {
        ptx!("cp.async.cg.shared.global.L2::128B [{to}+{offset}], [{from}], 16;",
             to = in(u32) to, offset = imm(OFFSET as u32), from = in(ptr) from);
    }
}
