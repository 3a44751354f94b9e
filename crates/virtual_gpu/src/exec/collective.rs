//! Instructions in which lanes of a warp take part together: shuffles, votes, matches, reductions, `bar.warp.sync`.

use super::context::{Cx, Raise, raise};
use super::warp::split_off;
use super::warp::{Group, Wait, Warp};
use crate::alu::atomic::{Redux, redux};
use crate::alu::float;
use crate::fault::FaultKind;
use crate::form::op::{CollectiveKind as K, CollectiveOp, OpKind, ShuffleMode};
use crate::form::program::Code;
use crate::form::registers::{NONE, Regs, Row, lanes_of};
use crate::observer::{At, BlockObserver, Carrier, Register};

/// The member mask that the first of the lanes gives; all active lanes for forms without one.
fn members(op: &CollectiveOp, regs: Regs, active: u32) -> u32 {
    if op.members == NONE {
        return active;
    }
    // SAFETY: decoding gave the mask a 32-bit register.
    unsafe { regs.get(op.members, active.trailing_zeros() as usize) }
}

/// Whether all lanes of the member mask that have not exited are here, and all have the same mask.
#[inline]
pub(super) fn ready(warp: &Warp, op: &CollectiveOp, regs: Regs, active: u32) -> bool {
    if op.members == NONE {
        return true;
    }
    // SAFETY: decoding gave the mask a 32-bit register.
    let masks = unsafe { &*regs.lanes::<u32>(op.members) };
    let first = masks[active.trailing_zeros() as usize];
    first & warp.live & !active == 0 && lanes_of(active).all(|i| masks[i] == first && first >> i & 1 != 0)
}

/// Which of the lanes give this member mask.
fn sharing(masks: &[u32; 32], among: u32, mask: u32) -> u32 {
    lanes_of(among).filter(|&i| masks[i] == mask).fold(0, |lanes, i| lanes | 1 << i)
}

/// Of the lanes that are here with member masks of their own, those whose masks are all here, mask by mask.
///
/// Tiles of a warp come to a shuffle together, each with the mask of its own lanes: each mask is executed by itself.
fn complete(warp: &Warp, masks: &[u32; 32], active: u32) -> Vec<u32> {
    let mut left = active;
    let mut parts = Vec::new();
    while left != 0 {
        let mask = masks[left.trailing_zeros() as usize];
        let same = sharing(masks, left, mask);
        left &= !same;
        if same & !mask == 0 && mask & warp.live & !same == 0 {
            parts.push(same);
        }
    }
    parts
}

/// The lanes whose member masks are complete go on; the others wait, a group for each mask.
pub(super) fn park<O: BlockObserver>(
    warp: &mut Warp,
    code: &Code,
    cx: &mut Cx<'_, O>,
    running: usize,
    op: &CollectiveOp,
    active: u32,
) -> Result<(), Box<Raise>> {
    let frame = warp.groups[running].frame;
    let regs = warp.regs(frame);
    // SAFETY: decoding gave the mask a 32-bit register.
    let masks = unsafe { *regs.lanes::<u32>(op.members) };
    let pc = warp.groups[running].pc;
    // Lanes whose guard is false go on.
    split_off(warp, running, active);
    // At `bar.warp.sync` lanes may meet from different places: they wait, and are woken together.
    let parts = if op.kind == K::WarpSync { Vec::new() } else { complete(warp, &masks, active) };
    let base = warp.frames[frame as usize].base;
    for &lanes in &parts {
        execute(cx, op, regs, base, At { pc, warp: warp.index, lanes });
    }
    let done = parts.iter().fold(0, |lanes, part| lanes | part);
    let mut left = active & !done;
    let whole = warp.groups[running];
    let mut places = Vec::with_capacity(2);
    if done != 0 {
        places.push((done, Wait::Nothing));
    }
    while left != 0 {
        let mask = masks[left.trailing_zeros() as usize];
        let same = sharing(&masks, left, mask);
        let strangers = same & !mask;
        if strangers != 0 {
            let kind = FaultKind::IllegalSync(format!(
                "the member mask {mask:#010x} leaves out lanes that execute the instruction: {strangers:#010x}"
            ));
            return Err(raise(kind, strangers));
        }
        left &= !same;
        places.push((same, Wait::Members(mask)));
    }
    for (i, &(lanes, wait)) in places.iter().enumerate() {
        let pc = if wait == Wait::Nothing { pc + 1 } else { pc };
        let group = Group { mask: lanes, wait, pc, ..whole };
        if i == 0 {
            warp.groups[running] = group;
        } else {
            warp.groups.push(group);
        }
    }
    if op.kind != K::WarpSync {
        for &(_, wait) in &places {
            if let Wait::Members(mask) = wait {
                gather(warp, code, cx, pc, mask);
            }
        }
    }
    Ok(())
}

