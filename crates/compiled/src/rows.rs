//! Affine registers: lanes that differ by a stride within each half, given by their first lanes.

use virtual_gpu::jit::Slot;

use crate::arithmetic::{Integers, integers_of, read};
use crate::values::Misfit;
use crate::widths::Width;
use crate::writer::Writer;

/// For each half: whether the lanes from its `first` on, by a stride, reach the last without wrapping.
pub fn go_on(w: &mut Writer<'_>, first: &str, (stride, signed, bits): (i64, bool, u32)) -> String {
    let last = last(w, first, stride, bits);
    let relation = match (signed, stride < 0) {
        (true, false) => "sle",
        (true, true) => "sge",
        (false, false) => "ule",
        (false, true) => "uge",
    };
    w.set(format_args!("icmp {relation} <2 x i{bits}> {first}, {last}"))
}

/// Whether something is true for both halves.
pub fn both(w: &mut Writer<'_>, condition: &str) -> String {
    let condition = w.set(format_args!("bitcast <2 x i1> {condition} to i2"));
    w.set(format_args!("icmp eq i2 {condition}, -1"))
}

fn last(w: &mut Writer<'_>, first: &str, stride: i64, bits: u32) -> String {
    let distance = stride.wrapping_mul(15);
    let distance = if bits == 32 { (distance as i32).into() } else { distance };
    w.set(format_args!("add <2 x i{bits}> {first}, splat (i{bits} {distance})"))
}

/// The mask of the lanes for which one register is less or more than another, if the lanes of one rise and those of the other are
/// the same in a half. Where the first and the last lane of each half agree, those between do.
pub fn order(
    w: &mut Writer<'_>,
    (a, b): (Slot, Slot),
    i: Integers,
    relation: &str,
) -> Result<Option<String>, Misfit> {
    if i.bits < 32 || w.width != Width::All || w.active.is_some() || !w.function.is_converged() {
        return Ok(None);
    }
    let (Some(of_a), Some(of_b)) = (w.stride_of(a), w.stride_of(b)) else { return Ok(None) };
    let stride = of_a | of_b;
    // More would not fit even if it began at zero.
    if (of_a != 0) == (of_b != 0) || stride.unsigned_abs() >= 1 << 27 {
        return Ok(None);
    }
    w.width = Width::Two;
    let few = integers_of(w, i.bits, i.signed);
    let (first_a, first_b) = (read(w, a, few)?, read(w, b, few)?);
    let (row, last_a, last_b) = match of_a {
        0 => (&first_b, first_a.clone(), last(w, &first_b, stride, i.bits)),
        _ => (&first_a, last(w, &first_a, stride, i.bits), first_b.clone()),
    };
    let goes_on = go_on(w, row, (stride, i.signed, i.bits));
    let first = w.set(format_args!("icmp {relation} {} {first_a}, {first_b}", few.ty));
    let last = w.set(format_args!("icmp {relation} {} {last_a}, {last_b}", few.ty));
    let agree = w.set(format_args!("icmp eq <2 x i1> {first}, {last}"));
    let known = w.set(format_args!("and <2 x i1> {agree}, {goes_on}"));
    let known = both(w, &known);
    let of_halves = w.mask_of(&first);
    w.in_all_lanes();
    let (from, look, compared) = (w.name("few"), w.name("each"), w.name("compared"));
    w.line(format_args!("br label %{from}"));
    w.label(&from);
    w.line(format_args!("br i1 {known}, label %{compared}, label %{look}, !prof !0"));
    w.label(&look);
    let registers = w.known();
    let (a, b) = (read(w, a, i)?, read(w, b, i)?);
    let each = w.set(format_args!("icmp {relation} {} {a}, {b}", i.ty));
    let of_each = w.mask_of(&each);
    let to = w.turn(&compared);
    w.label(&compared);
    w.recall(registers);
    Ok(Some(w.set(format_args!("phi i32 [ {of_halves}, %{from} ], [ {of_each}, %{to} ]"))))
}
