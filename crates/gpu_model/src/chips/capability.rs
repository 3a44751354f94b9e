//! Compute capability: the generation of a chip, as `major.minor`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A compute capability such as 9.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Capability {
    /// The architecture: 7 is Volta and Turing, 8 Ampere and Ada, 9 Hopper, 10 and 12 Blackwell.
    pub major: u8,
    /// The variant within it.
    pub minor: u8,
}

impl Capability {
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// The architecture's name, as NVIDIA's tables use it.
    pub const fn architecture(self) -> &'static str {
        match (self.major, self.minor) {
            (1, _) => "Tesla",
            (2, _) => "Fermi",
            (3, _) => "Kepler",
            (5, _) => "Maxwell",
            (6, _) => "Pascal",
            (7, 0..=4) => "Volta",
            (7, _) => "Turing",
            (8, 9) => "Ada",
            (8, _) => "Ampere",
            (9, _) => "Hopper",
            (10..=12, _) => "Blackwell",
            _ => "unknown",
        }
    }

    /// The number that `sm_` and `compute_` names carry: 90 for 9.0.
    pub const fn number(self) -> u32 {
        self.major as u32 * 10 + self.minor as u32
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is no compute capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a compute capability; write it as 9.0 or 90")]
pub struct ParseCapabilityError(String);

impl FromStr for Capability {
    type Err = ParseCapabilityError;

    /// Reads `9.0`, `90`, `sm_90`, `compute_90` and the suffixed forms `90a`, `100f`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || ParseCapabilityError(text.to_owned());
        let number = text.strip_prefix("sm_").or(text.strip_prefix("compute_")).unwrap_or(text);
        let number = number.strip_suffix(['a', 'f']).unwrap_or(number);
        if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(refuse());
        }
        let (major, minor) = match number.split_once('.') {
            Some((major, minor)) => (major, minor),
            None if number.len() >= 2 => number.split_at(number.len() - 1),
            None => return Err(refuse()),
        };
        Ok(Self { major: major.parse().map_err(|_| refuse())?, minor: minor.parse().map_err(|_| refuse())? })
    }
}

impl TryFrom<String> for Capability {
    type Error = ParseCapabilityError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_spelling_is_read() {
        for text in ["9.0", "90", "sm_90", "compute_90", "90a", "sm_90a"] {
            assert_eq!(text.parse(), Ok(Capability::new(9, 0)), "{text}");
        }
        assert_eq!("12.1".parse(), Ok(Capability::new(12, 1)));
        assert_eq!("120".parse(), Ok(Capability::new(12, 0)));
        assert_eq!("100f".parse(), Ok(Capability::new(10, 0)));
    }

    #[test]
    fn what_is_no_capability_is_refused() {
        for text in ["", "9", "9.", ".0", "nine", "9.0.0", "-9.0", "999.0", "sm_", "+9.0", "9ä"] {
            assert!(text.parse::<Capability>().is_err(), "{text}");
        }
    }
}
