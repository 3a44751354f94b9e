//! The virtual GPU's arithmetic against hardware: the same random programs run on both, bit for bit.
//!
//! [`forms`](form) are instructions with operand places, written in `forms/*.txt`. [`program`] turns a batch of them into
//! a kernel: every thread loads operands of its own, executes each form once and stores what comes out; [`chain`] strings
//! random forms together, each fed by results of others. [`operand`] makes
//! the operands, edge values before all, from a seed and the form's text, so a recording needs only the results.
//! [`mod@record`] keeps these, compressed; [`mod@compare`] lists where two recordings differ, form by form.
//! [`complete`] goes through all inputs of functions, [`products`] through many of tensor cores' instructions.

pub mod chain;
pub mod compare;
pub mod complete;
pub mod driver;
pub mod form;
pub mod operand;
pub mod products;
pub mod program;
pub mod record;
mod simulated;

/// Threads of a block: the cases of each form, whose programs have one block.
pub const THREADS: usize = 64;

/// Anything that runs a program.
pub trait Device {
    /// Loads `ptx`, runs its kernel `cases` on `shape` (blocks, threads of each), with `input` and a zeroed output buffer
    /// of `output` bytes as its two parameters, and returns the output.
    fn run(&mut self, ptx: &str, shape: (u32, u32), input: &[u8], output: usize) -> anyhow::Result<Vec<u8>>;
}

/// A form that a device would not run, and why.
pub struct Refused {
    /// The form's text.
    pub form: String,
    /// The device's message.
    pub reason: String,
}

/// Runs all programs and collects the results of each form. Where a program is refused its forms are tried one by one, so
/// that what the device cannot do hides nothing else.
pub fn record(
    device: &mut dyn Device,
    programs: &[program::Program],
    seed: u64,
) -> (record::Record, Vec<Refused>) {
    let mut record = record::Record::new(seed);
    let mut refused = Vec::new();
    let mut run = |program: &program::Program, record: &mut record::Record| -> anyhow::Result<()> {
        let output =
            device.run(&program.ptx(), (1, THREADS as u32), &program.input(seed), program.output_bytes())?;
        program.collect(&output, record);
        Ok(())
    };
    for program in programs {
        if run(program, &mut record).is_ok() {
            continue;
        }
        for form in &program.forms {
            let alone = program::Program { name: program.name.clone(), forms: vec![form.clone()] };
            if let Err(error) = run(&alone, &mut record) {
                refused.push(Refused { form: form.text.clone(), reason: format!("{error:#}") });
            }
        }
    }
    (record, refused)
}
