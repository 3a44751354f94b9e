//! Bulk copies: `cp.async.bulk`, with tensor maps, reductions and multicast, and `st.async`.
//!
//! A copy's bytes land in shared memory when the `mbarrier` that it completes on is asked, as in
//! [`super::asynchronous`]; its source is read when it is issued. What a copy takes out of shared memory is taken and
//! stored when it is issued, whatever `cp.async.bulk.wait_group` says: observers are told how long hardware may take.

mod tensor;

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use super::access;
use super::atomic;
use super::context::{Raise, Step, raise};
use super::extension::{Execute, Machine};
use super::mbarrier;
use super::undefined::Beside;
use crate::fault::FaultKind;
use crate::form::access::SpaceOperand;
use crate::form::asynchronous::{BulkGroup, Landing, Linear, LinearTarget, Reduction, StoreAsync};
use crate::form::registers::{Regs, Slot, lanes_of};
use crate::memory::{HostRange, window};
use crate::observer::{AsyncEvent, At, MemorySpace};
use crate::tensor_map::Swizzle;

const SHARED: SpaceOperand = SpaceOperand::In(MemorySpace::Shared);
const GLOBAL: SpaceOperand = SpaceOperand::In(MemorySpace::Global);

/// Something under way to the shared memory of one block.
#[derive(Debug)]
struct Delivery {
    barrier: *mut u8,
    /// The block's shared memory.
    memory: *mut u8,
    start: u32,
    swizzle: Swizzle,
    data: Arc<[u8]>,
    reduction: Option<Reduction>,
}

/// Copies in flight in a cluster.
#[derive(Debug, Default)]
pub(super) struct Deliveries(Vec<Delivery>);

// SAFETY: the pointers reach into the shared memory of the cluster whose state this is; it moves between threads with the
// cluster, if at all, and only one thread runs it.
unsafe impl Send for Deliveries {}

impl Delivery {
    fn land(&self) {
        match self.reduction {
            Some(reduction) => {
                let start = self.memory.wrapping_add(self.start as usize);
                reduction.apply(start, &self.data, true);
            }
            None => {
                for (index, piece) in self.data.chunks(16).enumerate() {
                    let place = self.swizzle.place(self.start + 16 * index as u32);
                    // SAFETY: the whole range was found inside the block's shared memory; a swizzle stays within the
                    // 128 bytes of a line, which `check_swizzle` found inside, too.
                    unsafe { self.memory.add(place as usize).copy_from(piece.as_ptr(), piece.len()) }
                }
            }
        }
    }
}

/// Lands what completes on the barrier at `place`.
pub(super) fn deliver(
    machine: &mut Machine<'_>,
    at: At,
    place: *mut u8,
    lane: usize,
) -> Result<(), Box<Raise>> {
    let waiting = machine.team.extensions.get::<Deliveries>();
    if waiting.0.iter().all(|delivery| delivery.barrier != place) {
        return Ok(());
    }
    machine.block.phases_may_end();
    let (due, rest) =
        std::mem::take(&mut waiting.0).into_iter().partition(|delivery| delivery.barrier == place);
    waiting.0 = rest;
    let due: Vec<Delivery> = due;
    for delivery in due {
        delivery.land();
        let (address, bytes) = (delivery.start.into(), delivery.data.len() as u32);
        let (space, reduces) = (MemorySpace::Shared, delivery.reduction.is_some());
        let moved = AsyncEvent::Moved {
            space,
            write: true,
            reduces,
            address,
            bytes,
            within: 0,
            swizzle: delivery.swizzle,
        };
        machine.observer.asynchronous(At { lanes: 1 << lane, ..at }, &moved);
        mbarrier::complete(place, delivery.data.len() as u32, lane)?;
    }
    Ok(())
}

impl Reduction {
    /// The pieces, of global memory, have as many bytes as `data` together.
    fn apply_all(self, pieces: &[HostRange], data: &[u8]) {
        let mut rest = data;
        for piece in pieces {
            let (here, after) = rest.split_at(piece.bytes);
            self.apply(piece.place, here, false);
            rest = after;
        }
    }

    /// `place` has as many bytes as `data`.
    fn apply(self, place: *mut u8, data: &[u8], shared: bool) {
        for (index, element) in data.chunks_exact(self.width as usize).enumerate() {
            let mut bits = [0; 8];
            bits[..element.len()].copy_from_slice(element);
            let at = place.wrapping_add(index * self.width as usize);
            // SAFETY: inside `place`'s bytes, which start at a multiple of 16.
            unsafe { atomic::reduce(self.function, self.width, at, u64::from_le_bytes(bits), shared) }
        }
    }
}

/// Bytes that a mask of each 16 lets through.
fn wanted(mask: u32, bytes: u32) -> Vec<Range<u32>> {
    if mask & 0xFFFF == 0xFFFF {
        return iter::once(0..bytes).collect();
    }
    let mut pieces: Vec<Range<u32>> = Vec::new();
    for byte in (0..bytes).filter(|byte| mask >> (byte % 16) & 1 != 0) {
        match pieces.last_mut() {
            Some(last) if last.end == byte => last.end += 1,
            _ => pieces.push(byte..byte + 1),
        }
    }
    pieces
}

