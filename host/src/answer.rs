//! A command's context, and its answer.

use warpsmith_launch::DevicePreference;

use crate::terminal;

/// How a command ended, if it could do its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// All is well: exit code 0.
    #[default]
    Well,
    /// The command worked and found something wrong, which it has printed: exit code 1.
    NotWell,
    /// The program that it ran ended with this exit code, which becomes the tool's own.
    Ended(i32),
}

impl Outcome {
    /// A program's exit code; 1 if a signal ended it.
    pub fn of(status: std::process::ExitStatus) -> Self {
        match status.code() {
            Some(0) => Self::Well,
            Some(code) => Self::Ended(code),
            None => Self::NotWell,
        }
    }

    /// The exit code.
    pub fn code(self) -> i32 {
        match self {
            Self::Well => 0,
            Self::NotWell => 1,
            Self::Ended(code) => code,
        }
    }
}

/// The arguments that all commands share.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The device asked for on the command line.
    pub device: DevicePreference,
}

/// `--json`, flattened into each command that has it. It may stand before the command, too.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Output {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
}

impl Output {
    /// Prints `value` as JSON if asked to, else calls `text`.
    pub fn print<T: serde::Serialize>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<()> {
        if self.json { terminal::print_json(value) } else { terminal::print(&text(value)) }
    }
}

/// Reads a whole number from `least` to `most`; the error for anything else names both.
pub fn whole(least: u32, most: u32) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync {
    move |text| match text.trim().parse::<u32>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("a whole number from {least} to {most} is expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_their_limits_in_the_answer() {
        let parse = whole(1, 1024);
        assert_eq!((parse("1"), parse(" 1024 ")), (Ok(1), Ok(1024)));
        for wrong in ["0", "1025", "-1", "", "3.5", "1e3", "99999999999999999999", "ten"] {
            assert_eq!(parse(wrong).unwrap_err(), "a whole number from 1 to 1024 is expected", "{wrong}");
        }
    }
}
