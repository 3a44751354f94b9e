//! The lines of a kernel, the most expensive first: what each costs, what it does, and what could be done.

use std::fmt::Write;

use gpu_model::profile::{InstructionCounts, LEAST_SHARE, LaunchProfile, Ranked, Rates, rank};
use report::unit;

use crate::merging::Merge;
use crate::source;
use crate::terminal::{self, grouped};

/// Columns of a bar.
const BAR: usize = 16;

/// Tells the lines. Gives the number of merges told.
pub(super) fn tell(out: &mut String, launches: &[LaunchProfile], merges: &[Merge], rates: &Rates) -> usize {
    let mut told = 0;
    let ranked = rank(launches.iter().flat_map(|launch| &launch.lines), rates);
    let (shown, rest): (Vec<&Ranked>, Vec<&Ranked>) =
        ranked.iter().partition(|ranked| ranked.share >= LEAST_SHARE);
    for ranked in shown {
        let Ranked { line, cost, share, .. } = ranked;
        let place = match line.file.as_str() {
            "" => format!("PTX line {}", line.line),
            file => format!("{}:{}", source::relative(file), line.line),
        };
        let head = format!("{:5.1} %  {}  ", share * 100.0, bar(*share));
        out.push_str(&terminal::wrapped(&head, &format!("{place}  {}", cost.unit.name())));
        if let Some(text) = source::line(&line.file, line.line) {
            let _ = writeln!(out, "    {}", text.trim());
        }
        for sentence in counts(&line.work) {
            out.push_str(&terminal::wrapped("    ", &sentence));
        }
        for merge in merges.iter().filter(|merge| (&merge.file, merge.line) == (&line.file, line.line)) {
            told += 1;
            let sentence = format!(
                "ptxas merges {} of its loads into {}: neighbouring words from an aligned start",
                merge.loads, merge.into
            );
            out.push_str(&terminal::wrapped("    → ", &sentence));
        }
        for advice in ranked.advice(rates) {
            out.push_str(&terminal::wrapped("    → ", &advice.to_string()));
        }
    }
    if !rest.is_empty() {
        let share: f64 = rest.iter().map(|ranked| ranked.share).sum();
        let lines = report::text::counted(rest.len() as u64, "line", "lines");
        let _ = writeln!(out, "{:5.1} %  in {lines} more; --json has them", share * 100.0);
    }
    out.push('\n');
    told
}

/// A share as a bar.
fn bar(share: f64) -> String {
    let full = ((share * BAR as f64).round() as usize).min(BAR);
    format!("{}{}", "█".repeat(full), "·".repeat(BAR - full))
}

/// A line's counts: instructions and lanes, then each memory, a sentence each.
pub(super) fn counts(work: &InstructionCounts) -> Vec<String> {
    let lanes = work.active_lanes().unwrap_or(0.0);
    let mut sentences = vec![format!("{} instructions of {lanes:.1} lanes", grouped(work.warp_instructions))];
    let (shared, global, read) =
        (work.counters.shared(), work.counters.global(), work.counters.global_read());
    if shared.instructions > 0 {
        sentences.push(format!(
            "shared: {} requests, {} wavefronts, {} conflicts",
            grouped(shared.instructions),
            grouped(shared.wavefronts),
            grouped(shared.bank_conflicts)
        ));
    }
    if global.requests > 0 {
        sentences.push(format!(
            "global: {} requests, {} sectors, {} moved for {} asked for",
            grouped(global.requests),
            grouped(global.sectors),
            unit::size(32 * global.sectors),
            unit::size(global.bytes)
        ));
    }
    if read.requests > 0 {
        sentences.extend(reuse(work));
    }
    sentences
}

/// How often the same bytes are read.
pub(super) fn reuse(work: &InstructionCounts) -> Option<String> {
    let (fetches, sharing) = (work.fetches()?, work.sharing()?);
    Some(format!(
        "reads {} distinct: each byte by {sharing:.1} blocks, {fetches:.1} times by each",
        unit::size(work.distinct.by_launch)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!((bar(0.0), bar(1.0)), ("·".repeat(16), "█".repeat(16)));
        assert_eq!(bar(0.5).chars().filter(|&c| c == '█').count(), 8);
        assert_eq!(bar(2.0), bar(1.0));
    }
}
