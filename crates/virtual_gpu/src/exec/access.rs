//! Resolving the addresses of the lanes: their space, the observer's view, and the host bytes behind them.

use super::context::{Cx, Raise, SharedMemory, raise};
use super::warp::Warp;
use crate::fault::FaultKind;
use crate::form::access::{AddressOperand, SpaceOperand};
use crate::form::registers::{NONE, Regs, Slot, lanes_of};
use crate::form::values::Values;
use crate::memory::window;
use crate::observer::{Access, AccessKind, At, BlockObserver, MemorySpace, Named, Order, Scope, Swap};

/// Where each lane's bytes are on the host; only the lanes that were asked for mean something.
pub(super) type Pointers = [*mut u8; 32];

/// The shape of an access, for resolving and reporting.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub kind: AccessKind,
    pub width: u32,
    pub elements: u32,
    pub order: Order,
    pub scope: Scope,
    pub non_coherent: bool,
    /// Bytes that a load uses.
    pub used: u32,
    /// Values that a compare-and-swap writes.
    pub swap: Slot,
}

impl Shape {
    fn bytes(self) -> u32 {
        self.width * self.elements
    }

    /// Bytes up to the last one that is used.
    fn reached(self) -> u32 {
        self.bytes().min(u32::BITS - self.used.leading_zeros())
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

/// Puts in the place of multicast addresses the ordinary ones of what is bound there.
pub(super) fn replicas<O>(
    cx: &mut Cx<'_, O>,
    addresses: &mut [u64; 32],
    shape: Shape,
    at: At,
) -> Result<(), Box<Raise>> {
    let bytes = shape.bytes();
    for i in lanes_of(at.lanes) {
        let address = addresses[i];
        let access = || format!("multimem {}", shape.name(MemorySpace::Global));
        if !address.is_multiple_of(bytes.into()) {
            return Err(raise(FaultKind::MisalignedAddress { access: access(), address, bytes }, 1 << i));
        }
        addresses[i] = cx.device.replica(address, bytes).map_err(|nearby| {
            raise(FaultKind::IllegalAddress { access: access(), address, bytes, nearby }, 1 << i)
        })?;
    }
    Ok(())
}

/// Finds the host bytes of all lanes, whatever the space, telling the observer of each space that is reached. Lanes that go on
/// without their access leave `at`.
pub(super) fn resolve<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    space: SpaceOperand,
    addresses: &mut [u64; 32],
    shape: Shape,
    registers: &[Slot],
    rows: u32,
    regs: Regs,
    at: &mut At,
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
                let mut part = At { lanes, ..*at };
                resolve_in(warp, cx, view, addresses, shape, &mut part, &mut pointers)?;
                at.lanes &= !lanes | part.lanes;
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

/// An access as the observer sees it, beside its addresses.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub space: MemorySpace,
    pub generic: bool,
    pub registers: &'a [Slot],
    pub rows: u32,
    /// The frame's first row.
    pub base: u32,
    pub regs: Regs,
}

/// Tells the observer of an access. Inlined: handing `shape` over through the stack stalls on its single bytes, which
/// was a tenth of a profiled run.
#[inline(always)]
pub(super) fn notify<O: BlockObserver>(
    cx: &mut Cx<'_, O>,
    view: View<'_>,
    addresses: &[u64; 32],
    shape: Shape,
    at: At,
) {
    // Only observers that follow registers get the list.
    let named = if O::REGISTERS { view.registers } else { &[] };
    let values = |slots| Values::new(view.regs, slots, shape.width, view.rows);
    let swap = [shape.swap];
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
        used: shape.used,
        image: false,
        registers: Named::new(view.base, view.rows * 4, named),
        values: (shape.kind == AccessKind::Store).then(|| values(view.registers)),
        swap: (shape.swap != NONE)
            .then(|| Swap { compared: values(view.registers), replacement: values(&swap) }),
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
    at: &mut At,
    pointers: &mut Pointers,
) -> Result<(), Box<Raise>> {
    if O::MEMORY && !O::GOES_ON {
        notify(cx, view, addresses, shape, *at);
    }
    while at.lanes != 0
        && let Err(raise) = find(warp, cx, view, addresses, shape, *at, pointers)
    {
        if !O::GOES_ON || !cx.skips(*at, view.base, &raise) {
            return Err(raise);
        }
        at.lanes &= !(1 << raise.lane);
    }
    if O::MEMORY && O::GOES_ON && at.lanes != 0 {
        notify(cx, view, addresses, shape, *at);
    }
    Ok(())
}

/// Finds the host bytes of lanes in one space.
#[inline]
fn find<O>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    view: View<'_>,
    addresses: &[u64; 32],
    shape: Shape,
    at: At,
    pointers: &mut Pointers,
) -> Result<(), Box<Raise>> {
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
            let SharedMemory { bytes: own, size } = cx.cluster[cx.block.cluster_rank as usize];
            let size = u64::from(size);
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
    let bytes = u64::from(shape.reached());
    let mut rest = at.lanes;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let Some(allocation) = cx.device.find(addresses[first]) else {
            return Err(unmapped(cx, space, addresses[first], shape, first));
        };
        if shape.writes() && !cx.device.may_write(allocation) {
            return Err(raise(FaultKind::WriteToConstant { address: addresses[first] }, 1 << first));
        }
        let (start, size, host) = (allocation.address(), cx.device.size_of(allocation), allocation.as_ptr());
        // Of an allocation smaller than that, only its first byte may begin an access, and no word is inside.
        let Some(limit) = size.checked_sub(bytes) else {
            if is_last_word(cx, shape, at, addresses[first], start + size) {
                pointers[first] = host.wrapping_add((addresses[first] - start) as usize);
                rest &= rest - 1;
                continue;
            }
            return Err(unmapped(cx, space, addresses[first], shape, first));
        };
        let mut outside = 0u32;
        for i in 0..32 {
            let offset = addresses[i].wrapping_sub(start);
            outside |= u32::from(offset > limit) << i;
            pointers[i] = if rest >> i & 1 != 0 { host.wrapping_add(offset as usize) } else { pointers[i] };
        }
        if outside >> first & 1 != 0 {
            if !is_last_word(cx, shape, at, addresses[first], start + size) {
                return Err(unmapped(cx, space, addresses[first], shape, first));
            }
            outside &= !(1 << first);
        }
        rest &= outside;
    }
    Ok(())
}

/// Whether an access of the word that an allocation ends in is one that the hardware's lack of narrow atomic operations
/// forces: a byte's own is a compare-and-swap of the word around it, and a load that guesses what that finds.
#[cold]
fn is_last_word<O>(cx: &Cx<'_, O>, shape: Shape, at: At, address: u64, end: u64) -> bool {
    let swaps = shape.kind == AccessKind::Atomic || cx.launch.code.guesses(at.pc);
    shape.bytes() == 4 && address < end && swaps
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
