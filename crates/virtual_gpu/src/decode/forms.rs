//! Whether PTX has a form of an instruction: its modifiers and types together.
//!
//! The decoders ask for what they need and would pass over much that no PTX has (`shl.u32`, `setp.lt.b32`,
//! `st.relaxed` without a scope); the real driver refuses it, so a program that runs here must not depend on it. What there
//! is stands in `forms.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

use ptx::{Opcode, ScalarType};

use super::Refusal;

/// One modifier: the words that may stand there, and whether none may.
#[derive(Debug, Clone)]
struct Slot {
    words: Vec<&'static str>,
    optional: bool,
}

/// One syntax line, less the instruction's first word.
#[derive(Debug, Clone, Default)]
struct Form {
    text: String,
    /// Words that belong to the instruction's name: first, and in order.
    name: Vec<Slot>,
    /// Types, in order.
    types: Vec<Slot>,
    /// Other words, in any order.
    others: Vec<Slot>,
}

type Table = HashMap<&'static str, Vec<Form>>;

/// Refuses an instruction whose modifiers do not go together.
pub(super) fn check(opcode: &Opcode) -> Result<(), Refusal> {
    let Some(forms) = table().get(opcode.name.as_str()) else { return Ok(()) };
    let words: Vec<&str> = opcode.modifiers.iter().map(|m| m.as_str()).collect();
    if forms.iter().any(|form| form.admits(&words)) {
        return Ok(());
    }
    Err(Refusal(describe(&opcode.name, forms, &words)))
}

/// The mistake: a word too few or too many, if that is all.
fn describe(name: &str, forms: &[Form], words: &[&str]) -> String {
    let missing = forms.iter().find_map(|form| {
        let with =
            |at: usize, word: &&'static str| form.admits(&[&words[..at], &[*word], &words[at..]].concat());
        let last = |slot: &&Slot| !slot.optional && slot.words.iter().any(|word| with(words.len(), word));
        let first = |slot: &&Slot| {
            let fits = |word| (0..=words.len().min(form.name.len())).any(|at| with(at, word));
            !slot.optional && slot.words.iter().any(fits)
        };
        form.name.iter().find(first).or_else(|| form.types.iter().chain(&form.others).find(last))
    });
    if let Some(slot) = missing {
        return format!("it needs `.{}`", slot.words.join("` or `."));
    }
    if let Some(form) = forms.iter().find(|form| form.in_any_order().admits(words)) {
        return format!("its words stand in this order: `{name}{}`", form.text);
    }
    for (i, word) in words.iter().enumerate() {
        let rest: Vec<&str> = words.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, w)| *w).collect();
        if forms.iter().any(|form| form.admits(&rest)) {
            return format!("`.{word}` is not possible in this form");
        }
    }
    let types = words.iter().rev().find(|word| is_type(word));
    let near = |form: &&Form| types.is_some_and(|ty| form.types.iter().any(|slot| slot.words.contains(ty)));
    match forms.iter().find(near).or(forms.first()) {
        Some(form) => format!("there is no such form; one that there is: `{name}{}`", form.text),
        None => "there is no such form".to_owned(),
    }
}

impl Form {
    fn admits(&self, words: &[&str]) -> bool {
        let mut words = words;
        for slot in &self.name {
            match words {
                [first, rest @ ..] if slot.words.contains(first) => words = rest,
                _ if slot.optional => {}
                _ => return false,
            }
        }
        let mut types = self.types.iter();
        let mut taken = 0u64;
        for word in words {
            if is_type(word) {
                loop {
                    match types.next() {
                        Some(slot) if slot.words.contains(word) => break,
                        Some(slot) if slot.optional => {}
                        _ => return false,
                    }
                }
            } else {
                let free = |&(k, slot): &(usize, &Slot)| taken >> k & 1 == 0 && slot.words.contains(word);
                match self.others.iter().enumerate().find(free) {
                    Some((k, _)) => taken |= 1 << k,
                    None => return false,
                }
            }
        }
        types.all(|slot| slot.optional)
            && self.others.iter().enumerate().all(|(k, slot)| slot.optional || taken >> k & 1 != 0)
    }

    /// The same words, of which none belongs to the name.
    fn in_any_order(&self) -> Form {
        let others = [&self.name[..], &self.others[..]].concat();
        Form { name: Vec::new(), others, ..self.clone() }
    }
}

/// Types of registers, and those that only `cvt` knows.
pub(super) fn is_type(word: &str) -> bool {
    ScalarType::from_word(word).is_some()
        || matches!(word, "u4" | "s4" | "u2" | "s2" | "ue8m0x2")
        || (word.starts_with('e') && (word.ends_with("x2") || word.ends_with("x4")))
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| parse(include_str!("forms.txt")))
}

