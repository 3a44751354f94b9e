//! `profile --compare`: two profiles beside each other, kernel by kernel, with the lines that have changed most.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use gpu_model::profile::{InstructionCounts, LineProfile, Rates};
use report::unit;
use serde::Serialize;

use crate::source;
use crate::subject::Recording;
use crate::terminal::{self, grouped};

/// Lines that are told of each kernel.
const LINES: usize = 10;

/// The shape of `profile --compare --json`.
#[derive(Serialize)]
pub(super) struct Comparison {
    /// Kernels that are on both sides.
    kernels: Vec<Pair>,
    /// Kernels that are only in the first.
    only_before: Vec<String>,
    /// Kernels that are only in the second.
    only_after: Vec<String>,
}

#[derive(Serialize)]
struct Pair {
    /// The name; of two different ones both, with an arrow between.
    kernel: String,
    before: Side,
    after: Side,
    lines: Vec<Change>,
}

/// A kernel in one of the profiles.
#[derive(Serialize)]
struct Side {
    launches: usize,
    #[serde(flatten)]
    work: InstructionCounts,
}

/// A line whose cost has changed. What is on one side only is `null` on the other.
#[derive(Serialize)]
struct Change {
    file: String,
    /// Its number after, or before if it is gone.
    line: u32,
    before: Option<InstructionCounts>,
    after: Option<InstructionCounts>,
    /// Clocks of the busiest unit, after less before.
    #[serde(skip)]
    difference: f64,
}

impl Side {
    fn of(recording: &Recording, kernel: &str) -> Self {
        let launches = recording.of(kernel);
        Self { launches: launches.clone().count(), work: launches.map(|launch| launch.profile.work()).sum() }
    }
}

impl Comparison {
    pub(super) fn new(before: &Recording, after: &Recording, rates: &Rates) -> Self {
        let (first, second) = (before.kernels(), after.kernels());
        let mut pairs: Vec<(&str, &str)> = first
            .iter()
            .filter(|kernel| second.contains(kernel))
            .map(|kernel| (&**kernel, &**kernel))
            .collect();
        // Two ways of doing one thing have two names.
        if let ([one], [other]) = (&first[..], &second[..]) {
            pairs = vec![(one, other)];
        }
        let without = |all: &[String], paired: &dyn Fn(&str) -> bool| {
            all.iter().filter(|kernel| !paired(kernel)).cloned().collect()
        };
        Self {
            only_before: without(&first, &|kernel| pairs.iter().any(|pair| pair.0 == kernel)),
            only_after: without(&second, &|kernel| pairs.iter().any(|pair| pair.1 == kernel)),
            kernels: pairs
                .iter()
                .map(|&(one, other)| Pair {
                    kernel: if one == other { one.to_owned() } else { format!("{one} → {other}") },
                    before: Side::of(before, one),
                    after: Side::of(after, other),
                    lines: changes(lines(before, one), lines(after, other), rates),
                })
                .collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for pair in &self.kernels {
            let gap = if out.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{gap}{}", terminal::heading(&pair.kernel));
            let rows: Vec<Vec<String>> = measures(&pair.before, &pair.after);
            let _ = writeln!(out, "{}", terminal::table(&["", "before", "after", "change"], &rows));
            for change in pair.lines.iter().take(LINES) {
                let place = format!("{}:{}", source::relative(&change.file), change.line);
                let said = |work: &Option<InstructionCounts>| match work {
                    Some(work) => super::lines::counts(work).join("; "),
                    None => "not there".to_owned(),
                };
                let _ = writeln!(out, "{place}");
                out.push_str(&terminal::wrapped("  before: ", &said(&change.before)));
                out.push_str(&terminal::wrapped("  after:  ", &said(&change.after)));
            }
        }
        for (side, kernels) in [("first", &self.only_before), ("second", &self.only_after)] {
            if !kernels.is_empty() {
                out.push_str(&terminal::wrapped("", &format!("Only in the {side}: {}", kernels.join(", "))));
            }
        }
        if self.kernels.is_empty() {
            out.push_str(
                "No kernel is in both. One of each may be named: before.json:KERNEL after.json:KERNEL\n",
            );
        }
        out
    }
}

fn lines<'a>(recording: &'a Recording, kernel: &'a str) -> impl Iterator<Item = &'a LineProfile> {
    recording.of(kernel).flat_map(|launch| &launch.profile.lines)
}

/// A line of one side, all its launches together.
struct Counted<'a> {
    line: u32,
    text: &'a str,
    work: InstructionCounts,
}

