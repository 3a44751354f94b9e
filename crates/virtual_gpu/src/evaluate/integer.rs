//! Integer arithmetic.

use ptx::ScalarType;

use super::lanewise::{each2, each3, map1, map2, map3};
use super::{Evaluate, Unknown, by_int};
use crate::alu::int::{self, Int};
use crate::form::arithmetic::{Arithmetic, Opcode};
use crate::form::qualifiers::{ProductHalf, Qualifiers};
use crate::form::registers::{Lane, Regs, Slot, lanes_of};

pub(super) fn evaluation(o: &Arithmetic) -> Result<Evaluate, Unknown> {
    match o.qualifiers {
        Qualifiers::Integer { ty: ty @ (ScalarType::U16x2 | ScalarType::S16x2), saturate, relu, .. } => {
            packed(o, ty, saturate, relu)
        }
        Qualifiers::Integer { ty, half: Some(half), saturate, .. } => product(o, ty, half, saturate),
        Qualifiers::Integer { ty, half: None, saturate, relu } => plain(o, ty, saturate, relu),
        Qualifiers::Carry { ty, high, reads, writes } => carry(o, ty, high, reads, writes),
        Qualifiers::DotProduct { signed: [x, y], high } => {
            let (t, [a, b, c]) = (o.target(), o.sources()?);
            Ok(match o.opcode {
                Opcode::DotProduct4 => each3(t, a, b, c, move |a, b, c| int::dp4a(a, x, b, y, c)),
                _ => each3(t, a, b, c, move |a, b, c| int::dp2a(a, x, b, y, c, high)),
            })
        }
        _ => Err(Unknown::form()),
    }
}

fn plain(o: &Arithmetic, ty: ScalarType, saturate: bool, relu: bool) -> Result<Evaluate, Unknown> {
    use Opcode::{
        Abs, Add, Div, Max, Min, Mul, Mul24, MultiplyAdd, MultiplyAdd24, Neg, Rem, Sub, SumOfDifferences,
    };
    let t = o.target();
    match o.opcode {
        Abs | Neg if !saturate => {
            let [a] = o.sources()?;
            return Ok(match o.opcode {
                Abs => by_int!(ty, T => map1::<T, T>(t, a, Int::abs)),
                _ => by_int!(ty, T => map1::<T, T>(t, a, Int::neg)),
            });
        }
        SumOfDifferences if !saturate => {
            let [a, b, c] = o.sources()?;
            return Ok(by_int!(ty, T => map3::<T, T, T, T>(t, a, b, c, |a, b, c| a.sad(b, c))));
        }
        Mul | MultiplyAdd => return Err(Unknown::new("it needs `.lo`, `.hi` or `.wide`")),
        Mul24 | MultiplyAdd24 => return Err(Unknown::new("it needs `.lo` or `.hi`")),
        _ => {}
    }
    let [a, b] = o.sources()?;
    Ok(match (o.opcode, saturate, relu) {
        (Add, true, false) => map2(t, a, b, int::add_sat),
        (Sub, true, false) => map2(t, a, b, int::sub_sat),
        (Add, false, false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, Int::add)),
        (Sub, false, false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, Int::sub)),
        (Div, false, false) => by_int!(ty, T => each2::<T, T, T>(t, a, b, Int::div)),
        (Rem, false, false) => by_int!(ty, T => each2::<T, T, T>(t, a, b, Int::rem)),
        (Min, false, false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.min(b))),
        (Max, false, false) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.max(b))),
        (Min, false, true) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.min_relu(b))),
        (Max, false, true) => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.max_relu(b))),
        _ => return Err(Unknown::form()),
    })
}

