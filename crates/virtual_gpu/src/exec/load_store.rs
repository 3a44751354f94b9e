//! `ld`, `st` and `ld.param`: values move between registers and the bytes that [`super::access`] finds.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::access::{Pointers, Shape, View, addresses, notify, replicas, resolve, space_of};
use super::context::{Cx, Raise};
use super::direct::{self, Span};
use super::warp::Warp;
use super::without::{leave_out, with_meaning};
use crate::form::access::{AddressOperand, SpaceOperand};
use crate::form::op::{MemoryOp, ParamOp};
use crate::form::registers::{NONE, Regs, Slot, lanes_of};
use crate::observer::{AccessKind, At, BlockObserver, MemorySpace, Order};

/// `ld`
pub(super) fn load<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &MemoryOp,
    regs: Regs,
    at: At,
) -> Result<(), Box<Raise>> {
    if let Some(watch) = &mut cx.block.watch {
        let looks = watch.loads(op.space, op.address, regs, at);
        cx.block.progress += u64::from(looks);
    }
    if let Some(waits) = &mut cx.block.phase_waits {
        let addresses = addresses(regs, op.address);
        waits.loads(op.space, lanes_of(at.lanes).map(|lane| addresses[lane]));
    }
    let all = at.lanes;
    let mut at = with_meaning(warp, cx, op.address, regs, at);
    if at.lanes != 0 && direct(warp, cx, op, AccessKind::Load, regs, at) {
        without(warp, cx, op, regs, At { lanes: all & !at.lanes, ..at });
        return Ok(());
    }
    let pointers = pointers(warp, cx, op, AccessKind::Load, regs, &mut at)?;
    without(warp, cx, op, regs, At { lanes: all & !at.lanes, ..at });
    for (e, &slot) in op.data.iter().enumerate() {
        if slot != NONE {
            // SAFETY: `pointers` resolved all lanes of the mask for the whole access, naturally aligned; decoding gave
            // the registers their rows.
            unsafe {
                load_element(
                    regs,
                    slot,
                    op.rows,
                    op.width,
                    op.signed,
                    &pointers,
                    e as u32 * op.width,
                    at.lanes,
                )
            }
        }
    }
    if op.order != Order::Weak {
        std::sync::atomic::fence(Ordering::Acquire);
    }
    Ok(())
}

/// Lanes go on without what they would have loaded.
#[inline(always)]
fn without<O: BlockObserver>(warp: &Warp, cx: &mut Cx<'_, O>, op: &MemoryOp, regs: Regs, at: At) {
    if O::GOES_ON && at.lanes != 0 {
        leave_out(warp, cx, &op.data, op.rows, regs, at);
    }
}

/// `st`
pub(super) fn store<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &MemoryOp,
    regs: Regs,
    at: At,
) -> Result<(), Box<Raise>> {
    // No other thread waits for a store to a thread's own stack.
    let local = match op.space {
        SpaceOperand::In(space) => space == MemorySpace::Local,
        SpaceOperand::Generic => space_of(first_address(regs, op.address, at.lanes)).0 == MemorySpace::Local,
    };
    cx.block.progress += u64::from(!local);
    if !local {
        cx.block.phases_may_end();
    }
    let mut at = with_meaning(warp, cx, op.address, regs, at);
    if at.lanes == 0 || direct(warp, cx, op, AccessKind::Store, regs, at) {
        return Ok(());
    }
    let pointers = pointers(warp, cx, op, AccessKind::Store, regs, &mut at)?;
    if op.order != Order::Weak {
        std::sync::atomic::fence(Ordering::Release);
    }
    for (e, &slot) in op.data.iter().enumerate() {
        // SAFETY: as in `load`.
        unsafe { store_element(regs, slot, op.rows, op.width, &pointers, e as u32 * op.width, at.lanes) }
    }
    Ok(())
}

