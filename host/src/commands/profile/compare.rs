//! `profile --compare`: two profiles beside each other, kernel by kernel, with the lines that have changed most.

use std::collections::BTreeMap;
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

/// The lines that cost more or less than before, the largest difference first.
fn changes<'a>(
    before: impl Iterator<Item = &'a LineProfile>,
    after: impl Iterator<Item = &'a LineProfile>,
    rates: &Rates,
) -> Vec<Change> {
    let mut by_place: BTreeMap<(&str, u32), [Option<InstructionCounts>; 2]> = BTreeMap::new();
    let both = before.map(|line| (0, line)).chain(after.map(|line| (1, line)));
    for (side, line) in both {
        let slot = &mut by_place.entry((&line.file, line.line)).or_default()[side];
        *slot.get_or_insert_default() += line.work;
    }
    let cost = |work: &Option<InstructionCounts>| work.map_or(0.0, |work| work.cost(rates).clocks);
    let mut changes: Vec<Change> = by_place
        .into_iter()
        .map(|((file, line), [before, after])| {
            let difference = cost(&after) - cost(&before);
            Change { file: file.to_owned(), line, before, after, difference }
        })
        .filter(|change| change.difference != 0.0)
        .collect();
    changes.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    changes
}

/// What a row of the table tells of a side, by its name.
type Measure<T> = (&'static str, fn(&Side) -> T);

/// What is counted of a kernel, before and after, a row each; what is nothing on both sides has none.
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
            LineProfile { file: "a.rs".into(), line, work }
        };
        let before = [line(1, 100), line(2, 100), line(3, 40)];
        let after = [line(1, 100), line(2, 20), line(4, 10)];
        let found = changes(before.iter(), after.iter(), &Rates::of(&H200));
        let places: Vec<_> = found.iter().map(|change| (change.line, change.difference)).collect();
        assert_eq!(places, [(2, -20.0), (3, -10.0), (4, 2.5)]);
        assert!(found[1].after.is_none() && found[2].before.is_none());
    }
}
