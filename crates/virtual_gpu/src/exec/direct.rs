//! The short way of loads and stores: all lanes within one piece of memory, aligned. Anything else is left to
//! [`super::access`].
//!
//! The check of 32 addresses against one range vectorises; no table of pointers is made.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::registers::{NONE, Regs, lanes_of};
use crate::op::{AddressOperand, MemoryOp};

/// A piece of memory: where it starts in its space, its bytes on the host, and its length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub start: u64,
    pub host: *mut u8,
    pub size: u64,
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
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { load_avx2(regs, op, piece, mask) };
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

/// Offsets of the lanes in the piece; `None` if one is outside or not aligned.
#[inline(always)]
fn offsets(regs: Regs, address: AddressOperand, bytes: u64, piece: Piece, mask: u32) -> Option<[u64; 32]> {
    if bytes > piece.size {
        return None;
    }
    let limit = piece.size - bytes;
    let shift = (address.offset as u64).wrapping_sub(piece.start);
    let mut at = [0u64; 32];
    // SAFETY: decoding checked the width of the address's register.
    unsafe {
        if address.base == NONE {
            at = [shift; 32];
        } else if address.wide {
            let base = &*regs.lanes::<u64>(address.base);
            for i in 0..32 {
                at[i] = base[i].wrapping_add(shift);
            }
        } else {
            let base = &*regs.lanes::<u32>(address.base);
            for i in 0..32 {
                at[i] = u64::from(base[i].wrapping_add(address.offset as u32)).wrapping_sub(piece.start);
            }
        }
    }
    let low = bytes - 1;
    let mut wrong = 0u64;
    for i in 0..32 {
        let active = u64::from(mask >> i & 1).wrapping_neg();
        wrong |= active & (u64::from(at[i] > limit) | (at[i].wrapping_add(piece.start) & low));
    }
    (wrong == 0).then_some(at)
}

#[inline(always)]
fn load_in(regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool {
    let bytes = u64::from(op.width) * op.data.len() as u64;
    let Some(at) = offsets(regs, op.address, bytes, piece, mask) else { return false };
    for (e, &slot) in op.data.iter().enumerate() {
        if slot == NONE {
            continue;
        }
        let host = piece.host.wrapping_add(e * op.width as usize);
        // SAFETY: `offsets` found the lanes of the mask inside the piece and aligned; decoding gave the registers
        // their rows. Values move as relaxed atomics, since other threads of the host may write meanwhile.
        unsafe {
            if op.rows == 1 {
                let out = &mut *regs.lanes::<u32>(slot);
                let read =
                    |i: usize| AtomicU32::from_ptr(host.add(at[i] as usize).cast()).load(Ordering::Relaxed);
                if mask == u32::MAX {
                    for i in 0..32 {
                        out[i] = read(i);
                    }
                } else {
                    lanes_of(mask).for_each(|i| out[i] = read(i));
                }
            } else {
                let out = &mut *regs.lanes::<u64>(slot);
                let read =
                    |i: usize| AtomicU64::from_ptr(host.add(at[i] as usize).cast()).load(Ordering::Relaxed);
                if mask == u32::MAX {
                    for i in 0..32 {
                        out[i] = read(i);
                    }
                } else {
                    lanes_of(mask).for_each(|i| out[i] = read(i));
                }
            }
        }
    }
    true
}

#[inline(always)]
fn store_in(regs: Regs, op: &MemoryOp, piece: Piece, mask: u32) -> bool {
    let bytes = u64::from(op.width) * op.data.len() as u64;
    let Some(at) = offsets(regs, op.address, bytes, piece, mask) else { return false };
    for (e, &slot) in op.data.iter().enumerate() {
        let host = piece.host.wrapping_add(e * op.width as usize);
        // SAFETY: as in `load_in`.
        unsafe {
            if op.rows == 1 {
                let from = &*regs.lanes::<u32>(slot);
                let write = |i: usize| {
                    AtomicU32::from_ptr(host.add(at[i] as usize).cast()).store(from[i], Ordering::Relaxed);
                };
                if mask == u32::MAX { (0..32).for_each(write) } else { lanes_of(mask).for_each(write) }
            } else {
                let from = &*regs.lanes::<u64>(slot);
                let write = |i: usize| {
                    AtomicU64::from_ptr(host.add(at[i] as usize).cast()).store(from[i], Ordering::Relaxed);
                };
                if mask == u32::MAX { (0..32).for_each(write) } else { lanes_of(mask).for_each(write) }
            }
        }
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
    let bytes = u64::from(op.width) * op.data.len() as u64;
    offsets(regs, op.address, bytes, piece, mask).is_some()
}
