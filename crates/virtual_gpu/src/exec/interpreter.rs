//! The interpreter's loop: runs a warp's groups, one operation after the other.

use super::compiled::CodeEntry;
use super::context::{Cx, Raise, Step, raise};
use super::scheduler::SliceEnd;
use super::warp::{Group, Wait, Warp, split_off};
use super::{atomic, call, collective, extension, load_store, system};
use crate::fault::FaultKind;
use crate::form::op::{BarrierOp, DynamicSpecial, Guard, OpKind};
use crate::form::program::Code;
use crate::form::registers::{NONE, Regs};
use crate::form::values::Operands;
use crate::observer::{AsyncEvent, At, BlockObserver, Order, Register};

/// A fault, with the operation that raised it.
pub(crate) struct Raised {
    pub raise: Box<Raise>,
    pub pc: u32,
}

#[inline(always)]
fn guarded(guard: Guard, mask: u32, regs: Regs) -> u32 {
    if guard.slot == NONE {
        return mask;
    }
    // SAFETY: the guard is a register of the function that runs in this frame.
    mask & (unsafe { regs.predicate(guard.slot) } ^ guard.invert)
}

/// Runs a warp until its slice ends, at the latest when it has executed `end` operations.
pub(crate) fn run<O: BlockObserver>(
    warp: &mut Warp,
    cx: &mut Cx<'_, O>,
    entry: &mut Option<&mut CodeEntry<'_>>,
    end: u64,
) -> Result<SliceEnd, Raised> {
    let code = cx.launch.code;
    let evaluations = &cx.launch.evaluations.0;
    'pick: loop {
        let picked = warp.pick(code);
        for (pc, members, lanes) in warp.met.drain(..) {
            if O::SYNCHRONISATION {
                cx.observer.warp_sync(At { pc, warp: warp.index, lanes }, members, true);
            }
        }
        let Some((running, meet)) = picked else {
            return Ok(match warp.at_barrier() {
                _ if warp.live == 0 => SliceEnd::Exit,
                Some(id) if warp.arrived.is_none() => SliceEnd::Barrier(id),
                _ => SliceEnd::Blocked,
            });
        };
        let Group { frame, mut pc, mask, .. } = warp.groups[running];
        let alone = warp.groups.len() == 1;
        let regs = warp.regs(frame);
        loop {
            if pc == meet || warp.steps >= end {
                warp.groups[running].pc = pc;
                if warp.steps >= end {
                    if !alone {
                        warp.rotate(running);
                    }
                    return Ok(SliceEnd::Expired);
                }
                continue 'pick;
            }
            // Which of several groups runs next depends on the operation that the slice ends with.
            let most = if alone { end } else { end - 1 };
            if let Some(entry) = entry
                && let at = (At { pc, warp: warp.index, lanes: mask })
                && let block @ 1.. = entry.block(warp, at)
                && warp.steps + u64::from(block) <= most
                && block <= meet - pc
            {
                let before = warp.steps;
                pc = entry.enter(warp, cx, regs, at, meet, most)?;
                if warp.steps != before {
                    if alone && warp.groups.len() > 1 {
                        continue 'pick;
                    }
                    if alone {
                        continue;
                    }
                    // It may have passed others, or met one.
                    warp.groups[running].pc = pc;
                    continue 'pick;
                }
            }
            let op = &code.ops[pc as usize];
            let active = guarded(op.guard, mask, regs);
            let at = At { pc, warp: warp.index, lanes: active };
            warp.steps += 1;
            if O::INSTRUCTIONS && !matches!(op.kind, OpKind::Jump { .. }) {
                // All lanes take part in the decision, whichever way they go.
                let decides = matches!(
                    op.kind,
                    OpKind::Branch { .. } | OpKind::BranchIndexed { .. } | OpKind::Return | OpKind::Exit
                );
                cx.observer.instruction(if decides { At { lanes: mask, ..at } } else { at });
            }
            if O::REGISTERS && cx.observer.follows(warp.index) {
                let base = warp.frames[frame as usize].base;
                if op.guard.slot != NONE {
                    let predicate = Register { slot: base + op.guard.slot, bytes: 0 };
                    cx.observer.guard(At { lanes: mask, ..at }, predicate);
                }
                show_registers(code, cx, regs, base, at);
            }
            let failed = |raise: Box<Raise>| Raised { raise, pc };
            match &op.kind {
                OpKind::Alu(_) => {
                    if active != 0
                        && let Some(evaluate) = &evaluations[pc as usize]
                    {
                        evaluate(regs, active);
                    }
                    pc += 1;
                }
                OpKind::Load(load) => {
                    if active != 0 {
                        load_store::load(warp, cx, load, regs, at).map_err(failed)?;
                    }
                    pc += 1;
                    if active != 0 && cx.block.is_interrupted(at, load.order) {
                        return Ok(interrupted(warp, running, pc));
                    }
                }
                OpKind::Store(store) => {
                    if active != 0 {
                        load_store::store(warp, cx, store, regs, at).map_err(failed)?;
                    }
                    pc += 1;
                    let tells =
                        O::YIELDS && active != 0 && store.order != Order::Weak && cx.block.tells(store);
                    if tells || active != 0 && cx.block.is_interrupted(at, store.order) {
                        return Ok(interrupted(warp, running, pc));
                    }
                }
                OpKind::Atomic(op) => {
                    if active != 0 {
                        atomic::atomic(warp, cx, op, regs, at).map_err(failed)?;
                    }
                    pc += 1;
                    if active != 0 && cx.block.is_interrupted(at, Order::Relaxed) {
                        return Ok(interrupted(warp, running, pc));
                    }
                }
                OpKind::LoadParam(op) => {
                    if active != 0 {
                        load_store::load_param(cx, op, regs, at);
                    }
                    pc += 1;
                }
                &OpKind::Branch { target } | &OpKind::Jump { target } => {
                    let backward = target <= pc;
                    if active == mask {
                        pc = target;
                        if alone {
                            continue;
                        }
                        warp.groups[running].pc = pc;
                    } else if active == 0 {
                        pc += 1;
                        continue;
                    } else {
                        warp.groups[running].pc = pc + 1;
                        warp.groups[running].mask = mask & !active;
                        warp.groups.push(Group {
                            pc: target,
                            mask: active,
                            last_run: warp.groups[running].last_run,
                            ..warp.groups[running]
                        });
                    }
                    if backward {
                        warp.count_backward(running);
                    }
                    continue 'pick;
                }
                OpKind::BranchIndexed { index, targets } => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    warp.groups[running].pc = pc;
                    call::branch_indexed(warp, running, regs, *index, targets, active).map_err(failed)?;
                    warp.count_backward(running);
                    continue 'pick;
                }
                OpKind::Call(op) => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    warp.groups[running].pc = pc;
                    call::call(warp, cx, running, op, active).map_err(failed)?;
                    continue 'pick;
                }
                OpKind::Return | OpKind::Exit => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    warp.groups[running].pc = pc;
                    if frame == 0 || matches!(op.kind, OpKind::Exit) {
                        if O::SYNCHRONISATION {
                            cx.observer.exit(at);
                        }
                        call::exit(warp, running, active);
                    } else {
                        call::ret(warp, cx, running, active);
                    }
                    continue 'pick;
                }
                OpKind::Trap | OpKind::Breakpoint => {
                    if active != 0 {
                        let kind = match op.kind {
                            OpKind::Trap => FaultKind::Trap,
                            _ => FaultKind::Breakpoint,
                        };
                        return Err(failed(raise(kind, active)));
                    }
                    pc += 1;
                }
                OpKind::Barrier(op) => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    warp.groups[running].pc = pc;
                    split_off(warp, running, active);
                    let id = barrier_id(regs, op, active).map_err(failed)?;
                    warp.groups[running].wait = Wait::Barrier(id);
                    continue 'pick;
                }
                OpKind::Collective(op) => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    if collective::ready(warp, op, regs, active) {
                        collective::execute(cx, op, regs, warp.frames[frame as usize].base, at);
                        pc += 1;
                        continue;
                    }
                    warp.groups[running].pc = pc;
                    collective::park(warp, code, cx, running, op, active).map_err(failed)?;
                    continue 'pick;
                }
                &OpKind::Fence { order, scope, proxies } => {
                    if active != 0 {
                        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                        if O::SYNCHRONISATION {
                            cx.observer.fence(at, order, scope);
                            if proxies {
                                cx.observer.asynchronous(at, &AsyncEvent::ProxyFence);
                            }
                        }
                    }
                    pc += 1;
                    if active != 0 && cx.block.is_interrupted(at, Order::Weak) {
                        return Ok(interrupted(warp, running, pc));
                    }
                }
                &OpKind::Special { target, which } => {
                    special(cx, regs, target, which, warp.steps, at);
                    pc += 1;
                }
                OpKind::Yield => {
                    pc += 1;
                    if active != 0 {
                        warp.groups[running].pc = pc;
                        if !alone {
                            warp.rotate(running);
                            continue 'pick;
                        }
                        return Ok(SliceEnd::Expired);
                    }
                }
                OpKind::Nop => pc += 1,
                OpKind::System(op) => {
                    if active != 0 {
                        cx.block.phases_may_end();
                        system::call(warp, cx, op, frame, at).map_err(failed)?;
                    }
                    pc += 1;
                }
                OpKind::Extension(op) => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    match extension::execute(op, &mut cx.machine(warp, regs, frame), at).map_err(failed)? {
                        Step::Next => pc += 1,
                        Step::Yield => {
                            pc += 1;
                            warp.groups[running].pc = pc;
                            if !alone {
                                warp.rotate(running);
                                continue 'pick;
                            }
                            return Ok(SliceEnd::Expired);
                        }
                        Step::Retry => {
                            warp.vain += 1;
                            warp.groups[running].pc = pc;
                            split_off(warp, running, active);
                            warp.groups[running].wait = Wait::Retry;
                            continue 'pick;
                        }
                    }
                }
            }
        }
    }
}

