//! The short way of loads and stores: all lanes within one piece of memory, aligned. Anything else is left to
//! [`super::load_store`].
//!
//! The check of 32 addresses against one range vectorises; no table of pointers is made.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::form::access::AddressOperand;
use crate::form::op::MemoryOp;
use crate::form::registers::{NONE, Regs, Slot, lanes_of};

/// A piece of memory: where it starts in its space, its bytes on the host, and its length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub start: u64,
    pub host: *mut u8,
    pub size: u64,
    /// No other thread of the host reaches it.
    pub private: bool,
}

/// Runs `$name` in the version that the machine's processor takes.
macro_rules! dispatch {
    ($name:ident, $fast:ident, ($($arg:ident: $ty:ty),*) -> $out:ty) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn $fast($($arg: $ty),*) -> $out {
            $name($($arg),*)
        }
    };
}

dispatch!(load_in, load_avx2, (regs: Regs, op: &MemoryOp, piece: Span, mask: u32) -> bool);
dispatch!(store_in, store_avx2, (regs: Regs, op: &MemoryOp, piece: Span, mask: u32) -> bool);

/// Loads if all lanes are inside the piece. False if nothing was done.
#[inline]
pub(super) fn load(regs: Regs, op: &MemoryOp, piece: Span, mask: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has the features that the functions are compiled for.
        return unsafe {
            if are_words(op, piece, mask) {
                load_words_avx2(regs, op, piece)
            } else {
                load_avx2(regs, op, piece, mask)
            }
        };
    }
    load_in(regs, op, piece, mask)
}

/// Stores if all lanes are inside the piece. False if nothing was done.
#[inline]
pub(super) fn store(regs: Regs, op: &MemoryOp, piece: Span, mask: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { store_avx2(regs, op, piece, mask) };
    }
    store_in(regs, op, piece, mask)
}

/// Offsets of the lanes in the piece. False if one is outside or not aligned, or the piece has 4 GiB or more.
/// `FULL`: all lanes are wanted, which spares the test of each.
#[inline(always)]
fn offsets<const FULL: bool>(
    regs: Regs,
    address: AddressOperand,
    bytes: u32,
    piece: Span,
    mask: u32,
    at: &mut Offsets,
) -> bool {
    let limit = u32::try_from(piece.size).ok().and_then(|size| size.checked_sub(bytes));
    let Some(limit) = limit else { return false };
    let low = bytes - 1;
    let mut wrong = 0u32;
    // SAFETY: decoding checked the width of the address's register.
    unsafe {
        if address.wide || address.base == NONE {
            let shift = (address.offset as u64).wrapping_sub(piece.start);
            let start = piece.start as u32;
            let none = [0; 32];
            let base = if address.base == NONE { &none } else { &*regs.lanes::<u64>(address.base) };
            for i in 0..32 {
                let offset = base[i].wrapping_add(shift);
                let active = if FULL { u32::MAX } else { (mask >> i & 1).wrapping_neg() };
                at[i] = offset as u32;
                let beyond = u32::from(offset > u64::from(limit));
                wrong |= active & (beyond | (at[i].wrapping_add(start) & low));
            }
        } else {
            if piece.start != 0 {
                return false;
            }
            let base = &*regs.lanes::<u32>(address.base);
            for i in 0..32 {
                let active = if FULL { u32::MAX } else { (mask >> i & 1).wrapping_neg() };
                at[i] = base[i].wrapping_add(address.offset as u32);
                wrong |= active & (u32::from(at[i] > limit) | (at[i] & low));
            }
        }
    }
    wrong == 0
}

/// Where the lanes are in a piece. Written in place: moved, they would be copied through the stack.
type Offsets = [u32; 32];

/// Finds the lanes in the piece, for [`load_from`] and [`store_to`]. False if not all are there.
#[inline(always)]
fn find(regs: Regs, op: &MemoryOp, piece: Span, mask: u32, at: &mut Offsets) -> bool {
    let bytes = op.width * op.data.len() as u32;
    match mask {
        u32::MAX => offsets::<true>(regs, op.address, bytes, piece, mask, at),
        _ => offsets::<false>(regs, op.address, bytes, piece, mask, at),
    }
}

