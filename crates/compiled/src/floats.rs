//! Floats as IR, where it gives the interpreter's bits.

use virtual_gpu::alu::float::MinMax;
use virtual_gpu::jit::{Arithmetic, Opcode};

use crate::values::Misfit;
use crate::widths::Types;
use crate::writer::Writer;

/// 32-bit floats, rounded to nearest.
pub fn single(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
    let &Types { floats, words, lanes, .. } = w.types();
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
            w.set(format_args!("{name} {floats} {a}, {b}"))
        }
        (FusedMultiplyAdd | MultiplyAdd, &[a, b, c]) => {
            let (a, b, c) = (w.floats(a)?, w.floats(b)?, w.floats(c)?);
            w.set(format_args!(
                "call {floats} @llvm.fma.v{lanes}f32({floats} {a}, {floats} {b}, {floats} {c})"
            ))
        }
        (Root, &[a]) => {
            let a = w.floats(a)?;
            w.set(format_args!("call {floats} @llvm.sqrt.v{lanes}f32({floats} {a})"))
        }
        (Reciprocal, &[a]) => {
            let a = w.floats(a)?;
            w.set(format_args!("fdiv {floats} splat (float 1.0), {a}"))
        }
        (Abs | Neg, &[a]) => {
            let a = w.floats(a)?;
            let bits = w.set(format_args!("bitcast {floats} {a} to {words}"));
            let bits = match o.opcode {
                Abs => w.set(format_args!("and {words} {bits}, splat (i32 2147483647)")),
                _ => w.set(format_args!("xor {words} {bits}, splat (i32 -2147483648)")),
            };
            w.set(format_args!("bitcast {words} {bits} to {floats}"))
        }
        _ => return Ok(false),
    };
    w.write_floats(t, value)?;
    Ok(true)
}

/// 64-bit floats, rounded to nearest. A NaN result is that of the first NaN operand, in the hardware's order.
pub fn double(w: &mut Writer<'_>, o: &Arithmetic) -> Result<bool, Misfit> {
    let &Types { bits, doubles, longs, lanes, .. } = w.types();
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
        let value = w.longs(slot)?;
        let double = w.set(format_args!("bitcast {longs} {value} to {doubles}"));
        sources.push((value, double));
    }
    let (a, b) = (&sources[0].1, &sources[1].1);
    let (value, order): (String, &[usize]) = match o.opcode {
        Add => (w.set(format_args!("fadd {doubles} {a}, {b}")), &[1, 0]),
        Sub => (w.set(format_args!("fsub {doubles} {a}, {b}")), &[1, 0]),
        Mul => (w.set(format_args!("fmul {doubles} {a}, {b}")), &[1, 0]),
        Div => (w.set(format_args!("fdiv {doubles} {a}, {b}")), &[0, 1]),
        _ => {
            let c = &sources[2].1;
            let value = w.set(format_args!(
                "call {doubles} @llvm.fma.v{lanes}f64({doubles} {a}, {doubles} {b}, {doubles} {c})"
            ));
            (value, &[1, 2, 0])
        }
    };
    let mut nan = "splat (i64 -2251799813685248)".to_owned();
    for &operand in order.iter().rev() {
        let (of, double) = &sources[operand];
        let is = w.set(format_args!("fcmp uno {doubles} {double}, zeroinitializer"));
        let quiet = w.set(format_args!("or {longs} {of}, splat (i64 2251799813685248)"));
        nan = w.set(format_args!("select {bits} {is}, {longs} {quiet}, {longs} {nan}"));
    }
    let is = w.set(format_args!("fcmp uno {doubles} {value}, zeroinitializer"));
    let number = w.set(format_args!("bitcast {doubles} {value} to {longs}"));
    let value = w.set(format_args!("select {bits} {is}, {longs} {nan}, {longs} {number}"));
    w.write_longs(t, value)?;
    Ok(true)
}

/// `min`, `max`: a number wins over NaN, and -0 is below +0.
pub fn extremum(w: &mut Writer<'_>, o: &Arithmetic, ends: MinMax) -> Result<bool, Misfit> {
    let &Types { bits, floats, words, .. } = w.types();
    let (&[t], &[a, b]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    if ends != (MinMax { max: ends.max, ..MinMax::default() }) {
        return Ok(false);
    }
    let (a, b) = (w.floats(a)?, w.floats(b)?);
    let (relation, join) = if ends.max { ("ogt", "and") } else { ("olt", "or") };
    let first = w.set(format_args!("fcmp {relation} {floats} {a}, {b}"));
    let chosen = w.set(format_args!("select {bits} {first}, {floats} {a}, {floats} {b}"));
    // Equal operands differ at most in the sign of zero.
    let (of_a, of_b) = (
        w.set(format_args!("bitcast {floats} {a} to {words}")),
        w.set(format_args!("bitcast {floats} {b} to {words}")),
    );
    let joined = w.set(format_args!("{join} {words} {of_a}, {of_b}"));
    let joined = w.set(format_args!("bitcast {words} {joined} to {floats}"));
    let equal = w.set(format_args!("fcmp oeq {floats} {a}, {b}"));
    let chosen = w.set(format_args!("select {bits} {equal}, {floats} {joined}, {floats} {chosen}"));
    let nan = w.set(format_args!("fcmp uno {floats} {b}, zeroinitializer"));
    let value = w.set(format_args!("select {bits} {nan}, {floats} {a}, {floats} {chosen}"));
    w.write_floats(t, value)?;
    Ok(true)
}