/// Whether lanes at these two instructions meet: PTX asks for the same instruction with the same qualifiers, not for the same
/// place in the program, and compilers unroll loops with such instructions.
pub(super) fn alike(code: &Code, a: u32, b: u32) -> bool {
    let kind = |pc: u32| match &code.ops[pc as usize].kind {
        OpKind::Collective(op) => Some(op.kind),
        _ => None,
    };
    a == b || kind(a).is_some_and(|kind_of_a| kind(b) == Some(kind_of_a))
}

/// When the lanes of a mask wait at different instructions or in different frames, the operation is executed over copies of
/// their operands.
fn gather<O: BlockObserver>(warp: &mut Warp, code: &Code, cx: &mut Cx<'_, O>, pc: u32, mask: u32) {
    let here: Vec<usize> = (0..warp.groups.len())
        .filter(|&i| warp.groups[i].wait == Wait::Members(mask) && alike(code, warp.groups[i].pc, pc))
        .collect();
    let lanes = here.iter().fold(0, |lanes, &i| lanes | warp.groups[i].mask);
    let place = |i: usize| (warp.groups[i].frame, warp.groups[i].pc);
    if mask & warp.live & !lanes != 0 || here.iter().all(|&i| place(i) == place(here[0])) {
        return;
    }
    let OpKind::Collective(op) = &code.ops[pc as usize].kind else { return };
    let kind = op.kind;
    let rows = match kind {
        K::MatchAny { rows } | K::MatchAll { rows } => rows,
        _ => 1,
    };
    // Rows behind all frames; a call that comes later makes its frame there.
    let joint =
        CollectiveOp { kind, members: 0, a: 1, b: 3, c: 4, target: 5, target_predicate: 6, invert: false };
    let base = warp.rows.len() as u32;
    warp.rows.resize(base as usize + 7, Row::ZERO);
    // SAFETY: the rows from `base` on were just made, as many as `joint` names; nothing moves them while `home` is in use.
    let home = unsafe { Regs::new(warp.rows.as_mut_ptr().add(base as usize)) };
    let votes = matches!(kind, K::VoteAll | K::VoteAny | K::VoteUni | K::Ballot);
    let decides = matches!(kind, K::VoteAll | K::VoteAny | K::VoteUni);
    let number = warp.index;
    for &i in &here {
        let Group { frame, mask: lanes, pc, .. } = warp.groups[i];
        let OpKind::Collective(op) = &code.ops[pc as usize].kind else { continue };
        let far = (warp.regs(frame), warp.frames[frame as usize].base);
        let operands = [(op.members, joint.members, 1), (op.b, joint.b, 1), (op.c, joint.c, 1)];
        let a = (op.a, joint.a, if votes { 0 } else { rows });
        for (from, to, rows) in operands.into_iter().chain([a]).filter(|operand| operand.0 != NONE) {
            copy(far.0, home, [from, to], rows, lanes);
            passed(cx, At { pc, warp: number, lanes }, [far.1 + from, base + to], rows);
        }
        if votes && op.invert {
            // SAFETY: the row is one of those made above.
            unsafe { home.set_predicate(joint.a, !home.predicate(joint.a), lanes) };
        }
    }
    execute(cx, &joint, home, base, At { pc, warp: number, lanes });
    for &i in &here {
        let Group { frame, mask: lanes, pc, .. } = warp.groups[i];
        let OpKind::Collective(op) = &code.ops[pc as usize].kind else { continue };
        let far = (warp.regs(frame), warp.frames[frame as usize].base);
        let results = [
            (joint.target, op.target, u32::from(!decides)),
            (joint.target_predicate, op.target_predicate, 0),
        ];
        for (from, to, rows) in results.into_iter().filter(|result| result.1 != NONE) {
            copy(home, far.0, [from, to], rows, lanes);
            passed(cx, At { pc, warp: number, lanes }, [base + from, far.1 + to], rows);
        }
        warp.groups[i].pc += 1;
        warp.groups[i].wait = Wait::Nothing;
    }
    warp.rows.truncate(base as usize);
}

