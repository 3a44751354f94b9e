//! One row of a demo: what ran, whether it was right, and what was measured or counted.

use gpu_model::profile::{BySpace, Counters};
use serde::{Deserialize, Serialize};

use crate::counters::Counted;
use crate::terminal::{RIGHT, WRONG, grouped, table, wrapped};
use crate::verify::Verdict;

/// A row. Serialised, it is an element of the `results` of `demo --json`; what was not measured is `null`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub demo: String,
    pub kernel: String,
    /// The kernel's task, where one kernel has several.
    pub case: String,
    /// The problem's size.
    pub size: String,
    /// `gpu` or `virtual`.
    pub device: String,
    /// Whether the result is right.
    pub ok: bool,
    /// The largest error.
    pub max_error: f64,
    /// The largest error that is still right.
    pub tolerance: f64,
    /// The comparison.
    pub check: String,
    /// The first wrong element.
    pub wrong: Option<String>,
    /// Median time by events; never of the virtual GPU.
    pub time_ms: Option<f64>,
    /// Floating-point operations per nanosecond.
    pub gflops: Option<f64>,
    /// Bytes of the problem (each counted once) per nanosecond.
    pub gb_per_s: Option<f64>,
    /// The demo's yardstick's time ÷ this time.
    pub speed_up: Option<f64>,
    /// Clock cycles of one access, where the kernel reads the clock.
    pub cycles: Option<f64>,
    /// Counts over PTX instructions, from the virtual GPU.
    pub counters: Option<Counters>,
    /// Warp instructions that went to memory, by space, from the virtual GPU, too.
    pub memory_instructions: Option<BySpace>,
    /// The size at which the counters were taken.
    pub counters_size: Option<String>,
    /// Bytes from device to device, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The row's point, in one sentence.
    pub shows: String,
}

/// Traffic over the link from one device to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The rank that it came from.
    pub from: usize,
    /// The rank that it went to.
    pub to: usize,
    pub bytes: u64,
}

/// The least work of a kernel, however it is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Workload {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes read and written, each once.
    pub bytes: f64,
}

impl Row {
    /// A row without measurements.
    pub fn new(demo: &str, kernel: &str, case: impl Into<String>, size: impl ToString, device: &str) -> Self {
        Self {
            demo: demo.into(),
            kernel: kernel.into(),
            case: case.into(),
            size: size.to_string(),
            device: device.into(),
            ok: true,
            max_error: 0.0,
            tolerance: 0.0,
            check: String::new(),
            wrong: None,
            time_ms: None,
            gflops: None,
            gb_per_s: None,
            speed_up: None,
            cycles: None,
            counters: None,
            memory_instructions: None,
            counters_size: None,
            links: Vec::new(),
            shows: String::new(),
        }
    }

    /// With the checker's verdict.
    pub fn checked(mut self, verdict: Verdict) -> Self {
        self.ok = verdict.ok;
        self.max_error = verdict.max_error;
        self.tolerance = verdict.tolerance;
        self.check = verdict.how;
        self.wrong = verdict.wrong;
        self
    }

    /// With counters, taken at this row's own size.
    pub fn counted(mut self, counted: Option<Counted>) -> Self {
        self.counters_size = counted.is_some().then(|| self.size.clone());
        self.counters = counted.map(|counted| counted.counters);
        self.memory_instructions = counted.map(|counted| counted.memory_instructions);
        self
    }

    /// With a time, and the rates that follow from it.
    pub fn timed(mut self, time_ms: Option<f64>, work: Workload) -> Self {
        self.time_ms = time_ms;
        let rate = |amount: f64| time_ms.filter(|&t| t > 0.0 && amount > 0.0).map(|t| amount / (t * 1e6));
        self.gflops = rate(work.flops);
        self.gb_per_s = rate(work.bytes);
        self
    }

    pub fn shows(mut self, sentence: impl Into<String>) -> Self {
        self.shows = sentence.into();
        self
    }

    /// The kernel and its case.
    pub fn name(&self) -> String {
        if self.case.is_empty() { self.kernel.clone() } else { format!("{} ({})", self.kernel, self.case) }
    }
}

/// Fills in speed-ups against the first row.
pub fn against_first(rows: &mut [Row]) {
    if let Some(yardstick) = rows.first().and_then(|row| row.time_ms) {
        for row in rows {
            row.speed_up = row.time_ms.filter(|&time| time > 0.0).map(|time| yardstick / time);
        }
    }
}