#[inline(always)]
fn load_in(regs: Regs, op: &MemoryOp, piece: Span, mask: u32) -> bool {
    let mut at = [0; 32];
    let found = find(regs, op, piece, mask, &mut at);
    if found {
        // SAFETY: `find` found the lanes of the mask.
        unsafe { load_from(regs, op, piece, &at, mask) }
    }
    found
}

/// # Safety
/// `at` is what [`find`] gave for the same access.
#[inline(always)]
unsafe fn load_from(regs: Regs, op: &MemoryOp, piece: Span, at: &Offsets, mask: u32) {
    if mask != u32::MAX {
        // SAFETY: `offsets` found the lanes of the mask inside the piece and aligned; decoding gave the registers
        // their rows. Values move as relaxed atomics, since other threads of the host may write meanwhile.
        unsafe {
            elements(op, piece, |slot, host| {
                lanes_of(mask).for_each(|i| {
                    let p = host.add(at[i] as usize);
                    match op.rows {
                        1 => regs.set(slot, i, AtomicU32::from_ptr(p.cast()).load(Ordering::Relaxed)),
                        _ => regs.set(slot, i, AtomicU64::from_ptr(p.cast()).load(Ordering::Relaxed)),
                    }
                });
            });
        }
        return;
    }
    // SAFETY: as above, for all lanes.
    unsafe {
        elements(op, piece, |slot, host| {
            if op.rows == 1 {
                let out = &mut *regs.lanes::<u32>(slot);
                for i in 0..32 {
                    let p = host.add(at[i] as usize).cast();
                    out[i] = AtomicU32::from_ptr(p).load(Ordering::Relaxed);
                }
            } else {
                let out = &mut *regs.lanes::<u64>(slot);
                for i in 0..32 {
                    let p = host.add(at[i] as usize).cast();
                    out[i] = AtomicU64::from_ptr(p).load(Ordering::Relaxed);
                }
            }
        });
    }
}

/// Calls `f` with the register and the bytes of each element that is wanted.
#[inline(always)]
fn elements(op: &MemoryOp, piece: Span, mut f: impl FnMut(Slot, *mut u8)) {
    for (e, &slot) in op.data.iter().enumerate() {
        if slot != NONE {
            f(slot, piece.host.wrapping_add(e * op.width as usize));
        }
    }
}

/// Whether [`words_from`] may load: 32-bit words for all lanes, from memory that only this thread reaches.
#[inline(always)]
fn are_words(op: &MemoryOp, piece: Span, mask: u32) -> bool {
    piece.private && mask == u32::MAX && op.rows == 1 && piece.size < 1 << 31
}

/// Loads 32-bit words for all lanes. False if nothing was done.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn load_words_avx2(regs: Regs, op: &MemoryOp, piece: Span) -> bool {
    let mut at = [0; 32];
    let found = find(regs, op, piece, u32::MAX, &mut at);
    if found {
        // SAFETY: `find` found all lanes; the caller asked `are_words`.
        unsafe { words_from(regs, op, piece, &at) }
    }
    found
}

/// Loads words eight lanes at a time: a row of words and one word for all are common, the rest is gathered.
///
/// # Safety
/// `at` is what [`find`] gave for the same access of all lanes, and [`are_words`] is true of it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
#[inline]
unsafe fn words_from(regs: Regs, op: &MemoryOp, piece: Span, at: &Offsets) {
    use std::arch::x86_64::*;
    let in_a_row = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    // SAFETY: `offsets` found all lanes inside the piece, whose offsets are below 2^31; decoding gave the registers
    // their rows. No other thread reaches these bytes, so plain reads do not race.
    unsafe {
        elements(op, piece, |slot, host| {
            let out = regs.lanes::<u32>(slot).cast::<__m256i>();
            for (group, at) in at.as_chunks::<8>().0.iter().enumerate() {
                let offsets = _mm256_loadu_si256(at.as_ptr().cast());
                let apart =
                    _mm256_sub_epi32(offsets, _mm256_broadcastd_epi32(_mm256_castsi256_si128(offsets)));
                let first = host.add(at[0] as usize);
                let words = if _mm256_movemask_epi8(_mm256_cmpeq_epi32(apart, in_a_row)) == -1 {
                    _mm256_loadu_si256(first.cast())
                } else if _mm256_testz_si256(apart, apart) == 1 {
                    _mm256_set1_epi32(first.cast::<i32>().read())
                } else {
                    _mm256_i32gather_epi32::<1>(host.cast(), offsets)
                };
                _mm256_storeu_si256(out.add(group), words);
            }
        });
    }
}