/// Has the observer copy its knowledge of a register, of `rows` rows or a predicate, to another.
fn passed<O: BlockObserver>(cx: &mut Cx<'_, O>, at: At, [from, to]: [u32; 2], rows: u32) {
    if O::SYNCHRONISATION || O::REGISTERS {
        let carrier = |slot| Carrier::Register(Register { slot, bytes: 4 * rows });
        cx.observer.passed(at, carrier(from), carrier(to), 4 * rows);
    }
}

/// Copies a register of one or two rows, or a predicate if there are none.
fn copy(from: Regs, to: Regs, [slot, target]: [u32; 2], rows: u32, lanes: u32) {
    // SAFETY: one of the two is a frame of the function that holds the operation, whose registers decoding laid out; the other
    // has a row, or two, for each operand.
    unsafe {
        match rows {
            0 => to.set_predicate(target, from.predicate(slot), lanes),
            1 => to.store(target, &*from.lanes::<u32>(slot), lanes),
            _ => to.store(target, &*from.lanes::<u64>(slot), lanes),
        }
    }
}

/// Executes the instruction for `at.lanes`, which are all that take part.
#[inline]
pub(super) fn execute<O: BlockObserver>(
    cx: &mut Cx<'_, O>,
    op: &CollectiveOp,
    regs: Regs,
    base: u32,
    at: At,
) {
    let lanes = at.lanes;
    if O::SYNCHRONISATION && op.members != NONE {
        cx.observer.warp_sync(at, members(op, regs, lanes), op.kind == K::WarpSync);
    }
    // SAFETY of this function's blocks: decoding laid out the operands' registers with the widths that are used here.
    match op.kind {
        K::WarpSync => {}
        K::Shuffle(mode) => shuffle(cx, op, mode, regs, base, at),
        K::VoteAll | K::VoteAny | K::VoteUni | K::Ballot => {
            // SAFETY: see above.
            let votes = (unsafe { regs.predicate(op.a) } ^ if op.invert { u32::MAX } else { 0 }) & lanes;
            let all = |yes: bool| if yes { u32::MAX } else { 0 };
            // SAFETY: see above.
            unsafe {
                match op.kind {
                    K::VoteAll => regs.set_predicate(op.target, all(votes == lanes), lanes),
                    K::VoteAny => regs.set_predicate(op.target, all(votes != 0), lanes),
                    K::VoteUni => regs.set_predicate(op.target, all(votes == lanes || votes == 0), lanes),
                    _ => regs.store(op.target, &[votes; 32], lanes),
                }
            }
        }
        K::MatchAny { rows } | K::MatchAll { rows } => {
            // SAFETY: see above.
            let values: [u64; 32] = unsafe {
                if rows == 1 { (*regs.lanes::<u32>(op.a)).map(u64::from) } else { *regs.lanes::<u64>(op.a) }
            };
            let first = values[lanes.trailing_zeros() as usize];
            if let K::MatchAll { .. } = op.kind {
                let all = lanes_of(lanes).all(|i| values[i] == first);
                // SAFETY: see above.
                unsafe {
                    if op.target != NONE {
                        regs.store(op.target, &[if all { lanes } else { 0 }; 32], lanes);
                    }
                    if op.target_predicate != NONE {
                        regs.set_predicate(op.target_predicate, if all { u32::MAX } else { 0 }, lanes);
                    }
                }
            } else {
                let equal = std::array::from_fn(|i| {
                    lanes_of(lanes).filter(|&j| values[j] == values[i]).fold(0u32, |m, j| m | 1 << j)
                });
                // SAFETY: see above.
                unsafe { regs.store(op.target, &equal, lanes) }
            }
        }
        K::Redux(function) => {
            // SAFETY: see above.
            unsafe {
                let values = &*regs.lanes::<u32>(op.a);
                let sum = fold(lanes, values, |a, b| redux(function, a, b));
                regs.store(op.target, &[sum; 32], lanes);
            }
        }
        K::ReduxF32 { max, abs, nan } => {
            let mode = float::MinMax { max, nan, ..Default::default() };
            let magnitude = |a: u32| if abs { a & 0x7fff_ffff } else { a };
            // SAFETY: see above.
            unsafe {
                let values = (*regs.lanes::<u32>(op.a)).map(magnitude);
                let result = fold(lanes, &values, |a, b| {
                    float::min_max_f32(f32::from_bits(a), f32::from_bits(b), mode).to_bits()
                });
                regs.store(op.target, &[result; 32], lanes);
            }
        }
        K::Elect => {
            let leader = lanes.trailing_zeros();
            // SAFETY: see above.
            unsafe {
                if op.target != NONE {
                    regs.store(op.target, &[leader; 32], lanes);
                }
                if op.target_predicate != NONE {
                    regs.set_predicate(op.target_predicate, 1 << leader, lanes);
                }
            }
        }
    }
}

