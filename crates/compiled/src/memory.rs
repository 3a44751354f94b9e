//! Loads, stores and atomics as IR.
//!
//! An access has up to three ways. Where all lanes of the warp run it and the lanes of each half, 16, are expected to go to one
//! place, or to places side by side in the order of the lanes, that is tested, and done by whole [`vectors`]. All else is tried
//! by a function that takes each lane where it goes ([`Scattered`]). Both stay inside the block's shared memory, or inside the
//! allocation that was found there last time. What is left is asked of the interpreter: it finds other allocations, and faults.

use virtual_gpu::jit::{AddressOperand, AtomicOp, MemoryOp, NONE, ParamOp, SpaceOperand};
use virtual_gpu::observer::MemorySpace;

use crate::families::{Family, Span, is_near, span};
use crate::scattered::Scattered;
use crate::values::{LONGS, Misfit, WORDS};
use crate::vectors::{self, element};
use crate::widths::Width;
use crate::writer::Writer;

/// `ld`
pub fn load(w: &mut Writer<'_>, op: &MemoryOp, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let (Some(family), Some(scattered)) = (family, Scattered::access(op, false)) else {
        return w.perform(pc, None);
    };
    let (width, stride) = (w.width, w.stride);
    let register = if op.rows == 1 { w.types().words } else { w.types().longs };
    // What the registers hold for the lanes that stay away must be there before the ways part.
    let mut before = Vec::new();
    let kept = if w.active.is_some() { &op.data[..] } else { &[] };
    for &slot in kept {
        before.push(if slot == NONE { "poison".to_owned() } else { w.current(slot)?.1 });
    }
    let is_sure = vectors::known_by(w, &family) != Width::All;
    let done = w.name("loaded");
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    if let Some((pattern, places, long)) = vectors::short(w, op, pc, &family, false)? {
        let mut values = Vec::new();
        for e in 0..op.data.len() as u32 {
            values.push(vectors::load_element(w, op, pattern, &places, e));
        }
        found.push((values, w.turn(&done)));
        w.label(&long);
    }
    if !is_sure || found.is_empty() {
        let addresses = addresses(w, op.address)?;
        let span = span(w, family.site, false);
        let (result, lost) = anywhere(w, pc, &scattered, (&addresses, &span), &[]);
        let mut values = Vec::new();
        for e in 0..op.data.len() {
            let value = w.loaded(&scattered, &result, e);
            values.push(match (w.active.clone(), before.get(e)) {
                (Some(active), Some(before)) => w.set(format_args!(
                    "select <32 x i1> {}, {register} {value}, {register} {before}",
                    active.lanes
                )),
                _ => value,
            });
        }
        found.push((values, w.turn(&done)));
        w.label(&lost);
    }
    let joined = w.aside(pc, family.site, |w| {
        (w.width, w.stride) = (width, stride);
        let mut values = Vec::new();
        for &slot in &op.data {
            values.push(if slot == NONE { "poison".to_owned() } else { w.current(slot)?.1 });
        }
        found.push((values, w.turn(&done)));
        w.label(&done);
        let mut joined = Vec::new();
        for e in 0..op.data.len() {
            let ways: Vec<String> =
                found.iter().map(|(values, from)| format!("[ {}, %{from} ]", values[e])).collect();
            joined.push(w.set(format_args!("phi {register} {}", ways.join(", "))));
        }
        Ok(joined)
    })?;
    joined
        .into_iter()
        .zip(&op.data)
        .filter(|(_, slot)| **slot != NONE)
        .for_each(|(bits, &slot)| w.replace(slot, bits));
    Ok(())
}

/// `st`
pub fn store(w: &mut Writer<'_>, op: &MemoryOp, pc: u32, family: Option<Family>) -> Result<(), Misfit> {
    let (Some(family), Some(scattered)) = (family, Scattered::access(op, true)) else {
        return w.perform(pc, None);
    };
    let mut values = Vec::new();
    for &slot in &op.data {
        values.push(if op.rows == 1 { w.words(slot)? } else { w.longs(slot)? });
    }
    let is_sure = vectors::known_by(w, &family) != Width::All;
    let done = w.name("stored");
    let mut is_written = false;
    if let Some((pattern, places, long)) = vectors::short(w, op, pc, &family, true)? {
        for half in 0..2 {
            vectors::store_half(w, op, pattern, &places[half as usize], &values, half);
        }
        w.progress("1");
        w.turn(&done);
        w.label(&long);
        is_written = is_sure;
    }
    if !is_written {
        let addresses = addresses(w, op.address)?;
        let span = span(w, family.site, true);
        let (_, lost) = anywhere(w, pc, &scattered, (&addresses, &span), &values);
        w.progress("1");
        w.turn(&done);
        w.label(&lost);
    }
    w.aside(pc, family.site, |w| {
        w.turn(&done);
        w.label(&done);
        Ok(())
    })
}

