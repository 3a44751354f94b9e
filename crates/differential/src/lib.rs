//! The virtual GPU's arithmetic against hardware: the same random programs run on both, bit for bit.
//!
//! [`forms`](form) are instructions with operand places, written in `forms/*.txt`. [`program`] turns a batch of them into
//! a kernel: every thread loads operands of its own, executes each form once and stores what comes out; [`chain`] strings
//! random forms together, each fed by results of others. [`operand`] makes
//! the operands, edge values before all, from a seed and the form's text, so a recording needs only the results.
//! [`record`] keeps these, compressed; [`compare`] lists where two recordings differ, form by form.

pub mod chain;
pub mod compare;
pub mod driver;
pub mod form;
pub mod operand;
pub mod program;
pub mod record;
mod simulated;

/// Threads of a program's one block: the cases of each form.
pub const THREADS: usize = 64;

/// Anything that runs a program.
pub trait Device {
    /// Loads `ptx`, runs its kernel `cases` on one block of [`THREADS`], with `input` and a zeroed output buffer of
    /// `output` bytes as its two parameters, and returns the output.
    fn run(&mut self, ptx: &str, input: &[u8], output: usize) -> anyhow::Result<Vec<u8>>;
}

/// Runs all programs and collects the results of each form.
pub fn record(
    device: &mut dyn Device,
    programs: &[program::Program],
    seed: u64,
) -> anyhow::Result<record::Record> {
    use anyhow::Context;
    let mut record = record::Record::new(seed);
    for program in programs {
        let output = device
            .run(&program.ptx(), &program.input(seed), program.output_bytes())
            .with_context(|| format!("program {}", program.name))?;
        program.collect(&output, &mut record);
    }
    Ok(record)
}
