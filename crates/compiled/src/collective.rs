//! Shuffles and votes as IR. All lanes of the member mask are here: [`ready`] tests that where a block begins.

use virtual_gpu::jit::{CollectiveKind, CollectiveOp, Guard, NONE, ShuffleMode};

use crate::values::{BITS, Misfit, WORDS};
use crate::writer::Writer;

/// Whether the operation can go on: its lanes that have not exited are all here, and all name the same member mask.
pub fn ready(w: &mut Writer<'_>, op: &CollectiveOp, guard: Guard) -> Result<Option<String>, Misfit> {
    if op.members == NONE {
        return Ok(None);
    }
    w.guard(guard)?;
    let mask = w.mask();
    let ready = match w.function.constant(op.members, 1) {
        Some(members) => {
            let members = members as u32 as i32;
            let absent = w.set(format_args!("xor i32 {mask}, -1"));
            let absent = w.set(format_args!("and i32 {absent}, %live"));
            let absent = w.set(format_args!("and i32 {absent}, {members}"));
            let strangers = w.set(format_args!("and i32 {mask}, {}", !members));
            let wrong = w.set(format_args!("or i32 {absent}, {strangers}"));
            w.set(format_args!("icmp eq i32 {wrong}, 0"))
        }
        None => {
            let members = w.words(op.members)?;
            let all = w.set(format_args!("icmp eq {WORDS} {members}, splat (i32 -1)"));
            let all = w.set(format_args!("bitcast {BITS} {all} to i32"));
            let both = w.set(format_args!("and i32 {all}, {mask}"));
            w.set(format_args!("icmp eq i32 {both}, -1"))
        }
    };
    let nobody = w.set(format_args!("icmp eq i32 {mask}, 0"));
    let ready = w.set(format_args!("or i1 {ready}, {nobody}"));
    w.active = None;
    Ok(Some(ready))
}

/// Writes the operation.
pub fn write(w: &mut Writer<'_>, op: &CollectiveOp, pc: u32) -> Result<(), Misfit> {
    use CollectiveKind::*;
    match op.kind {
        WarpSync => Ok(()),
        VoteAll | VoteAny | VoteUni | Ballot => vote(w, op),
        Elect => {
            let mask = w.mask();
            let leader = w.set(format_args!("call i32 @llvm.cttz.i32(i32 {mask}, i1 false)"));
            if op.target_predicate != NONE {
                let leader = w.set(format_args!("and i32 {leader}, 31"));
                let bit = w.set(format_args!("shl i32 1, {leader}"));
                w.write_predicate(op.target_predicate, bit)?;
            }
            if op.target != NONE {
                let leader = w.splat(&leader, "i32");
                w.write_words(op.target, leader)?;
            }
            Ok(())
        }
        Shuffle(mode) => shuffle(w, op, mode, pc),
        _ => w.perform(pc, None),
    }
}

fn vote(w: &mut Writer<'_>, op: &CollectiveOp) -> Result<(), Misfit> {
    let (mask, said) = (w.mask(), w.predicate(op.a)?);
    let said = if op.invert { w.set(format_args!("xor i32 {said}, -1")) } else { said };
    let votes = w.set(format_args!("and i32 {said}, {mask}"));
    let yes = match op.kind {
        CollectiveKind::Ballot => {
            let votes = w.splat(&votes, "i32");
            return w.write_words(op.target, votes);
        }
        CollectiveKind::VoteAny => w.set(format_args!("icmp ne i32 {votes}, 0")),
        CollectiveKind::VoteAll => w.set(format_args!("icmp eq i32 {votes}, {mask}")),
        _ => {
            let all = w.set(format_args!("icmp eq i32 {votes}, {mask}"));
            let none = w.set(format_args!("icmp eq i32 {votes}, 0"));
            w.set(format_args!("or i1 {all}, {none}"))
        }
    };
    let yes = w.set(format_args!("sext i1 {yes} to i32"));
    w.write_predicate(op.target, yes)
}