fn fold(lanes: u32, values: &[u32; 32], f: impl Fn(u32, u32) -> u32) -> u32 {
    lanes_of(lanes).map(|i| values[i]).reduce(f).unwrap_or_else(|| redux(Redux::Add, 0, 0))
}

fn shuffle<O: BlockObserver>(
    cx: &mut Cx<'_, O>,
    op: &CollectiveOp,
    mode: ShuffleMode,
    regs: Regs,
    base: u32,
    at: At,
) {
    let lanes = at.lanes;
    // SAFETY: decoding gave all operands 32-bit registers.
    let (values, b, c) =
        unsafe { (*regs.lanes::<u32>(op.a), *regs.lanes::<u32>(op.b), *regs.lanes::<u32>(op.c)) };
    let mut out = [0; 32];
    let mut in_range = 0u32;
    let mut sources = [32; 32];
    for i in 0..32u32 {
        let (b, clamp, segment) = (b[i as usize] & 31, c[i as usize] & 31, c[i as usize] >> 8 & 31);
        let last = (i & segment) | (clamp & !segment);
        let (source, valid) = match mode {
            ShuffleMode::Up => (i.wrapping_sub(b), i as i32 - b as i32 >= last as i32),
            ShuffleMode::Down => (i + b, i + b <= last),
            ShuffleMode::Butterfly => (i ^ b, i ^ b <= last),
            ShuffleMode::Index => {
                let source = (i & segment) | (b & !segment);
                (source, source <= last)
            }
        };
        let source = if valid { source & 31 } else { i };
        in_range |= u32::from(valid) << i;
        if lanes >> source & 1 != 0 {
            sources[i as usize] = source as u8;
        }
        out[i as usize] = values[source as usize];
    }
    if O::SYNCHRONISATION || O::REGISTERS {
        let register = |slot| (slot != NONE).then(|| Register { slot: base + slot, bytes: 4 });
        cx.observer.shuffled(at, register(op.target), register(op.a), &sources);
    }
    // SAFETY: as above.
    unsafe {
        if op.target != NONE {
            regs.store(op.target, &out, lanes);
        }
        if op.target_predicate != NONE {
            regs.set_predicate(op.target_predicate, in_range, lanes);
        }
    }
}
