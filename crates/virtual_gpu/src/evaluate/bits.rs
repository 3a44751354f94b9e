//! Bit operations: logic, shifts, fields of bits; and what has no qualifier but its type.

use ptx::ScalarType;

use super::lanewise::{each2, each3, each4, map1, map2, map3};
use super::{Evaluate, Unknown, flip, moves};
use crate::alu::bits;
use crate::alu::compare::BoolOp;
use crate::form::arithmetic::{Arithmetic, Opcode};
use crate::form::qualifiers::Qualifiers;
use crate::form::registers::lanes_of;

/// Runs `$e` with `$T` as the Rust type of as many bits.
macro_rules! by_width {
    ($ty:expr, $T:ident => $e:expr) => {
        match $ty {
            ScalarType::B16 => {
                type $T = u16;
                $e
            }
            ScalarType::B32 => {
                type $T = u32;
                $e
            }
            ScalarType::B64 => {
                type $T = u64;
                $e
            }
            other => return Err(Unknown::ty(other)),
        }
    };
}

/// Of an operation that says a type and nothing else.
pub(super) fn evaluation(o: &Arithmetic, ty: ScalarType) -> Result<Evaluate, Unknown> {
    use Opcode::*;
    use ScalarType::*;
    let t = o.target();
    match o.opcode {
        Move | CreatePolicy => return moves::copy(o, ty),
        Select => return super::compare::select(o, ty),
        GetCtaRank => return moves::cta_rank(o, ty),
        CopySign => return super::float::copysign(o, ty),
        BitFieldInsert => {
            let slots = o.sources()?;
            return Ok(match ty {
                B32 => each4(t, slots, bits::bfi_b32),
                B64 => each4(t, slots, bits::bfi_b64),
                other => return Err(Unknown::ty(other)),
            });
        }
        _ => {}
    }
    Ok(match (o.opcode, &o.sources[..]) {
        (Not, &[a]) => by_width!(ty, T => map1::<T, T>(t, a, |a| !a)),
        (ConditionalNot, &[a]) => by_width!(ty, T => map1::<T, T>(t, a, |a| T::from(a == 0))),
        (And, &[a, b]) => by_width!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a & b)),
        (Or, &[a, b]) => by_width!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a | b)),
        (Xor, &[a, b]) => by_width!(ty, T => map2::<T, T, T>(t, a, b, |a, b| a ^ b)),
        (ShiftLeft, &[a, n]) => match ty {
            B16 | U16 | S16 => map2(t, a, n, bits::shl_b16),
            B32 | U32 | S32 => map2(t, a, n, bits::shl_b32),
            B64 | U64 | S64 => map2(t, a, n, bits::shl_b64),
            other => return Err(Unknown::ty(other)),
        },
        (ShiftRight, &[a, n]) => match ty {
            B16 | U16 => map2(t, a, n, bits::shr_u16),
            B32 | U32 => map2(t, a, n, bits::shr_u32),
            B64 | U64 => map2(t, a, n, bits::shr_u64),
            S16 => map2(t, a, n, bits::shr_s16),
            S32 => map2(t, a, n, bits::shr_s32),
            S64 => map2(t, a, n, bits::shr_s64),
            other => return Err(Unknown::ty(other)),
        },
        (PopulationCount, &[a]) => match ty {
            B32 => map1(t, a, |a: u32| a.count_ones()),
            B64 => map1(t, a, |a: u64| a.count_ones()),
            other => return Err(Unknown::ty(other)),
        },
        (CountLeadingZeros, &[a]) => match ty {
            B32 => map1(t, a, |a: u32| a.leading_zeros()),
            B64 => map1(t, a, |a: u64| a.leading_zeros()),
            other => return Err(Unknown::ty(other)),
        },
        (BitReverse, &[a]) => match ty {
            B32 => map1(t, a, u32::reverse_bits),
            B64 => map1(t, a, u64::reverse_bits),
            other => return Err(Unknown::ty(other)),
        },
        (FindNthSet, &[a, b, c]) => each3(t, a, b, c, bits::fns),
        (BitFieldExtract, &[a, b, c]) => match ty {
            U32 => map3(t, a, b, c, bits::bfe_u32),
            S32 => map3(t, a, b, c, bits::bfe_s32),
            U64 => map3(t, a, b, c, bits::bfe_u64),
            S64 => map3(t, a, b, c, bits::bfe_s64),
            other => return Err(Unknown::ty(other)),
        },
        _ => return Err(Unknown::new("it does not take that many operands")),
    })
}

