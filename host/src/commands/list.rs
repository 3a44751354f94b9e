//! `warpsmith list`: the kernels.

use serde::Serialize;
use warpsmith_launch::Description;

use crate::answer::{Context, Outcome, Output};
use crate::demos;
use crate::modules::LEVELS;
use crate::registry;
use crate::terminal;

/// Arguments of `list`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct List {
    /// Only the kernels whose name or family contains this
    filter: Option<String>,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith list
  warpsmith list transpose --json      {\"kernels\": [{\"name\", \"family\", \"file\", \"line\", …}]}";

#[derive(Serialize)]
struct Kernels {
    kernels: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    family: &'static str,
    signature: String,
    file: &'static str,
    line: u32,
    /// The lowest feature level that has it.
    needs: Option<String>,
    block: Option<[u32; 3]>,
    max_threads: Option<u32>,
}

impl Entry {
    fn new(family: &'static str, kernel: &Description) -> Self {
        Self {
            name: kernel.name,
            family,
            signature: kernel.to_string(),
            file: registry::source(kernel),
            line: kernel.line,
            needs: LEVELS.of(kernel.name).map(|level| level.arch()),
            block: kernel.bounds.block_dim,
            max_threads: kernel.bounds.max_threads,
        }
    }
}

impl List {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let filter = self.filter.as_deref().unwrap_or("");
        let spelt = filter.to_lowercase().replace('-', "_");
        let kernels: Vec<_> = registry::kernels()
            .filter(|(family, kernel)| family.contains(&spelt) || kernel.name.contains(&spelt))
            .map(|(family, kernel)| Entry::new(family, kernel))
            .collect();
        let families: Vec<&str> = demos::ALL.iter().map(|demo| demo.name()).collect();
        anyhow::ensure!(
            !kernels.is_empty(),
            "no kernel's name or family contains `{filter}`;{} `warpsmith list` has them all",
            registry::meant(filter, &families)
        );
        self.output.print(&Kernels { kernels }, text)?;
        Ok(Outcome::Well)
    }
}

fn text(kernels: &Kernels) -> String {
    let rows: Vec<Vec<String>> = kernels
        .kernels
        .iter()
        .map(|kernel| {
            let block = match (kernel.block, kernel.max_threads) {
                (Some([x, y, z]), _) => format!("{x}×{y}×{z}"),
                (None, Some(most)) => format!("≤ {most}"),
                (None, None) => "any".into(),
            };
            vec![
                kernel.name.to_owned(),
                kernel.family.to_owned(),
                block,
                kernel.needs.as_deref().unwrap_or("nothing has it").to_owned(),
                format!("{}:{}", kernel.file, kernel.line),
            ]
        })
        .collect();
    terminal::table(&["kernel", "family", "block", "needs", "where"], &rows)
}
