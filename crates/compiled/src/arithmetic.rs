//! Translates one register operation to IR, if some IR gives exactly the interpreter's bits.

use ptx::ScalarType;
use virtual_gpu::alu::Round;
use virtual_gpu::alu::compare::{BoolOp, FloatCmp, IntCmp};
use virtual_gpu::alu::float::{MinMax, Mode};
use virtual_gpu::stretch::{
    Accuracy, Arithmetic, Compare, Convert, Converted, NONE, Opcode, ProductHalf, Qualifiers, Relation, Slot,
};

use crate::values::{BITS, FLOATS, LONGS, Misfit, WORDS, Writer};

const HALVES: &str = "<32 x i16>";
const DOUBLES: &str = "<32 x double>";

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
            let a = w.longs(a)?;
            let start = window.unwrap_or(0) as i64;
            let start = if back { start.wrapping_neg() } else { start };
            let value = w.set(format_args!("add {LONGS} {a}, splat (i64 {start})"));
            w.write_longs(t, value)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// An integer type: its vectors, its width, and whether it is signed.
#[derive(Clone, Copy)]
struct Integers {
    ty: &'static str,
    one: &'static str,
    bits: u32,
    signed: bool,
}

fn integers(ty: ScalarType) -> Option<Integers> {
    use ScalarType::*;
    let (vector, one, bits) = match ty {
        U16 | S16 | B16 => (HALVES, "i16", 16),
        U32 | S32 | B32 => (WORDS, "i32", 32),
        U64 | S64 | B64 => (LONGS, "i64", 64),
        _ => return None,
    };
    Some(Integers { ty: vector, one, bits, signed: matches!(ty, S16 | S32 | S64) })
}

fn read(w: &mut Writer<'_>, slot: Slot, i: Integers) -> Result<String, Misfit> {
    match i.bits {
        16 => {
            let words = w.words(slot)?;
            Ok(w.set(format_args!("trunc {WORDS} {words} to {HALVES}")))
        }
        32 => w.words(slot),
        _ => w.longs(slot),
    }
}

fn put(w: &mut Writer<'_>, slot: Slot, i: Integers, value: String) -> Result<bool, Misfit> {
    match i.bits {
        16 => {
            let words = w.set(format_args!("zext {HALVES} {value} to {WORDS}"));
            w.write_words(slot, words)?;
        }
        32 => w.write_words(slot, value)?,
        _ => w.write_longs(slot, value)?,
    }
    Ok(true)
}

/// Operations whose only qualifier is a type.
fn bits(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType) -> Result<bool, Misfit> {
    use Opcode::*;
    match o.opcode {
        Move => return copy(w, o, ty),
        Select => return select(w, o, ty),
        _ => {}
    }
    let (Some(i), &[t]) = (integers(ty), &o.targets[..]) else { return Ok(false) };
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
            let value = w.set(format_args!("call {} @llvm.ctpop.v32{}({} {a})", i.ty, i.one, i.ty));
            counted(w, t, i, value)
        }
        (CountLeadingZeros, &[a]) if !i.signed && i.bits > 16 => {
            let a = read(w, a, i)?;
            let value = w.set(format_args!("call {} @llvm.ctlz.v32{}({} {a}, i1 false)", i.ty, i.one, i.ty));
            counted(w, t, i, value)
        }
        (BitReverse, &[a]) if !i.signed && i.bits > 16 => {
            let a = read(w, a, i)?;
            let value = w.set(format_args!("call {} @llvm.bitreverse.v32{}({} {a})", i.ty, i.one, i.ty));
            put(w, t, i, value)
        }
        (BitFieldExtract, &[a, position, length]) if i.bits == 32 => {
            let constant = |slot| w.function.constant(slot, 1).map(|value| value as u32 & 0xff);
            let (Some(position), Some(length)) = (constant(position), constant(length)) else {
                return Ok(false);
            };
            // A field that ends within the word, as compilers generate them.
            if length == 0 || position + length > 32 {
                return Ok(false);
            }
            let a = read(w, a, i)?;
            let left = w.set(format_args!("shl {WORDS} {a}, splat (i32 {})", 32 - position - length));
            let right = if i.signed { "ashr" } else { "lshr" };
            let value = w.set(format_args!("{right} {WORDS} {left}, splat (i32 {})", 32 - length));
            put(w, t, i, value)
        }
        _ => Ok(false),
    }
}

