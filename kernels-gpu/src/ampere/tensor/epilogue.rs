//! From a warp's sums to C.
//!
//! A lane holds pairs of neighbours, 8 bytes apart from the next lane's, and rows 8 apart: stored as they are, a row would
//! get 16 bytes at a time. So half of a warp's patch at a time goes through shared memory, where a lane picks up 16 bytes
//! of one row of C. Rows are 8 words longer than they need to be, so that the 4 rows that half a warp stores at once lie
//! in different banks.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{unroll, warp};
use half::{bf16, f16};
use tile::Four;
use tile::mma::{Element, Narrow, Number, Sums, Tf32};

use super::TensorGemm;

/// The patch of C that a warp computed: 64 × 64 elements.
#[derive(Clone, Copy)]
pub(super) struct Patch {
    pub row: usize,
    pub col: usize,
    pub warp: usize,
    pub lane: usize,
}

const WIDTH: usize = 64;
/// Rows that are in shared memory at once.
const ROWS: usize = 32;
/// Words from one row to the next there.
const PITCH: usize = WIDTH + 8;

/// How an element of C is made from a sum, by the type of the operands.
pub(super) trait Stored: Element {
    /// Whether C may have the operands' own 16-bit type.
    const NARROW: bool;

    /// Writes two neighbours of a C of 16-bit elements from two sums and the word that was there.
    fn narrow(p: &TensorGemm, sums: [Self::Sum; 2], before: u32) -> u32;
}

macro_rules! narrow {
    ($($element:ty)*) => {$(
        impl Stored for $element {
            const NARROW: bool = true;

            #[inline(always)]
            fn narrow(p: &TensorGemm, [first, second]: [f32; 2], before: u32) -> u32 {
                if p.beta == 0.0 {
                    return <$element>::pack(p.alpha * first, p.alpha * second);
                }
                let [old_first, old_second] = <$element>::unpack(before);
                let finish = |sum: f32, before| sum.finish(p.alpha, p.beta, before);
                <$element>::pack(finish(first, old_first), finish(second, old_second))
            }
        }
    )*};
}
narrow!(f16 bf16);

macro_rules! wide {
    ($($element:ty)*) => {$(
        impl Stored for $element {
            const NARROW: bool = false;

            #[inline(always)]
            fn narrow(_: &TensorGemm, _: [Self::Sum; 2], _: u32) -> u32 {
                0
            }
        }
    )*};
}
wide!(Tf32 i8);

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Two([u32; 2]);

/// Writes a warp's patch.
///
/// # Safety
/// C holds the matrix that `p` describes, its first element and pitch at multiples of 16 bytes; all lanes of the warp
/// come here together, with 9,216 bytes of dynamic shared memory a warp that no other thread uses any more.
#[inline(always)]
pub(super) unsafe fn store<T: Stored>(p: TensorGemm, c: *mut u8, sums: &[[Sums<T>; 8]; 4], patch: Patch) {
    // SAFETY: the caller's promise; every offset is below the warp's own ROWS * PITCH words.
    unsafe {
        let staged = dynamic_shared_mem::<u32>().add(patch.warp * ROWS * PITCH);
        let (g, t) = (patch.lane / 4, patch.lane % 4);
        for half in 0..2 {
            unroll!(full);
            for i in 0..2 {
                unroll!(full);
                for j in 0..8 {
                    unroll!(full);
                    let words = sums[2 * half + i][j].elements().map(Number::to_bits);
                    let to = staged.add((16 * i + g) * PITCH + 8 * j + 2 * t);
                    *to.cast::<Two>() = Two([words[0], words[1]]);
                    *to.add(8 * PITCH).cast::<Two>() = Two([words[2], words[3]]);
                }
            }
            warp::sync_warp(u32::MAX);
            let first = patch.row + half * ROWS;
            if T::NARROW && p.wide == 0 {
                // 8 lanes a row, 8 elements of 2 bytes each.
                for part in 0..ROWS / 4 {
                    unroll!(none);
                    let (row, col) = (part * 4 + patch.lane / 8, patch.lane % 8 * 8);
                    let from = staged.add(row * PITCH + col).cast::<Four<u32>>();
                    let (low, high) =
                        ((*from).0.map(T::Sum::from_bits), (*from.add(1)).0.map(T::Sum::from_bits));
                    let sums = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
                    narrow_row::<T>(&p, c.cast(), (first + row, patch.col + col), sums);
                }
            } else {
                // 16 lanes a row, 4 elements of 4 bytes each.
                for part in 0..ROWS / 2 {
                    unroll!(none);
                    let (row, col) = (part * 2 + patch.lane / 16, patch.lane % 16 * 4);
                    let sums = (*staged.add(row * PITCH + col).cast::<Four<u32>>()).0.map(T::Sum::from_bits);
                    wide_row::<T>(&p, c.cast(), (first + row, patch.col + col), sums);
                }
            }
            warp::sync_warp(u32::MAX);
        }
    }
}

