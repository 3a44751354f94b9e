//! Loads and stores: addresses of the lanes, the host bytes behind them, and the moving of values.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::context::{Cx, Raise, raise};
use super::direct::{self, Piece};
use super::registers::{NONE, Regs, Slot, lanes_of};
use super::values::Values;
use super::warp::Warp;
use crate::fault::FaultKind;
use crate::memory::{AllocationKind, window};
use crate::observer::{Access, AccessKind, At, BlockObserver, MemorySpace, Named, Order, Scope};
use crate::op::{AddressOperand, MemoryOp, ParamOp, SpaceOperand};

/// Where each lane's bytes are on the host; only the lanes that were asked for mean something.
pub(super) type Pointers = [*mut u8; 32];

/// What an access is, for resolving and reporting.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub kind: AccessKind,
    pub width: u32,
    pub elements: u32,
    pub order: Order,
    pub scope: Scope,
    pub non_coherent: bool,
}

impl Shape {
    fn bytes(self) -> u32 {
        self.width * self.elements
    }

    fn name(self, space: MemorySpace) -> String {
        let space = match space {
            MemorySpace::Global => "global",
            MemorySpace::Const => "constant",
            MemorySpace::Shared => "shared",
            MemorySpace::Local => "local",
            MemorySpace::Param => "parameter",
        };
        let kind = match self.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic | AccessKind::Reduction => "atomic",
        };
        format!("{space} {kind}")
    }

    fn writes(self) -> bool {
        self.kind != AccessKind::Load
    }
}

/// The address of each lane.
#[inline]
pub(super) fn addresses(regs: Regs, operand: AddressOperand) -> [u64; 32] {
    let offset = operand.offset as u64;
    if operand.base == NONE {
        return [offset; 32];
    }
    // SAFETY: decoding checked the register's width.
    unsafe {
        if operand.wide {
            let base = &*regs.lanes::<u64>(operand.base);
            std::array::from_fn(|i| base[i].wrapping_add(offset))
        } else {
            let base = &*regs.lanes::<u32>(operand.base);
            std::array::from_fn(|i| u64::from(base[i].wrapping_add(offset as u32)))
        }
    }
}

/// Finds the host bytes of all lanes, whatever the space, telling the observer of each space that is reached.
pub(super) fn resolve<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    space: SpaceOperand,
    addresses: &mut [u64; 32],
    shape: Shape,
    registers: &[Slot],
    rows: u32,
    regs: Regs,
    at: At,
) -> Result<Pointers, Box<Raise>> {
    let base = if O::MEMORY { warp.base_of(regs) } else { 0 };
    let mut pointers = [std::ptr::null_mut(); 32];
    match space {
        SpaceOperand::In(space) => {
            let view = View { space, generic: false, registers, rows, base, regs };
            resolve_in(warp, cx, view, addresses, shape, at, &mut pointers)?;
        }
        SpaceOperand::Generic => {
            let mut rest = at.lanes;
            while rest != 0 {
                let (space, start) = space_of(addresses[rest.trailing_zeros() as usize]);
                let lanes = lanes_of(rest)
                    .filter(|&i| space_of(addresses[i]).0 == space)
                    .fold(0, |mask, i| mask | 1 << i);
                for i in lanes_of(lanes) {
                    addresses[i] -= start;
                }
                let view = View { space, generic: true, registers, rows, base, regs };
                resolve_in(warp, cx, view, addresses, shape, At { lanes, ..at }, &mut pointers)?;
                rest &= !lanes;
            }
        }
    }
    Ok(pointers)
}

/// The space of a generic address, and what is subtracted to get the address in it.
#[inline]
pub(super) fn space_of(address: u64) -> (MemorySpace, u64) {
    if address < window::FIRST {
        (MemorySpace::Global, 0)
    } else if window::holds(window::SHARED, address) {
        (MemorySpace::Shared, window::SHARED)
    } else if window::holds(window::LOCAL, address) {
        (MemorySpace::Local, window::LOCAL)
    } else if window::holds(window::PARAM, address) {
        (MemorySpace::Param, window::PARAM)
    } else {
        (MemorySpace::Global, 0)
    }
}

#[derive(Clone, Copy)]
struct View<'a> {
    space: MemorySpace,
    generic: bool,
    registers: &'a [Slot],
    rows: u32,
    /// The frame's first row.
    base: u32,
    regs: Regs,
}