/// A bit count is a word.
fn counted(w: &mut Writer<'_>, t: Slot, i: Integers, count: String) -> Result<bool, Misfit> {
    let words = match i.bits {
        64 => w.set(format_args!("trunc {LONGS} {count} to {WORDS}")),
        _ => count,
    };
    w.write_words(t, words)?;
    Ok(true)
}

/// Shifting by the width or more leaves nothing, or the sign.
fn shift(w: &mut Writer<'_>, opcode: Opcode, t: Slot, a: Slot, n: Slot, i: Integers) -> Result<bool, Misfit> {
    let (a, n) = (read(w, a, i)?, w.words(n)?);
    let most = i.bits - 1;
    let signed = opcode == Opcode::ShiftRight && i.signed;
    let n = match signed {
        true => {
            w.set(format_args!("call {WORDS} @llvm.umin.v32i32({WORDS} {n}, {WORDS} splat (i32 {most}))"))
        }
        false => n,
    };
    let amount = match i.bits {
        64 => w.set(format_args!("zext {WORDS} {n} to {LONGS}")),
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
    let beyond = w.set(format_args!("icmp ugt {WORDS} {n}, splat (i32 {most})"));
    let value = w.set(format_args!("select {BITS} {beyond}, {} zeroinitializer, {} {shifted}", i.ty, i.ty));
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
    let signed = opcode == Opcode::ShiftRight && i.signed;
    let (extend, name, most) = match (opcode, signed) {
        (Opcode::ShiftLeft, _) => ("zext", "shl", 16),
        (_, true) => ("sext", "ashr", 15),
        (_, false) => ("zext", "lshr", 16),
    };
    let (a, n) = (read(w, a, i)?, w.words(n)?);
    let a = w.set(format_args!("{extend} {HALVES} {a} to {WORDS}"));
    let n = w.set(format_args!("call {WORDS} @llvm.umin.v32i32({WORDS} {n}, {WORDS} splat (i32 {most}))"));
    let shifted = w.set(format_args!("{name} {WORDS} {a}, {n}"));
    let value = w.set(format_args!("trunc {WORDS} {shifted} to {HALVES}"));
    put(w, t, i, value)
}

fn copy(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType) -> Result<bool, Misfit> {
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
            let low = w.set(format_args!("zext {WORDS} {low} to {LONGS}"));
            let high = w.set(format_args!("zext {WORDS} {high} to {LONGS}"));
            let high = w.set(format_args!("shl {LONGS} {high}, splat (i64 32)"));
            let value = w.set(format_args!("or {LONGS} {high}, {low}"));
            w.write_longs(t, value)?;
        }
        (&[low, high], &[a]) if ty.size() == 8 => {
            let a = w.longs(a)?;
            if low != NONE {
                let value = w.set(format_args!("trunc {LONGS} {a} to {WORDS}"));
                w.write_words(low, value)?;
            }
            if high != NONE {
                let value = w.set(format_args!("lshr {LONGS} {a}, splat (i64 32)"));
                let value = w.set(format_args!("trunc {LONGS} {value} to {WORDS}"));
                w.write_words(high, value)?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn select(w: &mut Writer<'_>, o: &Arithmetic, ty: ScalarType) -> Result<bool, Misfit> {
    let (&[t], &[a, b, p]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    if ty == ScalarType::Pred || ty.size() > 8 {
        return Ok(false);
    }
    let p = w.predicate(p)?;
    let lanes = w.set(format_args!("bitcast i32 {p} to {BITS}"));
    if ty.size() == 8 {
        let (a, b) = (w.longs(a)?, w.longs(b)?);
        let value = w.set(format_args!("select {BITS} {lanes}, {LONGS} {a}, {LONGS} {b}"));
        w.write_longs(t, value)?;
    } else {
        let (a, b) = (w.words(a)?, w.words(b)?);
        let value = w.set(format_args!("select {BITS} {lanes}, {WORDS} {a}, {WORDS} {b}"));
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
    use Opcode::{Abs, Add, Div, Max, Min, Neg, Rem, Sub};
    let (Some(i), &[t]) = (integers(ty), &o.targets[..]) else { return Ok(false) };
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
            w.set(format_args!("call {ty} @llvm.{sign}{name}.v32{}({ty} {a}, {ty} {b})", i.one, ty = i.ty))
        }
        (Neg, &[a]) => {
            let a = read(w, a, i)?;
            w.set(format_args!("sub {} zeroinitializer, {a}", i.ty))
        }
        (Abs, &[a]) if i.signed => {
            let a = read(w, a, i)?;
            w.set(format_args!("call {ty} @llvm.abs.v32{}({ty} {a}, i1 false)", i.one, ty = i.ty))
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
    let (Some(i), &[t]) = (integers(ty), &o.targets[..]) else { return Ok(false) };
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
                16 => Integers { ty: WORDS, one: "i32", bits: 32, ..i },
                _ => Integers { ty: LONGS, one: "i64", bits: 64, ..i },
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
    let (&[t], &[a, b, n]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    // Amounts of 32 and more are clamped, unless they wrap around.
    if !wrap && w.function.constant(n, 1).is_none_or(|n| n > 31) {
        return Ok(false);
    }
    let (a, b, n) = (w.words(a)?, w.words(b)?, w.words(n)?);
    let name = if left { "fshl" } else { "fshr" };
    let value =
        w.set(format_args!("call {WORDS} @llvm.{name}.v32i32({WORDS} {b}, {WORDS} {a}, {WORDS} {n})"));
    w.write_words(t, value)?;
    Ok(true)
}

/// `lop3`: the OR of the products in the table.
fn by_table(w: &mut Writer<'_>, o: &Arithmetic, table: u8) -> Result<bool, Misfit> {
    let (&[t], &[a, b, c]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    let mut plain = Vec::new();
    for slot in [a, b, c] {
        let value = w.words(slot)?;
        let not = w.set(format_args!("xor {WORDS} {value}, splat (i32 -1)"));
        plain.push([not, value]);
    }
    let mut sum = "zeroinitializer".to_owned();
    for entry in (0..8usize).filter(|entry| table >> entry & 1 != 0) {
        let [a, b, c] = [&plain[0][entry >> 2 & 1], &plain[1][entry >> 1 & 1], &plain[2][entry & 1]];
        let product = w.set(format_args!("and {WORDS} {a}, {b}"));
        let product = w.set(format_args!("and {WORDS} {product}, {c}"));
        sum = w.set(format_args!("or {WORDS} {sum}, {product}"));
    }
    w.write_words(t, sum)?;
    Ok(true)
}

/// 32-bit floats, rounded to nearest.
fn single(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
    use Opcode::*;
    let &[t] = &o.targets[..] else { return Ok(false) };
    let value = match (o.opcode, &o.sources[..]) {
        (Add | Sub | Mul | Div, &[a, b]) => {
            let (a, b) = (w.floats(a)?, w.floats(b)?);
            let name = match o.opcode {
                Add => "fadd",
                Sub => "fsub",
                Mul => "fmul",
                _ => "fdiv",
            };
            w.set(format_args!("{name} {FLOATS} {a}, {b}"))
        }
        (FusedMultiplyAdd | MultiplyAdd, &[a, b, c]) => {
            let (a, b, c) = (w.floats(a)?, w.floats(b)?, w.floats(c)?);
            w.set(format_args!("call {FLOATS} @llvm.fma.v32f32({FLOATS} {a}, {FLOATS} {b}, {FLOATS} {c})"))
        }
        (Root, &[a]) => {
            let a = w.floats(a)?;
            w.set(format_args!("call {FLOATS} @llvm.sqrt.v32f32({FLOATS} {a})"))
        }
        (Reciprocal, &[a]) => {
            let a = w.floats(a)?;
            w.set(format_args!("fdiv {FLOATS} splat (float 1.0), {a}"))
        }
        (Abs | Neg, &[a]) => {
            let a = w.floats(a)?;
            let bits = w.set(format_args!("bitcast {FLOATS} {a} to {WORDS}"));
            let bits = match o.opcode {
                Abs => w.set(format_args!("and {WORDS} {bits}, splat (i32 2147483647)")),
                _ => w.set(format_args!("xor {WORDS} {bits}, splat (i32 -2147483648)")),
            };
            w.set(format_args!("bitcast {WORDS} {bits} to {FLOATS}"))
        }
        _ => return Ok(false),
    };
    w.write_floats(t, value)?;
    Ok(true)
}

/// 64-bit floats, rounded to nearest. A NaN result is that of the first NaN operand, in the hardware's order.
fn double(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
    use Opcode::*;
    let &[t] = &o.targets[..] else { return Ok(false) };
    let mut sources = Vec::new();
    if !matches!(
        (o.opcode, o.sources.len()),
        (Add | Sub | Mul | Div, 2) | (FusedMultiplyAdd | MultiplyAdd, 3)
    ) {
        return Ok(false);
    }
    for &slot in &o.sources {
        let bits = w.longs(slot)?;
        let value = w.set(format_args!("bitcast {LONGS} {bits} to {DOUBLES}"));
        sources.push((bits, value));
    }
    let (a, b) = (&sources[0].1, &sources[1].1);
    let (value, order): (String, &[usize]) = match o.opcode {
        Add => (w.set(format_args!("fadd {DOUBLES} {a}, {b}")), &[1, 0]),
        Sub => (w.set(format_args!("fsub {DOUBLES} {a}, {b}")), &[1, 0]),
        Mul => (w.set(format_args!("fmul {DOUBLES} {a}, {b}")), &[1, 0]),
        Div => (w.set(format_args!("fdiv {DOUBLES} {a}, {b}")), &[0, 1]),
        _ => {
            let c = &sources[2].1;
            let value = w.set(format_args!(
                "call {DOUBLES} @llvm.fma.v32f64({DOUBLES} {a}, {DOUBLES} {b}, {DOUBLES} {c})"
            ));
            (value, &[1, 2, 0])
        }
    };
    let mut nan = "splat (i64 -2251799813685248)".to_owned();
    for &operand in order.iter().rev() {
        let (bits, value) = &sources[operand];
        let is = w.set(format_args!("fcmp uno {DOUBLES} {value}, zeroinitializer"));
        let quiet = w.set(format_args!("or {LONGS} {bits}, splat (i64 2251799813685248)"));
        nan = w.set(format_args!("select {BITS} {is}, {LONGS} {quiet}, {LONGS} {nan}"));
    }
    let is = w.set(format_args!("fcmp uno {DOUBLES} {value}, zeroinitializer"));
    let bits = w.set(format_args!("bitcast {DOUBLES} {value} to {LONGS}"));
    let value = w.set(format_args!("select {BITS} {is}, {LONGS} {nan}, {LONGS} {bits}"));
    w.write_longs(t, value)?;
    Ok(true)
}

/// `min`, `max`: a number wins over NaN, and -0 is below +0.
fn extremum(w: &mut Writer<'_>, o: &Arithmetic, ends: MinMax) -> Result<bool, Misfit> {
    let (&[t], &[a, b]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    if ends != (MinMax { max: ends.max, ..MinMax::default() }) {
        return Ok(false);
    }
    let (a, b) = (w.floats(a)?, w.floats(b)?);
    let (relation, join) = if ends.max { ("ogt", "and") } else { ("olt", "or") };
    let first = w.set(format_args!("fcmp {relation} {FLOATS} {a}, {b}"));
    let chosen = w.set(format_args!("select {BITS} {first}, {FLOATS} {a}, {FLOATS} {b}"));
    // Equal operands differ at most in the sign of zero.
    let (of_a, of_b) = (
        w.set(format_args!("bitcast {FLOATS} {a} to {WORDS}")),
        w.set(format_args!("bitcast {FLOATS} {b} to {WORDS}")),
    );
    let joined = w.set(format_args!("{join} {WORDS} {of_a}, {of_b}"));
    let joined = w.set(format_args!("bitcast {WORDS} {joined} to {FLOATS}"));
    let equal = w.set(format_args!("fcmp oeq {FLOATS} {a}, {b}"));
    let chosen = w.set(format_args!("select {BITS} {equal}, {FLOATS} {joined}, {FLOATS} {chosen}"));
    let nan = w.set(format_args!("fcmp uno {FLOATS} {b}, zeroinitializer"));
    let value = w.set(format_args!("select {BITS} {nan}, {FLOATS} {a}, {FLOATS} {chosen}"));
    w.write_floats(t, value)?;
    Ok(true)
}

/// `setp`
fn compare(w: &mut Writer<'_>, o: &Arithmetic, what: Compare) -> Result<bool, Misfit> {
    if what.result != ScalarType::Pred {
        return Ok(false);
    }
    let (p, q) = match o.targets[..] {
        [p] => (p, None),
        [p, q] => (p, Some(q)),
        _ => return Ok(false),
    };
    let (a, b, third) = match (&o.sources[..], what.join) {
        (&[a, b], None) => (a, b, None),
        (&[a, b, third], Some(join)) => (a, b, Some((third, join))),
        _ => return Ok(false),
    };
    let Some(yes) = relation(w, a, b, what)? else { return Ok(false) };
    let yes = w.set(format_args!("bitcast {BITS} {yes} to i32"));
    let no = w.set(format_args!("xor i32 {yes}, -1"));
    let third = match third {
        Some((slot, join)) => {
            let value = w.predicate(slot)?;
            Some((if what.inverted { w.set(format_args!("xor i32 {value}, -1")) } else { value }, join))
        }
        None => None,
    };
    let mut joined = |value: String| match &third {
        Some((third, join)) => {
            let name = match join {
                BoolOp::And => "and",
                BoolOp::Or => "or",
                BoolOp::Xor => "xor",
            };
            w.set(format_args!("{name} i32 {value}, {third}"))
        }
        None => value,
    };
    let (yes, no) = (joined(yes), joined(no));
    w.write_predicate(p, yes)?;
    if let Some(q) = q {
        w.write_predicate(q, no)?;
    }
    Ok(true)
}

fn relation(w: &mut Writer<'_>, a: Slot, b: Slot, what: Compare) -> Result<Option<String>, Misfit> {
    match what.relation {
        Relation::Float(relation) => {
            let name = match relation {
                FloatCmp::Eq => "oeq",
                FloatCmp::Ne => "one",
                FloatCmp::Lt => "olt",
                FloatCmp::Le => "ole",
                FloatCmp::Gt => "ogt",
                FloatCmp::Ge => "oge",
                FloatCmp::Equ => "ueq",
                FloatCmp::Neu => "une",
                FloatCmp::Ltu => "ult",
                FloatCmp::Leu => "ule",
                FloatCmp::Gtu => "ugt",
                FloatCmp::Geu => "uge",
                FloatCmp::Num => "ord",
                FloatCmp::Nan => "uno",
            };
            match what.ty {
                ScalarType::F32 if !what.ftz => {
                    let (a, b) = (w.floats(a)?, w.floats(b)?);
                    Ok(Some(w.set(format_args!("fcmp {name} {FLOATS} {a}, {b}"))))
                }
                ScalarType::F64 => {
                    let (a, b) = (w.longs(a)?, w.longs(b)?);
                    let a = w.set(format_args!("bitcast {LONGS} {a} to {DOUBLES}"));
                    let b = w.set(format_args!("bitcast {LONGS} {b} to {DOUBLES}"));
                    Ok(Some(w.set(format_args!("fcmp {name} {DOUBLES} {a}, {b}"))))
                }
                _ => Ok(None),
            }
        }
        Relation::Integer(relation) => {
            let Some(i) = integers(what.ty) else { return Ok(None) };
            let name = match (relation, i.signed) {
                (IntCmp::Eq, _) => "eq",
                (IntCmp::Ne, _) => "ne",
                (IntCmp::Lt, true) => "slt",
                (IntCmp::Le, true) => "sle",
                (IntCmp::Gt, true) => "sgt",
                (IntCmp::Ge, true) => "sge",
                (IntCmp::Lt, false) => "ult",
                (IntCmp::Le, false) => "ule",
                (IntCmp::Gt, false) => "ugt",
                (IntCmp::Ge, false) => "uge",
            };
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            Ok(Some(w.set(format_args!("icmp {name} {} {a}, {b}", i.ty))))
        }
    }
}

/// `cvt`: the conversions common in loops.
fn convert(w: &mut Writer<'_>, o: &Arithmetic, what: Convert) -> Result<bool, Misfit> {
    use ScalarType::*;
    let (&[t], &[a]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    let (Converted::Scalar(to, to_register), Converted::Scalar(from, from_register)) = (what.to, what.from)
    else {
        return Ok(false);
    };
    let rows = |ty: ScalarType| ty.size().div_ceil(4);
    let modified = what.ftz || what.sat || what.relu || what.satfinite;
    let is_integer = |ty| matches!(ty, U8 | S8 | U16 | S16 | U32 | S32 | U64 | S64);
    if is_integer(to) && is_integer(from) && !modified {
        // A register of 16 bits holds no sign above them.
        let fills = matches!((to, from), (U16 | S16, U32 | S32))
            && to_register.size() == 2
            && rows(from_register) == 1;
        let registers = [to_register, from_register].map(|register| rows(register) == 2);
        return convert_integer(w, (t, a), (if fills { U16 } else { to }, from), registers);
    }
    if modified || rows(from_register) != rows(from) || rows(to_register) != rows(to) {
        return Ok(false);
    }
    let nearest = what.round == Some(Round::Nearest);
    let to_zero = what.integer == Some(Round::Zero);
    match (to, from) {
        (F32, S32 | U32) if nearest => {
            let (a, name) = (w.words(a)?, if from == S32 { "sitofp" } else { "uitofp" });
            let value = w.set(format_args!("{name} {WORDS} {a} to {FLOATS}"));
            w.write_floats(t, value)?;
        }
        (F64, S32 | U32) if nearest => {
            let (a, name) = (w.words(a)?, if from == S32 { "sitofp" } else { "uitofp" });
            let value = w.set(format_args!("{name} {WORDS} {a} to {DOUBLES}"));
            let bits = w.set(format_args!("bitcast {DOUBLES} {value} to {LONGS}"));
            w.write_longs(t, bits)?;
        }
        (S32 | U32, F32) if to_zero => {
            let (a, name) = (w.floats(a)?, if to == S32 { "fptosi" } else { "fptoui" });
            let value = w.set(format_args!("call {WORDS} @llvm.{name}.sat.v32i32.v32f32({FLOATS} {a})"));
            w.write_words(t, value)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// An integer's bits extended as its type says, then those of the other type as that says, in a register of 64 bits (`true`)
/// or 32.
fn convert_integer(
    w: &mut Writer<'_>,
    (t, a): (Slot, Slot),
    (to, from): (ScalarType, ScalarType),
    [to_long, from_long]: [bool; 2],
) -> Result<bool, Misfit> {
    let bits = |ty: ScalarType| 8 * ty.size();
    let whole = if to_long { 64 } else { 32 };
    let mut now = if from_long { 64 } else { 32 };
    let mut value = if from_long { w.longs(a)? } else { w.words(a)? };
    // Each type in turn: what is above its bits goes, and comes back as it says.
    for ty in [from, to] {
        if bits(ty) < now {
            value = w.set(format_args!("trunc <32 x i{now}> {value} to <32 x i{}>", bits(ty)));
            now = bits(ty);
        }
        if now != whole {
            let name = match (now < whole, ty.is_signed()) {
                (true, true) => "sext",
                (true, false) => "zext",
                (false, _) => "trunc",
            };
            value = w.set(format_args!("{name} <32 x i{now}> {value} to <32 x i{whole}>"));
            now = whole;
        }
    }
    if to_long {
        w.write_longs(t, value)?
    } else {
        w.write_words(t, value)?
    }
    Ok(true)
}
