//! The tools by name, and which of them are on.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! checks {
    ($($(#[$doc:meta])* $check:ident $name:literal)*) => {
        /// A tool.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, PartialOrd, Ord)]
        #[serde(rename_all = "lowercase")]
        pub enum Check {
            $($(#[$doc])* $check,)*
        }

        impl Check {
            /// All tools.
            pub const ALL: &[Check] = &[$(Check::$check),*];

            /// The word for it on the command line and in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Check::$check => $name,)*
                }
            }
        }
    };
}
checks! {
    /// Accesses outside their object, misaligned, after free; leaks.
    Memory "memory"
    /// Conflicting accesses that nothing orders.
    Race "race"
    /// Values that were never written and decide something.
    Init "init"
    /// Barriers and warp synchronisation that not all threads reach.
    Barrier "barrier"
    /// Calls of the driver that fail.
    Api "api"
}

/// A set of tools.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Checks(u32);

impl Checks {
    /// All tools.
    pub const ALL: Checks = Checks((1 << Check::ALL.len()) - 1);
    pub const NONE: Checks = Checks(0);

    /// Whether a tool is on.
    pub fn has(self, check: Check) -> bool {
        self.0 >> check as u32 & 1 != 0
    }

    /// The same with one more.
    pub fn with(self, check: Check) -> Self {
        Checks(self.0 | 1 << check as u32)
    }

    /// The same with one fewer.
    pub fn without(self, check: Check) -> Self {
        Checks(self.0 & !(1 << check as u32))
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = Check::ALL.iter().filter(|check| self.has(**check));
        f.write_str(&on.map(|check| check.name()).collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checks({self})")
    }
}

/// A name that is no tool's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no check: choose from {all}, or all, separated by commas", all = Checks::ALL)]
pub struct UnknownCheck(pub String);

impl FromStr for Checks {
    type Err = UnknownCheck;

    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        text.split(',').map(str::trim).try_fold(Checks::NONE, |on, name| {
            if name == "all" {
                return Ok(Checks::ALL);
            }
            let check = Check::ALL.iter().find(|check| check.name() == name);
            check.map(|&check| on.with(check)).ok_or_else(|| UnknownCheck(name.to_owned()))
        })
    }
}

/// The value of `WARPSMITH_CHECK`: tools, and optionally a file for the report after a colon.
pub fn from_env(value: &str) -> Result<(Checks, Option<PathBuf>), UnknownCheck> {
    let (tools, file) = value.split_once(':').map_or((value, None), |(tools, file)| (tools, Some(file)));
    Ok((tools.parse()?, file.filter(|file| !file.is_empty()).map(PathBuf::from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_and_file() {
        let (checks, file) = from_env("memory,race:out.json").unwrap();
        assert_eq!(checks, Checks::NONE.with(Check::Memory).with(Check::Race));
        assert_eq!(file.unwrap().to_str(), Some("out.json"));
        assert_eq!(checks.to_string(), "memory, race");
        assert_eq!(from_env("all").unwrap(), (Checks::ALL, None));
        let unknown = from_env("memory,rase").unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "`rase` is no check: choose from memory, race, init, barrier, api, or all, separated by commas"
        );
    }
}