/// The size of all rows, if they have one size: it stands in the heading then, not in every row.
pub fn common_size(rows: &[Row]) -> Option<&str> {
    let size = rows.first()?.size.as_str();
    rows.iter().all(|row| row.size == size).then_some(size)
}

/// The rows as a table, and beneath it what each shows.
pub fn text(rows: &[Row]) -> String {
    let any = |has: fn(&Row) -> bool| rows.iter().any(has);
    let timed = any(|row| row.time_ms.is_some());
    let counted = any(|row| row.counters.is_some());
    type Cell = fn(&Row) -> String;
    let columns: [(bool, &str, Cell); 12] = [
        (true, "kernel", Row::name),
        (common_size(rows).is_none(), "size", |row| row.size.clone()),
        (true, "result", |row| if row.ok { RIGHT } else { WRONG }.to_owned()),
        (timed, "ms", |row| number(row.time_ms, 3)),
        (any(|row| row.gflops.is_some()), "GFLOP/s", |row| number(row.gflops, 0)),
        (any(|row| row.gb_per_s.is_some()), "GB/s", |row| number(row.gb_per_s, 0)),
        (any(|row| row.speed_up.is_some()), "speed-up", |row| {
            row.speed_up.map_or(String::new(), |s| format!("{s:.2}×"))
        }),
        (any(|row| row.cycles.is_some()), "cycles", |row| number(row.cycles, 1)),
        (counted, "shared\nwavefronts", |row| count(row, |all| all.shared().wavefronts)),
        (counted, "bank\nconflicts", |row| count(row, |all| all.shared().bank_conflicts)),
        (counted, "sectors\nread", |row| count(row, |all| all.global_read().sectors)),
        (counted, "sectors\nwritten", |row| count(row, |all| all.global_written().sectors)),
    ];
    let shown: Vec<_> = columns.into_iter().filter(|(shown, ..)| *shown).collect();
    let header: Vec<&str> = shown.iter().map(|(_, name, _)| *name).collect();
    let body: Vec<Vec<String>> =
        rows.iter().map(|row| shown.iter().map(|(.., cell)| cell(row)).collect()).collect();
    let mut out = table(&header, &body);
    out.push('\n');
    out.push_str(&counted_where(rows));
    out.push_str(&checked(rows));
    for (rows, shows) in shown_by(rows) {
        let names: Vec<String> = rows.into_iter().map(Row::name).collect();
        out.push_str(&wrapped("  ", &format!("{}: {shows}", together(&names))));
    }
    out.push_str(&wrong(rows));
    out
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

fn count(row: &Row, part: fn(Counters) -> u64) -> String {
    row.counters.map_or(String::new(), |counters| grouped(part(counters)))
}

/// Where the counters come from.
fn counted_where(rows: &[Row]) -> String {
    let bulk =
        rows.iter().filter_map(|row| row.counters).any(|all| all.bulk_load.bytes + all.bulk_store.bytes > 0);
    let place = counted_at(rows);
    match bulk {
        true => {
            place
                + &wrapped(
                    "",
                    "For tensor copies, sectors are those of the lines that they move: computed, not measured.",
                )
        }
        false => place,
    }
}

fn counted_at(rows: &[Row]) -> String {
    let elsewhere = rows.iter().find(|row| row.counters_size.as_ref().is_some_and(|size| *size != row.size));
    match elsewhere.and_then(|row| row.counters_size.as_deref()) {
        Some(size) => wrapped(
            "",
            &format!(
                "Wavefronts, conflicts and sectors: the same kernels on the virtual GPU at {size}, per PTX instruction."
            ),
        ),
        None if rows.iter().any(|row| row.counters.is_some()) => wrapped(
            "",
            "Wavefronts, conflicts and sectors are counted per PTX instruction on the virtual GPU.",
        ),
        None => String::new(),
    }
}

/// The comparisons and the error of the worst element: a line for each kind of check.
fn checked(rows: &[Row]) -> String {
    let mut kinds: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows.iter().filter(|row| !row.check.is_empty()) {
        match kinds.iter_mut().find(|(check, _)| *check == row.check) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((&row.check, vec![row])),
        }
    }
    if kinds.len() > 1 && rows.iter().all(|row| row.tolerance == 0.0) {
        return wrapped("", "Checked: every element of every row, bit for bit.");
    }
    let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let lines = kinds.into_iter().map(|(check, rows)| {
        let high = greatest(&mut rows.iter().map(|row| row.tolerance));
        let inexact = || rows.iter().filter(|row| row.tolerance > 0.0);
        let low = inexact().map(|row| row.tolerance).fold(high, f64::min);
        if high == 0.0 {
            wrapped("", &format!("Checked: {check}."))
        } else if low == high {
            let worst = greatest(&mut rows.iter().map(|row| row.max_error));
            let error = format!("the largest error is {worst:.1e}, the tolerance {high:.1e}");
            wrapped("", &format!("Checked: {check}; {error}."))
        } else {
            let worst = greatest(&mut inexact().map(|row| row.max_error / row.tolerance));
            let error =
                format!("the largest error is {worst:.2} of its row's tolerance, {low:.1e} to {high:.1e}");
            wrapped("", &format!("Checked: {check}; {error}."))
        }
    });
    lines.collect()
}

