//! Bit operations: logic, shifts, fields of bits.

use ptx::{Operand, ScalarType};

use super::{arg, three, two, unsupported_type};
use crate::alu::bits::{self, PrmtMode};
use crate::alu::int;
use crate::decode::Refusal;
use crate::decode::function::{Decoder, rows_of};
use crate::decode::instruction::Form;
use crate::form::lanewise::{Evaluate, each2, each3, each4, map1, map2, map3};
use crate::form::registers::lanes_of;

pub(super) fn logic(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let ty = f.modifiers.ty()?;
    if ty == ScalarType::Pred {
        return predicate_logic(d, f);
    }
    if !matches!(ty, ScalarType::B16 | ScalarType::B32 | ScalarType::B64) {
        return Err(unsupported_type(ty));
    }
    macro_rules! by_width {
        ($T:ident => $e:expr) => {
            if rows_of(ty) == 2 {
                type $T = u64;
                $e
            } else if ty == ScalarType::B16 {
                type $T = u16;
                $e
            } else {
                type $T = u32;
                $e
            }
        };
    }
    Ok(match f.name {
        "not" => {
            let (t, a) = two(d, f, ty)?;
            by_width!(T => map1::<T, T>(t, a, |a| !a))
        }
        "cnot" => {
            let (t, a) = two(d, f, ty)?;
            by_width!(T => map1::<T, T>(t, a, |a| T::from(a == 0)))
        }
        name => {
            let (t, a, b) = three(d, f, ty)?;
            match name {
                "and" => by_width!(T => map2::<T, T, T>(t, a, b, |a, b| a & b)),
                "or" => by_width!(T => map2::<T, T, T>(t, a, b, |a, b| a | b)),
                _ => by_width!(T => map2::<T, T, T>(t, a, b, |a, b| a ^ b)),
            }
        }
    })
}

fn predicate_logic(d: &mut Decoder<'_>, f: &Form<'_>) -> Result<Evaluate, Refusal> {
    let apply: fn(u32, u32) -> u32 = match f.name {
        "and" => |a, b| a & b,
        "or" => |a, b| a | b,
        "xor" => |a, b| a ^ b,
        "not" => |a, _| !a,
        _ => return Err(unsupported_type(ScalarType::Pred)),
    };
    let t = d.real_target(arg(f, 0)?, ScalarType::Pred)?;
    let (a, not_a) = d.predicate_source(arg(f, 1)?)?;
    let (b, not_b) = if f.name == "not" { (a, false) } else { d.predicate_source(arg(f, 2)?)? };
    let flip = |not: bool| if not { u32::MAX } else { 0 };
    let (flip_a, flip_b) = (flip(not_a), flip(not_b));
    Ok(Box::new(move |r, mask| {
        // SAFETY: decoding found all three to be predicates.
        unsafe { r.set_predicate(t, apply(r.predicate(a) ^ flip_a, r.predicate(b) ^ flip_b), mask) }
    }))
}

pub(super) fn shift(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    use ScalarType::*;
    let ty = f.modifiers.ty()?;
    let [t, a, n] = f.operands()?;
    let (a, n) = (d.source(a, ty)?, d.source(n, U32)?);
    let t = d.real_target(t, ty)?;
    Ok(match (f.name, ty) {
        ("shl", B16 | U16 | S16) => map2(t, a, n, bits::shl_b16),
        ("shl", B32 | U32 | S32) => map2(t, a, n, bits::shl_b32),
        ("shl", B64 | U64 | S64) => map2(t, a, n, bits::shl_b64),
        ("shr", B16 | U16) => map2(t, a, n, bits::shr_u16),
        ("shr", B32 | U32) => map2(t, a, n, bits::shr_u32),
        ("shr", B64 | U64) => map2(t, a, n, bits::shr_u64),
        ("shr", S16) => map2(t, a, n, bits::shr_s16),
        ("shr", S32) => map2(t, a, n, bits::shr_s32),
        ("shr", S64) => map2(t, a, n, bits::shr_s64),
        (_, other) => return Err(unsupported_type(other)),
    })
}