/// Does a weak access the short way, if all lanes are inside one piece of memory. False if nothing was done.
#[inline]
fn direct<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &MemoryOp,
    kind: AccessKind,
    regs: Regs,
    at: At,
) -> bool {
    if op.order != Order::Weak || !direct::fits(op) {
        return false;
    }
    let piece = match op.space {
        SpaceOperand::In(MemorySpace::Shared) => {
            let own = cx.cluster[cx.block.cluster_rank as usize];
            Span { start: 0, host: own.bytes, size: own.size.into(), private: true }
        }
        SpaceOperand::In(MemorySpace::Global | MemorySpace::Const) | SpaceOperand::Generic => {
            let address = first_address(regs, op.address, at.lanes);
            let Some(allocation) = cx.device.find(address) else { return false };
            if kind == AccessKind::Store && !cx.device.may_write(allocation) {
                return false;
            }
            Span {
                start: allocation.address(),
                host: allocation.as_ptr(),
                size: cx.device.size_of(allocation),
                private: false,
            }
        }
        SpaceOperand::In(_) => return false,
    };
    if O::MEMORY {
        let space = match op.space {
            SpaceOperand::In(space) => space,
            SpaceOperand::Generic => MemorySpace::Global,
        };
        let view = View {
            space,
            generic: op.space == SpaceOperand::Generic,
            registers: &op.data,
            rows: op.rows,
            base: warp.base_of(regs),
            regs,
        };
        let load = kind == AccessKind::Load;
        let show = |addresses: &[u64; 32]| notify(cx, view, addresses, shape_of(op, kind), at);
        return direct::observed(regs, op, piece, at.lanes, load, show);
    }
    match kind {
        AccessKind::Load => direct::load(regs, op, piece, at.lanes),
        _ => direct::store(regs, op, piece, at.lanes),
    }
}

/// The address of the first lane.
#[inline]
pub(super) fn first_address(regs: Regs, operand: AddressOperand, lanes: u32) -> u64 {
    let lane = lanes.trailing_zeros() as usize;
    if operand.base == NONE {
        return operand.offset as u64;
    }
    // SAFETY: decoding checked the register's width.
    unsafe {
        if operand.wide {
            regs.get::<u64>(operand.base, lane).wrapping_add(operand.offset as u64)
        } else {
            regs.get::<u32>(operand.base, lane).wrapping_add(operand.offset as u32).into()
        }
    }
}

pub(super) fn shape_of(op: &MemoryOp, kind: AccessKind) -> Shape {
    Shape {
        kind,
        width: op.width,
        elements: op.data.len() as u32,
        order: op.order,
        scope: op.scope,
        non_coherent: op.non_coherent,
        used: op.used,
        swap: NONE,
    }
}

#[inline]
fn pointers<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &MemoryOp,
    kind: AccessKind,
    regs: Regs,
    at: &mut At,
) -> Result<Pointers, Box<Raise>> {
    let mut addresses = addresses(regs, op.address);
    let shape = shape_of(op, kind);
    if op.multimem {
        replicas(cx, &mut addresses, shape, *at)?;
    }
    resolve(warp, cx, op.space, &mut addresses, shape, &op.data, op.rows, regs, at)
}

// Values move as relaxed atomics: kernels may race on global memory, from several threads of the host, and then read old
// or new values as on a GPU. On common processors such an access is a plain move.

/// # Safety
/// The pointers of the lanes of `mask` plus `offset` are valid and aligned for `width` bytes; `slot` has `rows` rows.
#[inline]
unsafe fn load_element(
    regs: Regs,
    slot: Slot,
    rows: u32,
    width: u32,
    signed: bool,
    pointers: &Pointers,
    offset: u32,
    mask: u32,
) {
    // SAFETY: the caller's.
    unsafe {
        match (width, rows) {
            (4, 1) => {
                let out = &mut *regs.lanes::<u32>(slot);
                each(mask, |i| {
                    out[i] =
                        AtomicU32::from_ptr(pointers[i].add(offset as usize).cast()).load(Ordering::Relaxed);
                });
            }
            (8, 2) => {
                let out = &mut *regs.lanes::<u64>(slot);
                each(mask, |i| {
                    out[i] =
                        AtomicU64::from_ptr(pointers[i].add(offset as usize).cast()).load(Ordering::Relaxed);
                });
            }
            (16, _) => {
                let out = &mut *regs.lanes::<u128>(slot);
                each(mask, |i| {
                    let p = pointers[i].add(offset as usize).cast::<u64>();
                    let low = AtomicU64::from_ptr(p).load(Ordering::Relaxed);
                    let high = AtomicU64::from_ptr(p.add(1)).load(Ordering::Relaxed);
                    out[i] = u128::from(high) << 64 | u128::from(low);
                });
            }
            _ => each(mask, |i| {
                let value = read(pointers[i].add(offset as usize), width);
                put(regs, slot, rows, i, extend(value, width, signed));
            }),
        }
    }
}

