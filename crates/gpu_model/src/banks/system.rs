//! How many banks a chip's shared memory has, how wide they are, and who may share a word.

use serde::{Deserialize, Serialize};

use crate::{Capability, SmLimits, UnknownCapability};

/// Which lanes one pass may serve from one bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// One word of the whole request is handed to all who want it; any other word serves one lane (1.x).
    BroadcastOne,
    /// Every word is handed to all who want it (2.x and later).
    Multicast,
}

/// The two layouts of Kepler's 8-byte banks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BankWidth {
    /// Successive 4-byte words lie in successive banks.
    #[default]
    Four,
    /// Successive 8-byte words lie in successive banks.
    Eight,
}

/// The banks of one kind of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BankSystem {
    /// Number of banks.
    pub banks: u32,
    /// Successive pieces of this many bytes lie in successive banks.
    pub stripe_bytes: u32,
    /// Bytes that a bank hands out in one pass.
    pub bank_bytes: u32,
    /// Lanes served together at most: a half-warp on 1.x, a warp since.
    pub request_lanes: u32,
    pub clocks_per_pass: u32,
    /// Who may share a word.
    pub sharing: Sharing,
    /// Whether loads whose neighbouring lanes agree on their address join two groups (measured on 9.0).
    pub joins_agreeing_pairs: bool,
}

/// A bank system that cannot be computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BankSystemError {
    /// No bank, or too many to draw.
    #[error("{0} banks: the model takes 1 to 1024")]
    Banks(u32),
    /// A width that no lane's access fits.
    #[error("banks of {0} bytes: the model takes widths of 1, 2, 4, 8, 16 or 32 bytes")]
    Width(u32),
    /// A generation without shared memory or not known.
    #[error(transparent)]
    Capability(#[from] UnknownCapability),
}

impl BankSystem {
    /// Today's: 32 banks of 4 bytes, a pass each clock.
    pub const MODERN: Self = Self {
        banks: 32,
        stripe_bytes: 4,
        bank_bytes: 4,
        request_lanes: 32,
        clocks_per_pass: 1,
        sharing: Sharing::Multicast,
        joins_agreeing_pairs: true,
    };

    /// The banks of a generation. `width` matters to 3.x only, the one generation where it can be chosen.
    pub fn of(capability: Capability, width: BankWidth) -> Result<Self, BankSystemError> {
        let older = Self { clocks_per_pass: 2, joins_agreeing_pairs: false, ..Self::MODERN };
        Ok(match SmLimits::known(capability)?.capability.major {
            1 => Self { banks: 16, request_lanes: 16, sharing: Sharing::BroadcastOne, ..older },
            2 => older,
            3 => Self {
                stripe_bytes: match width {
                    BankWidth::Four => 4,
                    BankWidth::Eight => 8,
                },
                bank_bytes: 8,
                clocks_per_pass: 1,
                ..older
            },
            _ => Self::MODERN,
        })
    }

    /// A textbook's banks: `banks` of `bytes` each, all lanes of a request served together, one for each bank.
    pub fn custom(banks: u32, bytes: u32) -> Result<Self, BankSystemError> {
        if !(1..=1024).contains(&banks) {
            return Err(BankSystemError::Banks(banks));
        }
        if !bytes.is_power_of_two() || bytes > 32 {
            return Err(BankSystemError::Width(bytes));
        }
        Ok(Self {
            banks,
            stripe_bytes: bytes,
            bank_bytes: bytes,
            request_lanes: banks,
            joins_agreeing_pairs: false,
            ..Self::MODERN
        })
    }

    /// Bytes of one row through all banks: what a pass delivers at best.
    pub const fn row_bytes(&self) -> u32 {
        self.banks * self.bank_bytes
    }

    /// Bytes per clock when every bank works.
    pub fn peak_bytes_per_clock(&self) -> f64 {
        f64::from(self.row_bytes()) / f64::from(self.clocks_per_pass)
    }

    /// The bank that holds the byte at `address`.
    pub const fn bank(&self, address: u64) -> u32 {
        (address / self.stripe_bytes as u64 % self.banks as u64) as u32
    }

    /// The word within its bank that holds the byte at `address`: what a bank hands out in one pass.
    ///
    /// Kepler's 4-byte layout puts words *i* and *i* + 32 of an aligned 64 into one 8-byte word of the bank.
    pub const fn word(&self, address: u64) -> u64 {
        address / self.row_bytes() as u64
    }

    /// Lanes served together when each moves `bytes`: as many as one row can feed, at most a request.
    pub fn group_lanes(&self, bytes: u32) -> u32 {
        (self.row_bytes() / bytes.max(self.stripe_bytes)).clamp(1, self.request_lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_have_their_published_banks() {
        let of = |major, minor| BankSystem::of(Capability::new(major, minor), BankWidth::Four).unwrap();
        assert_eq!((of(1, 3).banks, of(1, 3).request_lanes), (16, 16));
        assert_eq!(of(2, 0).peak_bytes_per_clock(), 64.0, "128 bytes in two clocks");
        assert_eq!(of(3, 5).peak_bytes_per_clock(), 256.0);
        assert_eq!(of(9, 0).peak_bytes_per_clock(), 128.0);
        assert!(BankSystem::of(Capability::new(4, 0), BankWidth::Four).is_err());
    }

    /// Programming guide, compute capability 3.x: in the 4-byte layout, words i and i + 32 of an aligned segment of
    /// 64 words do not conflict.
    #[test]
    fn kepler_pairs_words_32_apart() {
        let kepler = BankSystem::of(Capability::new(3, 0), BankWidth::Four).unwrap();
        let word = |index: u64| (kepler.bank(index * 4), kepler.word(index * 4));
        assert_eq!(word(5), word(37));
        assert_ne!(word(5), word(69));
        assert_ne!(word(37), word(69));
        let wide = BankSystem::of(Capability::new(3, 0), BankWidth::Eight).unwrap();
        assert_eq!(wide.bank(8), 1);
        assert_eq!(wide.bank(4), 0);
    }

    #[test]
    fn odd_systems_are_refused_with_their_numbers() {
        assert_eq!(BankSystem::custom(0, 4), Err(BankSystemError::Banks(0)));
        assert_eq!(BankSystem::custom(8, 3), Err(BankSystemError::Width(3)));
        assert!(BankSystem::custom(10, 4).is_ok());
    }
}
