//! Addresses that `multimem` reaches, and nothing else: each stands for one place in the memory of every device of a team.
//!
//! The team has one device here. An access is one of the ordinary address of what is bound there, which is how observers
//! are told of it: they know one memory by one address.

use std::sync::Arc;

use super::Memory;

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

impl Multicast {
    /// Whether `address` is one of its own.
    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.bytes
    }
}

impl Memory {
    /// Says which addresses are multicast addresses from now on: all of them.
    pub fn set_multicasts(&self, all: Vec<Multicast>) {
        self.state().multicasts = all.into();
    }

    /// All of them.
    pub(super) fn multicasts(&self) -> Arc<[Multicast]> {
        self.state().multicasts.clone()
    }
}
