//! Integer arithmetic, and bit operations in a file of their own.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::Decoder;
use super::instruction::{Form, arithmetic};
use crate::alu::int::{self, Int};
use crate::form::lanewise::{Evaluate, each2, map1, map2, map3};
use crate::form::op::OpKind;
use crate::form::registers::{Lane, NONE, Regs, Slot, lanes_of};

/// Runs `$e` with `$T` as the Rust type of an integer type.
macro_rules! by_int {
    ($ty:expr, $T:ident => $e:expr) => {{
        use ScalarType::*;
        match $ty {
            U16 | B16 => {
                type $T = u16;
                $e
            }
            S16 => {
                type $T = i16;
                $e
            }
            U32 | B32 => {
                type $T = u32;
                $e
            }
            S32 => {
                type $T = i32;
                $e
            }
            U64 | B64 => {
                type $T = u64;
                $e
            }
            S64 => {
                type $T = i64;
                $e
            }
            other => return Err(unsupported_type(other)),
        }
    }};
}

mod logic;
pub(super) use by_int;

pub(super) fn unsupported_type(ty: ScalarType) -> Refusal {
    Refusal(format!("the type `{ty}` is not possible here"))
}

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let alu = match f.name {
        "addc" | "subc" | "madc" => carry(d, f)?,
        "add" | "sub" | "mad" if f.modifiers.take("cc") => carry_out(d, f)?,
        "add" | "sub" | "mul" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad" | "mad" => {
            integer(d, f)?
        }
        "mul24" | "mad24" => mul24(d, f)?,
        "and" | "or" | "xor" | "not" | "cnot" => logic::logic(d, f)?,
        "shl" | "shr" => logic::shift(d, f)?,
        _ => logic::bit_field(d, f)?,
    };
    arithmetic(f.name, alu)
}

fn two(d: &mut Decoder<'_>, f: &Form<'_>, ty: ScalarType) -> Result<(Slot, Slot), Refusal> {
    let [t, a] = f.operands()?;
    let a = d.source(a, ty)?;
    Ok((d.real_target(t, ty)?, a))
}

fn three(d: &mut Decoder<'_>, f: &Form<'_>, ty: ScalarType) -> Result<(Slot, Slot, Slot), Refusal> {
    let [t, a, b] = f.operands()?;
    let (a, b) = (d.source(a, ty)?, d.source(b, ty)?);
    Ok((d.real_target(t, ty)?, a, b))
}

fn integer(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let m = &mut f.modifiers;
    let half = m.take_any(&[("lo", 'l'), ("hi", 'h'), ("wide", 'w')]);
    let (sat, relu) = (m.take("sat"), m.take("relu"));
    let ty = m.ty()?;
    if matches!(ty, ScalarType::U16x2 | ScalarType::S16x2) {
        return packed(d, f, ty, relu);
    }
    if sat && ty != ScalarType::S32 {
        return Err(Refusal::new("`.sat` is for `.s32` only"));
    }
    Ok(match (f.name, half, sat) {
        ("mul" | "mad", Some('w'), false) => return wide(d, f, ty),
        ("mad", half, sat) => {
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, ty)?);
            let t = d.real_target(t, ty)?;
            match (half, sat) {
                (Some('h'), true) => map3(t, a, b, c, int::mad_hi_sat),
                (Some('h'), false) => {
                    by_int!(ty, T => map3::<T, T, T, T>(t, a, b, c, |a, b, c| a.mad_hi(b, c)))
                }
                (Some('l'), false) => {
                    by_int!(ty, T => map3::<T, T, T, T>(t, a, b, c, |a, b, c| a.mad_lo(b, c)))
                }
                _ => return Err(Refusal::new("it needs `.lo`, `.hi` or `.wide`")),
            }
        }
        ("mul", half, false) => {
            let (t, a, b) = three(d, f, ty)?;
            match half {
                Some('h') => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.mul_hi(b))),
                Some('l') => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.mul_lo(b))),
                _ => return Err(Refusal::new("it needs `.lo`, `.hi` or `.wide`")),
            }
        }
        ("add", None, true) => {
            let (t, a, b) = three(d, f, ty)?;
            map2(t, a, b, int::add_sat)
        }
        ("sub", None, true) => {
            let (t, a, b) = three(d, f, ty)?;
            map2(t, a, b, int::sub_sat)
        }
        ("abs" | "neg", None, false) => {
            let (t, a) = two(d, f, ty)?;
            match f.name {
                "abs" => by_int!(ty, T => map1::<T, T>(t, a, Int::abs)),
                _ => by_int!(ty, T => map1::<T, T>(t, a, Int::neg)),
            }
        }
        ("sad", None, false) => {
            let [t, a, b, c] = f.operands()?;
            let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, ty)?);
            let t = d.real_target(t, ty)?;
            by_int!(ty, T => map3::<T, T, T, T>(t, a, b, c, |a, b, c| a.sad(b, c)))
        }
        (name, None, false) => {
            let (t, a, b) = three(d, f, ty)?;
            match (name, relu) {
                ("add", false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, Int::add)),
                ("sub", false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, Int::sub)),
                ("div", false) => by_int!(ty, T => each2::<T, T, T>(t, a, b, Int::div)),
                ("rem", false) => by_int!(ty, T => each2::<T, T, T>(t, a, b, Int::rem)),
                ("min", false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.min(b))),
                ("max", false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.max(b))),
                ("min", true) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.min_relu(b))),
                ("max", true) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.max_relu(b))),
                _ => return Err(Refusal::new("this form does not exist")),
            }
        }
        _ => return Err(Refusal::new("this form does not exist")),
    })
}