/// Tells the observer of an access. Inlined: handing `shape` over through the stack stalls on its single bytes, which
/// was a tenth of a profiled run.
#[inline(always)]
fn notify<O: BlockObserver>(cx: &mut Cx<'_, O>, view: View<'_>, addresses: &[u64; 32], shape: Shape, at: At) {
    // Who does not follow registers is spared the list.
    let named = if O::REGISTERS { view.registers } else { &[] };
    let access = Access {
        space: view.space,
        generic: view.generic,
        kind: shape.kind,
        width: shape.width,
        elements: shape.elements,
        lanes: at.lanes,
        addresses,
        order: shape.order,
        scope: shape.scope,
        non_coherent: shape.non_coherent,
        registers: Named::new(view.base, view.rows * 4, named),
        values: (shape.kind == AccessKind::Store)
            .then(|| Values::new(view.regs, view.registers, shape.width, view.rows)),
    };
    cx.observer.access(at, &access);
}

#[inline]
fn resolve_in<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    view: View<'_>,
    addresses: &[u64; 32],
    shape: Shape,
    at: At,
    pointers: &mut Pointers,
) -> Result<(), Box<Raise>> {
    if O::MEMORY {
        notify(cx, view, addresses, shape, at);
    }
    let bytes = shape.bytes();
    let low_bits = lanes_of(at.lanes).fold(0, |bits, i| bits | addresses[i]);
    if low_bits & u64::from(bytes - 1) != 0 {
        let i = lanes_of(at.lanes).find(|&i| addresses[i] & u64::from(bytes - 1) != 0).unwrap_or(0);
        let kind =
            FaultKind::MisalignedAddress { access: shape.name(view.space), address: addresses[i], bytes };
        return Err(raise(kind, 1 << i));
    }
    match view.space {
        MemorySpace::Global | MemorySpace::Const => {
            resolve_device(cx, view.space, addresses, shape, at, pointers)
        }
        MemorySpace::Shared => {
            let size = u64::from(cx.launch.shared_bytes);
            let own = cx.cluster[cx.block.cluster_rank as usize].bytes;
            let limit = size.saturating_sub(u64::from(bytes));
            let inside = size >= u64::from(bytes) && lanes_of(at.lanes).all(|i| addresses[i] <= limit);
            if inside {
                // Other lanes of a generic access may have their pointers into other spaces already.
                for i in 0..32 {
                    let pointer = own.wrapping_add(addresses[i] as usize);
                    pointers[i] = if at.lanes >> i & 1 != 0 { pointer } else { pointers[i] };
                }
                return Ok(());
            }
            for i in lanes_of(at.lanes) {
                pointers[i] = shared_pointer(cx, addresses[i], shape, i)?;
            }
            Ok(())
        }
        MemorySpace::Local => {
            let limit = u64::from(warp.local.size());
            for i in lanes_of(at.lanes) {
                if addresses[i].saturating_add(u64::from(bytes)) > limit {
                    return Err(out_of_bounds(shape, view.space, addresses[i], i, "the stack", limit));
                }
                pointers[i] = warp.local.lane(i).wrapping_add(addresses[i] as usize);
            }
            Ok(())
        }
        MemorySpace::Param => {
            let limit = cx.launch.params.len() as u64;
            for i in lanes_of(at.lanes) {
                if addresses[i].saturating_add(u64::from(bytes)) > limit {
                    return Err(out_of_bounds(
                        shape,
                        view.space,
                        addresses[i],
                        i,
                        "the kernel's parameters",
                        limit,
                    ));
                }
                if shape.writes() {
                    return Err(raise(FaultKind::WriteToConstant { address: addresses[i] }, 1 << i));
                }
                pointers[i] = cx.launch.params.as_ptr().cast_mut().wrapping_add(addresses[i] as usize);
            }
            Ok(())
        }
    }
}

#[cold]
fn out_of_bounds(
    shape: Shape,
    space: MemorySpace,
    address: u64,
    lane: usize,
    what: &str,
    limit: u64,
) -> Box<Raise> {
    let kind = FaultKind::IllegalAddress {
        access: shape.name(space),
        address,
        bytes: shape.bytes(),
        nearby: format!(", {what} has {limit} bytes"),
    };
    raise(kind, 1 << lane)
}

fn shared_pointer<O>(cx: &Cx<'_, O>, address: u64, shape: Shape, lane: usize) -> Result<*mut u8, Box<Raise>> {
    let rank = address >> window::SHARED_OFFSET_BITS;
    let offset = address & ((1 << window::SHARED_OFFSET_BITS) - 1);
    let block = if rank == 0 { u64::from(cx.block.cluster_rank) } else { rank - 1 };
    match cx.cluster.get(usize::try_from(block).unwrap_or(usize::MAX)) {
        Some(memory) if offset + u64::from(shape.bytes()) <= u64::from(memory.size) => {
            Ok(memory.bytes.wrapping_add(offset as usize))
        }
        _ => {
            let limit = u64::from(cx.launch.shared_bytes);
            Err(out_of_bounds(shape, MemorySpace::Shared, address, lane, "the block's shared memory", limit))
        }
    }
}

