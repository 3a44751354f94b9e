//! `warpsmith explain cache`: how on-chip memory is divided between L1 and shared memory, and who decides.

use std::fmt::Write;

use gpu_model::cache::{self, Division, Preference};
use gpu_model::{Capability, SmLimits};
use serde::Serialize;
use warpsmith_launch::DevicePreference;

use crate::answer::{Context, Outcome, Output, whole};
use crate::terminal;

/// Arguments of `explain cache`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Cache {
    /// The chip generation, 1.0 to 12.1
    #[arg(long, default_value = "9.0", allow_hyphen_values = true)]
    capability: Capability,

    /// Bytes of shared memory that a block of the kernel takes: the driver gives it at least that
    #[arg(long, default_value_t = 2048, allow_hyphen_values = true, value_parser = whole(0, 1 << 20))]
    shared: u32,

    /// The arithmetic alone, without asking the driver of the device at hand
    #[arg(long)]
    no_driver: bool,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith explain cache                               preferences and carve-outs of today
  warpsmith explain cache --shared 100000               a block's need overrides a preference
  warpsmith explain cache --capability 3.5 --no-driver  three fixed divisions";

/// One wish and what becomes of it.
#[derive(Serialize)]
struct Row {
    wish: String,
    shared_bytes: u32,
    given_bytes: u32,
    blocks: u32,
    overridden: bool,
}

#[derive(Serialize)]
struct Answer {
    capability: Capability,
    division: Division,
    shared_steps_kib: &'static [u32],
    block_shared_bytes: u32,
    bank_width_can_be_set: bool,
    preferences: Vec<Row>,
    carve_outs: Vec<Row>,
    /// The driver's answers; `null` if it was not asked.
    driver: Option<Driver>,
}

#[derive(Serialize)]
struct Driver {
    device: String,
    answers: Vec<super::driver_answers::Answer>,
    /// Why there are no answers.
    error: Option<String>,
}

impl Cache {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let answer = self.answer(context.device)?;
        self.output.print(&answer, text)?;
        let failed = answer.driver.is_some_and(|driver| driver.error.is_some());
        Ok(if failed { Outcome::NotWell } else { Outcome::Well })
    }

    fn answer(&self, wish: DevicePreference) -> anyhow::Result<Answer> {
        let limits = SmLimits::known(self.capability)?;
        anyhow::ensure!(
            self.shared <= limits.shared_per_block_optin,
            "{} bytes of shared memory: a block of capability {} has {} at most",
            self.shared,
            self.capability,
            limits.shared_per_block_optin
        );
        let block = limits.shared_of_block(self.shared);
        let row = |wish: String, shared_bytes: u32| {
            let given_bytes = cache::effective_shared(limits, shared_bytes, block);
            let blocks = given_bytes.checked_div(block).map_or(limits.blocks, |fit| fit.min(limits.blocks));
            Row { wish, shared_bytes, given_bytes, blocks, overridden: given_bytes != shared_bytes }
        };
        let preferences = Preference::ALL
            .map(|preference| row(preference.name().to_owned(), cache::preferred_shared(limits, preference)));
        let carve_outs = match Division::of(self.capability) {
            Division::CarveOut => [0, 25, 50, 75, 100]
                .map(|percent| row(format!("{percent} %"), cache::carve_out(limits, percent)))
                .into(),
            _ => Vec::new(),
        };
        Ok(Answer {
            capability: self.capability,
            division: Division::of(self.capability),
            shared_steps_kib: cache::shared_steps_kib(self.capability),
            block_shared_bytes: block,
            bank_width_can_be_set: self.capability.major == 3,
            preferences: preferences.into(),
            carve_outs,
            driver: self.driver(wish)?,
        })
    }

    fn driver(&self, wish: DevicePreference) -> anyhow::Result<Option<Driver>> {
        if self.no_driver {
            return Ok(None);
        }
        let device = warpsmith_cuda::choose(Some(wish), None)?.to_string();
        Ok(Some(match super::driver_answers::ask(self.shared) {
            Ok(answers) => Driver { device, answers, error: None },
            Err(error) => Driver { device, answers: Vec::new(), error: Some(format!("{error:#}")) },
        }))
    }
}

fn text(answer: &Answer) -> String {
    let mut out = String::new();
    let how = match answer.division {
        Division::SharedOnly => "global memory has no L1 cache; preferences change nothing",
        Division::Preference => "L1 and shared memory share one array, divided by preference",
        Division::Separate => {
            "shared memory has an array of its own; preferences are accepted and change nothing"
        }
        Division::CarveOut => "L1 and shared memory share one array, divided by a carve-out in steps",
    };
    let owner = format!("Capability {} ({}): {how}", answer.capability, answer.capability.architecture());
    out.push_str(&terminal::wrapped("", &owner));
    let steps: Vec<String> = answer.shared_steps_kib.iter().map(u32::to_string).collect();
    let steps = format!("Shared memory of a multiprocessor: {} KiB", steps.join(", "));
    out.push_str(&terminal::wrapped("", &steps));
    let block = format!(
        "A block takes {} bytes of it, roundings and the system's share included",
        answer.block_shared_bytes
    );
    out.push_str(&terminal::wrapped("", &block));
    out.push('\n');
    let rows = |wishes: &[Row]| -> Vec<Vec<String>> {
        wishes
            .iter()
            .map(|row| {
                let note = if row.overridden { "overridden: a block needs more" } else { "as wished" };
                vec![
                    row.wish.clone(),
                    report::unit::bytes(row.shared_bytes.into()),
                    report::unit::bytes(row.given_bytes.into()),
                    row.blocks.to_string(),
                    note.to_owned(),
                ]
            })
            .collect()
    };
    let header = |what| [what, "wish", "given", "blocks that fit", "by the driver"];
    let _ = writeln!(out, "{}", terminal::table(&header("cache preference"), &rows(&answer.preferences)));
    if !answer.carve_outs.is_empty() {
        let _ = writeln!(out, "{}", terminal::table(&header("carve-out"), &rows(&answer.carve_outs)));
    }
    let banks = if answer.bank_width_can_be_set {
        format!(
            "Banks can be set to 4 or 8 bytes: compare `explain banks --capability {} --bank-mode 4` and `8`.",
            answer.capability
        )
    } else {
        "The width of banks cannot be set: only 3.x heeds the call.".to_owned()
    };
    out.push_str(&terminal::wrapped("", &banks));
    if let Some(driver) = &answer.driver {
        let asked = terminal::heading(&format!("Asked of {}", driver.device));
        out.push('\n');
        out.push_str(&terminal::wrapped("", &asked));
        if let Some(error) = &driver.error {
            out.push_str(&terminal::wrapped("", &format!("The driver does not answer: {error}")));
            return out;
        }
        let rows: Vec<Vec<String>> = driver
            .answers
            .iter()
            .map(|one| {
                let blocks = one.blocks.map_or_else(|| "unknown".to_owned(), |blocks| blocks.to_string());
                vec![one.wish.clone(), one.read_back.clone(), blocks]
            })
            .collect();
        let _ = writeln!(out, "{}", terminal::table(&["set", "read back", "blocks that fit"], &rows));
    }
    out
}
