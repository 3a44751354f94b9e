//! `warpsmith explain banks`: which lane hits which bank, the rule behind it, and what the conflict costs.

use std::fmt::Write;

use gpu_model::Capability;
use gpu_model::banks::{Access, BankMap, BankSystem, BankWidth, Matrix, StrideRule};
use serde::Serialize;

use super::LaneBytes;
use crate::answer::{Outcome, Output, whole};
use crate::size::{Size, SizeError};
use crate::terminal;

/// Arguments of `explain banks`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Banks {
    /// Lane i takes element i × STRIDE; 1 if neither a stride nor a matrix is given
    #[arg(long, allow_hyphen_values = true, value_parser = whole(0, 65_536))]
    stride: Option<u32>,

    /// Bytes of an element
    #[arg(long, value_enum, default_value = "4")]
    bytes: LaneBytes,

    /// Byte at which lane 0 starts
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_parser = whole(0, 1 << 24))]
    base: u32,

    /// Store instead of load (loads of neighbouring lanes at one address join their groups)
    #[arg(long)]
    store: bool,

    /// The chip generation, 1.0 to 12.1
    #[arg(long, default_value = "9.0", allow_hyphen_values = true, conflicts_with = "banks")]
    capability: Capability,

    /// Bytes of successive words in successive banks: capability 3.x can be set to 4 or 8
    #[arg(long, value_enum, default_value = "4", conflicts_with = "banks")]
    bank_mode: BankMode,

    /// Any number of banks instead of a generation's
    #[arg(long, allow_hyphen_values = true, value_parser = whole(1, 1024))]
    banks: Option<u32>,

    /// Width of those banks
    #[arg(long, requires = "banks", default_value_t = 4, allow_hyphen_values = true, value_parser = whole(1, 32))]
    bank_bytes: u32,

    /// A matrix of ROWSxCOLUMNS in shared memory: its rows, its columns, and a block that fills it column by column
    #[arg(long, value_name = "RxC", allow_hyphen_values = true, value_parser = rows_and_columns)]
    matrix: Option<(usize, usize)>,

    /// Unused columns behind each row of the matrix
    #[arg(long, requires = "matrix", default_value_t = 0, allow_hyphen_values = true, value_parser = whole(0, 1024))]
    pad: u32,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith explain banks --stride 2                      a two-way conflict
  warpsmith explain banks --stride 1 --bytes 8            two groups of 16 lanes, no conflict
  warpsmith explain banks --matrix 32x32                  a column is 32-way
  warpsmith explain banks --matrix 32x32 --pad 1          one padding column clears it
  warpsmith explain banks --stride 32 --capability 3.5 --bank-mode 8
  warpsmith explain banks --stride 5 --banks 10           a textbook's ten banks";

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum BankMode {
    /// 4-byte words
    #[value(name = "4")]
    Four,
    /// 8-byte words
    #[value(name = "8")]
    Eight,
}

/// Reads the extents of a matrix.
fn rows_and_columns(text: &str) -> Result<(usize, usize), String> {
    match text.parse() {
        Ok(Size::Two(rows, columns)) => Ok((rows, columns)),
        Err(extent @ (SizeError::TooSmall(_) | SizeError::TooLarge(_))) => Err(extent.to_string()),
        _ => Err("a matrix is written ROWSxCOLUMNS, for example 32x32".into()),
    }
}

#[derive(Serialize)]
struct Lane {
    lane: usize,
    address: Option<u64>,
    bank: Option<u32>,
    pass: Option<usize>,
}

#[derive(Serialize)]
struct AccessAnswer {
    name: String,
    wavefronts: u32,
    ideal_wavefronts: u32,
    bank_conflicts: u32,
    degree: u32,
    bytes_per_clock: f64,
    ideal_bytes_per_clock: f64,
    lanes: Vec<Lane>,
    map: BankMap,
}

#[derive(Serialize)]
struct Answer {
    capability: Option<Capability>,
    system: BankSystem,
    peak_bytes_per_clock: f64,
    bytes: u32,
    stride: Option<u32>,
    rule: Option<StrideRule>,
    matrix: Option<Matrix>,
    accesses: Vec<AccessAnswer>,
}

impl Banks {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Outcome> {
        let answer = self.answer()?;
        self.output.print(&answer, |answer| self.text(answer))?;
        Ok(Outcome::Well)
    }

    fn system(&self) -> anyhow::Result<BankSystem> {
        let width = match self.bank_mode {
            BankMode::Four => BankWidth::Four,
            BankMode::Eight => BankWidth::Eight,
        };
        if let Some(banks) = self.banks {
            return Ok(BankSystem::custom(banks, self.bank_bytes)?);
        }
        anyhow::ensure!(
            width == BankWidth::Four || self.capability.major == 3,
            "the width of banks can be set on capability 3.x only; {} has banks of 4 bytes",
            self.capability
        );
        Ok(BankSystem::of(self.capability, width)?)
    }