/// The lines of a side by file, in the order of the source.
fn by_file<'a>(lines: impl Iterator<Item = &'a LineProfile>) -> BTreeMap<&'a str, Vec<Counted<'a>>> {
    let mut files: BTreeMap<&str, BTreeMap<u32, Counted>> = BTreeMap::new();
    for LineProfile { file, line, text, work } in lines {
        let counted = files.entry(file).or_default().entry(*line);
        counted.or_insert(Counted { line: *line, text, work: InstructionCounts::default() }).work += *work;
    }
    files.into_iter().map(|(file, lines)| (file, lines.into_values().collect())).collect()
}

/// Pairs of the same line, before and after: those of a longest common subsequence by text, which an edit elsewhere in the file
/// does not disturb; by number where a side has no text.
fn pairs<'c, 'a>(before: &'c [Counted<'a>], after: &'c [Counted<'a>]) -> Vec<[Option<&'c Counted<'a>>; 2]> {
    let has_texts = [before, after].iter().all(|side| side.iter().any(|line| !line.text.is_empty()));
    let same = |b: usize, a: usize| match has_texts {
        true => before[b].text == after[a].text,
        false => before[b].line == after[a].line,
    };
    // Length of the longest common subsequence of what follows each pair of places.
    let mut longest = vec![vec![0u32; after.len() + 1]; before.len() + 1];
    for b in (0..before.len()).rev() {
        for a in (0..after.len()).rev() {
            longest[b][a] = match same(b, a) {
                true => longest[b + 1][a + 1] + 1,
                false => longest[b + 1][a].max(longest[b][a + 1]),
            };
        }
    }
    let (mut b, mut a, mut pairs) = (0, 0, Vec::new());
    while b < before.len() || a < after.len() {
        if b < before.len() && a < after.len() && same(b, a) {
            pairs.push([Some(&before[b]), Some(&after[a])]);
            (b, a) = (b + 1, a + 1);
        } else if a == after.len() || (b < before.len() && longest[b + 1][a] >= longest[b][a + 1]) {
            pairs.push([Some(&before[b]), None]);
            b += 1;
        } else {
            pairs.push([None, Some(&after[a])]);
            a += 1;
        }
    }
    pairs
}

/// The lines that cost more or less than before, the largest difference first.
fn changes<'a>(
    before: impl Iterator<Item = &'a LineProfile>,
    after: impl Iterator<Item = &'a LineProfile>,
    rates: &Rates,
) -> Vec<Change> {
    let (before, after) = (by_file(before), by_file(after));
    let cost = |work: Option<InstructionCounts>| work.map_or(0.0, |work| work.cost(rates).clocks);
    let files: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let mut changes = Vec::new();
    for file in files {
        let (before, after) =
            (before.get(file).map_or(&[][..], Vec::as_slice), after.get(file).map_or(&[][..], Vec::as_slice));
        for [before, after] in pairs(before, after) {
            let line = after.or(before).map_or(0, |counted| counted.line);
            let (before, after) = (before.map(|line| line.work), after.map(|line| line.work));
            let difference = cost(after) - cost(before);
            changes.push(Change { file: file.to_owned(), line, before, after, difference });
        }
    }
    changes.retain(|change| change.difference != 0.0);
    changes.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    changes
}

