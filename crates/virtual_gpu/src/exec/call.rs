//! Calls, returns, exits, and branches through a table.

use super::context::{Cx, LaunchContext, Raise, raise};
use super::frame;
use super::warp::split_off;
use super::warp::{Group, Overflow, Warp};
use crate::fault::FaultKind;
use crate::form::op::{CallOp, Callee, OpKind};
use crate::form::program::{Code, code_address};
use crate::form::registers::{Regs, Row, Slot, lanes_of};
use crate::form::signature::{Passed, Signature};
use crate::memory::window;
use crate::observer::{At, BlockObserver, Carrier, Entered, Register};

fn function_at(code: &Code, address: u64) -> Option<u32> {
    let index = address.checked_sub(window::CODE)? / 16;
    let function = u32::try_from(index).ok()?.checked_sub(1)?;
    let known = address.is_multiple_of(16) && (function as usize) < code.functions.len();
    (known && code.functions[function as usize].start < code.functions[function as usize].end)
        .then_some(function)
}

/// `call`: the lanes of `active` enter the function; through a register, those that call the same one.
pub(super) fn call<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    running: usize,
    op: &CallOp,
    active: u32,
) -> Result<(), Box<Raise>> {
    let code = cx.launch.code;
    let Group { frame: caller, pc, .. } = warp.groups[running];
    let (function, lanes) = match op.callee {
        Callee::Direct(function) => (function, active),
        Callee::Indirect(slot) => {
            let regs = warp.regs(caller);
            // SAFETY: decoding gave the callee a 64-bit register.
            let targets = unsafe { &*regs.lanes::<u64>(slot) };
            let first = targets[active.trailing_zeros() as usize];
            let Some(function) = function_at(code, first) else {
                return Err(raise(FaultKind::InvalidPc(first), active));
            };
            let same = lanes_of(active).filter(|&i| targets[i] == first).fold(0, |m, i| m | 1 << i);
            (function, same)
        }
    };
    if !signature_fits(op, code, function) {
        return Err(raise(FaultKind::InvalidPc(code_address(function)), active));
    }
    split_off(warp, running, active);
    if lanes != active {
        // The others come to the same call again.
        let other = Group { mask: active & !lanes, ..warp.groups[running] };
        warp.groups[running].mask = lanes;
        warp.groups.push(other);
    }
    let callee = match warp.push_frame(code, function, Some((caller, pc)), lanes) {
        Ok(callee) => callee,
        Err(overflow) => return Err(raise(overflow_kind(overflow, cx.launch), lanes)),
    };
    frame::initialise(warp, cx.launch, cx.block, callee);
    if O::SYNCHRONISATION || O::REGISTERS {
        let f = &warp.frames[callee as usize];
        let local = f.local_base..f.local_base + code.functions[function as usize].local_size;
        let entered = Entered { function, slots: f.base..f.base + f.rows, local };
        cx.observer.enter(At { pc, warp: warp.index, lanes }, &entered);
    }
    let signature = &code.functions[function as usize].signature;
    for (own, formal) in op.arguments.iter().zip(&signature.params) {
        let (from, to) = ((caller, *own), (callee, formal.place));
        pass(warp, from, to, lanes);
        tell(warp, cx, from, to, At { pc, warp: warp.index, lanes });
    }
    warp.groups[running].frame = callee;
    warp.groups[running].pc = code.functions[function as usize].start;
    Ok(())
}

fn overflow_kind(overflow: Overflow, launch: &LaunchContext<'_>) -> FaultKind {
    let mib = |rows: usize| (rows * size_of::<Row>()) >> 20;
    match overflow {
        Overflow::Local => FaultKind::StackOverflow { limit: launch.stack_limit.into(), calls: None },
        Overflow::ReturnAddresses { depth } => {
            FaultKind::StackOverflow { limit: launch.stack_limit.into(), calls: Some(depth) }
        }
        Overflow::Registers { frames, rows } => FaultKind::OutOfResources(format!(
            "the registers of a warp's {frames} calls that are under way take {} MiB of the host's memory; a launch of so \
             many threads leaves a warp {} MiB of it on this machine",
            mib(rows),
            mib(launch.most_rows),
        )),
    }
}

