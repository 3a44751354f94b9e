//! The video instructions.

use super::lanewise::each3;
use super::{Evaluate, Unknown};
use crate::alu::compare;
use crate::alu::video::{self, Op, Part};
use crate::form::arithmetic::{Arithmetic, Opcode};
use crate::form::qualifiers::{Qualifiers, Video};

pub(super) fn evaluation(o: &Arithmetic) -> Result<Evaluate, Unknown> {
    let (t, [a, b, c]) = (o.target(), o.sources()?);
    Ok(match o.qualifiers {
        Qualifiers::VideoPacked(form) => each3(t, a, b, c, move |a, b, c| video::packed(form, a, b, c)),
        Qualifiers::VideoMad { parts: [(a_part, a_signed), (b_part, b_signed)], mode } => {
            each3(t, a, b, c, move |a: u32, b: u32, c: u32| {
                video::mad(a_part.read(a, a_signed), b_part.read(b, b_signed), c, mode)
            })
        }
        Qualifiers::Video(what) => {
            let scalar = scalar(o.opcode, what)?;
            each3(t, a, b, c, scalar)
        }
        _ => return Err(Unknown::form()),
    })
}

/// `vadd` and its likes, `vshl`, `vshr`, `vset`.
fn scalar(opcode: Opcode, what: Video) -> Result<impl Fn(u32, u32, u32) -> u32, Unknown> {
    let Video {
        parts: [(a_part, a_signed), (b_part, b_signed)],
        to: (to, to_signed),
        saturate,
        wrap,
        second,
        ..
    } = what;
    let plain = match opcode {
        Opcode::VideoAdd => Some(Op::Add),
        Opcode::VideoSub => Some(Op::Sub),
        Opcode::VideoAbsDiff => Some(Op::AbsDiff),
        Opcode::VideoMin => Some(Op::Min),
        Opcode::VideoMax => Some(Op::Max),
        _ => None,
    };
    let compute: Box<dyn Fn(i64, i64) -> i64 + Send + Sync> = match (opcode, plain, wrap, what.compare) {
        (_, Some(op), None, None) => Box::new(move |a, b| video::apply(op, a, b)),
        (Opcode::VideoShiftLeft, None, Some(wrap), None) if second.is_some() => {
            Box::new(move |a, b| video::shl_whole(a, b as u32, wrap))
        }
        (Opcode::VideoShiftLeft, None, Some(wrap), None) => {
            Box::new(move |a, b| video::shl(a, b as u32, wrap))
        }
        (Opcode::VideoShiftRight, None, Some(wrap), None) => {
            Box::new(move |a, b| video::shr(a, b as u32, wrap))
        }
        (Opcode::VideoSet, None, None, Some(cmp)) => Box::new(move |a, b| i64::from(compare::int(cmp, a, b))),
        _ => return Err(Unknown::form()),
    };
    let set = opcode == Opcode::VideoSet;
    // Of `vset` the type of `a` stands for the missing one.
    let second_signed = if set { a_signed } else { to_signed };
    let sum = matches!(plain, Some(Op::Add | Op::Sub | Op::AbsDiff));
    // What a shift moved beyond the word counts, too.
    let shift = wrap.is_some();
    // A result that stays negative counts as such in an unsigned comparison, too.
    let negative = !set && (a_signed || b_signed) && (!saturate || to_signed);
    Ok(move |a: u32, b: u32, c: u32| {
        let value = compute(a_part.read(a, a_signed), b_part.read(b, b_signed));
        let value = match saturate {
            true if to != Part::Word => video::saturate_part(value, to, to_signed),
            true if sum => video::saturate_sum(value, to, to_signed),
            true => video::saturate(value, to, to_signed),
            false => value,
        };
        match second {
            Some(op) => {
                let wide = if shift {
                    value
                } else if negative {
                    i64::from(value as i32)
                } else {
                    i64::from(value as u32)
                };
                video::secondary(op, wide, c, second_signed)
            }
            None => video::merge(to, value as u32, c),
        }
    })
}
