//! `setp`, `set`, `selp`, `slct`.

use ptx::ScalarType;

use super::lanewise::{each3, map2, select as select_by, test2};
use super::{Evaluate, Unknown, by_int, flip, rows};
use crate::alu::compare::{self, BoolOp, FloatCmp, IntCmp};
use crate::alu::float::flush_f32;
use crate::alu::half;
use crate::form::arithmetic::Arithmetic;
use crate::form::qualifiers::{Compare, Relation};
use crate::form::registers::{Slot, lanes_of};

pub(super) fn evaluation(o: &Arithmetic, what: Compare) -> Result<Evaluate, Unknown> {
    let &[a, b, ref third @ ..] = &o.sources[..] else {
        return Err(Unknown::new("it takes three or four operands"));
    };
    let third = match (what.join, third) {
        (None, []) => None,
        (Some(op), &[slot]) => Some(Joined { op, slot, flip: flip(what.inverted) }),
        _ => return Err(Unknown::form()),
    };
    let pairs = matches!(what.ty, ScalarType::F16x2 | ScalarType::Bf16x2);
    match (what.result == ScalarType::Pred, pairs) {
        (true, false) => setp(o, a, b, what, third),
        (true, true) => setp_pairs(o, a, b, what, third),
        (false, false) => set(o, a, b, what, third),
        (false, true) => set_pairs(o, a, b, what, third),
    }
}

/// A predicate that a result is joined with.
#[derive(Clone, Copy)]
struct Joined {
    op: BoolOp,
    slot: Slot,
    flip: u32,
}

pub(super) fn joined(op: BoolOp, a: u32, c: u32) -> u32 {
    match op {
        BoolOp::And => a & c,
        BoolOp::Or => a | c,
        BoolOp::Xor => a ^ c,
    }
}

fn float_relation(what: Compare) -> Result<FloatCmp, Unknown> {
    match what.relation {
        Relation::Float(cmp) => Ok(cmp),
        Relation::Integer(_) => Err(Unknown::form()),
    }
}

/// The predicate `t = a cmp b`.
fn comparison(t: Slot, a: Slot, b: Slot, what: Compare) -> Result<Evaluate, Unknown> {
    use ScalarType::{Bf16, F16, F32, F64};
    let ftz = what.ftz;
    macro_rules! floats {
        ($T:ty, $flush:expr) => {{
            let flush = $flush;
            match float_relation(what)? {
                FloatCmp::Eq => test2(t, a, b, move |a: $T, b: $T| flush(a) == flush(b)),
                FloatCmp::Lt => test2(t, a, b, move |a: $T, b: $T| flush(a) < flush(b)),
                FloatCmp::Le => test2(t, a, b, move |a: $T, b: $T| flush(a) <= flush(b)),
                FloatCmp::Gt => test2(t, a, b, move |a: $T, b: $T| flush(a) > flush(b)),
                FloatCmp::Ge => test2(t, a, b, move |a: $T, b: $T| flush(a) >= flush(b)),
                FloatCmp::Neu => test2(t, a, b, move |a: $T, b: $T| flush(a) != flush(b)),
                cmp => test2(t, a, b, move |a: $T, b: $T| compare::float(cmp, flush(a), flush(b))),
            }
        }};
    }
    Ok(match (what.ty, what.relation) {
        (F32, _) if ftz => floats!(f32, |a| flush_f32(a, true)),
        (F32, _) => floats!(f32, |a| a),
        (F64, _) => floats!(f64, |a| a),
        (F16, Relation::Float(cmp)) => {
            test2(t, a, b, move |a: u16, b: u16| half::compare::<half::F16>(cmp, a, b, ftz))
        }
        (Bf16, Relation::Float(cmp)) => {
            test2(t, a, b, move |a: u16, b: u16| half::compare::<half::Bf16>(cmp, a, b, ftz))
        }
        (ty, Relation::Integer(cmp)) => by_int!(ty, T => match cmp {
            IntCmp::Eq => test2(t, a, b, |a: T, b: T| a == b),
            IntCmp::Ne => test2(t, a, b, |a: T, b: T| a != b),
            IntCmp::Lt => test2(t, a, b, |a: T, b: T| a < b),
            IntCmp::Le => test2(t, a, b, |a: T, b: T| a <= b),
            IntCmp::Gt => test2(t, a, b, |a: T, b: T| a > b),
            IntCmp::Ge => test2(t, a, b, |a: T, b: T| a >= b),
        }),
        (ty, _) => return Err(Unknown::ty(ty)),
    })
}

/// The second target takes the opposite.
fn setp(o: &Arithmetic, a: Slot, b: Slot, what: Compare, third: Option<Joined>) -> Result<Evaluate, Unknown> {
    let (p, q) = match o.targets[..] {
        [p] => (p, None),
        [p, q] => (p, Some(q)),
        _ => return Err(Unknown::form()),
    };
    let compare = comparison(p, a, b, what)?;
    if q.is_none() && third.is_none() {
        return Ok(compare);
    }
    Ok(Box::new(move |r, mask| {
        // SAFETY: decoding found all of these to be predicates.
        unsafe {
            // The third operand may be one of the targets: it is read before they change.
            let third = third.map(|third| (third.op, r.predicate(third.slot) ^ third.flip));
            compare(r, mask);
            let yes = r.predicate(p);
            let (yes, no) = match third {
                None => (yes, !yes),
                Some((op, c)) => (joined(op, yes, c), joined(op, !yes, c)),
            };
            r.set_predicate(p, yes, mask);
            if let Some(q) = q {
                r.set_predicate(q, no, mask);
            }
        }
    }))
}