/// `atom`, `red`
pub fn atomic(w: &mut Writer<'_>, op: &AtomicOp, pc: u32) -> Result<(), Misfit> {
    let shared = op.space == SpaceOperand::In(MemorySpace::Shared);
    let scattered = Scattered::atomic(op, shared).filter(|_| is_near(op.space));
    let Some(scattered) = scattered else { return w.perform(pc, None) };
    let register = scattered.register();
    let target = op.targets.first().copied().filter(|&slot| slot != NONE);
    let mut values = Vec::new();
    for slot in [op.operands[0], op.swap].into_iter().filter(|&slot| slot != NONE) {
        values.push(if op.width == 4 { w.words(slot)? } else { w.longs(slot)? });
    }
    let before = match target {
        Some(slot) => Some((slot, w.current(slot)?.1)),
        None => None,
    };
    let addresses = addresses(w, op.address)?;
    let site = (!shared).then(|| w.new_site());
    let span = span(w, site, true);
    let (result, lost) = anywhere(w, pc, &scattered, (&addresses, &span), &values);
    let done = w.name("updated");
    let mut old = w.set(format_args!("extractvalue {} {result}, 1", scattered.result()));
    let changed = w.set(format_args!("extractvalue {} {result}, 2", scattered.result()));
    w.progress(&changed);
    if let (Some((_, before)), Some(active)) = (&before, w.active.clone()) {
        let lanes = active.lanes;
        old = w.set(format_args!("select <32 x i1> {lanes}, {register} {old}, {register} {before}"));
    }
    let here = w.turn(&done);
    w.label(&lost);
    let joined = w.aside(pc, site, |w| {
        let other = match target {
            Some(slot) => Some(w.current(slot)?.1),
            None => None,
        };
        let there = w.turn(&done);
        w.label(&done);
        Ok(other.map(|other| w.set(format_args!("phi {register} [ {old}, %{here} ], [ {other}, %{there} ]"))))
    })?;
    if let (Some((slot, _)), Some(joined)) = (before, joined) {
        w.replace(slot, joined);
    }
    Ok(())
}

/// An access that takes each lane where it goes; goes on with the result where it was done. Where it was not is the label that
/// comes back with it.
fn anywhere(
    w: &mut Writer<'_>,
    pc: u32,
    scattered: &Scattered,
    (addresses, span): (&str, &Span),
    values: &[String],
) -> (String, String) {
    let result = w.call(scattered, addresses, &span.text(), values);
    let some = w.set(format_args!("extractvalue {} {result}, 0", scattered.result()));
    let (went, lost) = (w.name("went"), w.name("lost"));
    w.line(format_args!("br i1 {some}, label %{went}, label %{lost}, !prof !0"));
    w.label(&went);
    w.show_access(pc, addresses);
    (result, lost)
}

/// `ld.param`: the same for all lanes.
pub fn parameter(w: &mut Writer<'_>, op: &ParamOp, pc: u32) -> Result<(), Misfit> {
    if op.rows > 2 || op.width > 4 * op.rows {
        return w.perform(pc, None);
    }
    let (element, register) = (element(op.width), if op.rows == 1 { "i32" } else { "i64" });
    for (&slot, offset) in op.data.iter().zip((op.offset..).step_by(op.width as usize)) {
        if slot == NONE {
            continue;
        }
        let place = w.set(format_args!("getelementptr i8, ptr %params, i64 {offset}"));
        let mut value = w.set(format_args!("load {element}, ptr {place}, align 1"));
        if element != register {
            let extend = if op.signed { "sext" } else { "zext" };
            value = w.set(format_args!("{extend} {element} {value} to {register}"));
        }
        let value = w.splat(&value, register);
        if op.rows == 1 { w.write_words(slot, value)? } else { w.write_longs(slot, value)? }
    }
    Ok(())
}

/// Where the lanes go, in 64 bits.
fn addresses(w: &mut Writer<'_>, address: AddressOperand) -> Result<String, Misfit> {
    let AddressOperand { base, wide, offset } = address;
    if base == NONE {
        return Ok(format!("splat (i64 {offset})"));
    }
    if wide {
        let base = w.longs(base)?;
        return Ok(w.set(format_args!("add {LONGS} {base}, splat (i64 {offset})")));
    }
    let base = w.words(base)?;
    let sum = w.set(format_args!("add {WORDS} {base}, splat (i32 {})", offset as i32));
    Ok(w.set(format_args!("zext {WORDS} {sum} to {LONGS}")))
}
