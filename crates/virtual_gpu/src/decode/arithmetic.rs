//! Integer arithmetic and bit operations.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::Decoder;
use super::modifiers::Form;
use crate::alu::bits::PrmtMode;
use crate::alu::compare::BoolOp;
use crate::form::op::OpKind;
use crate::form::qualifiers::{ProductHalf, Qualifiers};

pub(super) fn unsupported_type(ty: ScalarType) -> Refusal {
    Refusal(format!("the type `{ty}` is not possible here"))
}

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match f.name {
        "addc" | "subc" | "madc" => carry(d, f, true),
        "add" | "sub" | "mad" if f.modifiers.has(|word| word == "cc") => carry(d, f, false),
        "add" | "sub" | "mul" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad" | "mad" | "mul24"
        | "mad24" => integer(d, f),
        "dp4a" | "dp2a" => dot_product(d, f),
        "lop3" => lop3(d, f),
        _ => bits(d, f),
    }
}

/// The kind of a source operand.
enum Wanted {
    /// A value, of which sums of another width become one.
    Value(ScalarType),
    /// An amount or a count, which has just this type.
    Number(ScalarType),
}

/// Reads the sources, each as `of` says by its place, and then finds the target.
fn registers(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    qualifiers: Qualifiers,
    target: ScalarType,
    of: impl Fn(usize) -> Wanted,
) -> Result<OpKind, Refusal> {
    let [t, sources @ ..] = f.operands else { return Err(Refusal::new("its operands are missing")) };
    let sources = sources.iter().enumerate().map(|(at, source)| match of(at) {
        Wanted::Value(ty) => d.source(source, ty),
        Wanted::Number(ty) => d.number(source, ty),
    });
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    f.arithmetic(qualifiers, &[d.real_target(t, target)?], &sources)
}

/// Of an operation whose operands all have one type.
pub(super) fn uniform(
    d: &mut Decoder<'_>,
    f: &Form<'_>,
    qualifiers: Qualifiers,
    ty: ScalarType,
) -> Result<OpKind, Refusal> {
    registers(d, f, qualifiers, ty, |_| Wanted::Value(ty))
}

fn integer(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let half =
        m.take_any(&[("lo", ProductHalf::Low), ("hi", ProductHalf::High), ("wide", ProductHalf::Wide)]);
    let (saturate, relu) = (m.take("sat"), m.take("relu"));
    let ty = m.ty()?;
    if saturate && !matches!(ty, ScalarType::S32 | ScalarType::U16x2 | ScalarType::S16x2) {
        return Err(Refusal::new("`.sat` is for `.s32` and pairs of 16 bits only"));
    }
    let result = match (half, ty) {
        (Some(ProductHalf::Wide), ScalarType::U16 | ScalarType::S16) => ScalarType::U32,
        (Some(ProductHalf::Wide), ScalarType::U32 | ScalarType::S32) => ScalarType::U64,
        (Some(ProductHalf::Wide), other) => return Err(unsupported_type(other)),
        _ => ty,
    };
    // ptxas makes a function of them, whose text it writes with the operands as they are.
    let divides = matches!(f.name, "div" | "rem") && ty.size() == 8;
    if divides && let Some(sum) = f.operands.iter().find(|operand| matches!(operand, Operand::Symbol(_))) {
        return Err(Refusal(format!(
            "`{sum}` is a sum, and ptxas divides only registers and constants of 64 bits"
        )));
    }
    let qualifiers = Qualifiers::Integer { ty, half, saturate, relu };
    registers(d, f, qualifiers, result, |at| Wanted::Value(if at == 2 { result } else { ty }))
}

/// `.cc` writes the carry flag; `addc`, `subc` and `madc` read it.
fn carry(d: &mut Decoder<'_>, f: &mut Form<'_>, reads: bool) -> Result<OpKind, Refusal> {
    let writes = f.modifiers.take("cc");
    let half = f.modifiers.take_any(&[("lo", false), ("hi", true)]);
    let ty = f.modifiers.ty()?;
    let high = match (f.name.starts_with("mad"), half) {
        (true, None) => return Err(Refusal::new("it needs `.lo` or `.hi`")),
        (false, Some(_)) => return Err(Refusal::new("only `mad` has `.lo` and `.hi`")),
        (_, half) => half.unwrap_or(false),
    };
    let [t, sources @ ..] = f.operands else { return Err(Refusal::new("its operands are missing")) };
    let mut sources = sources.iter().map(|source| d.source(source, ty)).collect::<Result<Vec<_>, _>>()?;
    let t = d.real_target(t, ty)?;
    let flag = d.carry()?;
    if reads {
        d.note_read(flag, 0);
    }
    if writes {
        d.note_write(flag, 0);
    }
    sources.push(flag);
    f.arithmetic(Qualifiers::Carry { ty, high, reads, writes }, &[t, flag], &sources)
}