/// # Safety
/// As `load_element`.
#[inline]
unsafe fn store_element(
    regs: Regs,
    slot: Slot,
    rows: u32,
    width: u32,
    pointers: &Pointers,
    offset: u32,
    mask: u32,
) {
    // SAFETY: the caller's.
    unsafe {
        match width {
            1 | 2 | 4 if rows > 1 => each(mask, |i| {
                let p = pointers[i].add(offset as usize);
                let value: u64 = regs.get(slot, i);
                match width {
                    1 => AtomicU8::from_ptr(p).store(value as u8, Ordering::Relaxed),
                    2 => AtomicU16::from_ptr(p.cast()).store(value as u16, Ordering::Relaxed),
                    _ => AtomicU32::from_ptr(p.cast()).store(value as u32, Ordering::Relaxed),
                }
            }),
            4 => {
                let from = &*regs.lanes::<u32>(slot);
                each(mask, |i| {
                    AtomicU32::from_ptr(pointers[i].add(offset as usize).cast())
                        .store(from[i], Ordering::Relaxed);
                });
            }
            8 => {
                let from = &*regs.lanes::<u64>(slot);
                each(mask, |i| {
                    AtomicU64::from_ptr(pointers[i].add(offset as usize).cast())
                        .store(from[i], Ordering::Relaxed);
                });
            }
            16 => {
                let from = &*regs.lanes::<u128>(slot);
                each(mask, |i| {
                    let p = pointers[i].add(offset as usize).cast::<u64>();
                    AtomicU64::from_ptr(p).store(from[i] as u64, Ordering::Relaxed);
                    AtomicU64::from_ptr(p.add(1)).store((from[i] >> 64) as u64, Ordering::Relaxed);
                });
            }
            2 => each(mask, |i| {
                let value: u16 = regs.get(slot, i);
                AtomicU16::from_ptr(pointers[i].add(offset as usize).cast()).store(value, Ordering::Relaxed);
            }),
            _ => each(mask, |i| {
                let value: u8 = regs.get(slot, i);
                AtomicU8::from_ptr(pointers[i].add(offset as usize)).store(value, Ordering::Relaxed);
            }),
        }
    }
}

/// Calls `f` with each lane of the mask.
#[inline(always)]
fn each(mask: u32, mut f: impl FnMut(usize)) {
    if mask == u32::MAX {
        for i in 0..32 {
            f(i);
        }
    } else {
        for i in lanes_of(mask) {
            f(i);
        }
    }
}

/// # Safety
/// Valid and aligned for `width` bytes: 1, 2, 4 or 8.
#[inline]
unsafe fn read(p: *mut u8, width: u32) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        match width {
            1 => AtomicU8::from_ptr(p).load(Ordering::Relaxed).into(),
            2 => AtomicU16::from_ptr(p.cast()).load(Ordering::Relaxed).into(),
            4 => AtomicU32::from_ptr(p.cast()).load(Ordering::Relaxed).into(),
            _ => AtomicU64::from_ptr(p.cast()).load(Ordering::Relaxed),
        }
    }
}

#[inline]
fn extend(value: u64, width: u32, signed: bool) -> u64 {
    if !signed {
        return value;
    }
    let spare = 64 - 8 * width;
    ((value << spare) as i64 >> spare) as u64
}

/// # Safety
/// `slot` has `rows` rows.
#[inline]
unsafe fn put(regs: Regs, slot: Slot, rows: u32, lane: usize, value: u64) {
    // SAFETY: the caller's.
    unsafe {
        match rows {
            1 => regs.set(slot, lane, value as u32),
            2 => regs.set(slot, lane, value),
            _ => regs.set(slot, lane, u128::from(value)),
        }
    }
}

/// `ld.param` of a kernel at a known offset.
pub(super) fn load_param<O: BlockObserver>(cx: &mut Cx<'_, O>, op: &ParamOp, regs: Regs, at: At) {
    for (e, &slot) in op.data.iter().enumerate() {
        if slot == NONE {
            continue;
        }
        let start = op.offset as usize + e * op.width as usize;
        // Decoding checked the offset against the parameters' size, the launch the size of what it was given.
        let Some(bytes) = cx.launch.params.get(start..start + op.width as usize) else { continue };
        let mut whole = [0; 16];
        whole[..bytes.len()].copy_from_slice(bytes);
        let value = u128::from_le_bytes(whole);
        let narrow = extend(value as u64, op.width.min(8), op.signed);
        // SAFETY: decoding gave the register its rows.
        unsafe {
            match op.rows {
                1 => regs.store(slot, &[narrow as u32; 32], at.lanes),
                2 => regs.store(slot, &[narrow; 32], at.lanes),
                _ => regs.store(slot, &[value; 32], at.lanes),
            }
        }
    }
}