fn parse(text: &'static str) -> Table {
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut table = Table::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(definition) = line.split_once(" = ") {
            names.push(definition);
            continue;
        }
        let (opcodes, rest) = head(line);
        let mut form = Form::default();
        pieces(rest, &names, &mut form);
        for opcode in opcodes {
            table.entry(opcode).or_default().push(form.clone());
        }
    }
    table
}

/// The characters that end a word.
const ENDS: [char; 4] = ['.', '{', '$', '|'];

/// The names that a line begins with, and the rest.
fn head(line: &'static str) -> (Vec<&'static str>, &'static str) {
    if let Some((names, rest)) = line.strip_prefix('{').and_then(|line| line.split_once('}')) {
        return (names.split(',').collect(), rest);
    }
    let end = line.find(ENDS).unwrap_or(line.len());
    (vec![&line[..end]], &line[end..])
}

/// Reads `.word`, `.{a,b}`, `{,.a,.b}` and `$name`, one after the other. What stands before a `|` belongs to the name.
fn pieces(mut rest: &'static str, names: &[(&'static str, &'static str)], form: &mut Form) {
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix('$') {
            let end = name.find(ENDS).unwrap_or(name.len());
            let meaning = names.iter().find(|(known, _)| known[1..] == name[..end]);
            pieces(meaning.map_or("", |(_, meaning)| meaning), names, form);
            rest = &name[end..];
            continue;
        }
        if let Some(behind) = rest.strip_prefix('|') {
            form.name = std::mem::take(&mut form.others);
            rest = behind;
            continue;
        }
        let group = rest.strip_prefix('.').unwrap_or(rest).strip_prefix('{');
        let (words, end): (Vec<&str>, usize) = match group.and_then(|group| group.split_once('}')) {
            Some((words, behind)) => (words.split(',').collect(), rest.len() - behind.len()),
            None => {
                let end = rest[1..].find(ENDS).map_or(rest.len(), |end| end + 1);
                (vec![&rest[..end]], end)
            }
        };
        let words: Vec<&str> = words.into_iter().map(|word| word.trim_start_matches('.')).collect();
        let optional = words.contains(&"");
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let slot = Slot { optional, words };
        if slot.words.iter().all(|word| is_type(word)) {
            form.types.push(slot)
        } else {
            form.others.push(slot)
        }
        form.text.push_str(&rest[..end]);
        rest = &rest[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(opcode: &str) -> Option<String> {
        let mut words = opcode.split('.');
        let name = words.next().unwrap();
        describe_or_none(name, &words.collect::<Vec<_>>())
    }

    fn describe_or_none(name: &str, words: &[&str]) -> Option<String> {
        let forms = table().get(name)?;
        (!forms.iter().any(|form| form.admits(words))).then(|| describe(name, forms, words))
    }

    /// Each was put to ptxas of CUDA 13.5.
    #[test]
    fn forms_that_there_are() {
        for opcode in [
            "add.u32",
            "add.sat.s32",
            "add.rn.ftz.sat.f32",
            "add.cc.u64",
            "mad.hi.sat.s32",
            "shr.s16",
            "shl.b64",
            "setp.lt.and.ftz.f32",
            "setp.hs.u64",
            "set.eq.u32.f16x2",
            "cvt.rn.f32.s64",
            "cvt.rzi.ftz.s32.f32",
            "cvt.rn.relu.satfinite.e4m3x2.f32",
            "cvt.u64.u8",
            "cvt.sat.u8.u16",
            "cvt.sat.s64.u64",
            "cvt.rzi.sat.f16.f16",
            "cvt.rn.bf16.f16",
            "cvt.rz.relu.satfinite.bf16.f32",
            "st.volatile.local.v2.u32",
            "ld.global.nc.b128",
            "sust.b.a2d.wt.v4.b16.zero",
            "ld.global.nc.L1::no_allocate.L2::128B.v4.f32",
            "ld.relaxed.gpu.global.u32",
            "st.volatile.shared.u8",
            "atom.acq_rel.sys.global.cas.b128",
            "red.global.add.noftz.v4.f16x2",
            "prmt.b32.f4e",
            "bar.sync",
            "barrier.cta.red.popc.aligned.u32",
            "redux.sync.max.s32",
            "mov.b128",
            "min.ftz.NaN.xorsign.abs.f32",
            "slct.ftz.f64.f32",
            "st.weak.param::func.b8",
            "membar.proxy.alias",
            "fence.proxy.async.shared::cta",
            "red.release.gpu.global.add.u32",
            "ld.mmio.relaxed.sys.global.b128",
            "fma.rn.oob.sat.f16x2",
            "ld.const.v4.u32",
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64",
            "tensormap.replace.tile.box_dim.shared::cta.b1024.b32",
            "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64",
            "cp.async.cg.shared.global.L2::cache_hint.L2::128B",
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16",
            "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.s64",
            "multimem.ld_reduce.acquire.sys.global.add.acc::f32.v8.bf16",
            "multimem.st.v4.e4m3x4",
            "multimem.red.min.v2.f16x2",
            "multimem.cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.cp_mask.b128",
        ] {
            assert_eq!(says(opcode), None, "{opcode}");
        }
    }

    #[test]
    fn forms_that_there_are_not() {
        for (opcode, part) in [
            ("add.b32", "no such form"),
            ("add.sat.u32", "`.sat` is not possible"),
            ("add.ftz.bf16", "`.ftz` is not possible"),
            ("shl.u32", "shl.{b16,b32,b64}"),
            ("setp.lt.b32", "no such form"),
            ("setp.ftz.eq.u32", "`.ftz` is not possible"),
            ("cvt.f32.s32", "it needs `.rn` or `.rz` or `.rm` or `.rp`"),
            ("cvt.rn.s32.f32", "no such form"),
            ("cvt.rn.f64.f32", "`.rn` is not possible"),
            ("st.relaxed.global.u32", "it needs `.cta` or `.cluster` or `.gpu` or `.sys`"),
            ("st.wt.const.u32", "`.const` is not possible"),
            ("ld.gpu.global.u32", "it needs `.relaxed` or `.acquire`"),
            ("atom.global.and.u32", "no such form"),
            ("atom.global.add.f16", "it needs `.noftz`"),
            ("atom.local.add.u32", "`.local` is not possible"),
            ("and.u32", "no such form"),
            ("cvt.sat.u32.u8", "`.sat` is not possible"),
            ("cvt.rn.f32.f32", "`.rn` is not possible"),
            ("cvt.ftz.f16.f16", "`.ftz` is not possible"),
            ("cvt.rn.sat.bf16.f32", "`.sat` is not possible"),
            ("ld.global.v2.b128", "`.v2` is not possible"),
            ("ld.shared.L1::evict_last.u32", "is not possible"),
            ("st.local.L1::no_allocate.u32", "is not possible"),
            ("ld.volatile.const.u32", "is not possible"),
            ("suld.b.2d.b32", "it needs `.trap` or `.clamp` or `.zero`"),
            ("sust.p.1d.u32.trap", "no such form"),
            ("bar.sync.aligned", "`.aligned` is not possible"),
            ("prmt.u32", "no such form"),
            ("fence.proxy", "it needs `.alias`"),
            ("fence.mbarrier_init.release", "it needs `.cluster`"),
            ("ld.shared.L2::128B.b32", "is not possible"),
            ("mbarrier.arrive.acquire.cta.b64", "no such form"),
            ("mbarrier.inval.shared::cluster.b64", "`.shared::cluster` is not possible"),
            ("tensormap.replace.tile.rank.b1024.b64", "no such form"),
            ("setmaxnreg.inc.aligned.u32", "it needs `.sync`"),
            ("membar.alias.proxy", "in this order: `membar.proxy.{alias,async}`"),
            ("mbarrier.shared.test_wait.b64", "in this order: `mbarrier.{test_wait,try_wait}"),
            ("cp.bulk.async.commit_group", "in this order: `cp.async.bulk.commit_group`"),
            ("shf.wrap.l.b32", "in this order: `shf.{l,r}"),
            ("mbarrier.try_wait", "it needs `.b64`"),
            ("cp.async.commit_grp", "no such form"),
            ("red.acquire.gpu.global.add.u32", "`.acquire` is not possible"),
            ("fma.rz.bf16", "no such form"),
            ("cp.async.shared.global", "it needs `.ca` or `.cg`"),
            ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16", "it needs `.noftz`"),
            ("tld4.r.2d.v4.f16.f32", "no such form"),
            ("tex.2d.v4.b32.f32", "no such form"),
            ("multimem.ld_reduce.add.s64", "no such form"),
            ("multimem.ld_reduce.max.acc::f32.f16x2", "`.acc::f32` is not possible"),
            ("multimem.red.add.v4.e4m3", "no such form"),
            ("multimem.red.max.f16x2", "it needs `.v2` or `.v4`"),
        ] {
            let text = says(opcode).unwrap_or_else(|| panic!("{opcode} is taken"));
            assert!(text.contains(part), "{opcode}: {text}");
        }
    }
}
