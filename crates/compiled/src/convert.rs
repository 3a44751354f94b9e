//! Conversions as IR.

use ptx::ScalarType;
use virtual_gpu::alu::Round;
use virtual_gpu::jit::{Arithmetic, Convert, Converted, Slot};

use crate::values::Misfit;
use crate::widths::Types;
use crate::writer::Writer;

/// `cvt`: the conversions common in loops.
pub fn convert(w: &mut Writer<'_>, o: &Arithmetic, what: Convert) -> Result<bool, Misfit> {
    let &Types { doubles, floats, longs, words, lanes, .. } = w.types();
    use ScalarType::*;
    if let (Converted::Pair(to), Converted::Scalar(F32, F32)) = (what.to, what.from) {
        return convert_pair(w, o, what, to);
    }
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
            let value = w.set(format_args!("{name} {words} {a} to {floats}"));
            w.write_floats(t, value)?;
        }
        (F64, S32 | U32) if nearest => {
            let (a, name) = (w.words(a)?, if from == S32 { "sitofp" } else { "uitofp" });
            let value = w.set(format_args!("{name} {words} {a} to {doubles}"));
            let bits = w.set(format_args!("bitcast {doubles} {value} to {longs}"));
            w.write_longs(t, bits)?;
        }
        (S32 | U32, F32) if to_zero => {
            let (a, name) = (w.floats(a)?, if to == S32 { "fptosi" } else { "fptoui" });
            let value =
                w.set(format_args!("call {words} @llvm.{name}.sat.v{lanes}i32.v{lanes}f32({floats} {a})"));
            w.write_words(t, value)?;
        }
        (F16 | Bf16, F32) if nearest => {
            let value = narrowed(w, a, to)?;
            w.write_words(t, value)?;
        }
        (F32, F16) => {
            let (a, halves) = (w.words(a)?, w.types().halves);
            let half = w.set(format_args!("trunc {words} {a} to {halves}"));
            let half = w.set(format_args!("bitcast {halves} {half} to <{lanes} x half>"));
            let value = w.set(format_args!("fpext <{lanes} x half> {half} to {floats}"));
            w.write_floats(t, value)?;
        }
        (F32, Bf16) => {
            let a = w.words(a)?;
            let word = w.set(format_args!("shl {words} {a}, splat (i32 16)"));
            w.write_words(t, word)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Two floats, the first to the upper half of a register.
fn convert_pair(w: &mut Writer<'_>, o: &Arithmetic, what: Convert, to: ScalarType) -> Result<bool, Misfit> {
    let (&[t], &[high, low]) = (&o.targets[..], &o.sources[..]) else { return Ok(false) };
    let modified = what.ftz || what.sat || what.relu || what.satfinite;
    if modified || what.round != Some(Round::Nearest) || !matches!(to, ScalarType::F16 | ScalarType::Bf16) {
        return Ok(false);
    }
    let words = w.types().words;
    let (high, low) = (narrowed(w, high, to)?, narrowed(w, low, to)?);
    let high = w.set(format_args!("shl {words} {high}, splat (i32 16)"));
    let value = w.set(format_args!("or {words} {high}, {low}"));
    w.write_words(t, value)?;
    Ok(true)
}

/// A float as one of 16 bits, in the lower half of a register.
fn narrowed(w: &mut Writer<'_>, slot: Slot, to: ScalarType) -> Result<String, Misfit> {
    let &Types { floats, words, halves, bits, lanes, .. } = w.types();
    let value = w.floats(slot)?;
    let nan = w.set(format_args!("fcmp uno {floats} {value}, zeroinitializer"));
    let narrow = if to == ScalarType::F16 {
        let half = w.set(format_args!("fptrunc {floats} {value} to <{lanes} x half>"));
        let half = w.set(format_args!("bitcast <{lanes} x half> {half} to {halves}"));
        w.set(format_args!("zext {halves} {half} to {words}"))
    } else {
        // Half of the last place that stays is added, and a little less if the rest would be even.
        let word = w.set(format_args!("bitcast {floats} {value} to {words}"));
        let upper = w.set(format_args!("lshr {words} {word}, splat (i32 16)"));
        let odd = w.set(format_args!("and {words} {upper}, splat (i32 1)"));
        let half = w.set(format_args!("add {words} {odd}, splat (i32 32767)"));
        let sum = w.set(format_args!("add {words} {word}, {half}"));
        w.set(format_args!("lshr {words} {sum}, splat (i32 16)"))
    };
    Ok(w.set(format_args!("select {bits} {nan}, {words} splat (i32 32767), {words} {narrow}")))
}

/// An integer's bits extended as its type says, then those of the other type as that says, in a register of 64 bits (`true`)
/// or 32.
fn convert_integer(
    w: &mut Writer<'_>,
    (t, a): (Slot, Slot),
    (to, from): (ScalarType, ScalarType),
    [to_long, from_long]: [bool; 2],
) -> Result<bool, Misfit> {
    let lanes = w.types().lanes;
    let bits = |ty: ScalarType| 8 * ty.size();
    let whole = if to_long { 64 } else { 32 };
    let mut now = if from_long { 64 } else { 32 };
    let mut value = if from_long { w.longs(a)? } else { w.words(a)? };
    // Each type in turn: what is above its bits goes, and comes back as it says.
    for ty in [from, to] {
        if bits(ty) < now {
            value = w.set(format_args!("trunc <{lanes} x i{now}> {value} to <{lanes} x i{}>", bits(ty)));
            now = bits(ty);
        }
        if now != whole {
            let name = match (now < whole, ty.is_signed()) {
                (true, true) => "sext",
                (true, false) => "zext",
                (false, _) => "trunc",
            };
            value = w.set(format_args!("{name} <{lanes} x i{now}> {value} to <{lanes} x i{whole}>"));
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
