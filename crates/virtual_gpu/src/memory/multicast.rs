//! Addresses that `multimem` reaches, and nothing else: each stands for one place in the memory of every device of a team.
//!
//! The team has one device here. An access is one of the ordinary address of what is bound there, which is how observers
//! are told of it: they know one memory by one address.

use super::{Memory, Table};

/// A range of multicast addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multicast {
    /// The first.
    pub address: u64,
    /// How many.
    pub bytes: u64,
    /// Where what is bound there lies; `None` if nothing is.
    pub replica: Option<u64>,
}

impl Memory {
    /// Says which addresses are multicast addresses from now on: all of them.
    pub fn set_multicasts(&self, all: Vec<Multicast>) {
        let mut state = self.state();
        state.multicasts = all;
        state.table = None;
    }
}

impl Table {
    /// The range of multicast addresses that holds `address`.
    pub fn multicast(&self, address: u64) -> Option<&Multicast> {
        self.multicasts.iter().find(|range| address.wrapping_sub(range.address) < range.bytes)
    }
}