pub(super) fn bit_field(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    use ScalarType::*;
    let unsupported = |ty| Err(unsupported_type(ty));
    match f.name {
        "popc" | "clz" | "bfind" => {
            let shiftamt = f.name == "bfind" && f.modifiers.take("shiftamt");
            let ty = f.modifiers.ty()?;
            let [t, a] = f.operands()?;
            let a = d.source(a, ty)?;
            let t = d.real_target(t, U32)?;
            let amount =
                move |found: u32, width: u32| if shiftamt { bits::shiftamt(found, width) } else { found };
            Ok(match (f.name, ty) {
                ("popc", B32) => map1(t, a, |a: u32| a.count_ones()),
                ("popc", B64) => map1(t, a, bits::popc),
                ("clz", B32) => map1(t, a, bits::clz_b32),
                ("clz", B64) => map1(t, a, bits::clz_b64),
                ("bfind", U32) => map1(t, a, move |a| amount(bits::bfind_u32(a), 32)),
                ("bfind", S32) => map1(t, a, move |a| amount(bits::bfind_s32(a), 32)),
                ("bfind", U64) => map1(t, a, move |a| amount(bits::bfind_u64(a), 64)),
                ("bfind", S64) => map1(t, a, move |a| amount(bits::bfind_s64(a), 64)),
                (_, other) => return unsupported(other),
            })
        }
        "brev" => {
            let ty = f.modifiers.ty()?;
            let (t, a) = two(d, f, ty)?;
            Ok(match ty {
                B32 => map1(t, a, bits::brev_b32),
                B64 => map1(t, a, bits::brev_b64),
                other => return unsupported(other),
            })
        }
        "fns" => {
            f.modifiers.take("b32");
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, B32)?, d.source(b, U32)?, d.source(c, S32)?);
            Ok(each3(d.real_target(t, B32)?, a, b, c, bits::fns))
        }
        "bfe" => {
            let ty = f.modifiers.ty()?;
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, ty)?, d.source(b, U32)?, d.source(c, U32)?);
            let t = d.real_target(t, ty)?;
            Ok(match ty {
                U32 => map3(t, a, b, c, bits::bfe_u32),
                S32 => map3(t, a, b, c, bits::bfe_s32),
                U64 => map3(t, a, b, c, bits::bfe_u64),
                S64 => map3(t, a, b, c, bits::bfe_s64),
                other => return unsupported(other),
            })
        }
        "bfi" => {
            let ty = f.modifiers.ty()?;
            let [t, a, b, c, e] = f.operands()?;
            let (a, b) = (d.source(a, ty)?, d.source(b, ty)?);
            let (c, e) = (d.source(c, U32)?, d.source(e, U32)?);
            let t = d.real_target(t, ty)?;
            Ok(match ty {
                B32 => each4(t, [a, b, c, e], bits::bfi_b32),
                B64 => each4(t, [a, b, c, e], bits::bfi_b64),
                other => return unsupported(other),
            })
        }
        "bmsk" | "szext" => {
            let wrap = f.modifiers.take_any(&[("clamp", false), ("wrap", true)]);
            let wrap = wrap.ok_or_else(|| Refusal::new("it needs `.clamp` or `.wrap`"))?;
            let ty = f.modifiers.ty()?;
            let [t, a, b] = f.operands()?;
            let (a, b) = (d.source(a, U32)?, d.source(b, U32)?);
            let t = d.real_target(t, U32)?;
            Ok(match (f.name, ty) {
                ("bmsk", B32) => each2(t, a, b, move |a, b| bits::bmsk(a, b, wrap)),
                ("szext", U32) => each2(t, a, b, move |a, b| bits::szext_u32(a, b, wrap)),
                ("szext", S32) => each2(t, a, b, move |a: u32, b: u32| bits::szext_s32(a, b, wrap)),
                (_, other) => return unsupported(other),
            })
        }
        "dp4a" => {
            let (a_type, b_type) = (f.modifiers.ty()?, f.modifiers.ty()?);
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, U32)?, d.source(b, U32)?, d.source(c, U32)?);
            let t = d.real_target(t, U32)?;
            let (x, y) = (a_type.is_signed(), b_type.is_signed());
            Ok(each3(t, a, b, c, move |a, b, c| int::dp4a(a, x, b, y, c)))
        }
        "dp2a" => {
            let high = f.modifiers.take_any(&[("lo", false), ("hi", true)]);
            let high = high.ok_or_else(|| Refusal::new("it needs `.lo` or `.hi`"))?;
            let (a_type, b_type) = (f.modifiers.ty()?, f.modifiers.ty()?);
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, U32)?, d.source(b, U32)?, d.source(c, U32)?);
            let t = d.real_target(t, U32)?;
            let (x, y) = (a_type.is_signed(), b_type.is_signed());
            Ok(each3(t, a, b, c, move |a, b, c| int::dp2a(a, x, b, y, c, high)))
        }
        "lop3" => lop3(d, f),
        "shf" => {
            let left = f.modifiers.take_any(&[("l", true), ("r", false)]);
            let wrap = f.modifiers.take_any(&[("clamp", false), ("wrap", true)]);
            let ty = f.modifiers.ty()?;
            let (Some(left), Some(wrap), B32) = (left, wrap, ty) else {
                return Err(Refusal::new("it is `.l` or `.r`, `.clamp` or `.wrap`, and `.b32`"));
            };
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, U32)?);
            let t = d.real_target(t, ty)?;
            Ok(match (left, wrap) {
                (true, true) => map3(t, a, b, c, |a, b, c| bits::shf_l(a, b, c, true)),
                (true, false) => map3(t, a, b, c, |a, b, c| bits::shf_l(a, b, c, false)),
                (false, true) => map3(t, a, b, c, |a, b, c| bits::shf_r(a, b, c, true)),
                (false, false) => map3(t, a, b, c, |a, b, c| bits::shf_r(a, b, c, false)),
            })
        }
        "prmt" => {
            let ty = f.modifiers.ty()?;
            let mode = f.modifiers.take_any(&[
                ("f4e", PrmtMode::F4e),
                ("b4e", PrmtMode::B4e),
                ("rc8", PrmtMode::Rc8),
                ("ecl", PrmtMode::Ecl),
                ("ecr", PrmtMode::Ecr),
                ("rc16", PrmtMode::Rc16),
            ]);
            let mode = mode.unwrap_or(PrmtMode::Generic);
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, B32)?);
            Ok(each3(d.real_target(t, ty)?, a, b, c, move |a, b, c| bits::prmt(a, b, c, mode)))
        }
        _ => Err(Refusal::new("this instruction is not known")),
    }
}

