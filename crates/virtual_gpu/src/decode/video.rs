//! The video instructions.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::Decoder;
use super::modifiers::Form;
use crate::alu::compare::IntCmp;
use crate::alu::video::{Mad, Op, Packed, PackedOp, Part, Secondary};
use crate::form::op::OpKind;
use crate::form::qualifiers::{Qualifiers, Video};
use crate::form::registers::Slot;

const COMPARISONS: [(&str, IntCmp); 6] = [
    ("eq", IntCmp::Eq),
    ("ne", IntCmp::Ne),
    ("lt", IntCmp::Lt),
    ("le", IntCmp::Le),
    ("gt", IntCmp::Gt),
    ("ge", IntCmp::Ge),
];

/// Whether an opcode is one of them.
pub(super) fn knows(name: &str) -> bool {
    matches!(name.trim_end_matches(['2', '4']), "vavrg" | "vset")
        || matches!(name, "vshl" | "vshr" | "vmad")
        || plain(name.trim_end_matches(['2', '4'])).is_some()
}

fn plain(name: &str) -> Option<Op> {
    Some(match name {
        "vadd" => Op::Add,
        "vsub" => Op::Sub,
        "vabsdiff" => Op::AbsDiff,
        "vmin" => Op::Min,
        "vmax" => Op::Max,
        _ => return None,
    })
}

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    match form.name.as_bytes().last() {
        Some(b'2') => packed(d, form, 2),
        Some(b'4') => packed(d, form, 4),
        _ if form.name == "vmad" => mad(d, form),
        _ => scalar(d, form),
    }
}

/// The signedness of the next type.
fn signed(f: &mut Form<'_>) -> Result<bool, Refusal> {
    match f.modifiers.ty()? {
        ScalarType::U32 => Ok(false),
        ScalarType::S32 => Ok(true),
        other => Err(super::arithmetic::unsupported_type(other)),
    }
}

/// A register and what is selected of it: `%r1.b0`.
fn selected(operand: &Operand) -> (Operand, Option<&str>) {
    match operand {
        Operand::Component(name, part) => (Operand::Name(name.clone()), Some(part.as_str())),
        other => (other.clone(), None),
    }
}

fn part(selector: Option<&str>) -> Result<Part, Refusal> {
    Ok(match selector {
        None => Part::Word,
        Some("b0") => Part::Byte(0),
        Some("b1") => Part::Byte(1),
        Some("b2") => Part::Byte(2),
        Some("b3") => Part::Byte(3),
        Some("h0") => Part::Half(0),
        Some("h1") => Part::Half(1),
        Some(other) => return Err(Refusal(format!("there is no part `.{other}`"))),
    })
}

fn source(d: &mut Decoder<'_>, operand: &Operand) -> Result<(Slot, Part), Refusal> {
    if let Operand::Symbol(_) = operand {
        return Err(Refusal(format!("`{operand}` is a sum, where a register or a part of one is wanted")));
    }
    let (register, selector) = selected(operand);
    Ok((d.source(&register, ScalarType::U32)?, part(selector)?))
}

/// `vadd` and its likes, `vshl`, `vshr`, `vset`.
fn scalar(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let set = f.name == "vset";
    let to_signed = if set { false } else { signed(f)? };
    let (a_signed, b_signed) = (signed(f)?, signed(f)?);
    let saturate = f.modifiers.take("sat");
    let wrap = f.modifiers.take_any(&[("clamp", false), ("wrap", true)]);
    let compare = f.modifiers.take_any(&COMPARISONS);
    let second =
        f.modifiers.take_any(&[("add", Secondary::Add), ("min", Secondary::Min), ("max", Secondary::Max)]);
    let [target, a, b, rest @ ..] = f.operands else {
        return Err(Refusal::new("it takes three or four operands"));
    };
    let ((a, a_part), (b, b_part)) = (source(d, a)?, source(d, b)?);
    let (target, selector) = selected(target);
    let to = part(selector)?;
    let c = match rest {
        [] if second.is_none() && to == Part::Word => a,
        [c] if second.is_some() || to != Part::Word => d.number(c, ScalarType::U32)?,
        _ => {
            return Err(Refusal::new(
                "a fourth operand goes with a second operation or a part of the target",
            ));
        }
    };
    let t = d.real_target(&target, ScalarType::U32)?;
    let parts = [(a_part, a_signed), (b_part, b_signed)];
    let video = Video { parts, to: (to, to_signed), saturate, wrap, compare, second };
    f.arithmetic(Qualifiers::Video(video), &[t], &[a, b, c])
}

