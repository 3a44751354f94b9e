//! Barriers, and instructions that lanes of a warp execute together.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::arithmetic::unsupported_type;
use super::function::{Decoder, rows_of};
use super::modifiers::Form;
use crate::alu::atomic::Redux;
use crate::form::op::{BarrierKind, BarrierOp, CollectiveKind as K, CollectiveOp, OpKind, ShuffleMode};
use crate::form::registers::NONE;

/// `bar`, `barrier.cta`, `bar.warp.sync`.
pub(super) fn barrier(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    if m.take("warp") {
        m.take("sync");
        let [mask] = f.operands()?;
        let members = d.number(mask, ScalarType::U32)?;
        return Ok(collective(K::WarpSync, members));
    }
    m.take("cta");
    let aligned = m.take("aligned") || f.name == "bar";
    let kind = m.take_any(&[
        ("sync", BarrierKind::Sync),
        ("arrive", BarrierKind::Arrive),
        ("red", BarrierKind::ReducePopc),
    ]);
    let mut kind = kind.ok_or_else(|| Refusal::new("it is `.sync`, `.arrive` or `.red`"))?;
    let mut operands = f.operands;
    let (mut target, mut predicate, mut invert) = (NONE, NONE, false);
    if kind == BarrierKind::ReducePopc {
        let reduce = m.take_any(&[
            ("popc", BarrierKind::ReducePopc),
            ("and", BarrierKind::ReduceAnd),
            ("or", BarrierKind::ReduceOr),
        ]);
        kind = reduce.ok_or_else(|| Refusal::new("it reduces by `.popc`, `.and` or `.or`"))?;
        let ty = m.ty()?;
        let [t, rest @ .., p] = operands else { return Err(Refusal::new("its operands are missing")) };
        target = d.real_target(t, if kind == BarrierKind::ReducePopc { ty } else { ScalarType::Pred })?;
        (predicate, invert) = d.predicate_source(p)?;
        operands = rest;
    }
    let (id, threads) = match operands {
        [id] => (id, None),
        [id, threads] => (id, Some(threads)),
        _ => return Err(Refusal::new("it takes a barrier and a number of threads")),
    };
    if kind == BarrierKind::Arrive && threads.is_none() {
        return Err(Refusal::new("`.arrive` needs the number of threads"));
    }
    let constant = |operand: &Operand| match operand {
        Operand::Constant(constant) => constant.integer(),
        _ => None,
    };
    if constant(id).is_some_and(|id| id > 15) {
        return Err(Refusal::new("a block has barriers 0 to 15"));
    }
    if threads.and_then(constant).is_some_and(|threads| threads % 32 != 0) {
        return Err(Refusal::new("whole warps of 32 threads meet"));
    }
    let id = d.number(id, ScalarType::U32)?;
    let threads = threads.map_or(Ok(NONE), |t| d.number(t, ScalarType::U32))?;
    Ok(OpKind::Barrier(Box::new(BarrierOp { kind, id, threads, aligned, target, predicate, invert })))
}

fn collective(kind: K, members: u32) -> OpKind {
    OpKind::Collective(Box::new(empty(kind, members)))
}

fn empty(kind: K, members: u32) -> CollectiveOp {
    CollectiveOp {
        kind,
        members,
        target: NONE,
        target_predicate: NONE,
        a: NONE,
        invert: false,
        b: NONE,
        c: NONE,
    }
}

/// A target `d` or `d|p`.
fn targets(d: &mut Decoder<'_>, operand: &Operand, ty: ScalarType) -> Result<(u32, u32), Refusal> {
    Ok(match operand {
        Operand::Pair(pair) => (d.target(&pair[0], ty)?, d.target(&pair[1], ScalarType::Pred)?),
        other => (d.real_target(other, ty)?, NONE),
    })
}