fn lop3(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let join = f.modifiers.take_any(&[("or", true), ("and", false)]);
    let ty = f.modifiers.ty()?;
    if ty != ScalarType::B32 {
        return Err(unsupported_type(ty));
    }
    let table = |operand: &Operand| match operand {
        // ptxas takes the low eight bits of a table, whatever its value.
        Operand::Constant(c) => c.integer().map(|bits| bits as u8),
        _ => None,
    };
    let [t, a, b, c, lut, rest @ ..] = f.operands else {
        return Err(Refusal::new("it takes five operands"));
    };
    let table = table(lut).ok_or_else(|| Refusal::new("its table must be a constant"))?;
    let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, ty)?);
    let Some(or) = join else {
        let t = d.real_target(t, ty)?;
        return Ok(map3(t, a, b, c, move |a, b, c| bits::lop3(a, b, c, table)));
    };
    // `lop3.BoolOp.b32 d|p, a, b, c, table, q`
    let (t, p) = match t {
        Operand::Pair(pair) => (d.real_target(&pair[0], ty)?, d.real_target(&pair[1], ScalarType::Pred)?),
        other => (d.real_target(other, ty)?, d.scratch(0)?),
    };
    let [q] = rest else { return Err(Refusal::new("the predicate operand is missing")) };
    let (q, inverted) = d.predicate_source(q)?;
    let flip = if inverted { u32::MAX } else { 0 };
    let compute = map3(t, a, b, c, move |a: u32, b: u32, c: u32| bits::lop3(a, b, c, table));
    Ok(Box::new(move |r, mask| {
        // SAFETY: decoding gave these registers their widths.
        unsafe {
            let q = r.predicate(q) ^ flip;
            compute(r, mask);
            let nonzero = lanes_of(mask).filter(|&i| r.get::<u32>(t, i) != 0).fold(0, |m, i| m | 1 << i);
            r.set_predicate(p, if or { nonzero | q } else { nonzero & q }, mask);
        }
    }))
}