/// With all lanes here; else the interpreter is asked, which knows what the others' registers hold.
fn shuffle(w: &mut Writer<'_>, op: &CollectiveOp, mode: ShuffleMode, pc: u32) -> Result<(), Misfit> {
    let (values, b, c) = (w.words(op.a)?, w.words(op.b)?, w.words(op.c)?);
    let full = w.is_full();
    let (all, some, done) = (w.name("all"), w.name("some"), w.name("shuffled"));
    // What the registers hold for the other way must be there before the ways part.
    let targets = [op.target, op.target_predicate].map(|slot| if slot == NONE { None } else { Some(slot) });
    for slot in targets.into_iter().flatten() {
        w.current(slot)?;
    }
    w.line(format_args!("br i1 {full}, label %{all}, label %{some}, !prof !0"));
    w.label(&all);
    let lane: Vec<String> = (0..32).map(|lane| format!("i32 {lane}")).collect();
    let lane = format!("<{}>", lane.join(", "));
    let step = w.set(format_args!("and {WORDS} {b}, splat (i32 31)"));
    let clamp = w.set(format_args!("and {WORDS} {c}, splat (i32 31)"));
    let segment = w.set(format_args!("lshr {WORDS} {c}, splat (i32 8)"));
    let segment = w.set(format_args!("and {WORDS} {segment}, splat (i32 31)"));
    let others = w.set(format_args!("xor {WORDS} {segment}, splat (i32 -1)"));
    let first = w.set(format_args!("and {WORDS} {segment}, {lane}"));
    let last = w.set(format_args!("and {WORDS} {clamp}, {others}"));
    let last = w.set(format_args!("or {WORDS} {first}, {last}"));
    let (source, relation) = match mode {
        ShuffleMode::Up => (w.set(format_args!("sub {WORDS} {lane}, {step}")), "sge"),
        ShuffleMode::Down => (w.set(format_args!("add {WORDS} {lane}, {step}")), "ule"),
        ShuffleMode::Butterfly => (w.set(format_args!("xor {WORDS} {lane}, {step}")), "ule"),
        ShuffleMode::Index => {
            let within = w.set(format_args!("and {WORDS} {step}, {others}"));
            (w.set(format_args!("or {WORDS} {first}, {within}")), "ule")
        }
    };
    let valid = w.set(format_args!("icmp {relation} {WORDS} {source}, {last}"));
    let source = w.set(format_args!("and {WORDS} {source}, splat (i32 31)"));
    let source = w.set(format_args!("select {BITS} {valid}, {WORDS} {source}, {WORDS} {lane}"));
    let shuffled = permuted(w, &values, &source);
    let valid = w.set(format_args!("bitcast {BITS} {valid} to i32"));
    let results = [shuffled, valid];
    let end = w.name("end");
    w.line(format_args!("br label %{end}"));
    w.label(&end);
    w.line(format_args!("br label %{done}"));
    w.label(&some);
    let joined = w.aside(pc, None, |w| {
        let mut asked = Vec::new();
        for slot in targets.into_iter().flatten() {
            asked.push(w.current(slot)?);
        }
        let behind = w.name("asked");
        w.line(format_args!("br label %{behind}"));
        w.label(&behind);
        w.line(format_args!("br label %{done}"));
        w.label(&done);
        let mut asked = asked.into_iter();
        let mut joined = Vec::new();
        for (slot, here) in targets.iter().zip(&results) {
            if let (Some(slot), Some((ty, other))) = (slot, slot.and_then(|_| asked.next())) {
                let value = w.set(format_args!("phi {ty} [ {here}, %{end} ], [ {other}, %{behind} ]"));
                joined.push((*slot, value));
            }
        }
        Ok(joined)
    })?;
    joined.into_iter().for_each(|(slot, value)| w.replace(slot, value));
    Ok(())
}

/// Each lane takes the value of the lane that it names.
fn permuted(w: &mut Writer<'_>, values: &str, source: &str) -> String {
    let half = |w: &mut Writer<'_>, of: &str, first: u32| {
        let lanes: Vec<String> = (first..first + 16).map(|lane| format!("i32 {lane}")).collect();
        w.set(format_args!("shufflevector {WORDS} {of}, {WORDS} poison, <16 x i32> <{}>", lanes.join(", ")))
    };
    if w.wide {
        let (low, high) = (half(w, values, 0), half(w, values, 16));
        let mut parts = Vec::new();
        for first in [0, 16] {
            let numbers = half(w, source, first);
            parts.push(w.set(format_args!(
                "call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> {low}, <16 x i32> {numbers}, <16 x i32> {high})"
            )));
        }
        let lanes: Vec<String> = (0..32).map(|lane| format!("i32 {lane}")).collect();
        return w.set(format_args!(
            "shufflevector <16 x i32> {}, <16 x i32> {}, {WORDS} <{}>",
            parts[0],
            parts[1],
            lanes.join(", ")
        ));
    }
    w.line(format_args!("store {WORDS} {values}, ptr %table"));
    let places = w.set(format_args!("getelementptr i32, ptr %table, {WORDS} {source}"));
    w.set(format_args!(
        "call {WORDS} @llvm.masked.gather.v32i32.v32p0(<32 x ptr> align 4 {places}, {BITS} splat (i1 true), {WORDS} zeroinitializer)"
    ))
}
