//! The short way of loads and stores: all lanes within one piece of memory, aligned. Anything else is left to
//! [`super::load_store`].
//!
//! The check of 32 addresses against one range vectorises; no table of pointers is made.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::registers::{NONE, Regs, Slot, lanes_of};
use crate::op::{AddressOperand, MemoryOp};

/// A piece of memory: where it starts in its space, its bytes on the host, and its length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
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

dispatch!(load_in, load_avx2, (regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool);
dispatch!(store_in, store_avx2, (regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool);

/// Loads if all lanes are inside the piece. False if nothing was done.
#[inline]
pub(super) fn load(regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has the features that the functions are compiled for.
        return unsafe {
            if piece.private && mask == u32::MAX && op.rows == 1 && piece.size < 1 << 31 {
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
pub(super) fn store(regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { store_avx2(regs, op, piece, mask) };
    }
    store_in(regs, op, piece, mask)
}

/// Offsets of the lanes in the piece; `None` if one is outside or not aligned, or the piece has 4 GiB or more.
/// `FULL`: all lanes are wanted, which spares the test of each.
#[inline(always)]
fn offsets<const FULL: bool>(
    regs: Regs,
    address: AddressOperand,
    bytes: u32,
    piece: Piece,
    mask: u32,
) -> Option<[u32; 32]> {
    let size = u32::try_from(piece.size).ok()?;
    let limit = size.checked_sub(bytes)?;
    let low = bytes - 1;
    let mut at = [0u32; 32];
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
                return None;
            }
            let base = &*regs.lanes::<u32>(address.base);
            for i in 0..32 {
                let active = if FULL { u32::MAX } else { (mask >> i & 1).wrapping_neg() };
                at[i] = base[i].wrapping_add(address.offset as u32);
                wrong |= active & (u32::from(at[i] > limit) | (at[i] & low));
            }
        }
    }
    (wrong == 0).then_some(at)
}

#[inline(always)]
fn load_in(regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool {
    let bytes = op.width * op.data.len() as u32;
    if mask != u32::MAX {
        let Some(at) = offsets::<false>(regs, op.address, bytes, piece, mask) else { return false };
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
        return true;
    }
    let Some(at) = offsets::<true>(regs, op.address, bytes, piece, mask) else { return false };
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
    true
}

/// Calls `f` with the register and the bytes of each element that is wanted.
#[inline(always)]
fn elements(op: &MemoryOp, piece: Piece, mut f: impl FnMut(Slot, *mut u8)) {
    for (e, &slot) in op.data.iter().enumerate() {
        if slot != NONE {
            f(slot, piece.host.wrapping_add(e * op.width as usize));
        }
    }
}

/// Loads 32-bit words for all lanes from memory that only this thread reaches, eight lanes at a time: a row of words
/// and one word for all are common, the rest is gathered. False if nothing was done.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn load_words_avx2(regs: Regs, op: &MemoryOp, piece: Piece) -> bool {
    use std::arch::x86_64::*;
    let bytes = op.width * op.data.len() as u32;
    let Some(at) = offsets::<true>(regs, op.address, bytes, piece, u32::MAX) else { return false };
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
    true
}

#[inline(always)]
fn store_in(regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool {
    let bytes = op.width * op.data.len() as u32;
    let at = match mask {
        u32::MAX => offsets::<true>(regs, op.address, bytes, piece, mask),
        _ => offsets::<false>(regs, op.address, bytes, piece, mask),
    };
    let Some(at) = at else { return false };
    // SAFETY: as in `load_in`.
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
    true
}

/// Whether an operation is of the widths that this file moves.
#[inline]
pub(super) fn fits(op: &MemoryOp) -> bool {
    op.width == 4 * op.rows && op.rows <= 2
}

/// Whether all lanes of an access are inside the piece and aligned.
pub(super) fn covers(regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool {
    offsets::<false>(regs, op.address, op.width * op.data.len() as u32, piece, mask).is_some()
}