fn misaligned(what: &str, address: u64, lane: usize) -> Box<Raise> {
    raise(FaultKind::MisalignedAddress { access: what.into(), address, bytes: 16 }, 1 << lane)
}

fn refuse(why: String, lane: usize) -> Box<Raise> {
    raise(FaultKind::IllegalInstruction(why), 1 << lane)
}

fn word(regs: Regs, slot: Slot, lane: usize) -> u32 {
    // SAFETY: decoding gave these operands 32-bit registers.
    unsafe { regs.get(slot, lane) }
}

impl Landing {
    /// Sends data on its way.
    fn send(
        &self,
        machine: &mut Machine<'_>,
        at: At,
        data: Vec<u8>,
        swizzle: Swizzle,
        reduction: Option<Reduction>,
    ) -> Result<(), Box<Raise>> {
        const WHAT: &str = "shared store of a bulk copy";
        let lane = at.lanes.trailing_zeros() as usize;
        let target = access::addresses(machine.regs, self.target)[lane];
        let barrier = access::addresses(machine.regs, self.barrier)[lane];
        let low = (1u64 << window::SHARED_OFFSET_BITS) - 1;
        let (start, length) = ((target & low) as u32, data.len() as u32);
        let data: Arc<[u8]> = data.into();
        let places: Vec<(u64, u64)> = match self.blocks {
            None => vec![(target, barrier)],
            Some(slot) => {
                let mask = word(machine.regs, slot, lane) & 0xFFFF;
                if mask >> machine.cluster.len() != 0 {
                    let blocks = machine.cluster.len();
                    return Err(refuse(
                        format!("multicast to blocks {mask:#x} of a cluster of {blocks}"),
                        lane,
                    ));
                }
                let rank = |block: usize| (block as u64 + 1) << window::SHARED_OFFSET_BITS;
                lanes_of(mask)
                    .map(|block| (rank(block) | target & low, rank(block) | barrier & low))
                    .collect()
            }
        };
        for (target, barrier) in places {
            let reduces = reduction.is_some();
            let event = AsyncEvent::BulkStarted { address: target, bytes: length, barrier, reduces, swizzle };
            machine.observer.asynchronous(at, &event);
            let place = machine.reach(SHARED, target, length, WHAT, lane)?;
            if let Some(span) = swizzle.span() {
                check_swizzle(machine, start, length, span, lane)?;
            }
            let barrier = mbarrier::find(machine, SHARED, barrier, lane)?;
            let memory = place.wrapping_sub(start as usize);
            let delivery = Delivery { barrier, memory, start, swizzle, data: data.clone(), reduction };
            machine.team.extensions.get::<Deliveries>().0.push(delivery);
        }
        Ok(())
    }
}

/// A box whose pieces trade places starts and ends at whole lines of 128 bytes, so none leaves the box.
fn check_swizzle(
    machine: &Machine<'_>,
    start: u32,
    length: u32,
    span: u32,
    lane: usize,
) -> Result<(), Box<Raise>> {
    if !start.is_multiple_of(128) {
        return Err(refuse(
            format!("a box with a swizzle of {span} bytes starts at {start:#x}, no multiple of 128"),
            lane,
        ));
    }
    let end = u64::from(start) + u64::from(length.next_multiple_of(span));
    if end > u64::from(machine.launch.shared_end) {
        return Err(refuse(
            format!("the last line of a box with a swizzle ends beyond shared memory, at {end:#x}"),
            lane,
        ));
    }
    Ok(())
}