/// An indirect call may reach any function; one that takes other parameters would read what is not there.
fn signature_fits(op: &CallOp, code: &Code, function: u32) -> bool {
    let Signature { params, results, variadic } = &code.functions[function as usize].signature;
    let fewest = params.len() - usize::from(*variadic);
    let more = |i: usize| *variadic && i + 1 == params.len();
    (fewest..=params.len()).contains(&op.arguments.len())
        && op.results.len() == results.len()
        && op
            .arguments
            .iter()
            .zip(params)
            .enumerate()
            .all(|(i, (own, formal))| own.fits(formal.place, more(i)))
        && op.results.iter().zip(results).all(|(own, formal)| own.fits(formal.place, false))
}

/// A place in a frame.
type Framed = (u32, Passed);

/// Copies a value between two frames of a warp.
fn pass(warp: &mut Warp, from: Framed, to: Framed, lanes: u32) {
    let ((source, from), (target, to)) = (from, to);
    let (below, above) = (warp.frames[source as usize].local_base, warp.frames[target as usize].local_base);
    match (from, to) {
        (_, Passed::Sink) | (Passed::Sink, _) => {}
        (Passed::Bytes { offset: from, size }, Passed::Bytes { offset: to, size: other }) => {
            for lane in lanes_of(lanes) {
                let stack = warp.local.lane(lane);
                // SAFETY: both lie in the frames' parts of the lane's stack, which `push_frame` reserved.
                unsafe {
                    let (from, to) = (stack.add((below + from) as usize), stack.add((above + to) as usize));
                    std::ptr::copy(from, to, size.min(other) as usize);
                }
            }
        }
        (
            Passed::Registers { slot: from, bytes, count },
            Passed::Registers { slot: to, bytes: other, count: others },
        ) if (bytes, count) == (other, others) => {
            let (source, target) = (warp.regs(source), warp.regs(target));
            let rows = rows_of(bytes);
            for (from, to) in (0..count).map(|part| (from + part * rows, to + part * rows)) {
                // SAFETY: decoding gave both registers this size, and `signature_fits` compared them; 0 is a predicate.
                unsafe {
                    match bytes {
                        0 => target.set_predicate(to, source.predicate(from), lanes),
                        1..=4 => target.store(to, &*source.lanes::<u32>(from), lanes),
                        5..=8 => target.store(to, &*source.lanes::<u64>(from), lanes),
                        _ => target.store(to, &*source.lanes::<u128>(from), lanes),
                    }
                }
            }
        }
        // A register or a vector of them holds at most 16 bytes.
        _ => {
            for lane in lanes_of(lanes) {
                let value = value(warp, (source, from), lane);
                set_value(warp, (target, to), lane, value);
            }
        }
    }
}

/// Rows of a register by its bytes.
fn rows_of(bytes: u32) -> u32 {
    bytes.div_ceil(4).max(1)
}

/// A lane's value in a place of at most 16 bytes.
fn value(warp: &mut Warp, (frame, place): Framed, lane: usize) -> u128 {
    match place {
        Passed::Bytes { offset, size } => {
            let start = warp.frames[frame as usize].local_base + offset;
            let mut bytes = [0; 16];
            if let Some(from) = warp.local.get(lane, start, size) {
                bytes[..from.len()].copy_from_slice(from);
            }
            u128::from_le_bytes(bytes)
        }
        Passed::Registers { slot, bytes, count } => {
            let regs = warp.regs(frame);
            // SAFETY: decoding gave the registers this size.
            let part = |part: u32| unsafe {
                let slot = slot + part * rows_of(bytes);
                match bytes {
                    0..=4 => regs.get::<u32>(slot, lane).into(),
                    5..=8 => regs.get::<u64>(slot, lane).into(),
                    _ => regs.get::<u128>(slot, lane),
                }
            };
            (0..count).fold(0, |whole, at| whole | part(at) << (8 * bytes * at))
        }
        Passed::Sink => 0,
    }
}

fn set_value(warp: &mut Warp, (frame, place): Framed, lane: usize, value: u128) {
    match place {
        Passed::Bytes { offset, size } => {
            let start = warp.frames[frame as usize].local_base + offset;
            if let Some(to) = warp.local.get(lane, start, size) {
                let bytes = value.to_le_bytes();
                to.copy_from_slice(&bytes[..to.len()]);
            }
        }
        Passed::Registers { slot, bytes, count } => {
            let regs = warp.regs(frame);
            for at in 0..count {
                let (slot, part) = (slot + at * rows_of(bytes), value >> (8 * bytes * at));
                // SAFETY: as in `value`. What is narrower than a row is kept zero-extended.
                unsafe {
                    match bytes {
                        1 => regs.set(slot, lane, part as u8),
                        2 => regs.set(slot, lane, part as u16),
                        0..=4 => regs.set(slot, lane, part as u32),
                        5..=8 => regs.set(slot, lane, part as u64),
                        _ => regs.set(slot, lane, part),
                    }
                }
            }
        }
        Passed::Sink => {}
    }
}

