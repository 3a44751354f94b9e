//! A pass over a module: its name, when it runs, and what it does. Tables of them are the lowering's order.

use crate::options::Options;

/// How a line of a lowering that breaks off tells where it was.
pub const MARK: &str = "in the pass `";

/// One step of a lowering that works on a `W`.
pub struct Pass<W> {
    pub name: &'static str,
    pub when: fn(&Options) -> bool,
    pub run: fn(&mut W) -> Result<(), String>,
}

/// For [`Pass::when`].
pub fn always(_: &Options) -> bool {
    true
}

/// Runs those of a table that the options ask for. Each says its name on stderr, which is shown only if LLVM ends the
/// process.
pub fn run<W>(table: &[Pass<W>], options: &Options, work: &mut W) -> Result<(), String> {
    let runs = |pass: &&Pass<W>| (pass.when)(options) && options.left_out != Some(pass.name);
    for pass in table.iter().filter(runs) {
        eprintln!("{MARK}{}`", pass.name);
        (pass.run)(work)?;
    }
    Ok(())
}