impl Execute for Linear {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        for lane in lanes_of(at.lanes) {
            let bytes = word(machine.regs, self.bytes, lane);
            let source = access::addresses(machine.regs, self.source)[lane];
            if !bytes.is_multiple_of(16) {
                return Err(refuse(format!("a bulk copy moves a multiple of 16 bytes, not {bytes}"), lane));
            }
            let (from, what) = match self.to {
                LinearTarget::Shared { from: MemorySpace::Global, .. } => {
                    (GLOBAL, "global load of a bulk copy")
                }
                _ => (SHARED, "shared load of a bulk copy"),
            };
            if !source.is_multiple_of(16) {
                return Err(misaligned(what, source, lane));
            }
            // One side is shared memory: nothing larger than that is made.
            if bytes > machine.launch.shared_end {
                let nearby =
                    format!(", the block has {} bytes of shared memory", machine.launch.shared_bytes);
                return Err(super::reach::outside(what, source, bytes, &nearby, lane));
            }
            let mut data = vec![0; bytes as usize];
            let one = At { lanes: 1 << lane, ..at };
            let mut is_read = true;
            if bytes > 0 {
                let read = machine.read(from, source, &mut data, what, lane);
                is_read = match from {
                    GLOBAL => machine.or_without(one, self.source, read)?.is_some(),
                    _ => read.map(|()| true)?,
                };
                let SpaceOperand::In(space) = from else { continue };
                if is_read {
                    let (write, reduces, address) = (false, false, source);
                    let (within, swizzle) = (0, Swizzle::None);
                    let moved = AsyncEvent::Moved { space, write, reduces, address, bytes, within, swizzle };
                    machine.observer.asynchronous(one, &moved);
                }
            }
            match &self.to {
                LinearTarget::Shared { landing, .. } => {
                    let target = access::addresses(machine.regs, landing.target)[lane];
                    if !target.is_multiple_of(16) {
                        return Err(misaligned("shared store of a bulk copy", target, lane));
                    }
                    // Waiters wait for this number of bytes, whatever they are.
                    landing.send(machine, one, data, Swizzle::None, self.reduction)?;
                    if !is_read {
                        machine.copied_nothing(one, MemorySpace::Shared, target, bytes);
                    }
                }
                &LinearTarget::Global { target, mask, multimem } => {
                    let mut address = access::addresses(machine.regs, target)[lane];
                    if !address.is_multiple_of(16) {
                        return Err(misaligned("global store of a bulk copy", address, lane));
                    }
                    if bytes == 0 {
                        continue;
                    }
                    if multimem {
                        let what = "multimem global store of a bulk copy";
                        let bound = machine.device.replica(address, bytes);
                        address =
                            bound.map_err(|near| super::reach::outside(what, address, bytes, &near, lane))?;
                    }
                    const WHAT: &str = "global store of a bulk copy";
                    let places = machine.pieces_to_write(GLOBAL, address, bytes, WHAT, lane);
                    let Some(places) = machine.or_without(one, target, places)? else { continue };
                    let (space, reduces) = (MemorySpace::Global, self.reduction.is_some());
                    let (write, swizzle) = (true, Swizzle::None);
                    let mask = mask.map_or(u32::MAX, |mask| word(machine.regs, mask, lane));
                    let pieces = wanted(mask, bytes);
                    for piece in &pieces {
                        let (address, bytes) = (address + u64::from(piece.start), piece.end - piece.start);
                        let within = piece.start;
                        let moved =
                            AsyncEvent::Moved { space, write, reduces, address, bytes, within, swizzle };
                        machine.observer.asynchronous(one, &moved);
                    }
                    machine.observer.asynchronous(one, &AsyncEvent::BulkTaken { address: source, bytes });
                    if let Some(reduction) = self.reduction {
                        reduction.apply_all(&places, &data);
                        continue;
                    }
                    for piece in pieces {
                        let to = address + u64::from(piece.start);
                        machine.write(
                            GLOBAL,
                            to,
                            &data[piece.start as usize..piece.end as usize],
                            WHAT,
                            lane,
                        )?;
                    }
                }
            }
        }
        Ok(Step::Next)
    }
}

impl Execute for BulkGroup {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let event = match *self {
            BulkGroup::Commit => AsyncEvent::BulkGroupCommitted,
            BulkGroup::Wait { pending, written } => AsyncEvent::BulkGroupsAwaited { pending, written },
        };
        machine.observer.asynchronous(at, &event);
        Ok(Step::Next)
    }
}

impl Execute for StoreAsync {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        for lane in lanes_of(at.lanes) {
            let target = access::addresses(machine.regs, self.landing.target)[lane];
            let bytes = self.width * self.data.len() as u32;
            if !target.is_multiple_of(u64::from(bytes)) {
                let kind = FaultKind::MisalignedAddress { access: "st.async".into(), address: target, bytes };
                return Err(raise(kind, 1 << lane));
            }
            let mut data = Vec::with_capacity(bytes as usize);
            for &slot in &self.data {
                // SAFETY: decoding gave the registers the element's width.
                unsafe {
                    match self.width {
                        8 => data.extend(machine.regs.get::<u64>(slot, lane).to_le_bytes()),
                        _ => data.extend(machine.regs.get::<u32>(slot, lane).to_le_bytes()),
                    }
                }
            }
            let one = At { lanes: 1 << lane, ..at };
            self.landing.send(machine, one, data, Swizzle::None, self.reduction)?;
            if self.reduction.is_none() {
                self.carry(machine, one, target, lane);
            }
        }
        Ok(Step::Next)
    }
}

impl StoreAsync {
    /// Undefined bits of a lane's registers stay undefined at their destination.
    fn carry(&self, machine: &mut Machine<'_>, at: At, target: u64, lane: usize) {
        let Some(mut beside) = Beside::of(machine, at).filter(Beside::has_some) else { return };
        let registers = beside.registers(&self.data, self.width);
        let undefined =
            registers.iter().rev().fold(0, |all, lanes| all << (8 * self.width) | u128::from(lanes[lane]));
        if undefined != 0 {
            beside.set_memory(SHARED, target, self.width * self.data.len() as u32, undefined);
        }
    }
}
