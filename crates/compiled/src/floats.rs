//! Floats as IR, where it gives the interpreter's bits.

use virtual_gpu::alu::float::MinMax;
use virtual_gpu::stretch::{Arithmetic, Opcode};

use crate::values::{BITS, DOUBLES, FLOATS, LONGS, Misfit, WORDS};
use crate::writer::Writer;

/// 32-bit floats, rounded to nearest.
pub fn single(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
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
pub fn double(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
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
pub fn extremum(w: &mut Writer<'_>, o: &Arithmetic, ends: MinMax) -> Result<bool, Misfit> {
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