/// The rows' sentences, each once, with the rows that share it.
pub fn shown_by(rows: &[Row]) -> Vec<(Vec<&Row>, &str)> {
    let mut sentences: Vec<(Vec<&Row>, &str)> = Vec::new();
    for row in rows.iter().filter(|row| !row.shows.is_empty()) {
        match sentences.iter_mut().find(|(_, shows)| *shows == row.shows) {
            Some((rows, _)) => rows.push(row),
            None => sentences.push((vec![row], &row.shows)),
        }
    }
    sentences
}

/// Names in one phrase: all of a few, else what they have in common and how many they are.
fn together(names: &[String]) -> String {
    let [first, _, _, ..] = names else { return names.join(", ") };
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let reversed = |name: &str| name.chars().rev().collect::<String>();
    let start = names.iter().map(|name| common(first, name)).min().unwrap_or(0);
    let end = names.iter().map(|name| common(&reversed(first), &reversed(name))).min().unwrap_or(0);
    let shortest = names.iter().map(|name| name.chars().count()).min().unwrap_or(0);
    if start < 4 || start + end >= shortest {
        return names.join(", ");
    }
    // Whole words: `copies` and `collectives` have no `es` in common.
    let letters: Vec<char> = first.chars().collect();
    let start = &letters[..start];
    let start = &start[..start.iter().rposition(|c| !c.is_alphanumeric()).map_or(start.len(), |at| at + 1)];
    let end = &letters[letters.len() - end..];
    let end = &end[end.iter().position(|c| !c.is_alphanumeric()).unwrap_or(end.len())..];
    let (start, end): (String, String) = (start.iter().collect(), end.iter().collect());
    match (start.strip_suffix(" ("), &end[..]) {
        (Some(kernel), ")") => format!("{kernel} ({} rows)", names.len()),
        _ => format!("{start}…{end} ({} rows)", names.len()),
    }
}

/// The errors, a line for each wrong row.
pub fn wrong(rows: &[Row]) -> String {
    let lines = rows.iter().filter_map(|row| {
        let wrong = row.wrong.as_ref()?;
        Some(format!("  {} is {WRONG}: {wrong}\n", row.name()))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::together;

    #[test]
    fn names_that_share_a_sentence_are_named_together() {
        let phrase =
            |names: &[&str]| together(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(phrase(&["one"]), "one");
        assert_eq!(phrase(&["chase_shared", "copy"]), "chase_shared, copy");
        assert_eq!(phrase(&["b (edge 16)", "b (edge 32)"]), "b (edge 16), b (edge 32)");
        assert_eq!(phrase(&["one", "two", "three"]), "one, two, three");
        assert_eq!(phrase(&["hopper_f16_nn", "hopper_bf16_nn", "hopper_tf32_nt"]), "hopper_… (3 rows)");
        assert_eq!(
            phrase(&["tensor_f16_general (nt)", "tensor_s8_general (nt)", "tensor_bf16_general (nt)"]),
            "tensor_…_general (nt) (3 rows)"
        );
        let cases = ["f32, 4 devices, copies", "bf16, 4 devices, copies", "f32, 4 devices, collectives"];
        let names = cases.map(|case| format!("product_gathered ({case})"));
        assert_eq!(together(&names), "product_gathered (3 rows)");
    }
}
