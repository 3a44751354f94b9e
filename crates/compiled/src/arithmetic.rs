//! Translates one register operation to IR, if some IR gives exactly the interpreter's bits.

use ptx::ScalarType;
use virtual_gpu::alu::bits::PrmtMode;
use virtual_gpu::alu::float::Mode;
use virtual_gpu::jit::{Accuracy, Arithmetic, NONE, Opcode, ProductHalf, Qualifiers, Slot};

use crate::compare::compare;
use crate::convert::convert;
use crate::floats::{double, extremum, single};
use crate::values::Misfit;
use crate::widths::Types;
use crate::writer::Writer;

/// Writes an operation. Returns false, and writes nothing, if it has no IR.
pub fn write(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
    if o.sources.contains(&NONE) || o.targets.is_empty() {
        return Ok(false);
    }
    if o.targets.contains(&NONE) && o.opcode != Opcode::Move {
        return Ok(false);
    }
    match o.qualifiers {
        Qualifiers::Type(ty) => bits(w, o, ty),
        Qualifiers::Predicates { inverted } => predicates(w, o, inverted),
        Qualifiers::Integer { ty, half: None, saturate: false, relu: false } => integer(w, o, ty),
        Qualifiers::Integer { ty, half: Some(half), saturate: false, .. } => product(w, o, ty, half),
        Qualifiers::FunnelShift { left, wrap } => funnel_shift(w, o, left, wrap),
        Qualifiers::Table { table, join: None, .. } => by_table(w, o, table),
        Qualifiers::Permute(PrmtMode::Generic) => permute(w, o),
        Qualifiers::Float { ty: ScalarType::F32, mode, accuracy: Accuracy::Rounded } if mode == Mode::RN => {
            single(w, o)
        }
        Qualifiers::Float { ty: ScalarType::F64, mode, accuracy: Accuracy::Rounded } if mode == Mode::RN => {
            double(w, o)
        }
        Qualifiers::Extremum { ty: ScalarType::F32, ends, abs: false } => extremum(w, o, ends),
        Qualifiers::Compare(what) => compare(w, o, what),
        Qualifiers::Convert(what) => convert(w, o, what),
        Qualifiers::Address { window, back } => {
            let (&[t], &[a]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
            let (a, longs) = (w.longs(a)?, w.types().longs);
            let start = window.unwrap_or(0) as i64;
            let start = if back { start.wrapping_neg() } else { start };
            let value = w.set(format_args!("add {longs} {a}, splat (i64 {start})"));
            w.write_longs(t, value)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// An integer type: its vectors, its width, and whether it is signed.
#[derive(Clone, Copy)]
pub struct Integers {
    pub ty: &'static str,
    one: &'static str,
    pub bits: u32,
    pub signed: bool,
}

pub fn integers(w: &Writer<'_>, ty: ScalarType) -> Option<Integers> {
    use ScalarType::*;
    let bits = match ty {
        U16 | S16 | B16 => 16,
        U32 | S32 | B32 => 32,
        U64 | S64 | B64 => 64,
        _ => return None,
    };
    Some(integers_of(w, bits, matches!(ty, S16 | S32 | S64)))
}

/// Integers of a width in the lanes that the current operation computes.
pub fn integers_of(w: &Writer<'_>, bits: u32, signed: bool) -> Integers {
    let &Types { halves, words, longs, .. } = w.types();
    let (ty, one) = match bits {
        16 => (halves, "i16"),
        32 => (words, "i32"),
        _ => (longs, "i64"),
    };
    Integers { ty, one, bits, signed }
}

pub fn read(w: &mut Writer<'_>, slot: Slot, i: Integers) -> Result<String, Misfit> {
    let &Types { halves, words, .. } = w.types();
    match i.bits {
        16 => {
            let value = w.words(slot)?;
            Ok(w.set(format_args!("trunc {words} {value} to {halves}")))
        }
        32 => w.words(slot),
        _ => w.longs(slot),
    }
}

fn put(w: &mut Writer<'_>, slot: Slot, i: Integers, value: String) -> Result<bool, Misfit> {
    let &Types { halves, words, .. } = w.types();
    match i.bits {
        16 => {
            let words = w.set(format_args!("zext {halves} {value} to {words}"));
            w.write_words(slot, words)?;
        }
        32 => w.write_words(slot, value)?,
        _ => w.write_longs(slot, value)?,
    }
    Ok(true)
}

/// Operations whose only qualifier is a type.
fn bits(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType) -> Result<bool, Misfit> {
    let &Types { lanes, .. } = w.types();
    use Opcode::*;
    match o.opcode {
        Move => return copy(w, o, ty),
        Select => return select(w, o, ty),
        _ => {}
    }
    let (Some(i), &[t]) = (integers(w, ty), &o.targets[..]) else { return Ok(false) };
    match (o.opcode, &o.sources[..]) {
        (And | Or | Xor, &[a, b]) => {
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            let name = match o.opcode {
                And => "and",
                Or => "or",
                _ => "xor",
            };
            let value = w.set(format_args!("{name} {} {a}, {b}", i.ty));
            put(w, t, i, value)
        }
        (Not, &[a]) => {
            let a = read(w, a, i)?;
            let value = w.set(format_args!("xor {} {a}, splat ({} -1)", i.ty, i.one));
            put(w, t, i, value)
        }
        (ShiftLeft | ShiftRight, &[a, n]) if i.bits > 16 => shift(w, o.opcode, t, a, n, i),
        (ShiftLeft | ShiftRight, &[a, n]) => shift_half(w, o.opcode, t, a, n, i),
        (PopulationCount, &[a]) if !i.signed && i.bits > 16 => {
            let a = read(w, a, i)?;
            let value = w.set(format_args!("call {} @llvm.ctpop.v{lanes}{}({} {a})", i.ty, i.one, i.ty));
            counted(w, t, i, value)
        }
        (CountLeadingZeros, &[a]) if !i.signed && i.bits > 16 => {
            let a = read(w, a, i)?;
            let value =
                w.set(format_args!("call {} @llvm.ctlz.v{lanes}{}({} {a}, i1 false)", i.ty, i.one, i.ty));
            counted(w, t, i, value)
        }
        (BitReverse, &[a]) if !i.signed && i.bits > 16 => {
            let a = read(w, a, i)?;
            let value = w.set(format_args!("call {} @llvm.bitreverse.v{lanes}{}({} {a})", i.ty, i.one, i.ty));
            put(w, t, i, value)
        }
        (BitFieldExtract, &[a, position, length]) if i.bits > 16 => {
            let constant = |slot| w.function.constant(slot, 1).map(|value| value as u32 & 0xff);
            let (Some(position), Some(length)) = (constant(position), constant(length)) else {
                return Ok(false);
            };
            // A field that ends within the number, as compilers generate them.
            if length == 0 || position + length > i.bits {
                return Ok(false);
            }
            let (a, ty, one) = (read(w, a, i)?, i.ty, i.one);
            let left = w.set(format_args!("shl {ty} {a}, splat ({one} {})", i.bits - position - length));
            let right = if i.signed { "ashr" } else { "lshr" };
            let value = w.set(format_args!("{right} {ty} {left}, splat ({one} {})", i.bits - length));
            put(w, t, i, value)
        }
        _ => Ok(false),
    }
}

/// A bit count is a word.
fn counted(w: &mut Writer<'_>, t: Slot, i: Integers, count: String) -> Result<bool, Misfit> {
    let &Types { longs, words, .. } = w.types();
    let words = match i.bits {
        64 => w.set(format_args!("trunc {longs} {count} to {words}")),
        _ => count,
    };
    w.write_words(t, words)?;
    Ok(true)
}

/// Shifting by the width or more leaves nothing, or the sign.
fn shift(w: &mut Writer<'_>, opcode: Opcode, t: Slot, a: Slot, n: Slot, i: Integers) -> Result<bool, Misfit> {
    let &Types { bits, longs, words, lanes, .. } = w.types();
    let (a, n) = (read(w, a, i)?, w.words(n)?);
    let most = i.bits - 1;
    let signed = opcode == Opcode::ShiftRight && i.signed;
    let n = match signed {
        true => w.set(format_args!(
            "call {words} @llvm.umin.v{lanes}i32({words} {n}, {words} splat (i32 {most}))"
        )),
        false => n,
    };
    let amount = match i.bits {
        64 => w.set(format_args!("zext {words} {n} to {longs}")),
        _ => n.clone(),
    };
    let name = match (opcode, signed) {
        (Opcode::ShiftLeft, _) => "shl",
        (_, true) => "ashr",
        (_, false) => "lshr",
    };
    let shifted = w.set(format_args!("{name} {} {a}, {amount}", i.ty));
    if signed {
        return put(w, t, i, shifted);
    }
    let beyond = w.set(format_args!("icmp ugt {words} {n}, splat (i32 {most})"));
    let value = w.set(format_args!("select {bits} {beyond}, {} zeroinitializer, {} {shifted}", i.ty, i.ty));
    put(w, t, i, value)
}

/// The same of 16 bits, in 32.
fn shift_half(
    w: &mut Writer<'_>,
    opcode: Opcode,
    t: Slot,
    a: Slot,
    n: Slot,
    i: Integers,
) -> Result<bool, Misfit> {
    let &Types { halves, words, lanes, .. } = w.types();
    let signed = opcode == Opcode::ShiftRight && i.signed;
    let (extend, name, most) = match (opcode, signed) {
        (Opcode::ShiftLeft, _) => ("zext", "shl", 16),
        (_, true) => ("sext", "ashr", 15),
        (_, false) => ("zext", "lshr", 16),
    };
    let (a, n) = (read(w, a, i)?, w.words(n)?);
    let a = w.set(format_args!("{extend} {halves} {a} to {words}"));
    let n =
        w.set(format_args!("call {words} @llvm.umin.v{lanes}i32({words} {n}, {words} splat (i32 {most}))"));
    let shifted = w.set(format_args!("{name} {words} {a}, {n}"));
    let value = w.set(format_args!("trunc {words} {shifted} to {halves}"));
    put(w, t, i, value)
}

fn copy(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType) -> Result<bool, Misfit> {
    let &Types { longs, words, .. } = w.types();
    match (&o.targets[..], &o.sources[..]) {
        (&[t], &[a]) if t != NONE => match (ty, ty.size()) {
            (ScalarType::Pred, _) => {
                let a = w.predicate(a)?;
                w.write_predicate(t, a)?;
            }
            (_, 1..=4) => {
                let a = w.words(a)?;
                w.write_words(t, a)?;
            }
            (_, 8) => {
                let a = w.longs(a)?;
                w.write_longs(t, a)?;
            }
            _ => return Ok(false),
        },
        (&[t], &[low, high]) if t != NONE && ty.size() == 8 => {
            let (low, high) = (w.words(low)?, w.words(high)?);
            let low = w.set(format_args!("zext {words} {low} to {longs}"));
            let high = w.set(format_args!("zext {words} {high} to {longs}"));
            let high = w.set(format_args!("shl {longs} {high}, splat (i64 32)"));
            let value = w.set(format_args!("or {longs} {high}, {low}"));
            w.write_longs(t, value)?;
        }
        (&[low, high], &[a]) if ty.size() == 8 => {
            let a = w.longs(a)?;
            if low != NONE {
                let value = w.set(format_args!("trunc {longs} {a} to {words}"));
                w.write_words(low, value)?;
            }
            if high != NONE {
                let value = w.set(format_args!("lshr {longs} {a}, splat (i64 32)"));
                let value = w.set(format_args!("trunc {longs} {value} to {words}"));
                w.write_words(high, value)?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn select(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType) -> Result<bool, Misfit> {
    let &Types { bits, longs, words, .. } = w.types();
    let (&[t], &[a, b, p]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    if ty == ScalarType::Pred || ty.size() > 8 {
        return Ok(false);
    }
    let p = w.predicate(p)?;
    let lanes = w.bits_of(&p);
    if ty.size() == 8 {
        let (a, b) = (w.longs(a)?, w.longs(b)?);
        let value = w.set(format_args!("select {bits} {lanes}, {longs} {a}, {longs} {b}"));
        w.write_longs(t, value)?;
    } else {
        let (a, b) = (w.words(a)?, w.words(b)?);
        let value = w.set(format_args!("select {bits} {lanes}, {words} {a}, {words} {b}"));
        w.write_words(t, value)?;
    }
    Ok(true)
}

fn predicates(w: &mut Writer<'_>, o: &Arithmetic, inverted: [bool; 2]) -> Result<bool, Misfit> {
    let &[t] = &o.targets[..] else { return Ok(false) };
    let mut sources = Vec::new();
    for (&slot, inverted) in o.sources.iter().zip(inverted) {
        let value = w.predicate(slot)?;
        sources.push(if inverted { w.set(format_args!("xor i32 {value}, -1")) } else { value });
    }
    let value = match (o.opcode, &sources[..]) {
        (Opcode::And, [a, b]) => w.set(format_args!("and i32 {a}, {b}")),
        (Opcode::Or, [a, b]) => w.set(format_args!("or i32 {a}, {b}")),
        (Opcode::Xor, [a, b]) => w.set(format_args!("xor i32 {a}, {b}")),
        (Opcode::Not, [a]) => w.set(format_args!("xor i32 {a}, -1")),
        _ => return Ok(false),
    };
    w.write_predicate(t, value)?;
    Ok(true)
}

fn integer(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType) -> Result<bool, Misfit> {
    let &Types { lanes, .. } = w.types();
    use Opcode::{Abs, Add, Div, Max, Min, Neg, Rem, Sub};
    let (Some(i), &[t]) = (integers(w, ty), &o.targets[..]) else { return Ok(false) };
    let sign = if i.signed { "s" } else { "u" };
    let value = match (o.opcode, &o.sources[..]) {
        (Add | Sub, &[a, b]) => {
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            let name = if o.opcode == Add { "add" } else { "sub" };
            w.set(format_args!("{name} {} {a}, {b}", i.ty))
        }
        (Min | Max, &[a, b]) => {
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            let name = if o.opcode == Min { "min" } else { "max" };
            w.set(format_args!(
                "call {ty} @llvm.{sign}{name}.v{lanes}{}({ty} {a}, {ty} {b})",
                i.one,
                ty = i.ty
            ))
        }
        (Neg, &[a]) => {
            let a = read(w, a, i)?;
            w.set(format_args!("sub {} zeroinitializer, {a}", i.ty))
        }
        (Abs, &[a]) if i.signed => {
            let a = read(w, a, i)?;
            w.set(format_args!("call {ty} @llvm.abs.v{lanes}{}({ty} {a}, i1 false)", i.one, ty = i.ty))
        }
        // Division by a constant other than 0 and -1 has no special case.
        (Div | Rem, &[a, b]) if i.bits > 16 => {
            let Some(divisor) = w.function.constant(b, i.bits / 32) else { return Ok(false) };
            let minus_one = if i.bits == 32 { u64::from(u32::MAX) } else { u64::MAX };
            if divisor == 0 || divisor == minus_one {
                return Ok(false);
            }
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            let name = if o.opcode == Div { "div" } else { "rem" };
            w.set(format_args!("{sign}{name} {} {a}, {b}", i.ty))
        }
        _ => return Ok(false),
    };
    put(w, t, i, value)
}

/// `mul`, `mad`
fn product(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType, half: ProductHalf) -> Result<bool, Misfit> {
    let (Some(i), &[t]) = (integers(w, ty), &o.targets[..]) else { return Ok(false) };
    let (a, b, c) = match (o.opcode, &o.sources[..]) {
        (Opcode::Mul, &[a, b]) => (a, b, None),
        (Opcode::MultiplyAdd, &[a, b, c]) => (a, b, Some(c)),
        _ => return Ok(false),
    };
    let (result, value) = match (half, i.bits) {
        (ProductHalf::Low, _) => {
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            (i, w.set(format_args!("mul {} {a}, {b}", i.ty)))
        }
        (ProductHalf::Wide | ProductHalf::High, 16 | 32) => {
            let twice = match i.bits {
                16 => integers_of(w, 32, i.signed),
                _ => integers_of(w, 64, i.signed),
            };
            let extend = if i.signed { "sext" } else { "zext" };
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            let a = w.set(format_args!("{extend} {} {a} to {}", i.ty, twice.ty));
            let b = w.set(format_args!("{extend} {} {b} to {}", i.ty, twice.ty));
            let whole = w.set(format_args!("mul {} {a}, {b}", twice.ty));
            if half == ProductHalf::Wide {
                (twice, whole)
            } else {
                let high = w.set(format_args!("lshr {} {whole}, splat ({} {})", twice.ty, twice.one, i.bits));
                (i, w.set(format_args!("trunc {} {high} to {}", twice.ty, i.ty)))
            }
        }
        _ => return Ok(false),
    };
    let value = match c {
        Some(c) => {
            let c = read(w, c, result)?;
            w.set(format_args!("add {} {value}, {c}", result.ty))
        }
        None => value,
    };
    put(w, t, result, value)
}

fn funnel_shift(w: &mut Writer<'_>, o: &Arithmetic, left: bool, wrap: bool) -> Result<bool, Misfit> {
    let &Types { words, lanes, .. } = w.types();
    let (&[t], &[a, b, n]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    // Amounts of 32 and more are clamped, unless they wrap around.
    if !wrap && w.function.constant(n, 1).is_none_or(|n| n > 31) {
        return Ok(false);
    }
    let (a, b, n) = (w.words(a)?, w.words(b)?, w.words(n)?);
    let name = if left { "fshl" } else { "fshr" };
    let value =
        w.set(format_args!("call {words} @llvm.{name}.v{lanes}i32({words} {b}, {words} {a}, {words} {n})"));
    w.write_words(t, value)?;
    Ok(true)
}

/// `lop3`: the OR of the products in the table.
fn by_table(w: &mut Writer<'_>, o: &Arithmetic, table: u8) -> Result<bool, Misfit> {
    let &Types { words, .. } = w.types();
    let (&[t], &[a, b, c]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    let mut plain = Vec::new();
    for slot in [a, b, c] {
        let value = w.words(slot)?;
        let not = w.set(format_args!("xor {words} {value}, splat (i32 -1)"));
        plain.push([not, value]);
    }
    let mut sum = "zeroinitializer".to_owned();
    for entry in (0..8usize).filter(|entry| table >> entry & 1 != 0) {
        let [a, b, c] = [&plain[0][entry >> 2 & 1], &plain[1][entry >> 1 & 1], &plain[2][entry & 1]];
        let product = w.set(format_args!("and {words} {a}, {b}"));
        let product = w.set(format_args!("and {words} {product}, {c}"));
        sum = w.set(format_args!("or {words} {sum}, {product}"));
    }
    w.write_words(t, sum)?;
    Ok(true)
}

/// `prmt`: bytes of two words, if they are always the same ones.
fn permute(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
    let &Types { words, lanes, .. } = w.types();
    let (&[t], &[a, b, selector]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    let Some(selector) = w.function.constant(selector, 1) else { return Ok(false) };
    let chosen = [0, 4, 8, 12].map(|at| selector as u32 >> at & 15);
    // The top bit asks for a byte's sign.
    if chosen.iter().any(|&byte| byte > 7) {
        return Ok(false);
    }
    let (a, b) = (w.words(a)?, w.words(b)?);
    let bytes = 4 * lanes;
    let [a, b] = [a, b].map(|words_| w.set(format_args!("bitcast {words} {words_} to <{bytes} x i8>")));
    let byte = |lane: u32, chosen: u32| chosen / 4 * bytes + 4 * lane + chosen % 4;
    let from: Vec<String> =
        (0..lanes).flat_map(|lane| chosen.map(|chosen| format!("i32 {}", byte(lane, chosen)))).collect();
    let value = w.set(format_args!(
        "shufflevector <{bytes} x i8> {a}, <{bytes} x i8> {b}, <{bytes} x i32> <{}>",
        from.join(", ")
    ));
    let value = w.set(format_args!("bitcast <{bytes} x i8> {value} to {words}"));
    w.write_words(t, value)?;
    Ok(true)
}