#[inline(always)]
fn store_in(regs: Regs, op: &MemoryOp, piece: Span, mask: u32) -> bool {
    let mut at = [0; 32];
    let found = find(regs, op, piece, mask, &mut at);
    if found {
        // SAFETY: `find` found the lanes of the mask.
        unsafe { store_to(regs, op, piece, &at, mask) }
    }
    found
}

/// # Safety
/// As `load_from`.
#[inline(always)]
unsafe fn store_to(regs: Regs, op: &MemoryOp, piece: Span, at: &Offsets, mask: u32) {
    // SAFETY: as in `load_from`.
    unsafe {
        elements(op, piece, |slot, host| {
            if op.rows == 1 {
                let from = &*regs.lanes::<u32>(slot);
                let write = |i: usize| {
                    let p = host.add(at[i] as usize).cast();
                    AtomicU32::from_ptr(p).store(from[i], Ordering::Relaxed);
                };
                if mask == u32::MAX { (0..32).for_each(write) } else { lanes_of(mask).for_each(write) }
            } else {
                let from = &*regs.lanes::<u64>(slot);
                let write = |i: usize| {
                    let p = host.add(at[i] as usize).cast();
                    AtomicU64::from_ptr(p).store(from[i], Ordering::Relaxed);
                };
                if mask == u32::MAX { (0..32).for_each(write) } else { lanes_of(mask).for_each(write) }
            }
        });
    }
}

/// Whether an operation is of the widths that this file moves.
#[inline]
pub(super) fn fits(op: &MemoryOp) -> bool {
    op.width == 4 * op.rows && op.rows <= 2 && !op.multimem
}

/// As [`load`] and [`store`], but shows the addresses of the lanes once it is known that all are inside, before anything
/// moves. In one piece with `show`, so that what it counts is compiled for the same processor, and the addresses are
/// computed once: both were a third of a profiled run.
#[inline]
pub(super) fn observed(
    regs: Regs,
    op: &MemoryOp,
    piece: Span,
    mask: u32,
    load: bool,
    show: impl FnOnce(&[u64; 32]),
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { observed_avx2(regs, op, piece, mask, load, show) };
    }
    let mut at = [0; 32];
    if !shown(regs, op, piece, mask, &mut at, show) {
        return false;
    }
    // SAFETY: `shown` found the lanes of the mask.
    unsafe { if load { load_from(regs, op, piece, &at, mask) } else { store_to(regs, op, piece, &at, mask) } }
    true
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn observed_avx2(
    regs: Regs,
    op: &MemoryOp,
    piece: Span,
    mask: u32,
    load: bool,
    show: impl FnOnce(&[u64; 32]),
) -> bool {
    let mut at = [0; 32];
    if !shown(regs, op, piece, mask, &mut at, show) {
        return false;
    }
    // SAFETY: `shown` found the lanes of the mask.
    unsafe {
        if !load {
            store_to(regs, op, piece, &at, mask);
        } else if are_words(op, piece, mask) {
            words_from(regs, op, piece, &at);
        } else {
            load_from(regs, op, piece, &at, mask);
        }
    }
    true
}

/// Finds the lanes and shows their addresses. False, and nothing shown, if not all are there.
#[inline(always)]
fn shown(
    regs: Regs,
    op: &MemoryOp,
    piece: Span,
    mask: u32,
    at: &mut Offsets,
    show: impl FnOnce(&[u64; 32]),
) -> bool {
    if !find(regs, op, piece, mask, at) {
        return false;
    }
    let mut addresses = [0; 32];
    for i in 0..32 {
        addresses[i] = piece.start + u64::from(at[i]);
    }
    show(&addresses);
    true
}