/// Of one that says more.
pub(super) fn qualified(o: &Arithmetic) -> Result<Evaluate, Unknown> {
    use ScalarType::*;
    let t = o.target();
    match o.qualifiers {
        Qualifiers::Predicates { inverted } => predicates(o, inverted),
        Qualifiers::FindBit { ty, shift_amount } => {
            let [a] = o.sources()?;
            let amount =
                move |found: u32, width: u32| if shift_amount { bits::shiftamt(found, width) } else { found };
            Ok(match ty {
                U32 => map1(t, a, move |a| amount(bits::bfind_u32(a), 32)),
                S32 => map1(t, a, move |a| amount(bits::bfind_s32(a), 32)),
                U64 => map1(t, a, move |a| amount(bits::bfind_u64(a), 64)),
                S64 => map1(t, a, move |a| amount(bits::bfind_s64(a), 64)),
                other => return Err(Unknown::ty(other)),
            })
        }
        Qualifiers::Amount { ty, wrap } => {
            let [a, b] = o.sources()?;
            Ok(match (o.opcode, ty) {
                (Opcode::BitMask, B32) => each2(t, a, b, move |a, b| bits::bmsk(a, b, wrap)),
                (Opcode::SignExtend, U32) => each2(t, a, b, move |a, b| bits::szext_u32(a, b, wrap)),
                (Opcode::SignExtend, S32) => {
                    each2(t, a, b, move |a: u32, b: u32| bits::szext_s32(a, b, wrap))
                }
                (_, other) => return Err(Unknown::ty(other)),
            })
        }
        Qualifiers::FunnelShift { left, wrap } => {
            let [a, b, c] = o.sources()?;
            Ok(match (left, wrap) {
                (true, true) => map3(t, a, b, c, |a, b, c| bits::shf_l(a, b, c, true)),
                (true, false) => map3(t, a, b, c, |a, b, c| bits::shf_l(a, b, c, false)),
                (false, true) => map3(t, a, b, c, |a, b, c| bits::shf_r(a, b, c, true)),
                (false, false) => map3(t, a, b, c, |a, b, c| bits::shf_r(a, b, c, false)),
            })
        }
        Qualifiers::Permute(mode) => {
            let [a, b, c] = o.sources()?;
            Ok(each3(t, a, b, c, move |a, b, c| bits::prmt(a, b, c, mode)))
        }
        Qualifiers::Table { table, join, inverted } => by_table(o, table, join, inverted),
        _ => Err(Unknown::form()),
    }
}

fn predicates(o: &Arithmetic, [not_a, not_b]: [bool; 2]) -> Result<Evaluate, Unknown> {
    let (apply, a, b): (fn(u32, u32) -> u32, _, _) = match (o.opcode, &o.sources[..]) {
        (Opcode::And, &[a, b]) => (|a, b| a & b, a, b),
        (Opcode::Or, &[a, b]) => (|a, b| a | b, a, b),
        (Opcode::Xor, &[a, b]) => (|a, b| a ^ b, a, b),
        (Opcode::Not, &[a]) => (|a, _| !a, a, a),
        _ => return Err(Unknown::ty(ScalarType::Pred)),
    };
    let (t, flip_a, flip_b) = (o.target(), flip(not_a), flip(not_b));
    Ok(Box::new(move |r, mask| {
        // SAFETY: decoding found all three to be predicates.
        unsafe { r.set_predicate(t, apply(r.predicate(a) ^ flip_a, r.predicate(b) ^ flip_b), mask) }
    }))
}

/// `lop3`
fn by_table(o: &Arithmetic, table: u8, join: Option<BoolOp>, inverted: bool) -> Result<Evaluate, Unknown> {
    let (t, join) = match (&o.targets[..], join) {
        (&[t], None) => (t, None),
        (&[t, p], Some(join)) => (t, Some((p, join))),
        _ => return Err(Unknown::form()),
    };
    let &[a, b, c, ref rest @ ..] = &o.sources[..] else { return Err(Unknown::form()) };
    let compute = map3(t, a, b, c, move |a: u32, b: u32, c: u32| bits::lop3(a, b, c, table));
    let (Some((p, join)), &[q]) = (join, rest) else { return Ok(compute) };
    let flip = flip(inverted);
    Ok(Box::new(move |r, mask| {
        // SAFETY: decoding gave these registers their widths.
        unsafe {
            let q = r.predicate(q) ^ flip;
            compute(r, mask);
            let nonzero = lanes_of(mask).filter(|&i| r.get::<u32>(t, i) != 0).fold(0, |m, i| m | 1 << i);
            r.set_predicate(p, super::compare::joined(join, nonzero, q), mask);
        }
    }))
}
