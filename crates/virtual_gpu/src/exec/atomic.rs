//! `atom` and `red`: read, modify, write, one lane after the other.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::access::{self, Shape};
use super::context::{Cx, Raise};
use super::warp::Warp;
use super::without::{leave_out, with_meaning};
use crate::alu::{atomic as alu, half};
use crate::form::access::AtomicFunction as F;
use crate::form::op::{ALL_BYTES, AtomicOp};
use crate::form::registers::{Lane, NONE, Regs, lanes_of};
use crate::observer::{At, BlockObserver};

/// Orders 128-bit atomics among each other: few processors have them.
static WIDE: Mutex<()> = Mutex::new(());

/// Executes the instruction for the lanes of `at`.
pub(super) fn atomic<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &AtomicOp,
    regs: Regs,
    at: At,
) -> Result<(), Box<Raise>> {
    let generic = access::addresses(regs, op.address);
    if let Some(watch) = &mut cx.block.watch {
        let looks = watch.looks(at, &generic);
        cx.block.progress += u64::from(looks);
    }
    cx.block.phases_may_end();
    let mut addresses = generic;
    let shape = shape_of(op);
    if op.multimem {
        access::replicas(cx, &mut addresses, shape, at)?;
    }
    let rows = (op.width / 4).max(1);
    let all = at.lanes;
    let mut at = with_meaning(warp, cx, op.address, regs, at);
    let pointers =
        access::resolve(warp, cx, op.space, &mut addresses, shape, &op.operands, rows, regs, &mut at)?;
    if O::GOES_ON && at.lanes != all {
        leave_out(warp, cx, &op.targets, rows, regs, At { lanes: all & !at.lanes, ..at });
    }
    for i in lanes_of(at.lanes) {
        let shared = match op.space {
            crate::form::access::SpaceOperand::Generic => {
                access::space_of(generic[i]).0 == crate::observer::MemorySpace::Shared
            }
            crate::form::access::SpaceOperand::In(space) => space == crate::observer::MemorySpace::Shared,
        };
        for (e, &operand) in op.operands.iter().enumerate() {
            let target = op.targets.get(e).copied().unwrap_or(NONE);
            // SAFETY: `resolve` found `width` valid, aligned bytes for each element of the lane; decoding gave the
            // registers the operation's width.
            unsafe {
                let p = pointers[i].add(e * op.width as usize);
                match op.width {
                    2 => {
                        let (b, c) = (regs.get::<u16>(operand, i), swap::<u16>(op, regs, i));
                        let cell = AtomicU16::from_ptr(p.cast());
                        let (old, changed) = update(
                            |old| apply16(op.function, old, b, c),
                            || cell.load(Ordering::Relaxed),
                            |old, new| cell.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst),
                        );
                        cx.block.progress += u64::from(changed);
                        if target != NONE {
                            regs.set(target, i, old);
                        }
                    }
                    4 => {
                        let (b, c) = (regs.get::<u32>(operand, i), swap::<u32>(op, regs, i));
                        let cell = AtomicU32::from_ptr(p.cast());
                        let (old, changed) = if op.function == F::Add {
                            (cell.fetch_add(b, Ordering::SeqCst), b != 0)
                        } else {
                            update(
                                |old| apply32(op.function, old, b, c, shared),
                                || cell.load(Ordering::Relaxed),
                                |old, new| {
                                    cell.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst)
                                },
                            )
                        };
                        cx.block.progress += u64::from(changed);
                        if target != NONE {
                            regs.set(target, i, old);
                        }
                    }
                    8 => {
                        let (b, c) = (regs.get::<u64>(operand, i), swap::<u64>(op, regs, i));
                        let cell = AtomicU64::from_ptr(p.cast());
                        let (old, changed) = update(
                            |old| apply64(op.function, old, b, c, shared),
                            || cell.load(Ordering::Relaxed),
                            |old, new| cell.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst),
                        );
                        cx.block.progress += u64::from(changed);
                        if target != NONE {
                            regs.set(target, i, old);
                        }
                    }
                    _ => {
                        let _guard = WIDE.lock().unwrap_or_else(PoisonError::into_inner);
                        let (b, c) = (regs.get::<u128>(operand, i), swap::<u128>(op, regs, i));
                        let (low, high) =
                            (AtomicU64::from_ptr(p.cast()), AtomicU64::from_ptr(p.add(8).cast()));
                        let old = u128::from(high.load(Ordering::SeqCst)) << 64
                            | u128::from(low.load(Ordering::SeqCst));
                        let new = match op.function {
                            F::CompareAndSwap if old == b => c,
                            F::CompareAndSwap => old,
                            _ => b,
                        };
                        let changed = new != old;
                        low.store(new as u64, Ordering::SeqCst);
                        high.store((new >> 64) as u64, Ordering::SeqCst);
                        cx.block.progress += u64::from(changed);
                        if target != NONE {
                            regs.set(target, i, old);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

pub(super) fn shape_of(op: &AtomicOp) -> Shape {
    Shape {
        kind: op.kind,
        width: op.width,
        elements: op.operands.len() as u32,
        order: op.order,
        scope: op.scope,
        non_coherent: false,
        used: ALL_BYTES,
        swap: op.swap,
    }
}

/// # Safety
/// `op.swap` has the operation's width, or is [`NONE`].
unsafe fn swap<T: Lane + Default>(op: &AtomicOp, regs: Regs, lane: usize) -> T {
    if op.swap == NONE {
        return T::default();
    }
    // SAFETY: the caller's.
    unsafe { regs.get(op.swap, lane) }
}

/// Changes a value; what it was, and whether it is another now.
#[inline]
fn update<T: Copy + PartialEq>(
    change: impl Fn(T) -> T,
    load: impl Fn() -> T,
    exchange: impl Fn(T, T) -> Result<T, T>,
) -> (T, bool) {
    let mut old = load();
    loop {
        let new = change(old);
        match exchange(old, new) {
            Ok(old) => return (old, new != old),
            Err(now) => old = now,
        }
    }
}

/// `red` on one element in memory.
///
/// # Safety
/// `place` is valid and aligned for `width` bytes, which are 2, 4 or 8.
pub(super) unsafe fn reduce(function: F, width: u32, place: *mut u8, b: u64, shared: bool) {
    // SAFETY: the caller's.
    unsafe {
        match width {
            2 => {
                let cell = AtomicU16::from_ptr(place.cast());
                let exchange = |old, new| cell.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
                update(|old| apply16(function, old, b as u16, 0), || cell.load(Ordering::Relaxed), exchange);
            }
            4 => {
                let cell = AtomicU32::from_ptr(place.cast());
                let exchange = |old, new| cell.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
                update(
                    |old| apply32(function, old, b as u32, 0, shared),
                    || cell.load(Ordering::Relaxed),
                    exchange,
                );
            }
            _ => {
                let cell = AtomicU64::from_ptr(place.cast());
                let exchange = |old, new| cell.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
                update(|old| apply64(function, old, b, 0, shared), || cell.load(Ordering::Relaxed), exchange);
            }
        }
    }
}

fn apply16(function: F, old: u16, b: u16, c: u16) -> u16 {
    match function {
        F::Exchange => b,
        F::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        F::AddF16 => alu::add_half::<half::F16>(old, b),
        F::AddBf16 => alu::add_half::<half::Bf16>(old, b),
        F::MinMaxF16 { bf16: false, max, .. } => alu::min_max_half::<half::F16>(old, b, max),
        F::MinMaxF16 { bf16: true, max, .. } => alu::min_max_half::<half::Bf16>(old, b, max),
        _ => old,
    }
}

fn apply32(function: F, old: u32, b: u32, c: u32, shared: bool) -> u32 {
    match function {
        F::And => old & b,
        F::Or => old | b,
        F::Xor => old ^ b,
        F::Exchange => b,
        F::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        F::Add => old.wrapping_add(b),
        F::Increment => alu::inc(old, b),
        F::Decrement => alu::dec(old, b),
        F::MinUnsigned => old.min(b),
        F::MaxUnsigned => old.max(b),
        F::MinSigned => (old as i32).min(b as i32) as u32,
        F::MaxSigned => (old as i32).max(b as i32) as u32,
        F::AddF32 => alu::add_f32(f32::from_bits(old), f32::from_bits(b), shared).to_bits(),
        F::AddF16x2 => half::packed2(old, b, alu::add_half::<half::F16>),
        F::AddBf16x2 => half::packed2(old, b, alu::add_half::<half::Bf16>),
        F::MinMaxF16 { bf16: false, max, .. } => {
            half::packed2(old, b, |old, b| alu::min_max_half::<half::F16>(old, b, max))
        }
        F::MinMaxF16 { bf16: true, max, .. } => {
            half::packed2(old, b, |old, b| alu::min_max_half::<half::Bf16>(old, b, max))
        }
        F::AddF64 | F::AddF16 | F::AddBf16 => old,
    }
}

fn apply64(function: F, old: u64, b: u64, c: u64, shared: bool) -> u64 {
    match function {
        F::And => old & b,
        F::Or => old | b,
        F::Xor => old ^ b,
        F::Exchange => b,
        F::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        F::Add => old.wrapping_add(b),
        F::MinUnsigned => old.min(b),
        F::MaxUnsigned => old.max(b),
        F::MinSigned => (old as i64).min(b as i64) as u64,
        F::MaxSigned => (old as i64).max(b as i64) as u64,
        F::AddF64 => alu::add_f64(f64::from_bits(old), f64::from_bits(b), shared).to_bits(),
        _ => old,
    }
}
