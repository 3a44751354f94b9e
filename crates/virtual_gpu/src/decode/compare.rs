//! `setp`, `set`, `selp`, `slct`.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::arithmetic::{by_int, unsupported_type};
use super::function::{Decoder, rows_of};
use super::instruction::{Form, arithmetic};
use crate::alu::compare::{self, BoolOp, FloatCmp, IntCmp};
use crate::alu::float::flush_f32;
use crate::alu::half;
use crate::form::lanewise::{Evaluate, each3, map2, select, test2};
use crate::form::op::OpKind;
use crate::form::registers::{Slot, lanes_of};

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    arithmetic(
        f.name,
        match f.name {
            "setp" => setp(d, f)?,
            "set" => set(d, f)?,
            "selp" => selp(d, f)?,
            _ => slct(d, f)?,
        },
    )
}

/// A comparison as the text names it.
#[derive(Clone, Copy)]
enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Unordered(FloatCmp),
    Unsigned(IntCmp),
}

const COMPARISONS: [(&str, Comparison); 18] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("lt", Comparison::Lt),
    ("le", Comparison::Le),
    ("gt", Comparison::Gt),
    ("ge", Comparison::Ge),
    ("lo", Comparison::Unsigned(IntCmp::Lt)),
    ("ls", Comparison::Unsigned(IntCmp::Le)),
    ("hi", Comparison::Unsigned(IntCmp::Gt)),
    ("hs", Comparison::Unsigned(IntCmp::Ge)),
    ("equ", Comparison::Unordered(FloatCmp::Equ)),
    ("neu", Comparison::Unordered(FloatCmp::Neu)),
    ("ltu", Comparison::Unordered(FloatCmp::Ltu)),
    ("leu", Comparison::Unordered(FloatCmp::Leu)),
    ("gtu", Comparison::Unordered(FloatCmp::Gtu)),
    ("geu", Comparison::Unordered(FloatCmp::Geu)),
    ("num", Comparison::Unordered(FloatCmp::Num)),
    ("nan", Comparison::Unordered(FloatCmp::Nan)),
];

impl Comparison {
    fn int(self) -> Result<IntCmp, Refusal> {
        Ok(match self {
            Comparison::Eq => IntCmp::Eq,
            Comparison::Ne => IntCmp::Ne,
            Comparison::Lt => IntCmp::Lt,
            Comparison::Le => IntCmp::Le,
            Comparison::Gt => IntCmp::Gt,
            Comparison::Ge => IntCmp::Ge,
            Comparison::Unsigned(cmp) => cmp,
            Comparison::Unordered(_) => return Err(Refusal::new("this comparison is for floats")),
        })
    }

    fn float(self) -> Result<FloatCmp, Refusal> {
        Ok(match self {
            Comparison::Eq => FloatCmp::Eq,
            Comparison::Ne => FloatCmp::Ne,
            Comparison::Lt => FloatCmp::Lt,
            Comparison::Le => FloatCmp::Le,
            Comparison::Gt => FloatCmp::Gt,
            Comparison::Ge => FloatCmp::Ge,
            Comparison::Unordered(cmp) => cmp,
            Comparison::Unsigned(_) => return Err(Refusal::new("this comparison is for unsigned integers")),
        })
    }
}

/// What `setp` and `set` have in common.
struct Test {
    comparison: Comparison,
    join: Option<BoolOp>,
    ftz: bool,
}

fn test(f: &mut Form<'_>) -> Result<Test, Refusal> {
    let comparison =
        f.modifiers.take_any(&COMPARISONS).ok_or_else(|| Refusal::new("it names no comparison"))?;
    let join = f.modifiers.take_any(&[("and", BoolOp::And), ("or", BoolOp::Or), ("xor", BoolOp::Xor)]);
    Ok(Test { comparison, join, ftz: f.modifiers.take("ftz") })
}

