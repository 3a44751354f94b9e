//! Calls, returns, exits, and branches through a table.

use super::context::{Cx, Raise, raise};
use super::frame;
use super::registers::{Regs, Slot, lanes_of};
use super::run::split;
use super::warp::{Group, Warp};
use crate::fault::FaultKind;
use crate::memory::window;
use crate::observer::{At, BlockObserver, Carrier, Entered, Register};
use crate::op::{CallOp, Callee, OpKind, Transfer};
use crate::program::{Code, Place};

/// The address that `mov` gives for a function.
pub(crate) fn code_address(function: u32) -> u64 {
    window::CODE + 16 * (u64::from(function) + 1)
}

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
    split(warp, running, active);
    if lanes != active {
        // The others come to the same call again.
        let other = Group { mask: active & !lanes, ..warp.groups[running] };
        warp.groups[running].mask = lanes;
        warp.groups.push(other);
    }
    let limit = u64::from(cx.launch.stack_limit);
    let Some(callee) = warp.push_frame(code, function, Some((caller, pc)), lanes) else {
        return Err(raise(FaultKind::StackOverflow { limit }, lanes));
    };
    frame::initialise(warp, cx.launch, cx.block, callee);
    if O::SYNCHRONISATION || O::REGISTERS {
        let f = &warp.frames[callee as usize];
        let local = f.local_base..f.local_base + code.functions[function as usize].local_size;
        let entered = Entered { function, slots: f.base..f.base + f.rows, local };
        cx.observer.enter(At { pc, warp: warp.index, lanes }, &entered);
    }
    let signature = &code.functions[function as usize].signature;
    for (transfer, place) in op.arguments.iter().zip(&signature.params) {
        let transfer = adapt(*transfer, *place);
        move_value(warp, caller, callee, transfer, lanes, true);
        tell(warp, cx, [caller, callee], transfer, At { pc, warp: warp.index, lanes }, true);
    }
    warp.groups[running].frame = callee;
    warp.groups[running].pc = code.functions[function as usize].start;
    Ok(())
}

/// An indirect call may reach any function; one that takes other parameters would read what is not there.
fn signature_fits(op: &CallOp, code: &Code, function: u32) -> bool {
    let signature = &code.functions[function as usize].signature;
    let fits = |transfers: &[Transfer], places: &[Place], fewest: usize| {
        (fewest..=places.len()).contains(&transfers.len())
            && transfers.iter().zip(places).all(|(t, p)| match (*t, *p) {
                (
                    Transfer::Bytes { size, .. } | Transfer::RegisterToBytes { size, .. },
                    Place::Bytes { size: has, .. },
                ) => size <= has,
                (Transfer::Registers { rows, .. }, Place::Register { rows: has, .. }) => rows == has,
                _ => false,
            })
    };
    let fewest = signature.params.len() - usize::from(signature.variadic);
    fits(&op.arguments, &signature.params, fewest)
        && fits(&op.results, &signature.results, signature.results.len())
}

/// A transfer with the callee's own place: decoding knew it only for direct calls.
fn adapt(transfer: Transfer, place: Place) -> Transfer {
    match (transfer, place) {
        (Transfer::Bytes { caller, size, .. }, Place::Bytes { offset, .. }) => {
            Transfer::Bytes { caller, callee: offset, size }
        }
        (Transfer::RegisterToBytes { caller, size, .. }, Place::Bytes { offset, .. }) => {
            Transfer::RegisterToBytes { caller, callee: offset, size }
        }
        (Transfer::Registers { caller, rows, .. }, Place::Register { slot, .. }) => {
            Transfer::Registers { caller, callee: slot, rows }
        }
        _ => transfer,
    }
}