fn dot_product(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let high = f.modifiers.take_any(&[("lo", false), ("hi", true)]);
    if f.name == "dp2a" && high.is_none() {
        return Err(Refusal::new("it needs `.lo` or `.hi`"));
    }
    let signed = [f.modifiers.ty()?.is_signed(), f.modifiers.ty()?.is_signed()];
    let qualifiers = Qualifiers::DotProduct { signed, high: high.unwrap_or(false) };
    registers(d, f, qualifiers, ScalarType::U32, |at| match at {
        2 => Wanted::Number(ScalarType::U32),
        _ => Wanted::Value(ScalarType::U32),
    })
}

/// Instructions on registers of their own type, but for amounts and counts.
fn bits(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    use ScalarType::{B32, Pred, S32, U32};
    let m = &mut f.modifiers;
    let shift_amount = f.name == "bfind" && m.take("shiftamt");
    let left = if f.name == "shf" { m.take_any(&[("l", true), ("r", false)]) } else { None };
    let wrap = match f.name {
        "bmsk" | "szext" | "shf" => m.take_any(&[("clamp", false), ("wrap", true)]),
        _ => None,
    };
    let ty = if f.name == "fns" { m.maybe_ty().unwrap_or(B32) } else { m.ty()? };
    let qualifiers = match (f.name, wrap) {
        ("and" | "or" | "xor" | "not", _) if ty == Pred => return predicates(d, f),
        ("bfind", _) => Qualifiers::FindBit { ty, shift_amount },
        ("bmsk" | "szext", Some(wrap)) => Qualifiers::Amount { ty, wrap },
        ("bmsk" | "szext", None) => return Err(Refusal::new("it needs `.clamp` or `.wrap`")),
        ("shf", wrap) => match (left, wrap, ty) {
            (Some(left), Some(wrap), B32) => Qualifiers::FunnelShift { left, wrap },
            _ => return Err(Refusal::new("it is `.l` or `.r`, `.clamp` or `.wrap`, and `.b32`")),
        },
        ("prmt", _) => Qualifiers::Permute(m.take_any(&PERMUTATIONS).unwrap_or(PrmtMode::Generic)),
        _ => Qualifiers::Type(ty),
    };
    let target = if matches!(f.name, "popc" | "clz" | "bfind" | "bmsk" | "szext") { U32 } else { ty };
    let name = f.name;
    // The bits of a field are named by a byte.
    let fields = match name {
        "bfe" => 2,
        "bfi" => 3,
        _ => f.operands.len(),
    };
    let too_large = |operand: &Operand| match operand {
        Operand::Constant(constant) => constant.integer().is_some_and(|bits| bits > 0xff),
        _ => false,
    };
    if f.operands.iter().skip(fields).any(too_large) {
        return Err(Refusal::new("a field's place and length are at most 255"));
    }
    registers(d, f, qualifiers, target, |at| match (name, at) {
        ("shl" | "shr" | "bfe", 1) | ("bfe" | "bfi" | "shf", 2) | ("bfi", 3) => Wanted::Number(U32),
        ("bmsk", _) | ("szext", 1) => Wanted::Number(U32),
        ("szext", _) | ("fns", 1) => Wanted::Value(U32),
        ("fns", 2) => Wanted::Value(S32),
        _ => Wanted::Value(ty),
    })
}

const PERMUTATIONS: [(&str, PrmtMode); 6] = [
    ("f4e", PrmtMode::F4e),
    ("b4e", PrmtMode::B4e),
    ("rc8", PrmtMode::Rc8),
    ("ecl", PrmtMode::Ecl),
    ("ecr", PrmtMode::Ecr),
    ("rc16", PrmtMode::Rc16),
];

fn predicates(d: &mut Decoder<'_>, f: &Form<'_>) -> Result<OpKind, Refusal> {
    let [t, operands @ ..] = f.operands else { return Err(Refusal::new("its operands are missing")) };
    let t = d.real_target(t, ScalarType::Pred)?;
    let (mut sources, mut inverted) = (Vec::new(), [false; 2]);
    for (at, operand) in operands.iter().enumerate() {
        let (slot, not) = d.predicate_source(operand)?;
        sources.push(slot);
        *inverted.get_mut(at).ok_or_else(|| Refusal::new("it takes two predicates"))? = not;
    }
    f.arithmetic(Qualifiers::Predicates { inverted }, &[t], &sources)
}

fn lop3(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let join = f.modifiers.take_any(&[("or", BoolOp::Or), ("and", BoolOp::And)]);
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
    if join.is_none() {
        let qualifiers = Qualifiers::Table { table, join, inverted: false };
        return f.arithmetic(qualifiers, &[d.kept_target(t, ty)?], &[a, b, c]);
    }
    // `lop3.BoolOp.b32 d|p, a, b, c, table, q`
    let (t, p) = match t {
        Operand::Pair(pair) => (d.kept_target(&pair[0], ty)?, d.real_target(&pair[1], ScalarType::Pred)?),
        _ => return Err(Refusal::new("it gives a predicate, too: `d|p`")),
    };
    let [q] = rest else { return Err(Refusal::new("the predicate operand is missing")) };
    let (q, inverted) = d.predicate_source(q)?;
    f.arithmetic(Qualifiers::Table { table, join, inverted }, &[t, p], &[a, b, c, q])
}
