//! `warpsmith explain coalescing`: which pieces of global memory a warp moves.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpu_model::Capability;
use gpu_model::coalescing::{self, Coalescing as Access, Pattern, Rule};
use serde::Serialize;

use super::LaneBytes;
use crate::answer::{Outcome, Output, whole};
use crate::terminal;

/// Arguments of `explain coalescing`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Coalescing {
    /// Lane i takes element i × STRIDE
    #[arg(long, default_value_t = 1, allow_hyphen_values = true, value_parser = whole(0, 1 << 20))]
    stride: u32,

    /// Bytes of an element
    #[arg(long, value_enum, default_value = "4")]
    bytes: LaneBytes,

    /// Byte at which lane 0 starts, counted from the start of a 128-byte line
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_parser = whole(0, 1 << 24))]
    base: u32,

    /// Lanes that take no part, from 0 to 31, such as 5 or 1,3,5
    #[arg(long, value_name = "LANES", value_delimiter = ',', allow_hyphen_values = true, value_parser = whole(0, 31))]
    inactive: Vec<u32>,

    /// The chip generation to draw, 1.0 to 12.1
    #[arg(long, default_value = "9.0", allow_hyphen_values = true)]
    capability: Capability,

    /// Global loads of capability 2.x pass by L1
    #[arg(long)]
    no_l1: bool,

    /// A worked example instead of a stride
    #[arg(long, value_enum, conflicts_with_all = ["stride", "bytes", "base", "inactive"])]
    example: Option<Example>,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith explain coalescing --stride 2
  warpsmith explain coalescing --base 4 --capability 2.0
  warpsmith explain coalescing --capability 1.0 --inactive 5   a lane left out costs nothing
  warpsmith explain coalescing --example misaligned              50 % by lines, 80 % by sectors
  warpsmith explain coalescing --example scattered               33 % by lines, 67 % by sectors
  warpsmith explain coalescing --example structs                 12-byte structs, remedies";

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Example {
    /// 128 useful bytes, shifted off their line
    Misaligned,
    /// 128 useful bytes, scattered over 384
    Scattered,
    /// Structs of three f32, read field by field, and what helps
    Structs,
}

/// One access under one rule.
#[derive(Serialize)]
struct Row {
    generation: &'static str,
    access: String,
    rule: Rule,
    transactions: usize,
    moved_bytes: u64,
    useful_bytes: u64,
    efficiency: f64,
}

#[derive(Serialize)]
struct Answer {
    capability: Capability,
    rule: Rule,
    patterns: Vec<Drawn>,
    misalignments: Vec<Row>,
}

#[derive(Serialize)]
struct Drawn {
    pattern: Pattern,
    access: Access,
    generations: Vec<Row>,
}

const GENERATIONS: [(&str, Rule); 5] = [
    ("1.0, 1.1", Rule::InOrder),
    ("1.2, 1.3", Rule::Segments),
    ("2.x, through L1", Rule::Lines),
    ("2.x, without L1", Rule::Sectors),
    ("3.x to 12.x", Rule::Sectors),
];

impl Coalescing {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Outcome> {
        let answer = self.answer()?;
        self.output.print(&answer, text)?;
        Ok(Outcome::Well)
    }

    fn patterns(&self) -> anyhow::Result<Vec<Pattern>> {
        Ok(match self.example {
            Some(Example::Misaligned) => vec![coalescing::misaligned(1)],
            Some(Example::Scattered) => vec![coalescing::scattered()],
            Some(Example::Structs) => structs(),
            None => {
                let bytes = self.bytes.count();
                super::check_alignment(self.base, bytes)?;
                let mut pattern = coalescing::strided(bytes, u64::from(self.stride), u64::from(self.base));
                for &lane in &self.inactive {
                    pattern.addresses[lane as usize] = None;
                }
                if !self.inactive.is_empty() {
                    let lanes: Vec<String> = self.inactive.iter().map(u32::to_string).collect();
                    pattern.name += &format!(", without lane {}", lanes.join(", "));
                }
                vec![pattern]
            }
        })
    }