#[inline]
fn resolve_device<O>(
    cx: &mut Cx<'_, O>,
    space: MemorySpace,
    addresses: &[u64; 32],
    shape: Shape,
    at: At,
    pointers: &mut Pointers,
) -> Result<(), Box<Raise>> {
    let bytes = u64::from(shape.bytes());
    let mut rest = at.lanes;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let Some(allocation) = cx.device.find(addresses[first]) else {
            return Err(unmapped(cx, space, addresses[first], shape, first));
        };
        if shape.writes() && allocation.kind() == AllocationKind::Const {
            return Err(raise(FaultKind::WriteToConstant { address: addresses[first] }, 1 << first));
        }
        let (start, size, host) = (allocation.address(), allocation.size(), allocation.as_ptr());
        if bytes > size {
            return Err(unmapped(cx, space, addresses[first], shape, first));
        }
        let limit = size - bytes;
        let mut outside = 0u32;
        for i in 0..32 {
            let offset = addresses[i].wrapping_sub(start);
            outside |= u32::from(offset > limit) << i;
            pointers[i] = if rest >> i & 1 != 0 { host.wrapping_add(offset as usize) } else { pointers[i] };
        }
        if outside >> first & 1 != 0 {
            return Err(unmapped(cx, space, addresses[first], shape, first));
        }
        rest &= outside;
    }
    Ok(())
}

#[cold]
fn unmapped<O>(cx: &Cx<'_, O>, space: MemorySpace, address: u64, shape: Shape, lane: usize) -> Box<Raise> {
    let kind = FaultKind::IllegalAddress {
        access: shape.name(space),
        address,
        bytes: shape.bytes(),
        nearby: cx.device.nearby(address),
    };
    raise(kind, 1 << lane)
}

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
    if direct(warp, cx, op, AccessKind::Load, regs, at) {
        return Ok(());
    }
    let pointers = pointers(warp, cx, op, AccessKind::Load, regs, at)?;
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

/// `st`
pub(super) fn store<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &MemoryOp,
    regs: Regs,
    at: At,
) -> Result<(), Box<Raise>> {
    // Nobody else waits for what a thread stores on its own stack.
    let local = match op.space {
        SpaceOperand::In(space) => space == MemorySpace::Local,
        SpaceOperand::Generic => space_of(first_address(regs, op.address, at.lanes)).0 == MemorySpace::Local,
    };
    cx.block.progress += u64::from(!local);
    if direct(warp, cx, op, AccessKind::Store, regs, at) {
        return Ok(());
    }
    let pointers = pointers(warp, cx, op, AccessKind::Store, regs, at)?;
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
            Piece { start: 0, host: own.bytes, size: own.size.into(), private: true }
        }
        SpaceOperand::In(MemorySpace::Global | MemorySpace::Const) | SpaceOperand::Generic => {
            let address = first_address(regs, op.address, at.lanes);
            let Some(allocation) = cx.device.find(address) else { return false };
            if kind == AccessKind::Store && allocation.kind() == AllocationKind::Const {
                return false;
            }
            Piece {
                start: allocation.address(),
                host: allocation.as_ptr(),
                size: allocation.size(),
                private: false,
            }
        }
        SpaceOperand::In(_) => return false,
    };
    if O::MEMORY {
        // The observer sees an access before anything moves: find out first that all of it is this piece.
        if !direct::covers(regs, op, piece, at.lanes) {
            return false;
        }
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
        notify(cx, view, &addresses(regs, op.address), shape_of(op, kind), at);
    }
    match kind {
        AccessKind::Load => direct::load(regs, op, piece, at.lanes),
        _ => direct::store(regs, op, piece, at.lanes),
    }
}

/// The address of the first lane.
#[inline]
fn first_address(regs: Regs, operand: AddressOperand, lanes: u32) -> u64 {
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

fn shape_of(op: &MemoryOp, kind: AccessKind) -> Shape {
    Shape {
        kind,
        width: op.width,
        elements: op.data.len() as u32,
        order: op.order,
        scope: op.scope,
        non_coherent: op.non_coherent,
    }
}

#[inline]
fn pointers<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    op: &MemoryOp,
    kind: AccessKind,
    regs: Regs,
    at: At,
) -> Result<Pointers, Box<Raise>> {
    let mut addresses = addresses(regs, op.address);
    let shape = shape_of(op, kind);
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