/// Shows the observer each part of a value that was copied between two frames.
fn tell<O: BlockObserver>(warp: &Warp, cx: &mut Cx<'_, O>, from: Framed, to: Framed, at: At) {
    if !(O::SYNCHRONISATION || O::REGISTERS) || from.1 == Passed::Sink || to.1 == Passed::Sink {
        return;
    }
    let size = from.1.size().min(to.1.size());
    // The registers of both sides may differ in width.
    let step = [from.1, to.1].into_iter().filter_map(|place| match place {
        Passed::Registers { bytes, .. } => Some(bytes),
        _ => None,
    });
    let step = step.min().unwrap_or(size);
    let carrier = |(frame, place): Framed, byte: u32| {
        let frame = &warp.frames[frame as usize];
        match place {
            Passed::Registers { slot, bytes, .. } => {
                let (part, within) = (byte / bytes.max(1), byte % bytes.max(1));
                let slot = frame.base + slot + part * rows_of(bytes);
                let register = Register { slot, bytes: bytes.next_multiple_of(4) };
                if step == bytes { Carrier::Register(register) } else { Carrier::Part(register, within) }
            }
            Passed::Bytes { offset, .. } => Carrier::Local(frame.local_base + offset + byte),
            Passed::Sink => Carrier::Device,
        }
    };
    let parts = size.checked_div(step).unwrap_or(1);
    for byte in (0..parts).map(|part| part * step) {
        cx.observer.passed(at, carrier(from, byte), carrier(to, byte), step);
    }
}

/// `ret` from a device function.
pub(super) fn ret<O: BlockObserver>(warp: &mut Warp, cx: &mut Cx<'_, O>, running: usize, active: u32) {
    let code = cx.launch.code;
    let frame = warp.groups[running].frame;
    let f = &warp.frames[frame as usize];
    let (caller, call_pc, function) = (f.parent, f.call_pc, f.function);
    if let OpKind::Call(op) = &code.ops[call_pc as usize].kind {
        let signature = &code.functions[function as usize].signature;
        for (own, formal) in op.results.iter().zip(&signature.results) {
            let (from, to) = ((frame, formal.place), (caller, *own));
            pass(warp, from, to, active);
            tell(warp, cx, from, to, At { pc: call_pc, warp: warp.index, lanes: active });
        }
    }
    split_off(warp, running, active);
    warp.groups[running].frame = caller;
    warp.groups[running].pc = call_pc + 1;
    warp.leave_frame(frame, active);
}

/// `exit`, or `ret` from the kernel.
pub(super) fn exit(warp: &mut Warp, running: usize, active: u32) {
    let frame = warp.groups[running].frame;
    let group = &mut warp.groups[running];
    group.mask &= !active;
    group.pc += 1;
    if group.mask == 0 {
        warp.groups.remove(running);
    }
    warp.exit_lanes(frame, active);
}

/// `brx.idx`: each lane goes where its index says.
pub(super) fn branch_indexed(
    warp: &mut Warp,
    running: usize,
    regs: Regs,
    index: Slot,
    targets: &[u32],
    active: u32,
) -> Result<(), Box<Raise>> {
    // SAFETY: decoding gave the index a 32-bit register.
    let indices = unsafe { *regs.lanes::<u32>(index) };
    if let Some(i) = lanes_of(active).find(|&i| indices[i] as usize >= targets.len()) {
        return Err(raise(FaultKind::InvalidPc(indices[i].into()), 1 << i));
    }
    split_off(warp, running, active);
    let mut rest = active;
    let mut first = true;
    while rest != 0 {
        let target = targets[indices[rest.trailing_zeros() as usize] as usize];
        let lanes =
            lanes_of(rest).filter(|&i| targets[indices[i] as usize] == target).fold(0, |m, i| m | 1 << i);
        rest &= !lanes;
        if first {
            warp.groups[running].mask = lanes;
            warp.groups[running].pc = target;
            first = false;
        } else {
            let other = Group { mask: lanes, pc: target, ..warp.groups[running] };
            warp.groups.push(other);
        }
    }
    Ok(())
}