    fn answer(&self) -> anyhow::Result<Answer> {
        let system = self.system()?;
        let bytes = self.bytes.count();
        let lanes = if self.banks.is_some() { system.request_lanes } else { 32 };
        let access = if self.store { Access::Store } else { Access::Load };
        let stride = self.stride.or(self.matrix.is_none().then_some(1));
        let mut accesses = Vec::new();
        if let Some(stride) = stride {
            super::check_alignment(self.base, bytes)?;
            let step = u64::from(stride) * u64::from(bytes);
            let addresses: Vec<_> =
                (0..lanes).map(|lane| Some(u64::from(self.base) + u64::from(lane) * step)).collect();
            let verb = if self.store { "stores" } else { "loads" };
            let name = format!("lane i {verb} {bytes} bytes at {} + {step} × i (stride {stride})", self.base);
            accesses.push(explain(&name, &system, access, bytes, &addresses));
        }
        let matrix = self.matrix.map(|shape| self.matrix_of(shape, bytes)).transpose()?;
        if let Some(shape) = &matrix {
            let mut add = |name: &str, access, addresses: Vec<Option<u64>>| {
                accesses.push(explain(name, &system, access, bytes, &addresses));
            };
            add("row: lane i loads element i of row 0", Access::Load, shape.row(0, lanes));
            add("column: lane i loads row i of column 0", Access::Load, shape.column(0, lanes));
            if shape.rows < lanes {
                let name = format!("tile fill: the warp stores down its columns, {} lanes each", shape.rows);
                add(&name, Access::Store, shape.down_the_columns(lanes));
                let name = format!("tile use: every {} lanes load all of column 0", shape.rows);
                add(&name, Access::Load, shape.one_column_repeated(0, lanes));
            }
        }
        Ok(Answer {
            capability: self.banks.is_none().then_some(self.capability),
            system,
            peak_bytes_per_clock: system.peak_bytes_per_clock(),
            bytes,
            stride,
            rule: stride.and_then(|stride| StrideRule::new(&system, bytes, u64::from(stride))),
            matrix,
            accesses,
        })
    }

    fn matrix_of(&self, (rows, columns): (usize, usize), bytes: u32) -> anyhow::Result<Matrix> {
        Ok(Matrix::new(u32::try_from(rows)?, u32::try_from(columns)?, self.pad, bytes)?)
    }

    fn text(&self, answer: &Answer) -> String {
        let paint = super::paint();
        let mut out = String::new();
        let system = &answer.system;
        let owner = match answer.capability {
            Some(capability) => format!("Capability {capability} ({})", capability.architecture()),
            None => "A textbook's shared memory".to_owned(),
        };
        let banks = format!(
            "{owner}: {} of {}, {} bytes per clock",
            report::text::counted(system.banks.into(), "bank", "banks"),
            report::text::counted(system.bank_bytes.into(), "byte", "bytes"),
            answer.peak_bytes_per_clock,
        );
        out.push_str(&terminal::wrapped("", &banks));
        let _ = writeln!(out, "bank = (address / {}) mod {}", system.stripe_bytes, system.banks);
        if let Some(matrix) = &answer.matrix {
            let sentence = format!(
                "{}×{} elements of {} bytes, {} padding: the bank of each element, column 0 marked",
                matrix.rows,
                matrix.columns,
                matrix.bytes,
                report::text::counted(matrix.pad.into(), "column of", "columns of")
            );
            out.push('\n');
            out.push_str(&terminal::wrapped("", &sentence));
            out.push_str(&report::text::matrix(matrix, system, 0, paint));
        }
        for access in &answer.accesses {
            out.push('\n');
            out.push_str(&terminal::wrapped("", &terminal::heading(&access.name)));
            out.push_str(&report::text::bank_map(&access.map, paint));
            out.push_str(&terminal::wrapped("", &verdict(access)));
        }
        if let Some(rule) = &answer.rule {
            out.push_str(&terminal::wrapped("", &gcd_sentence(rule)));
        }
        if answer.capability.is_some_and(|capability| capability.major < 5) {
            let sentence = "(The rule is the programming guide's; only capability 9.0 was measured.)";
            out.push_str(&terminal::wrapped("", sentence));
        }
        out
    }
}

fn explain(
    name: &str,
    system: &BankSystem,
    access: Access,
    bytes: u32,
    addresses: &[Option<u64>],
) -> AccessAnswer {
    let map = BankMap::new(system, access, bytes, addresses);
    let lanes = addresses
        .iter()
        .enumerate()
        .map(|(lane, &address)| {
            let found = map.lane(lane);
            Lane { lane, address, bank: found.map(|one| one.0), pass: found.map(|one| one.1 + 1) }
        })
        .collect();
    AccessAnswer {
        name: name.to_owned(),
        wavefronts: map.cost.wavefronts,
        ideal_wavefronts: map.cost.ideal,
        bank_conflicts: map.cost.bank_conflicts(),
        degree: map.cost.degree,
        bytes_per_clock: map.bytes_per_clock,
        ideal_bytes_per_clock: map.ideal_bytes_per_clock,
        lanes,
        map,
    }
}

fn verdict(access: &AccessAnswer) -> String {
    let passes = report::text::counted(access.wavefronts.into(), "wavefront", "wavefronts");
    if access.bank_conflicts == 0 {
        let shared = if access.map.has_shared_word() { " (lanes that want one word share it)" } else { "" };
        format!("no conflict: {passes}{shared}, {} bytes per clock", number(access.bytes_per_clock))
    } else {
        format!(
            "{}-way conflict: {passes} instead of {}, {} bytes per clock instead of {}",
            access.degree,
            access.ideal_wavefronts,
            number(access.bytes_per_clock),
            number(access.ideal_bytes_per_clock)
        )
    }
}

fn gcd_sentence(rule: &StrideRule) -> String {
    if rule.slots == 0 {
        return "stride 0: all lanes want one word, and one pass hands it to all.".to_owned();
    }
    let what = if rule.gcd == 1 {
        "no two lanes of a row meet in a bank".to_owned()
    } else {
        format!("lanes {} apart meet in one bank", rule.distance)
    };
    let conflict = match rule.degree {
        0 | 1 => "there is no conflict".to_owned(),
        degree => format!("the conflict is {degree}-way"),
    };
    let slots = report::text::counted(rule.row_slots, "slot", "slots");
    format!("gcd(stride {}, {slots} of a row) = {}: {what}, so {conflict}.", rule.slots, rule.gcd)
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") }
}
