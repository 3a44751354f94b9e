//! `warpsmith completions`: a completion script for a shell.

use clap_complete::{Shell, generate};
use serde::Serialize;

use crate::answer::{Outcome, Output};

/// Print a completion script, for example `warpsmith completions bash > warpsmith.bash`
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    #[arg(value_enum)]
    shell: Shell,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  source <(warpsmith completions bash)
  warpsmith completions fish > ~/.config/fish/completions/warpsmith.fish
  warpsmith completions zsh --json      {\"shell\", \"script\"}";

/// The shape of `completions --json`.
#[derive(Serialize)]
struct Answer {
    shell: String,
    script: String,
}

impl Completions {
    /// Runs the command, for this command line.
    pub fn run(&self, mut line: clap::Command) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        generate(self.shell, &mut line, "warpsmith", &mut script);
        let answer = Answer { shell: self.shell.to_string(), script: String::from_utf8(script)? };
        self.output.print(&answer, |answer| answer.script.clone())?;
        Ok(Outcome::Well)
    }
}