/// `add.u16x2` and its likes.
fn packed(d: &mut Decoder<'_>, f: &Form<'_>, ty: ScalarType, relu: bool) -> Result<Evaluate, Refusal> {
    let signed = ty == ScalarType::S16x2;
    let name = f.name;
    let (t, a, b) = three(d, f, ty)?;
    let apply: fn(i32, i32) -> i32 = match (name, relu) {
        ("add", false) => |a, b| a + b,
        ("min", false) => |a, b| a.min(b),
        ("max", false) => |a, b| a.max(b),
        ("min", true) => |a, b| a.min(b).max(0),
        ("max", true) => |a, b| a.max(b).max(0),
        _ => return Err(Refusal::new("this form does not exist")),
    };
    let part = move |x: u32| if signed { i32::from(x as u16 as i16) } else { (x & 0xffff) as i32 };
    Ok(each2::<u32, u32, u32>(t, a, b, move |a, b| {
        let low = apply(part(a), part(b)) as u32 & 0xffff;
        let high = apply(part(a >> 16), part(b >> 16)) as u32;
        high << 16 | low
    }))
}

fn wide(d: &mut Decoder<'_>, f: &Form<'_>, ty: ScalarType) -> Result<Evaluate, Refusal> {
    use ScalarType::*;
    let double = match ty {
        U16 | S16 => U32,
        U32 | S32 => U64,
        other => return Err(unsupported_type(other)),
    };
    let (t, a, b) = (arg(f, 0)?, d.source(arg(f, 1)?, ty)?, d.source(arg(f, 2)?, ty)?);
    if f.name == "mul" {
        let [..] = f.operands::<3>()?;
        let t = d.real_target(t, double)?;
        return Ok(match ty {
            U16 => map2(t, a, b, int::mul_wide_u16),
            S16 => map2(t, a, b, int::mul_wide_s16),
            U32 => map2(t, a, b, int::mul_wide_u32),
            _ => map2(t, a, b, int::mul_wide_s32),
        });
    }
    let [.., c] = f.operands::<4>()?;
    let c = d.source(c, double)?;
    let t = d.real_target(t, double)?;
    Ok(match ty {
        U16 => map3(t, a, b, c, |a: u16, b: u16, c: u32| int::mul_wide_u16(a, b).wrapping_add(c)),
        S16 => map3(t, a, b, c, |a: i16, b: i16, c: i32| int::mul_wide_s16(a, b).wrapping_add(c)),
        U32 => map3(t, a, b, c, |a: u32, b: u32, c: u64| int::mul_wide_u32(a, b).wrapping_add(c)),
        _ => map3(t, a, b, c, |a: i32, b: i32, c: i64| int::mul_wide_s32(a, b).wrapping_add(c)),
    })
}

fn arg<'a>(f: &Form<'a>, i: usize) -> Result<&'a Operand, Refusal> {
    f.operands.get(i).ok_or_else(|| Refusal::new("an operand is missing"))
}

fn mul24(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let high = f.modifiers.take_any(&[("lo", false), ("hi", true)]);
    let high = high.ok_or_else(|| Refusal::new("it needs `.lo` or `.hi`"))?;
    let sat = f.modifiers.take("sat");
    let ty = f.modifiers.ty()?;
    let signed = match ty {
        ScalarType::U32 => false,
        ScalarType::S32 => true,
        other => return Err(unsupported_type(other)),
    };
    if f.name == "mul24" {
        let (t, a, b) = three(d, f, ty)?;
        return Ok(match (high, signed) {
            (false, false) => map2(t, a, b, int::mul24_lo_u32),
            (true, false) => map2(t, a, b, int::mul24_hi_u32),
            (false, true) => map2(t, a, b, int::mul24_lo_s32),
            (true, true) => map2(t, a, b, int::mul24_hi_s32),
        });
    }
    let [t, a, b, c] = f.operands()?;
    let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, ty)?);
    let t = d.real_target(t, ty)?;
    Ok(match (high, signed, sat) {
        (true, true, true) => map3(t, a, b, c, int::mad24_hi_sat),
        (_, _, true) => return Err(Refusal::new("`.sat` is for `.hi.s32` only")),
        (false, false, _) => {
            map3(t, a, b, c, |a: u32, b: u32, c: u32| int::mul24_lo_u32(a, b).wrapping_add(c))
        }
        (true, false, _) => {
            map3(t, a, b, c, |a: u32, b: u32, c: u32| int::mul24_hi_u32(a, b).wrapping_add(c))
        }
        (false, true, _) => {
            map3(t, a, b, c, |a: i32, b: i32, c: i32| int::mul24_lo_s32(a, b).wrapping_add(c))
        }
        (true, true, _) => map3(t, a, b, c, |a: i32, b: i32, c: i32| int::mul24_hi_s32(a, b).wrapping_add(c)),
    })
}

