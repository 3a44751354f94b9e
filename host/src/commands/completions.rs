//! `warpsmith completions`: a completion script for a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::cli::{Cli, Context, Outcome};
use crate::terminal;

/// Print a completion script, for example `warpsmith completions bash > warpsmith.bash`
#[derive(clap::Args, Debug)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "warpsmith", &mut script);
        terminal::print(&String::from_utf8(script)?)?;
        Ok(Outcome::Well)
    }
}