/// Eight neighbours of a C of 16-bit elements.
#[inline(always)]
unsafe fn narrow_row<T: Stored>(p: &TensorGemm, c: *mut u16, (row, col): (usize, usize), sums: [T::Sum; 8]) {
    let (m, n) = (p.m as usize, p.n as usize);
    if row >= m || col >= n {
        return;
    }
    // SAFETY: (row, col) is inside C, and so is what is touched beyond it.
    unsafe {
        let to = c.add(row * p.ldc as usize + col);
        if col + 8 <= n {
            let to = to.cast::<Four<u32>>();
            let before = if p.beta == 0.0 { [0; 4] } else { (*to).0 };
            let mut words = [0; 4];
            for i in 0..4 {
                unroll!(full);
                words[i] = T::narrow(p, [sums[2 * i], sums[2 * i + 1]], before[i]);
            }
            *to = Four(words);
        } else {
            for i in 0..8 {
                unroll!(full);
                if col + i < n {
                    let before = if p.beta == 0.0 { 0 } else { u32::from(*to.add(i)) };
                    *to.add(i) = T::narrow(p, [sums[i], sums[i]], before) as u16;
                }
            }
        }
    }
}

/// Four neighbours of a C of 32-bit elements.
#[inline(always)]
unsafe fn wide_row<T: Stored>(p: &TensorGemm, c: *mut u32, (row, col): (usize, usize), sums: [T::Sum; 4]) {
    let (m, n) = (p.m as usize, p.n as usize);
    if row >= m || col >= n {
        return;
    }
    // SAFETY: (row, col) is inside C, and so is what is touched beyond it.
    unsafe {
        let to = c.add(row * p.ldc as usize + col);
        if col + 4 <= n {
            let to = to.cast::<Four<u32>>();
            let before = if p.beta == 0.0 { [0; 4] } else { (*to).0 };
            let mut words = [0; 4];
            for i in 0..4 {
                unroll!(full);
                words[i] = wide::<T>(p, sums[i], before[i]);
            }
            *to = Four(words);
        } else {
            for i in 0..4 {
                unroll!(full);
                if col + i < n {
                    let before = if p.beta == 0.0 { 0 } else { *to.add(i) };
                    *to.add(i) = wide::<T>(p, sums[i], before);
                }
            }
        }
    }
}

/// An element of a C of 32-bit elements, from its sum and the bits that were there.
#[inline(always)]
fn wide<T: Element>(p: &TensorGemm, sum: T::Sum, before: u32) -> u32 {
    if p.beta == 0.0 { sum.scale(p.alpha) } else { sum.finish(p.alpha, p.beta, T::Sum::from_bits(before)) }
        .to_bits()
}

/// One element of C, wherever it lies.
///
/// # Safety
/// C holds the matrix that `p` describes, and no other thread touches the element.
#[inline(always)]
pub(super) unsafe fn store_one<T: Stored>(p: &TensorGemm, c: *mut u8, row: usize, col: usize, sum: T::Sum) {
    if row >= p.m as usize || col >= p.n as usize {
        return;
    }
    let at = row * p.ldc as usize + col;
    // SAFETY: the caller's promise.
    unsafe {
        if T::NARROW && p.wide == 0 {
            let to = c.cast::<u16>().add(at);
            let before = if p.beta == 0.0 { 0 } else { u32::from(*to) };
            *to = T::narrow(p, [sum, sum], before) as u16;
        } else {
            let to = c.cast::<u32>().add(at);
            let before = if p.beta == 0.0 { 0 } else { *to };
            *to = wide::<T>(p, sum, before);
        }
    }
}
