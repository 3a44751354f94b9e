//! Comparisons as IR.

use ptx::ScalarType;
use virtual_gpu::alu::compare::{BoolOp, FloatCmp, IntCmp};
use virtual_gpu::jit::{Arithmetic, Compare, Relation, Slot};

use crate::arithmetic::{integers, read};
use crate::rows;
use crate::values::Misfit;
use crate::widths::Types;
use crate::writer::Writer;

/// `setp`
pub fn compare(w: &mut Writer<'_>, o: &Arithmetic, what: Compare) -> Result<bool, Misfit> {
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

/// The mask of the lanes for which it is true.
fn relation(w: &mut Writer<'_>, a: Slot, b: Slot, what: Compare) -> Result<Option<String>, Misfit> {
    let &Types { doubles, floats, longs, .. } = w.types();
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
                    let yes = w.set(format_args!("fcmp {name} {floats} {a}, {b}"));
                    Ok(Some(w.mask_of(&yes)))
                }
                ScalarType::F64 => {
                    let (a, b) = (w.longs(a)?, w.longs(b)?);
                    let a = w.set(format_args!("bitcast {longs} {a} to {doubles}"));
                    let b = w.set(format_args!("bitcast {longs} {b} to {doubles}"));
                    let yes = w.set(format_args!("fcmp {name} {doubles} {a}, {b}"));
                    Ok(Some(w.mask_of(&yes)))
                }
                _ => Ok(None),
            }
        }
        Relation::Integer(relation) => {
            let Some(i) = integers(w, what.ty) else { return Ok(None) };
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
            if !matches!(relation, IntCmp::Eq | IntCmp::Ne)
                && let Some(mask) = rows::order(w, (a, b), i, name)?
            {
                return Ok(Some(mask));
            }
            let (a, b) = (read(w, a, i)?, read(w, b, i)?);
            let yes = w.set(format_args!("icmp {name} {} {a}, {b}", i.ty));
            Ok(Some(w.mask_of(&yes)))
        }
    }
}