/// The predicate `t = a cmp b`.
fn comparison(t: Slot, a: Slot, b: Slot, ty: ScalarType, test: &Test) -> Result<Evaluate, Refusal> {
    use ScalarType::*;
    let ftz = test.ftz;
    macro_rules! floats {
        ($T:ty, $flush:expr) => {{
            let flush = $flush;
            match test.comparison.float()? {
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
    Ok(match ty {
        F32 if ftz => floats!(f32, |a| flush_f32(a, true)),
        F32 => floats!(f32, |a| a),
        F64 => floats!(f64, |a| a),
        F16 => {
            let cmp = test.comparison.float()?;
            test2(t, a, b, move |a: u16, b: u16| half::compare::<half::F16>(cmp, a, b, ftz))
        }
        Bf16 => {
            let cmp = test.comparison.float()?;
            test2(t, a, b, move |a: u16, b: u16| half::compare::<half::Bf16>(cmp, a, b, ftz))
        }
        ty => {
            let ty = match (test.comparison, ty) {
                (Comparison::Unsigned(_), S16) => U16,
                (Comparison::Unsigned(_), S32) => U32,
                (Comparison::Unsigned(_), S64) => U64,
                (_, ty) => ty,
            };
            let cmp = test.comparison.int()?;
            by_int!(ty, T => match cmp {
                IntCmp::Eq => test2(t, a, b, |a: T, b: T| a == b),
                IntCmp::Ne => test2(t, a, b, |a: T, b: T| a != b),
                IntCmp::Lt => test2(t, a, b, |a: T, b: T| a < b),
                IntCmp::Le => test2(t, a, b, |a: T, b: T| a <= b),
                IntCmp::Gt => test2(t, a, b, |a: T, b: T| a > b),
                IntCmp::Ge => test2(t, a, b, |a: T, b: T| a >= b),
            })
        }
    })
}

fn joined(op: BoolOp, a: u32, c: u32) -> u32 {
    match op {
        BoolOp::And => a & c,
        BoolOp::Or => a | c,
        BoolOp::Xor => a ^ c,
    }
}

fn setp(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let what = test(f)?;
    let ty = f.modifiers.ty()?;
    let [target, a, b, rest @ ..] = f.operands else {
        return Err(Refusal::new("it takes three or four operands"));
    };
    let (a, b) = (d.source(a, ty)?, d.source(b, ty)?);
    let third = match (rest, what.join) {
        ([], None) => None,
        ([c], Some(op)) => Some((op, d.predicate_source(c)?)),
        _ => return Err(Refusal::new("`.and`, `.or` and `.xor` go with a fourth operand")),
    };
    if matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2) {
        return packed_setp(d, target, a, b, ty, &what, third);
    }
    let (p, q) = match target {
        Operand::Pair(_) if matches!(ty, ScalarType::F16 | ScalarType::Bf16) => {
            return Err(Refusal::new("a comparison of 16-bit floats gives one predicate"));
        }
        Operand::Pair(pair) => {
            (d.real_target(&pair[0], ScalarType::Pred)?, Some(d.real_target(&pair[1], ScalarType::Pred)?))
        }
        other => (d.real_target(other, ScalarType::Pred)?, None),
    };
    if q.is_none() && third.is_none() {
        return comparison(p, a, b, ty, &what);
    }
    let scratch = d.scratch(0)?;
    let compare = comparison(scratch, a, b, ty, &what)?;
    Ok(Box::new(move |r, mask| {
        compare(r, mask);
        // SAFETY: decoding found all of these to be predicates.
        unsafe {
            let yes = r.predicate(scratch);
            let (yes, no) = match third {
                None => (yes, !yes),
                Some((op, (c, inverted))) => {
                    let c = r.predicate(c) ^ if inverted { u32::MAX } else { 0 };
                    (joined(op, yes, c), joined(op, !yes, c))
                }
            };
            r.set_predicate(p, yes, mask);
            if let Some(q) = q {
                r.set_predicate(q, no, mask);
            }
        }
    }))
}

/// `setp.f16x2 p|q`: the halves' results, not a result and its opposite.
fn packed_setp(
    d: &mut Decoder<'_>,
    target: &Operand,
    a: Slot,
    b: Slot,
    ty: ScalarType,
    what: &Test,
    third: Option<(BoolOp, (Slot, bool))>,
) -> Result<Evaluate, Refusal> {
    let (low, high) = match target {
        Operand::Pair(pair) => (&pair[0], &pair[1]),
        low => (low, &Operand::Sink),
    };
    let p = d.real_target(low, ScalarType::Pred)?;
    let q = d.real_target(high, ScalarType::Pred)?;
    let (cmp, ftz) = (what.comparison.float()?, what.ftz);
    let bf16 = ty == ScalarType::Bf16x2;
    let one = move |a: u32, b: u32| {
        let (a, b) = (a as u16, b as u16);
        if bf16 {
            half::compare::<half::Bf16>(cmp, a, b, ftz)
        } else {
            half::compare::<half::F16>(cmp, a, b, ftz)
        }
    };
    let low = test2(p, a, b, one);
    let high = test2(q, a, b, move |a: u32, b: u32| one(a >> 16, b >> 16));
    // The third operand may be one of the targets: it is kept before they change.
    let kept = d.scratch(0)?;
    Ok(Box::new(move |r, mask| {
        // SAFETY: decoding found all of these to be predicates.
        unsafe {
            if let Some((_, (c, inverted))) = third {
                r.set_predicate(kept, r.predicate(c) ^ if inverted { u32::MAX } else { 0 }, u32::MAX);
            }
            low(r, mask);
            high(r, mask);
            if let Some((op, _)) = third {
                let c = r.predicate(kept);
                r.set_predicate(p, joined(op, r.predicate(p), c), mask);
                r.set_predicate(q, joined(op, r.predicate(q), c), mask);
            }
        }
    }))
}

fn set(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    use ScalarType::*;
    let what = test(f)?;
    let (to, ty) = (f.modifiers.ty()?, f.modifiers.ty()?);
    let [t, a, b, rest @ ..] = f.operands else {
        return Err(Refusal::new("it takes three or four operands"));
    };
    let (a, b) = (d.source(a, ty)?, d.source(b, ty)?);
    let third = match (rest, what.join) {
        ([], None) => None,
        ([c], Some(op)) => Some((op, d.predicate_source(c)?)),
        _ => return Err(Refusal::new("`.and`, `.or` and `.xor` go with a fourth operand")),
    };
    if matches!(ty, F16x2 | Bf16x2) {
        let t = d.real_target(t, to)?;
        let (cmp, ftz) = (what.comparison.float()?, what.ftz);
        let yes: u32 = match to {
            F16x2 => 0x3c00,
            Bf16x2 => 0x3f80,
            _ => 0xffff,
        };
        let one = if ty == Bf16x2 { half::compare::<half::Bf16> } else { half::compare::<half::F16> };
        let Some((op, (c, inverted))) = third else {
            return Ok(map2(t, a, b, move |a: u32, b: u32| {
                half::packed2(a, b, |a, b| if one(cmp, a, b, ftz) { yes as u16 } else { 0 })
            }));
        };
        return Ok(Box::new(move |r, mask| {
            for i in lanes_of(mask) {
                // SAFETY: decoding gave these registers their widths.
                unsafe {
                    let c = u32::from(r.predicate(c) >> i & 1 != 0) ^ u32::from(inverted);
                    let (a, b) = (r.get::<u32>(a, i), r.get::<u32>(b, i));
                    let part = |a, b| joined(op, one(cmp, a, b, ftz).into(), c) as u16 * yes as u16;
                    r.set(t, i, half::packed2(a, b, part));
                }
            }
        }));
    }
    let yes: u64 = match to {
        U16 | S16 => 0xffff,
        U32 | S32 => 0xffff_ffff,
        F32 => f32::to_bits(1.0).into(),
        F16 => 0x3c00,
        Bf16 => 0x3f80,
        other => return Err(unsupported_type(other)),
    };
    let t = d.real_target(t, to)?;
    let scratch = d.scratch(0)?;
    let compare = comparison(scratch, a, b, ty, &what)?;
    Ok(Box::new(move |r, mask| {
        compare(r, mask);
        // SAFETY: decoding gave these registers their widths.
        unsafe {
            let mut bits = r.predicate(scratch);
            if let Some((op, (c, inverted))) = third {
                bits = joined(op, bits, r.predicate(c) ^ if inverted { u32::MAX } else { 0 });
            }
            let out: [u32; 32] = std::array::from_fn(|i| if bits >> i & 1 != 0 { yes as u32 } else { 0 });
            r.store(t, &out, mask);
        }
    }))
}

fn selp(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let ty = f.modifiers.ty()?;
    let [t, yes, no, p] = f.operands()?;
    let (mut a, mut b) = (d.source(yes, ty)?, d.source(no, ty)?);
    let (p, inverted) = d.predicate_source(p)?;
    if inverted {
        std::mem::swap(&mut a, &mut b);
    }
    let t = d.real_target(t, ty)?;
    Ok(match rows_of(ty) {
        0 => return Err(unsupported_type(ty)),
        1 => select(t, a, b, p, |a: u32| a),
        2 => select(t, a, b, p, |a: u64| a),
        _ => select(t, a, b, p, |a: u128| a),
    })
}

fn slct(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    use ScalarType::*;
    let ftz = f.modifiers.take("ftz");
    let (ty, by) = (f.modifiers.ty()?, f.modifiers.ty()?);
    let [t, a, b, c] = f.operands()?;
    let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, by)?);
    let t = d.real_target(t, ty)?;
    let takes_first = match by {
        S32 => |c: u32, _| compare::slct_s32(c as i32),
        F32 => |c: u32, ftz| compare::slct_f32(f32::from_bits(c), ftz),
        other => return Err(unsupported_type(other)),
    };
    Ok(match rows_of(ty) {
        1 => each3(t, a, b, c, move |a: u32, b: u32, c: u32| if takes_first(c, ftz) { a } else { b }),
        2 => each3(t, a, b, c, move |a: u64, b: u64, c: u32| if takes_first(c, ftz) { a } else { b }),
        _ => return Err(unsupported_type(ty)),
    })
}