/// `mul`, `mad`, and those of 24 bits.
fn product(o: &Arithmetic, ty: ScalarType, half: ProductHalf, saturate: bool) -> Result<Evaluate, Unknown> {
    use Opcode::{Mul, Mul24, MultiplyAdd, MultiplyAdd24};
    use ProductHalf::{High, Low, Wide};
    let t = o.target();
    match (o.opcode, half, saturate) {
        (Mul, Wide, false) => {
            let [a, b] = o.sources()?;
            Ok(match ty {
                ScalarType::U16 => map2(t, a, b, int::mul_wide_u16),
                ScalarType::S16 => map2(t, a, b, int::mul_wide_s16),
                ScalarType::U32 => map2(t, a, b, int::mul_wide_u32),
                ScalarType::S32 => map2(t, a, b, int::mul_wide_s32),
                other => return Err(Unknown::ty(other)),
            })
        }
        (MultiplyAdd, Wide, false) => {
            let [a, b, c] = o.sources()?;
            Ok(match ty {
                ScalarType::U16 => {
                    map3(t, a, b, c, |a: u16, b: u16, c: u32| int::mul_wide_u16(a, b).wrapping_add(c))
                }
                ScalarType::S16 => {
                    map3(t, a, b, c, |a: i16, b: i16, c: i32| int::mul_wide_s16(a, b).wrapping_add(c))
                }
                ScalarType::U32 => {
                    map3(t, a, b, c, |a: u32, b: u32, c: u64| int::mul_wide_u32(a, b).wrapping_add(c))
                }
                ScalarType::S32 => {
                    map3(t, a, b, c, |a: i32, b: i32, c: i64| int::mul_wide_s32(a, b).wrapping_add(c))
                }
                other => return Err(Unknown::ty(other)),
            })
        }
        (Mul, half, false) => {
            let [a, b] = o.sources()?;
            Ok(match half {
                High => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.mul_hi(b))),
                _ => by_int!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a.mul_lo(b))),
            })
        }
        (MultiplyAdd, High, true) => {
            let [a, b, c] = o.sources()?;
            Ok(map3(t, a, b, c, int::mad_hi_sat))
        }
        (MultiplyAdd, half, false) => {
            let [a, b, c] = o.sources()?;
            Ok(match half {
                High => by_int!(ty, T => map3::<T, T, T, T>(t, a, b, c, |a, b, c| a.mad_hi(b, c))),
                _ => by_int!(ty, T => map3::<T, T, T, T>(t, a, b, c, |a, b, c| a.mad_lo(b, c))),
            })
        }
        (Mul24, Low | High, false) => {
            let [a, b] = o.sources()?;
            Ok(match (half, ty) {
                (Low, ScalarType::U32) => map2(t, a, b, int::mul24_lo_u32),
                (_, ScalarType::U32) => map2(t, a, b, int::mul24_hi_u32),
                (Low, ScalarType::S32) => map2(t, a, b, int::mul24_lo_s32),
                (_, ScalarType::S32) => map2(t, a, b, int::mul24_hi_s32),
                (_, other) => return Err(Unknown::ty(other)),
            })
        }
        (MultiplyAdd24, Low | High, _) => {
            let [a, b, c] = o.sources()?;
            Ok(match (half, ty, saturate) {
                (High, ScalarType::S32, true) => map3(t, a, b, c, int::mad24_hi_sat),
                (_, _, true) => return Err(Unknown::new("`.sat` is for `.hi.s32` only")),
                (Low, ScalarType::U32, _) => {
                    map3(t, a, b, c, |a: u32, b: u32, c: u32| int::mul24_lo_u32(a, b).wrapping_add(c))
                }
                (_, ScalarType::U32, _) => {
                    map3(t, a, b, c, |a: u32, b: u32, c: u32| int::mul24_hi_u32(a, b).wrapping_add(c))
                }
                (Low, ScalarType::S32, _) => {
                    map3(t, a, b, c, |a: i32, b: i32, c: i32| int::mul24_lo_s32(a, b).wrapping_add(c))
                }
                (_, ScalarType::S32, _) => {
                    map3(t, a, b, c, |a: i32, b: i32, c: i32| int::mul24_hi_s32(a, b).wrapping_add(c))
                }
                (_, other, _) => return Err(Unknown::ty(other)),
            })
        }
        _ => Err(Unknown::form()),
    }
}