/// Copies an argument into the callee's frame (`inward`), or a result out of it.
fn move_value(warp: &mut Warp, caller: u32, callee: u32, transfer: Transfer, lanes: u32, inward: bool) {
    let (from, to) = (warp.frames[caller as usize].local_base, warp.frames[callee as usize].local_base);
    let (outer, inner) = (warp.regs(caller), warp.regs(callee));
    match transfer {
        Transfer::Bytes { caller, callee, size } => {
            let (outer, inner) = ((from + caller) as usize, (to + callee) as usize);
            for lane in lanes_of(lanes) {
                let stack = warp.local.lane(lane);
                let (source, target) = if inward { (outer, inner) } else { (inner, outer) };
                // SAFETY: both lie in the frames' parts of the lane's stack, which `push_frame` reserved.
                unsafe { std::ptr::copy(stack.add(source), stack.add(target), size as usize) }
            }
        }
        Transfer::RegisterToBytes { caller, callee, size } => {
            for lane in lanes_of(lanes) {
                // SAFETY: the bytes lie in the callee's part of the stack; decoding gave the register `size` bytes.
                unsafe {
                    let bytes = warp.local.lane(lane).add((to + callee) as usize);
                    let register = match size {
                        0..=4 => outer.lanes::<u32>(caller).cast::<u32>().add(lane).cast::<u8>(),
                        5..=8 => outer.lanes::<u64>(caller).cast::<u64>().add(lane).cast::<u8>(),
                        _ => outer.lanes::<u128>(caller).cast::<u128>().add(lane).cast::<u8>(),
                    };
                    let (source, target) = if inward { (register, bytes) } else { (bytes, register) };
                    std::ptr::copy_nonoverlapping(source, target, size as usize);
                }
            }
        }
        Transfer::Registers { caller, callee, rows } => {
            let ((from, source), (to, target)) =
                if inward { ((outer, caller), (inner, callee)) } else { ((inner, callee), (outer, caller)) };
            // SAFETY: decoding checked that both registers have so many rows; 0 rows are a predicate.
            unsafe {
                match rows {
                    0 => to.set_predicate(target, from.predicate(source), lanes),
                    1 => to.store(target, &*from.lanes::<u32>(source), lanes),
                    2 => to.store(target, &*from.lanes::<u64>(source), lanes),
                    _ => to.store(target, &*from.lanes::<u128>(source), lanes),
                }
            }
        }
    }
}

/// Tells the observer that an argument was copied into the callee's frame (`inward`), or a result out of it.
fn tell<O: BlockObserver>(
    warp: &Warp,
    cx: &mut Cx<'_, O>,
    [outer, inner]: [u32; 2],
    transfer: Transfer,
    at: At,
    inward: bool,
) {
    if !(O::SYNCHRONISATION || O::REGISTERS) {
        return;
    }
    let (outer, inner) = (&warp.frames[outer as usize], &warp.frames[inner as usize]);
    let (outer, inner, bytes) = match transfer {
        Transfer::Bytes { caller, callee, size } => {
            (Carrier::Local(outer.local_base + caller), Carrier::Local(inner.local_base + callee), size)
        }
        Transfer::RegisterToBytes { caller, callee, size } => {
            let register = Register { slot: outer.base + caller, bytes: size.next_multiple_of(4) };
            (Carrier::Register(register), Carrier::Local(inner.local_base + callee), size)
        }
        Transfer::Registers { caller, callee, rows } => {
            let register = |slot| Carrier::Register(Register { slot, bytes: 4 * rows });
            (register(outer.base + caller), register(inner.base + callee), 4 * rows)
        }
    };
    let (from, to) = if inward { (outer, inner) } else { (inner, outer) };
    cx.observer.passed(at, from, to, bytes);
}

/// `ret` from a device function.
pub(super) fn ret<O: BlockObserver>(warp: &mut Warp, cx: &mut Cx<'_, O>, running: usize, active: u32) {
    let code = cx.launch.code;
    let frame = warp.groups[running].frame;
    let f = &warp.frames[frame as usize];
    let (caller, call_pc, function) = (f.parent, f.call_pc, f.function);
    if let OpKind::Call(op) = &code.ops[call_pc as usize].kind {
        let signature = &code.functions[function as usize].signature;
        for (transfer, place) in op.results.iter().zip(&signature.results) {
            let transfer = adapt(*transfer, *place);
            move_value(warp, caller, frame, transfer, active, false);
            let at = At { pc: call_pc, warp: warp.index, lanes: active };
            tell(warp, cx, [caller, frame], transfer, at, false);
        }
    }
    split(warp, running, active);
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
    split(warp, running, active);
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
