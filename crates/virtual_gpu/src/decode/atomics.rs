//! `atom`, `red`.

use std::collections::HashSet;

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::arithmetic::unsupported_type;
use super::data;
use super::draft::Draft;
use super::function::{Decoder, rows_of};
use super::modifiers::Form;
use crate::form::access::{AtomicFunction as F, SpaceOperand};
use crate::form::op::{AtomicOp, OpKind};
use crate::form::registers::{NONE, Slot};
use crate::observer::{AccessKind, MemorySpace, Order, Scope};

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    if f.modifiers.take("async") {
        return Err(Refusal::new("the virtual GPU does not know this instruction"));
    }
    let space = data::space(f).unwrap_or(SpaceOperand::Generic);
    let m = &mut f.modifiers;
    let order = m.order().unwrap_or(Order::Relaxed);
    let scope = m.scope().unwrap_or(Scope::Device);
    let policy = m.cache_hints();
    if policy && space == SpaceOperand::In(MemorySpace::Shared) {
        return Err(Refusal::new("`.L2::cache_hint` is for global memory"));
    }
    m.take("noftz");
    let elements = m.take_any(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let operation = m.take_any(&[
        ("and", "and"),
        ("or", "or"),
        ("xor", "xor"),
        ("exch", "exch"),
        ("cas", "cas"),
        ("add", "add"),
        ("inc", "inc"),
        ("dec", "dec"),
        ("min", "min"),
        ("max", "max"),
    ]);
    let operation = operation.ok_or_else(|| Refusal::new("its operation is not known"))?;
    let ty = m.ty()?;
    let function = function(operation, ty)?;
    let mut operands = f.operands;
    if policy && let [rest @ .., last] = operands {
        d.number(last, ScalarType::U64)?;
        operands = rest;
    }
    let reduction = f.name == "red";
    let (target, operands) = match (reduction, operands) {
        (true, all) => (None, all),
        (false, [target, rest @ ..]) => (Some(target), rest),
        (false, []) => return Err(Refusal::new("its operands are missing")),
    };
    let (place, values, swap) = match operands {
        [place, b] if function != F::CompareAndSwap => (place, b, None),
        [place, b, c] if function == F::CompareAndSwap => (place, b, Some(c)),
        _ => return Err(Refusal::new("its operands do not fit")),
    };
    let (address, space) = data::bracketed(d, place, space)?;
    data::wide_enough(address, space)?;
    if matches!(space, SpaceOperand::In(MemorySpace::Local | MemorySpace::Param)) {
        return Err(Refusal::new("atomics reach global and shared memory"));
    }
    let list = |operand: &Operand| match operand {
        Operand::Vector(parts) => parts.to_vec(),
        one => vec![one.clone()],
    };
    let values = list(values);
    if values.len() != elements {
        return Err(Refusal(format!("it takes {elements} elements")));
    }
    let held_in = |part: &Operand| if elements > 1 { data::part_of_vector(ty, part) } else { ty };
    let operands = values.iter().map(|v| d.source(v, held_in(v))).collect::<Result<Vec<_>, _>>()?;
    let swap = swap.map_or(Ok(NONE), |c| d.source(c, ty))?;
    let targets = match target {
        None => Vec::new(),
        Some(Operand::Sink) => vec![NONE; elements],
        Some(target) => {
            list(target).iter().map(|t| d.target(t, held_in(t))).collect::<Result<Vec<_>, _>>()?
        }
    };
    if !reduction && targets.len() != elements {
        return Err(Refusal(format!("it gives {elements} elements")));
    }
    debug_assert!(rows_of(ty) > 0);
    let one = |operand: &Operand| matches!(operand, Operand::Constant(c) if Decoder::bits(*c, ty).is_ok_and(|bits| bits == 1));
    let counts = function == F::Add && ty.size() == 4 && values.iter().all(one);
    Ok(OpKind::Atomic(Box::new(AtomicOp {
        space,
        address,
        function,
        width: ty.size() as u32,
        targets: targets.into(),
        operands: operands.into(),
        swap,
        kind: if reduction { AccessKind::Reduction } else { AccessKind::Atomic },
        order,
        scope,
        counts,
        multimem: false,
    })))
}

/// Atomics that add 1 count as such only where their result is not read.
pub(super) fn forget_counts_that_are_read(drafts: &mut [Draft]) {
    let counts = |d: &Draft| matches!(&d.op.kind, OpKind::Atomic(op) if op.counts && !op.targets.is_empty());
    if !drafts.iter().any(counts) {
        return;
    }
    let read: HashSet<Slot> = drafts.iter().flat_map(|d| d.touched.reads.iter().map(|r| r.0)).collect();
    for draft in drafts {
        if let OpKind::Atomic(op) = &mut draft.op.kind {
            op.counts &= op.targets.iter().all(|target| !read.contains(target));
        }
    }
}

pub(super) fn function(operation: &str, ty: ScalarType) -> Result<F, Refusal> {
    use ScalarType::*;
    Ok(match (operation, ty) {
        ("and", B32 | B64 | U32 | U64 | S32 | S64) => F::And,
        ("or", B32 | B64 | U32 | U64 | S32 | S64) => F::Or,
        ("xor", B32 | B64 | U32 | U64 | S32 | S64) => F::Xor,
        ("exch", B32 | B64 | B128 | U32 | U64 | S32 | S64 | F32 | F64) => F::Exchange,
        ("cas", B16 | B32 | B64 | B128 | U16 | U32 | U64 | S32 | S64 | F32 | F64) => F::CompareAndSwap,
        ("add", U32 | S32 | U64 | S64) => F::Add,
        ("add", F32) => F::AddF32,
        ("add", F64) => F::AddF64,
        ("add", F16) => F::AddF16,
        ("add", Bf16) => F::AddBf16,
        ("add", F16x2) => F::AddF16x2,
        ("add", Bf16x2) => F::AddBf16x2,
        ("inc", U32) => F::Increment,
        ("dec", U32) => F::Decrement,
        ("min", U32 | U64) => F::MinUnsigned,
        ("max", U32 | U64) => F::MaxUnsigned,
        ("min", S32 | S64) => F::MinSigned,
        ("max", S32 | S64) => F::MaxSigned,
        ("min" | "max", F16 | Bf16 | F16x2 | Bf16x2) => F::MinMaxF16 {
            bf16: matches!(ty, Bf16 | Bf16x2),
            max: operation == "max",
            packed: matches!(ty, F16x2 | Bf16x2),
        },
        (_, other) => return Err(unsupported_type(other)),
    })
}