/// `add.u16x2` and its likes.
fn packed(o: &Arithmetic, ty: ScalarType, saturate: bool, relu: bool) -> Result<Evaluate, Unknown> {
    let signed = ty == ScalarType::S16x2;
    let apply: fn(i32, i32) -> i32 = match (o.opcode, saturate, relu) {
        (Opcode::Add, false, false) => |a, b| a + b,
        (Opcode::Add, true, false) if signed => |a, b| (a + b).clamp(i16::MIN.into(), i16::MAX.into()),
        (Opcode::Add, true, false) => |a, b| (a + b).min(u16::MAX.into()),
        (Opcode::Min, false, false) => |a, b| a.min(b),
        (Opcode::Max, false, false) => |a, b| a.max(b),
        (Opcode::Min, false, true) => |a, b| a.min(b).max(0),
        (Opcode::Max, false, true) => |a, b| a.max(b).max(0),
        _ => return Err(Unknown::form()),
    };
    let part = move |x: u32| if signed { i32::from(x as u16 as i16) } else { (x & 0xffff) as i32 };
    let [a, b] = o.sources()?;
    Ok(each2::<u32, u32, u32>(o.target(), a, b, move |a, b| {
        let low = apply(part(a), part(b)) as u32 & 0xffff;
        let high = apply(part(a >> 16), part(b >> 16)) as u32;
        high << 16 | low
    }))
}

/// The use of the carry flag, and its value where it is not read.
#[derive(Clone, Copy)]
struct Flag {
    slot: Slot,
    reads: bool,
    writes: bool,
    start: u32,
}

/// `add.cc`, `addc`, `addc.cc` and their likes.
fn carry(o: &Arithmetic, ty: ScalarType, high: bool, reads: bool, writes: bool) -> Result<Evaluate, Unknown> {
    let subtract = matches!(o.opcode, Opcode::Sub | Opcode::SubCarry);
    let product = matches!(o.opcode, Opcode::MultiplyAdd | Opcode::MultiplyAddCarry);
    let (a, b, c, slot) = match (product, &o.sources[..]) {
        (true, &[a, b, c, slot]) => (a, b, c, slot),
        (false, &[a, b, slot]) => (a, b, a, slot),
        _ => return Err(Unknown::form()),
    };
    let signed = ty.is_signed();
    let slots = [o.target(), a, b, c];
    // A subtraction starts with the carry of `a + !b + 1`.
    let flag = Flag { slot, reads, writes, start: if subtract { u32::MAX } else { 0 } };
    match ty {
        ScalarType::U64 | ScalarType::S64 => {
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
            Ok(Box::new(move |r, m| chain::<u64>(r, m, slots, flag, &apply)))
        }
        ScalarType::U32 | ScalarType::S32 => {
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
            Ok(Box::new(move |r, m| chain::<u32>(r, m, slots, flag, &apply)))
        }
        other => Err(Unknown::ty(other)),
    }
}

fn chain<T: Lane>(
    regs: Regs,
    mask: u32,
    [t, a, b, c]: [Slot; 4],
    flag: Flag,
    f: &impl Fn(T, T, T, bool) -> (T, bool),
) {
    // SAFETY: decoding gave the registers the width of `T`, and the flag is a predicate.
    unsafe {
        let before = if flag.reads { regs.predicate(flag.slot) } else { flag.start };
        let mut after = 0;
        for i in lanes_of(mask) {
            let (value, carry) = f(regs.get(a, i), regs.get(b, i), regs.get(c, i), before >> i & 1 != 0);
            regs.set(t, i, value);
            after |= u32::from(carry) << i;
        }
        if flag.writes {
            regs.set_predicate(flag.slot, after, mask);
        }
    }
}