/// Ends the slice: the running group goes on at `pc` in the next one.
#[cold]
fn interrupted(warp: &mut Warp, running: usize, pc: u32) -> SliceEnd {
    warp.groups[running].pc = pc;
    if warp.groups.len() > 1 {
        warp.rotate(running);
    }
    SliceEnd::Expired
}

pub(super) fn barrier_id(regs: Regs, op: &BarrierOp, active: u32) -> Result<u32, Box<Raise>> {
    // SAFETY: the slot is a 32-bit register of the function.
    let id: u32 = unsafe { regs.get(op.id, active.trailing_zeros() as usize) };
    if id < 16 {
        Ok(id)
    } else {
        Err(raise(FaultKind::IllegalSync(format!("barrier {id}: there are 16")), active))
    }
}

fn special<O>(cx: &mut Cx<'_, O>, regs: Regs, target: u32, which: DynamicSpecial, steps: u64, at: At) {
    // The time that a launch shows is the number of operations since it began, at one a nanosecond.
    let time = cx.launch.epoch + steps + cx.block.age;
    if !matches!(which, DynamicSpecial::ActiveMask | DynamicSpecial::Zero32 | DynamicSpecial::Zero64) {
        cx.block.phases_may_end();
    }
    let value = match which {
        DynamicSpecial::Clock32 | DynamicSpecial::GlobalTimerLow | DynamicSpecial::Clock64 => time,
        DynamicSpecial::GlobalTimer => time,
        DynamicSpecial::ClockHigh | DynamicSpecial::GlobalTimerHigh => time >> 32,
        DynamicSpecial::ActiveMask => u64::from(at.lanes),
        DynamicSpecial::Zero32 | DynamicSpecial::Zero64 => 0,
    };
    // SAFETY: decoding gave the special register's width to the target.
    unsafe {
        match which {
            DynamicSpecial::Clock64 | DynamicSpecial::GlobalTimer | DynamicSpecial::Zero64 => {
                regs.store(target, &[value; 32], at.lanes)
            }
            _ => regs.store(target, &[value as u32; 32], at.lanes),
        }
    }
}

#[inline]
fn show_registers<O: BlockObserver>(code: &Code, cx: &mut Cx<'_, O>, regs: Regs, base: u32, at: At) {
    let touched = &code.touched[at.pc as usize];
    let place = |&(slot, rows): &(u32, u32)| Register { slot: base + slot, bytes: rows * 4 };
    let operands = Operands::new(regs, base, &touched.sources);
    // Almost all have a few; nothing is allocated for them, because this is done for every instruction.
    const FEW: usize = 8;
    if touched.reads.len() <= FEW && touched.writes.len() <= FEW {
        let (mut reads, mut writes) =
            ([Register { slot: 0, bytes: 0 }; FEW], [Register { slot: 0, bytes: 0 }; FEW]);
        reads.iter_mut().zip(&touched.reads).for_each(|(to, from)| *to = place(from));
        writes.iter_mut().zip(&touched.writes).for_each(|(to, from)| *to = place(from));
        cx.observer.registers(at, &reads[..touched.reads.len()], &writes[..touched.writes.len()], &operands);
        return;
    }
    let reads: Vec<_> = touched.reads.iter().map(place).collect();
    let writes: Vec<_> = touched.writes.iter().map(place).collect();
    cx.observer.registers(at, &reads, &writes, &operands);
}