    fn answer(&self) -> anyhow::Result<Answer> {
        anyhow::ensure!(
            !self.no_l1 || self.capability.major == 2,
            "--no-l1 is for capability 2.x, whose global loads go through L1 unless the compiler is told otherwise; this is {}",
            self.capability
        );
        let rule = Rule::of(self.capability, !self.no_l1)?;
        let patterns = self.patterns()?;
        let misalignments = if self.example == Some(Example::Misaligned) {
            let shifts = (0..=32).map(|elements| {
                let pattern = coalescing::misaligned(elements);
                row("", &elements.to_string(), rule, &pattern)
            });
            shifts.collect()
        } else {
            Vec::new()
        };
        let patterns = patterns
            .into_iter()
            .map(|pattern| Drawn {
                access: Access::new(rule, pattern.bytes, &pattern.addresses),
                generations: GENERATIONS.map(|(name, rule)| row(name, &pattern.name, rule, &pattern)).into(),
                pattern,
            })
            .collect();
        Ok(Answer { capability: self.capability, rule, patterns, misalignments })
    }
}

fn row(generation: &'static str, name: &str, rule: Rule, pattern: &Pattern) -> Row {
    let access = Access::new(rule, pattern.bytes, &pattern.addresses);
    Row {
        generation,
        access: name.to_owned(),
        rule,
        transactions: access.transactions.len(),
        moved_bytes: access.moved_bytes,
        useful_bytes: access.useful_bytes,
        efficiency: access.efficiency,
    }
}

/// Three ways to read a field of each struct of three f32.
fn structs() -> Vec<Pattern> {
    let every = |name: &str, bytes, step: u64| Pattern {
        name: name.to_owned(),
        bytes,
        addresses: (0..32).map(|lane| Some(lane * step)).collect(),
    };
    vec![
        every("12-byte structs, one field", 4, 12),
        every("structs padded to 16 bytes, read whole", 16, 16),
        every("structure of arrays, one field", 4, 4),
    ]
}

fn text(answer: &Answer) -> String {
    let paint = super::paint();
    let mut out = String::new();
    let _ = writeln!(out, "Capability {} ({})", answer.capability, answer.capability.architecture());
    out.push_str(&terminal::wrapped("", answer.rule.sentence()));
    for drawn in &answer.patterns {
        let access = &drawn.access;
        out.push('\n');
        out.push_str(&terminal::wrapped("", &terminal::heading(&drawn.pattern.name)));
        out.push_str(&report::text::memory_map(access, &drawn.pattern.addresses, paint));
        let sum = format!(
            "{}, {} bytes moved for {} asked for: {:.0} % used",
            report::text::counted(access.transactions.len() as u64, "transaction", "transactions"),
            access.moved_bytes,
            access.useful_bytes,
            access.efficiency * 100.0
        );
        out.push_str(&terminal::wrapped("", &sum));
        let _ = writeln!(out, "{}", generation_table(&drawn.generations));
    }
    out.push_str(&misalignment_text(&answer.misalignments));
    out
}

/// The rule of every generation on one pattern.
fn generation_table(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        vec![
            row.generation.to_owned(),
            row.transactions.to_string(),
            row.moved_bytes.to_string(),
            percent(row.efficiency),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    terminal::table(&["capability", "transactions", "bytes moved", "used"], &rows)
}

/// The shifts that cost the same, together.
fn misalignment_text(rows: &[Row]) -> String {
    let mut by_cost: BTreeMap<usize, (Vec<&str>, f64)> = BTreeMap::new();
    for row in rows {
        by_cost.entry(row.transactions).or_insert((Vec::new(), row.efficiency)).0.push(&row.access);
    }
    let mut out = String::new();
    for (transactions, (shifts, efficiency)) in by_cost {
        let shifts =
            if shifts.len() > 8 { format!("the {} others", shifts.len()) } else { shifts.join(", ") };
        let sum = format!("shifted by {shifts}: {transactions} transactions, {} used", percent(efficiency));
        out.push_str(&terminal::wrapped("", &sum));
    }
    if out.is_empty() {
        out
    } else {
        let heading = terminal::wrapped("", "Every shift from 0 to 32 words (`--json` lists them)");
        format!("\n{heading}{out}")
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.0} %", fraction * 100.0)
}
