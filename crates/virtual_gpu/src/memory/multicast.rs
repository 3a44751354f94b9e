//! Addresses that only `multimem` can access: each stands for one location in the memory of every device of a team.
//!
//! Here the team has one device. An access goes to the ordinary address of the memory bound there, which is also what
//! observers are told: they know each memory by one address.

use std::sync::Arc;

use super::Memory;

/// A range of multicast addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multicast {
    pub address: u64,
    pub bytes: u64,
    /// The address of the memory bound there; `None` if nothing is bound.
    pub replica: Option<u64>,
}

impl Multicast {
    /// Whether `address` is in the range.
    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.bytes
    }
}

impl Memory {
    /// Replaces the list of all multicast ranges.
    pub fn set_multicasts(&self, all: Vec<Multicast>) {
        self.state().multicasts = all.into();
    }

    pub(super) fn multicasts(&self) -> Arc<[Multicast]> {
        self.state().multicasts.clone()
    }
}
