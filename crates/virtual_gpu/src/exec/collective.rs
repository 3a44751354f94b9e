//! Instructions in which lanes of a warp take part together: shuffles, votes, matches, reductions, `bar.warp.sync`.

use super::context::{Cx, Raise, raise};
use super::warp::split;
use super::warp::{Group, Wait, Warp};
use crate::alu::atomic::{Redux, redux};
use crate::alu::float;
use crate::fault::FaultKind;
use crate::form::op::{CollectiveKind as K, CollectiveOp, OpKind, ShuffleMode};
use crate::form::program::Code;
use crate::form::registers::{NONE, Regs, lanes_of};
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
    split(warp, running, active);
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
            let kind = FaultKind::IllegalInstruction(format!(
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

/// When the lanes of a mask wait at one instruction in different frames, it is executed over copies of their operands.
fn gather<O: BlockObserver>(warp: &mut Warp, code: &Code, cx: &mut Cx<'_, O>, pc: u32, mask: u32) {
    let OpKind::Collective(op) = &code.ops[pc as usize].kind else { return };
    let here: Vec<usize> = (0..warp.groups.len())
        .filter(|&i| warp.groups[i].pc == pc && warp.groups[i].wait == Wait::Members(mask))
        .collect();
    let lanes = here.iter().fold(0, |lanes, &i| lanes | warp.groups[i].mask);
    let first_frame = warp.groups[here[0]].frame;
    if mask & warp.live & !lanes != 0 || here.iter().all(|&i| warp.groups[i].frame == first_frame) {
        return;
    }
    // The first frame's rows serve all: operands come in, results go back.
    let rows = match op.kind {
        K::MatchAny { rows } | K::MatchAll { rows } => rows,
        _ => 1,
    };
    let home = warp.regs(first_frame);
    // The mask is read of the first lane, which may be of any frame.
    let reads = [(op.members, 1), (op.a, rows), (op.b, 1), (op.c, 1)];
    let base = warp.frames[first_frame as usize].base;
    let number = warp.index;
    // What is known of a register goes with it.
    let pass = |cx: &mut Cx<'_, O>, lanes, [from, to]: [u32; 2], slot, rows: u32| {
        if O::SYNCHRONISATION || O::REGISTERS {
            let carrier = |base| Carrier::Register(Register { slot: base + slot, bytes: 4 * rows });
            cx.observer.passed(At { pc, warp: number, lanes }, carrier(from), carrier(to), 4 * rows);
        }
    };
    let others: Vec<_> = here[1..]
        .iter()
        .map(|&i| {
            let Group { frame, mask, .. } = warp.groups[i];
            (warp.regs(frame), warp.frames[frame as usize].base, mask)
        })
        .collect();
    for &(away, far, lanes) in &others {
        for (slot, rows) in reads.into_iter().filter(|r| r.0 != NONE) {
            let predicate = is_predicate(op, slot);
            copy(away, home, slot, rows, lanes, predicate);
            pass(cx, lanes, [far, base], slot, if predicate { 0 } else { rows });
        }
    }
    execute(cx, op, home, base, At { pc, warp: warp.index, lanes });
    for &(away, far, lanes) in &others {
        if op.target != NONE {
            let predicate = matches!(op.kind, K::VoteAll | K::VoteAny | K::VoteUni);
            copy(home, away, op.target, 1, lanes, predicate);
            pass(cx, lanes, [base, far], op.target, u32::from(!predicate));
        }
        if op.target_predicate != NONE {
            copy(home, away, op.target_predicate, 1, lanes, true);
            pass(cx, lanes, [base, far], op.target_predicate, 0);
        }
    }
    for &i in &here {
        warp.groups[i].pc += 1;
        warp.groups[i].wait = Wait::Nothing;
    }
}

fn is_predicate(op: &CollectiveOp, slot: u32) -> bool {
    slot == op.a && matches!(op.kind, K::VoteAll | K::VoteAny | K::VoteUni | K::Ballot)
}

fn copy(from: Regs, to: Regs, slot: u32, rows: u32, lanes: u32, predicate: bool) {
    // SAFETY: both frames are of the function that holds the operation, whose registers decoding laid out.
    unsafe {
        if predicate {
            to.set_predicate(slot, from.predicate(slot), lanes);
        } else if rows == 1 {
            to.store(slot, &*from.lanes::<u32>(slot), lanes);
        } else {
            to.store(slot, &*from.lanes::<u64>(slot), lanes);
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