/// A row of the table: its name, and its value for a side.
type Measure<T> = (&'static str, fn(&Side) -> T);

/// A kernel's counts before and after, a row each; counts of zero on both sides have none.
fn measures(before: &Side, after: &Side) -> Vec<Vec<String>> {
    let counts: [Measure<u64>; 8] = [
        ("launches", |side| side.launches as u64),
        ("warp instructions", |side| side.work.warp_instructions),
        ("shared wavefronts", |side| side.work.counters.shared().wavefronts),
        ("bank conflicts", |side| side.work.counters.shared().bank_conflicts),
        ("global requests", |side| side.work.counters.global().requests),
        ("sectors read", |side| side.work.counters.global_read().sectors),
        ("sectors written", |side| side.work.counters.global_written().sectors),
        ("sectors of atomics", |side| side.work.counters.global_atomic.sectors),
    ];
    let sizes: [Measure<u64>; 2] = [
        ("distinct bytes read, by block", |side| side.work.distinct.by_block),
        ("distinct bytes read, by launch", |side| side.work.distinct.by_launch),
    ];
    let ratios: [Measure<Option<f64>>; 2] = [
        ("active lanes", |side| side.work.active_lanes()),
        ("fetches of a byte by a block", |side| side.work.fetches()),
    ];
    let mut rows = Vec::new();
    let mut whole = |name: &str, shown: fn(u64) -> String, of: fn(&Side) -> u64| {
        let (one, other) = (of(before), of(after));
        if (one, other) != (0, 0) {
            rows.push(vec![name.to_owned(), shown(one), shown(other), change(one as f64, other as f64)]);
        }
    };
    counts.into_iter().for_each(|(name, of)| whole(name, grouped, of));
    sizes.into_iter().for_each(|(name, of)| whole(name, unit::size, of));
    for (name, of) in ratios {
        if let (Some(one), Some(other)) = (of(before), of(after)) {
            rows.push(vec![name.to_owned(), format!("{one:.1}"), format!("{other:.1}"), change(one, other)]);
        }
    }
    rows
}

/// By how much it is more or less.
fn change(before: f64, after: f64) -> String {
    match after / before {
        _ if before == after => "same".to_owned(),
        ratio if !ratio.is_finite() => "new".to_owned(),
        ratio if ratio >= 2.0 => format!("× {ratio:.1}"),
        ratio => format!("{:+.1} %", (ratio - 1.0) * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_model::chips::H200;

    #[test]
    fn changes_are_told_as_people_say_them() {
        let all = [(100.0, 100.0), (100.0, 50.0), (100.0, 150.0), (100.0, 1600.0), (0.0, 5.0), (5.0, 0.0)];
        let said = all.map(|(before, after)| change(before, after));
        assert_eq!(said, ["same", "-50.0 %", "+50.0 %", "× 16.0", "new", "-100.0 %"]);
    }

    #[test]
    fn lines_are_told_by_how_much_they_have_changed() {
        let line = |line, warp_instructions| {
            let work = InstructionCounts { warp_instructions, ..InstructionCounts::default() };
            LineProfile { file: "a.rs".into(), line, work, ..LineProfile::default() }
        };
        let before = [line(1, 100), line(2, 100), line(3, 40)];
        let after = [line(1, 100), line(2, 20), line(4, 10)];
        let found = changes(before.iter(), after.iter(), &Rates::of(&H200));
        let places: Vec<_> = found.iter().map(|change| (change.line, change.difference)).collect();
        assert_eq!(places, [(2, -20.0), (3, -10.0), (4, 2.5)]);
        assert!(found[1].after.is_none() && found[2].before.is_none());
    }

    #[test]
    fn a_comment_above_changes_no_pair() {
        let line = |line, text: &str, warp_instructions| {
            let work = InstructionCounts { warp_instructions, ..InstructionCounts::default() };
            LineProfile { file: "a.rs".into(), line, text: text.into(), work }
        };
        let before = [line(1, "load", 100), line(2, "add", 100), line(3, "store", 40)];
        let after = [line(4, "load", 100), line(5, "fma", 60), line(6, "add", 20), line(9, "store", 40)];
        let found = changes(before.iter(), after.iter(), &Rates::of(&H200));
        let places: Vec<_> = found.iter().map(|change| (change.line, change.difference)).collect();
        assert_eq!(places, [(6, -20.0), (5, 15.0)]);
    }
}
