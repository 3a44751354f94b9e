//! The committed table, and how ptxas's report is read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use libtest_mimic::Failed;
use serde::{Deserialize, Serialize};

/// What ptxas gives a kernel on one chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assembled {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Bytes of local memory a thread.
    pub stack: u32,
    /// Bytes stored and loaded for want of registers.
    pub spilled: u32,
}

/// A kernel's row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// By chip.
    pub assembled: BTreeMap<String, Assembled>,
    /// Counted machine instructions, by chip.
    pub instructions: BTreeMap<String, BTreeMap<String, u32>>,
}

/// The whole table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// The version of ptxas that it is of.
    pub ptxas: String,
    /// By kernel.
    pub kernels: BTreeMap<String, Kernel>,
}

impl Table {
    fn path() -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "assembled", "table.json"].iter().collect()
    }

    /// The one in the repository, as it was when this program was built.
    pub fn committed() -> Result<Self, Failed> {
        Ok(serde_json::from_str(include_str!("table.json"))?)
    }

    /// Writes it, a line for each kernel, so that a change reads as one.
    pub fn write(&self) -> Result<(), Failed> {
        let mut text = format!("{{\n\"ptxas\": {},\n\"kernels\": {{\n", serde_json::to_string(&self.ptxas)?);
        let rows: Result<Vec<String>, serde_json::Error> = self
            .kernels
            .iter()
            .map(|(name, row)| Ok(format!("\"{name}\": {}", serde_json::to_string(row)?)))
            .collect();
        text += &rows?.join(",\n");
        text += "\n}\n}\n";
        Ok(std::fs::write(Self::path(), text)?)
    }
}

/// Reads the report of `ptxas -v`: for each kernel its own properties and what it uses. A called function has properties, too,
/// which ptxas may list after a kernel's.
pub fn read(report: &str) -> BTreeMap<String, Assembled> {
    let mut kernels: BTreeMap<String, Assembled> = BTreeMap::new();
    let (mut kernel, mut own) = (None, true);
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            (kernel, own) = (rest.split('\'').next().map(str::to_owned), true);
        }
        let Some(kernel) = &kernel else { continue };
        if let Some((_, function)) = line.split_once("Function properties for ") {
            own = function == kernel;
        }
        let row = kernels.entry(kernel.clone()).or_default();
        // "… 16 bytes stack frame", "Used 126 registers, … 16896 bytes smem": the number precedes its name.
        let mut before = "";
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        for (i, word) in words.iter().enumerate() {
            let number = || before.parse::<u32>().unwrap_or(0);
            match *word {
                "registers" => row.registers = number(),
                "bytes" => {
                    let name = words[i + 1..].iter().take(2).copied().collect::<Vec<_>>().join(" ");
                    match name.as_str() {
                        "stack frame" if own => row.stack = number(),
                        "spill stores" | "spill loads" if own => row.spilled += number(),
                        _ if name.starts_with("smem") => row.shared = number(),
                        _ => {}
                    }
                }
                _ => {}
            }
            before = word;
        }
    }
    kernels
}

/// What ptxas 13.5 says of a kernel with an array on its stack that calls a function with a larger one.
pub fn reads_only_what_is_the_kernels() -> Result<(), Failed> {
    let report = "\
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    64 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 160 bytes cumulative stack size, 512 bytes smem
ptxas info    : Function properties for called
    96 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads
";
    let found = read(report);
    let expected = Assembled { registers: 8, shared: 512, stack: 64, spilled: 12 };
    if found != BTreeMap::from([("k".to_owned(), expected)]) {
        return Err(format!("{found:?}").into());
    }
    Ok(())
}