type CompareHalves = fn(FloatCmp, u16, u16, bool) -> bool;

fn halves(ty: ScalarType) -> CompareHalves {
    if ty == ScalarType::Bf16x2 { half::compare::<half::Bf16> } else { half::compare::<half::F16> }
}

/// `setp.f16x2 p|q`: the halves' results, not a result and its opposite.
fn setp_pairs(
    o: &Arithmetic,
    a: Slot,
    b: Slot,
    what: Compare,
    third: Option<Joined>,
) -> Result<Evaluate, Unknown> {
    let [p, q] = o.targets[..] else { return Err(Unknown::form()) };
    let (cmp, ftz, one) = (float_relation(what)?, what.ftz, halves(what.ty));
    let low = test2(p, a, b, move |a: u32, b: u32| one(cmp, a as u16, b as u16, ftz));
    let high = test2(q, a, b, move |a: u32, b: u32| one(cmp, (a >> 16) as u16, (b >> 16) as u16, ftz));
    Ok(Box::new(move |r, mask| {
        // SAFETY: decoding found all of these to be predicates.
        unsafe {
            // The third operand may be one of the targets: it is read before they change.
            let third = third.map(|third| (third.op, r.predicate(third.slot) ^ third.flip));
            low(r, mask);
            high(r, mask);
            if let Some((op, c)) = third {
                r.set_predicate(p, joined(op, r.predicate(p), c), mask);
                r.set_predicate(q, joined(op, r.predicate(q), c), mask);
            }
        }
    }))
}

/// The second target is a predicate that holds the result in between.
fn set(o: &Arithmetic, a: Slot, b: Slot, what: Compare, third: Option<Joined>) -> Result<Evaluate, Unknown> {
    use ScalarType::{Bf16, F16, F32, S16, S32, U16, U32};
    let yes: u32 = match what.result {
        U16 | S16 => 0xffff,
        U32 | S32 => 0xffff_ffff,
        F32 => f32::to_bits(1.0),
        F16 => 0x3c00,
        Bf16 => 0x3f80,
        other => return Err(Unknown::ty(other)),
    };
    let [t, between] = o.targets[..] else { return Err(Unknown::form()) };
    let compare = comparison(between, a, b, what)?;
    Ok(Box::new(move |r, mask| {
        compare(r, mask);
        // SAFETY: decoding gave these registers their widths.
        unsafe {
            let mut bits = r.predicate(between);
            if let Some(third) = third {
                bits = joined(third.op, bits, r.predicate(third.slot) ^ third.flip);
            }
            let out: [u32; 32] = std::array::from_fn(|i| if bits >> i & 1 != 0 { yes } else { 0 });
            r.store(t, &out, mask);
        }
    }))
}

fn set_pairs(
    o: &Arithmetic,
    a: Slot,
    b: Slot,
    what: Compare,
    third: Option<Joined>,
) -> Result<Evaluate, Unknown> {
    let (t, cmp, ftz, one) = (o.target(), float_relation(what)?, what.ftz, halves(what.ty));
    let yes: u16 = match what.result {
        ScalarType::F16x2 => 0x3c00,
        ScalarType::Bf16x2 => 0x3f80,
        _ => 0xffff,
    };
    let Some(third) = third else {
        return Ok(map2(t, a, b, move |a: u32, b: u32| {
            half::packed2(a, b, |a, b| if one(cmp, a, b, ftz) { yes } else { 0 })
        }));
    };
    Ok(Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: decoding gave these registers their widths.
            unsafe {
                let c = (r.predicate(third.slot) ^ third.flip) >> i & 1;
                let (a, b) = (r.get::<u32>(a, i), r.get::<u32>(b, i));
                let part = |a, b| joined(third.op, one(cmp, a, b, ftz).into(), c) as u16 * yes;
                r.set(t, i, half::packed2(a, b, part));
            }
        }
    }))
}

/// `selp`
pub(super) fn select(o: &Arithmetic, ty: ScalarType) -> Result<Evaluate, Unknown> {
    let (t, [a, b, p]) = (o.target(), o.sources()?);
    Ok(match rows(ty) {
        0 => return Err(Unknown::ty(ty)),
        1 => select_by(t, a, b, p, |a: u32| a),
        2 => select_by(t, a, b, p, |a: u64| a),
        _ => select_by(t, a, b, p, |a: u128| a),
    })
}

/// `slct`
pub(super) fn by_sign(
    o: &Arithmetic,
    ty: ScalarType,
    by: ScalarType,
    ftz: bool,
) -> Result<Evaluate, Unknown> {
    let (t, [a, b, c]) = (o.target(), o.sources()?);
    let takes_first = match by {
        ScalarType::S32 => |c: u32, _| compare::slct_s32(c as i32),
        ScalarType::F32 => |c: u32, ftz| compare::slct_f32(f32::from_bits(c), ftz),
        other => return Err(Unknown::ty(other)),
    };
    Ok(match rows(ty) {
        1 => each3(t, a, b, c, move |a: u32, b: u32, c: u32| if takes_first(c, ftz) { a } else { b }),
        2 => each3(t, a, b, c, move |a: u64, b: u64, c: u32| if takes_first(c, ftz) { a } else { b }),
        _ => return Err(Unknown::ty(ty)),
    })
}
