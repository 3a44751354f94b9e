//! `multimem`: accesses of multicast addresses, of which each stands for a place on every device of a team.
//!
//! The team is the one device, so a reduction over its replicas is the one replica's value, and what is stored or added
//! everywhere is so once.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::{Decoder, rows_of};
use super::modifiers::Form;
use super::{asynchronous, atomics, data};
use crate::form::access::{AddressOperand, SpaceOperand};
use crate::form::asynchronous::{Linear, LinearTarget, Reduction, ReductionKind};
use crate::form::op::{ALL_BYTES, AtomicOp, MemoryOp, OpKind};
use crate::form::registers::{NONE, Slot};
use crate::observer::{AccessKind, MemorySpace, Order, Scope};

const GLOBAL: SpaceOperand = SpaceOperand::In(MemorySpace::Global);

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    if m.take("cp") {
        return bulk(d, f);
    }
    let kinds = [("ld_reduce", AccessKind::Load), ("st", AccessKind::Store), ("red", AccessKind::Reduction)];
    let kind = m.take_any(&kinds).ok_or_else(|| Refusal::new("there is no such form"))?;
    access(d, f, kind, true)
}

/// `st.async.release`, `red.async.mmio.release`: as `multimem` has them, of ordinary addresses.
pub(super) fn released(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    f.modifiers.take("mmio");
    let kind = if f.name == "st" { AccessKind::Store } else { AccessKind::Reduction };
    access(d, f, kind, false)
}

/// A load, a store or a reduction. What is `.async` is done when it is issued.
fn access(
    d: &mut Decoder<'_>,
    f: &mut Form<'_>,
    kind: AccessKind,
    multimem: bool,
) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    m.take("async");
    m.take("global");
    let (order, scope) = (m.order(), m.scope());
    if scope.is_some() != order.is_some_and(|order| order != Order::Weak) {
        return Err(Refusal::new("an order and a scope go together"));
    }
    let (order, scope) = match kind == AccessKind::Reduction {
        true => (order.unwrap_or(Order::Relaxed), scope.unwrap_or(Scope::System)),
        false => (order.unwrap_or(Order::Weak), scope.unwrap_or(Scope::Block)),
    };
    let operation = m.take_any(&[
        ("add", "add"),
        ("min", "min"),
        ("max", "max"),
        ("and", "and"),
        ("or", "or"),
        ("xor", "xor"),
        ("inc", "inc"),
        ("dec", "dec"),
    ]);
    // The precision of sums between replicas.
    m.take_any(&[("acc::f32", ()), ("acc::f16", ())]);
    let count = m.take_any(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let narrow = m.take_any(&[
        ("e4m3", ScalarType::B8),
        ("e5m2", ScalarType::B8),
        ("e4m3x2", ScalarType::B16),
        ("e5m2x2", ScalarType::B16),
        ("e4m3x4", ScalarType::B32),
        ("e5m2x4", ScalarType::B32),
    ]);
    let ty = narrow.map_or_else(|| m.ty(), Ok)?;
    let [first, second] = f.operands()?;
    let (place, values) = if kind == AccessKind::Load { (second, first) } else { (first, second) };
    let parts = match values {
        Operand::Vector(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    if parts.len() != count {
        return Err(Refusal(format!("it moves {count} elements")));
    }
    let mut wide = |part: &Operand| matches!(part, Operand::Name(name) if d.register(name).is_ok_and(|(_, has)| has.size() > 1));
    if ty.size() == 1 && parts.iter().any(&mut wide) {
        return Err(Refusal::new("its registers are of 8 bits"));
    }
    let held_in = |part: &Operand| if count > 1 { data::part_of_vector(ty, part) } else { ty };
    let address = address(d, place)?;
    let width = ty.size() as u32;
    let memory = |data: Vec<Slot>| {
        let (data, rows) = (data.into(), rows_of(ty));
        let (space, signed, non_coherent) = (GLOBAL, false, false);
        Box::new(MemoryOp {
            space,
            address,
            width,
            signed,
            rows,
            data,
            order,
            scope,
            non_coherent,
            multimem,
            used: ALL_BYTES,
        })
    };
    if kind == AccessKind::Load {
        if matches!(values, Operand::Sink) {
            return Err(Refusal::new("its result needs a register"));
        }
        let targets = parts.iter().map(|part| d.target(part, held_in(part))).collect::<Result<_, _>>()?;
        return Ok(OpKind::Load(memory(targets)));
    }
    let operands = parts.iter().map(|part| d.source(part, held_in(part))).collect::<Result<Vec<_>, _>>()?;
    match operation {
        None if kind == AccessKind::Store => Ok(OpKind::Store(memory(operands))),
        Some(operation) if kind == AccessKind::Reduction => Ok(OpKind::Atomic(Box::new(AtomicOp {
            space: GLOBAL,
            address,
            function: atomics::function(operation, ty)?,
            width,
            targets: Box::default(),
            operands: operands.into(),
            swap: NONE,
            kind,
            order,
            scope,
            counts: false,
            multimem,
        }))),
        _ => Err(Refusal::new("there is no such form")),
    }
}

fn address(d: &mut Decoder<'_>, operand: &Operand) -> Result<AddressOperand, Refusal> {
    let (address, _) = data::bracketed(d, operand, GLOBAL)?;
    data::wide_enough(address, GLOBAL)?;
    Ok(address)
}

/// `multimem.cp.async.bulk`, `multimem.cp.reduce.async.bulk`
fn bulk(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    let reduces = m.take("reduce");
    for word in ["async", "bulk", "global", "shared::cta", "bulk_group"] {
        m.take(word);
    }
    let masked = m.take("cp_mask");
    let (order, scope) = (m.order(), m.scope());
    let reduction = if reduces { Some(reduction(f)?) } else { None };
    let whole = f.modifiers.take("b128");
    if scope.is_some() != (order == Some(Order::Relaxed)) || scope.is_some() && !(whole || reduces) {
        return Err(Refusal::new("`.relaxed` needs a scope, and a copy of that order `.b128`"));
    }
    let (operands, mask) = match f.operands {
        [operands @ .., mask] if masked => (operands, Some(d.number(mask, ScalarType::B16)?)),
        all => (all, None),
    };
    let [target, source, bytes] = operands else {
        return Err(Refusal::new("it takes a target, a source and a size"));
    };
    let target = address(d, target)?;
    let source = asynchronous::in_shared(d, source)?;
    let bytes = d.number(bytes, ScalarType::U32)?;
    let to = LinearTarget::Global { target, mask, multimem: true };
    Ok(OpKind::extension(Linear { to, source, bytes, reduction }))
}

fn reduction(f: &mut Form<'_>) -> Result<Reduction, Refusal> {
    let m = &mut f.modifiers;
    let kind = m.take_map(ReductionKind::from_word);
    m.take("noftz");
    let ty = m.ty()?;
    kind.and_then(|kind| kind.of(ty.as_str()))
        .ok_or_else(|| Refusal::new("there is no such reduction of this type"))
}