fn mad(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let _ = signed(f)?;
    let (a_signed, b_signed) = (signed(f)?, signed(f)?);
    let plus_one = f.modifiers.take("po");
    let saturate = f.modifiers.take("sat");
    let shift = f.modifiers.take_any(&[("shr7", 7), ("shr15", 15)]).unwrap_or(0);
    let [t, a, b, c] = f.operands()?;
    fn sign(operand: &Operand) -> (bool, &Operand) {
        match operand {
            Operand::Negative(inner) => (true, inner),
            other => (false, other),
        }
    }
    let ((minus_a, a), (minus_b, b), (minus_c, c)) = (sign(a), sign(b), sign(c));
    if plus_one && (minus_a || minus_b || minus_c) {
        return Err(Refusal::new("`.po` does not go with a negated operand"));
    }
    let ((a, a_part), (b, b_part)) = (source(d, a)?, source(d, b)?);
    let c = d.source(c, ScalarType::U32)?;
    let t = d.real_target(t, ScalarType::U32)?;
    let negate_product = minus_a != minus_b;
    let mode = Mad {
        signed: a_signed || b_signed || negate_product || minus_c,
        negate_product,
        negate_c: minus_c,
        plus_one,
        shift,
        saturate,
    };
    let parts = [(a_part, a_signed), (b_part, b_signed)];
    f.arithmetic(Qualifiers::VideoMad { parts, mode }, &[t], &[a, b, c])
}

/// The digits of a selector such as `h10` or `b3210`, lowest lane first.
fn lanes(selector: &str, letter: char, limit: u8) -> Result<Vec<u8>, Refusal> {
    let digits =
        selector.strip_prefix(letter).map(|digits| digits.bytes().rev().map(|d| d.wrapping_sub(b'0')));
    match digits.map(Iterator::collect::<Vec<_>>) {
        Some(digits) if !digits.is_empty() && digits.iter().all(|&d| d < limit) => Ok(digits),
        _ => Err(Refusal(format!("there is no selector `.{selector}`"))),
    }
}

/// `vadd2`, `vset4` and their likes.
fn packed(d: &mut Decoder<'_>, f: &mut Form<'_>, count: u8) -> Result<OpKind, Refusal> {
    let name = &f.name[..f.name.len() - 1];
    let op = match (name, plain(name)) {
        (_, Some(op)) => PackedOp::Scalar(op),
        ("vavrg", _) => PackedOp::Average,
        _ => {
            let cmp = f.modifiers.take_any(&COMPARISONS);
            PackedOp::Set(cmp.ok_or_else(|| Refusal::new("it names no comparison"))?)
        }
    };
    let to_signed = if matches!(op, PackedOp::Set(_)) { false } else { signed(f)? };
    let (a_signed, b_signed) = (signed(f)?, signed(f)?);
    let (saturate, accumulate) = (f.modifiers.take("sat"), f.modifiers.take("add"));
    let [t, a, b, c] = f.operands()?;
    let letter = if count == 2 { 'h' } else { 'b' };
    let ((t, mask), (a, a_select), (b, b_select)) = (selected(t), selected(a), selected(b));
    let mask = match mask {
        None => (1 << count) - 1,
        Some(mask) => lanes(mask, letter, count)?.iter().fold(0, |mask, lane| mask | 1 << lane),
    };
    let select = |selector: Option<&str>, first: u8| -> Result<[u8; 4], Refusal> {
        let chosen = match selector {
            None => (first..first + count).collect(),
            Some(text) => lanes(text, letter, 2 * count)?,
        };
        if chosen.len() != usize::from(count) {
            return Err(Refusal(format!("a selector names {count} lanes")));
        }
        Ok(std::array::from_fn(|i| chosen.get(i).copied().unwrap_or(0)))
    };
    let form = Packed {
        op,
        lanes: u32::from(count),
        signed: to_signed,
        a_signed,
        b_signed,
        a_select: select(a_select, 0)?,
        b_select: select(b_select, count)?,
        mask,
        saturate,
        accumulate,
    };
    if let Some(other) = [&a, &b, c].into_iter().find(|operand| !matches!(operand, Operand::Name(_))) {
        return Err(Refusal(format!("`{other}` is no register")));
    }
    let word = ScalarType::U32;
    let (a, b, c) = (d.source(&a, word)?, d.source(&b, word)?, d.source(c, word)?);
    let t = d.real_target(&t, word)?;
    f.arithmetic(Qualifiers::VideoPacked(form), &[t], &[a, b, c])
}