/// `shfl`, `vote`, `match`, `redux`, `elect`, `activemask`.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let sync = m.take("sync");
    let op = match f.name {
        "activemask" => {
            let ty = m.ty()?;
            let [t] = f.operands()?;
            let target = d.real_target(t, ty)?;
            if rows_of(ty) != 1 {
                return Err(unsupported_type(ty));
            }
            return Ok(OpKind::Special { target, which: crate::form::op::DynamicSpecial::ActiveMask });
        }
        "shfl" => {
            let mode = m.take_any(&[
                ("up", ShuffleMode::Up),
                ("down", ShuffleMode::Down),
                ("bfly", ShuffleMode::Butterfly),
                ("idx", ShuffleMode::Index),
            ]);
            let mode = mode.ok_or_else(|| Refusal::new("it names no mode"))?;
            let ty = m.ty()?;
            let [t, a, b, c, members @ ..] = f.operands else {
                return Err(Refusal::new("its operands are missing"));
            };
            let (a, b, c) = (d.source(a, ty)?, d.source(b, ScalarType::U32)?, d.source(c, ScalarType::U32)?);
            let members = member_mask(d, sync, members)?;
            if rows_of(ty) != 1 {
                return Err(unsupported_type(ty));
            }
            let (target, target_predicate) = targets(d, t, ty)?;
            if target == NONE {
                return Err(Refusal::new("what it gives goes to a register"));
            }
            CollectiveOp { target, target_predicate, a, b, c, ..empty(K::Shuffle(mode), members) }
        }
        "vote" => {
            let kind = m.take_any(&[
                ("all", K::VoteAll),
                ("any", K::VoteAny),
                ("uni", K::VoteUni),
                ("ballot", K::Ballot),
            ]);
            let kind = kind.ok_or_else(|| Refusal::new("it names no mode"))?;
            let ty = m.ty()?;
            let [t, a, members @ ..] = f.operands else {
                return Err(Refusal::new("its operands are missing"));
            };
            let (a, invert) = d.predicate_source(a)?;
            let members = member_mask(d, sync, members)?;
            if (kind == K::Ballot) != (ty == ScalarType::B32) || (kind != K::Ballot && ty != ScalarType::Pred)
            {
                return Err(unsupported_type(ty));
            }
            CollectiveOp { target: d.real_target(t, ty)?, a, invert, ..empty(kind, members) }
        }
        "match" => {
            let all = m.take_any(&[("any", false), ("all", true)]);
            let all = all.ok_or_else(|| Refusal::new("it is `.any` or `.all`"))?;
            let ty = m.ty()?;
            let rows = rows_of(ty);
            if !matches!(rows, 1 | 2) {
                return Err(unsupported_type(ty));
            }
            let [t, a, members @ ..] = f.operands else {
                return Err(Refusal::new("its operands are missing"));
            };
            let a = d.source(a, ty)?;
            let members = member_mask(d, sync, members)?;
            let (target, target_predicate) = targets(d, t, ScalarType::U32)?;
            let target = if target == NONE { d.scratch(1)? } else { target };
            let kind = if all { K::MatchAll { rows } } else { K::MatchAny { rows } };
            CollectiveOp { target, target_predicate, a, ..empty(kind, members) }
        }
        "redux" => {
            let name =
                m.take_map(|w| ["add", "min", "max", "and", "or", "xor"].into_iter().find(|&o| o == w));
            let (abs, nan) = (m.take("abs"), m.take("NaN"));
            let ty = m.ty()?;
            let kind = match (name, ty) {
                (Some("add"), ScalarType::U32 | ScalarType::S32) => K::Redux(Redux::Add),
                (Some("min"), ScalarType::U32) => K::Redux(Redux::MinU32),
                (Some("max"), ScalarType::U32) => K::Redux(Redux::MaxU32),
                (Some("min"), ScalarType::S32) => K::Redux(Redux::MinS32),
                (Some("max"), ScalarType::S32) => K::Redux(Redux::MaxS32),
                (Some("and"), ScalarType::B32) => K::Redux(Redux::And),
                (Some("or"), ScalarType::B32) => K::Redux(Redux::Or),
                (Some("xor"), ScalarType::B32) => K::Redux(Redux::Xor),
                (Some(end @ ("min" | "max")), ScalarType::F32) => K::ReduxF32 { max: end == "max", abs, nan },
                (_, other) => return Err(unsupported_type(other)),
            };
            let [t, a, members @ ..] = f.operands else {
                return Err(Refusal::new("its operands are missing"));
            };
            let a = d.number(a, ty)?;
            let members = member_mask(d, sync, members)?;
            CollectiveOp { target: d.real_target(t, ty)?, a, ..empty(kind, members) }
        }
        _ => {
            let [t, members] = f.operands()?;
            let members = d.number(members, ScalarType::U32)?;
            let (target, target_predicate) = targets(d, t, ScalarType::U32)?;
            if target_predicate == NONE {
                return Err(Refusal::new("it gives a predicate: `d|p`"));
            }
            CollectiveOp { target, target_predicate, ..empty(K::Elect, members) }
        }
    };
    Ok(OpKind::Collective(Box::new(op)))
}

/// The member mask of a `.sync` form; none for the old forms.
fn member_mask(d: &mut Decoder<'_>, sync: bool, rest: &[Operand]) -> Result<u32, Refusal> {
    match (sync, rest) {
        (true, [members]) => d.number(members, ScalarType::U32),
        (false, []) if d.module.requirements.lockstep() => Ok(NONE),
        (false, []) => {
            Err(Refusal::new("from PTX 6.4 on it needs `.sync` and a member mask on sm_70 or higher"))
        }
        _ => Err(Refusal::new("a member mask goes with `.sync`")),
    }
}