/// `addc`, `subc`, `madc`: with carry in; `.cc` also out.
fn carry(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    let out = f.modifiers.take("cc");
    carry_chain(d, f, true, out)
}

/// `add.cc`, `sub.cc`, `mad.cc`.
fn carry_out(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<Evaluate, Refusal> {
    carry_chain(d, f, false, true)
}

fn carry_chain(
    d: &mut Decoder<'_>,
    f: &mut Form<'_>,
    carry_in: bool,
    carry_out: bool,
) -> Result<Evaluate, Refusal> {
    let half = f.modifiers.take_any(&[("lo", false), ("hi", true)]);
    let ty = f.modifiers.ty()?;
    let wide = match ty {
        ScalarType::U32 | ScalarType::S32 => false,
        ScalarType::U64 | ScalarType::S64 => true,
        other => return Err(unsupported_type(other)),
    };
    let signed = ty.is_signed();
    let subtract = f.name.starts_with("sub");
    let product = f.name.starts_with("mad");
    let (t, a, b, c) = if product {
        let [t, a, b, c] = f.operands()?;
        let (a, b, c) = (d.source(a, ty)?, d.source(b, ty)?, d.source(c, ty)?);
        (d.real_target(t, ty)?, a, b, c)
    } else {
        let (t, a, b) = three(d, f, ty)?;
        (t, a, b, NONE)
    };
    let high = match (product, half) {
        (true, None) => return Err(Refusal::new("it needs `.lo` or `.hi`")),
        (false, Some(_)) => return Err(Refusal::new("only `mad` has `.lo` and `.hi`")),
        (_, half) => half.unwrap_or(false),
    };
    let flag = d.carry()?;
    if carry_in {
        d.note_read(flag, 0);
    }
    if carry_out {
        d.note_write(flag, 0);
    }
    fn chain<T: Lane>(
        regs: Regs,
        mask: u32,
        [t, a, b, c]: [Slot; 4],
        flag: Slot,
        (carry_in, carry_out, start): (bool, bool, u32),
        f: &impl Fn(T, T, T, bool) -> (T, bool),
    ) {
        // SAFETY: decoding gave the registers the width of `T`, and the flag is a predicate.
        unsafe {
            let before = if carry_in { regs.predicate(flag) } else { start };
            let mut after = 0;
            for i in lanes_of(mask) {
                let third = if c == NONE { regs.get(a, i) } else { regs.get(c, i) };
                let (value, carry) = f(regs.get(a, i), regs.get(b, i), third, before >> i & 1 != 0);
                regs.set(t, i, value);
                after |= u32::from(carry) << i;
            }
            if carry_out {
                regs.set_predicate(flag, after, mask);
            }
        }
    }
    // A subtraction starts with the carry of `a + !b + 1`.
    let start = if subtract { u32::MAX } else { 0 };
    let (slots, flags) = ([t, a, b, c], (carry_in, carry_out, start));
    Ok(if wide {
        let apply = move |a: u64, b: u64, c: u64, carry: bool| {
            if product {
                let p = match (high, signed) {
                    (false, _) => a.wrapping_mul(b),
                    (true, false) => a.mul_hi(b),
                    (true, true) => (a as i64).mul_hi(b as i64) as u64,
                };
                int::add_carry_u64(p, c, carry)
            } else if subtract {
                int::sub_carry_u64(a, b, carry)
            } else {
                int::add_carry_u64(a, b, carry)
            }
        };
        Box::new(move |r, m| chain::<u64>(r, m, slots, flag, flags, &apply))
    } else {
        let apply = move |a: u32, b: u32, c: u32, carry: bool| {
            if product {
                let p = match (high, signed) {
                    (false, _) => a.wrapping_mul(b),
                    (true, false) => a.mul_hi(b),
                    (true, true) => (a as i32).mul_hi(b as i32) as u32,
                };
                int::add_carry_u32(p, c, carry)
            } else if subtract {
                int::sub_carry_u32(a, b, carry)
            } else {
                int::add_carry_u32(a, b, carry)
            }
        };
        Box::new(move |r, m| chain::<u32>(r, m, slots, flag, flags, &apply))
    })
}
