//! Which checks are on.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The tools, each on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Accesses outside their object, misaligned, after free; leaks.
    pub memory: bool,
    /// Conflicting accesses that nothing orders.
    pub race: bool,
    /// Values that were never written and decide something.
    pub init: bool,
    /// Barriers and warp synchronisation that not all threads reach.
    pub barrier: bool,
}

impl Checks {
    /// All on.
    pub const ALL: Checks = Checks { memory: true, race: true, init: true, barrier: true };
    /// All off.
    pub const NONE: Checks = Checks { memory: false, race: false, init: false, barrier: false };
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all =
            [(self.memory, "memory"), (self.race, "race"), (self.init, "init"), (self.barrier, "barrier")];
        let on: Vec<&str> = all.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
        f.write_str(&on.join(", "))
    }
}

/// A name that is no tool's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no check: choose from memory, race, init, barrier, or all, separated by commas")]
pub struct UnknownCheck(pub String);

impl FromStr for Checks {
    type Err = UnknownCheck;

    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let mut checks = Checks::NONE;
        for name in text.split(',').map(str::trim) {
            match name {
                "memory" => checks.memory = true,
                "race" => checks.race = true,
                "init" => checks.init = true,
                "barrier" => checks.barrier = true,
                "all" => checks = Checks::ALL,
                other => return Err(UnknownCheck(other.to_owned())),
            }
        }
        Ok(checks)
    }
}

/// What `WARPSMITH_CHECK` asks for: tools, and optionally a file for the report after a colon.
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
        assert_eq!(checks, Checks { memory: true, race: true, ..Checks::NONE });
        assert_eq!(file.unwrap().to_str(), Some("out.json"));
        assert_eq!(checks.to_string(), "memory, race");
        assert_eq!(from_env("all").unwrap(), (Checks::ALL, None));
        assert_eq!(from_env("memory,rase").unwrap_err(), UnknownCheck("rase".into()));
    }
}
