//! Bytes sent between ranks.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The bytes sent over each link, by (from, to).
#[derive(Debug, Default)]
pub struct Traffic {
    links: Mutex<BTreeMap<(usize, usize), u64>>,
}

impl Traffic {
    /// Counts bytes sent from one rank to another; what stays on a device is not traffic.
    pub fn count(&self, from: usize, to: usize, bytes: u64) {
        if from != to && bytes > 0 {
            *self.links.lock().unwrap_or_else(PoisonError::into_inner).entry((from, to)).or_default() +=
                bytes;
        }
    }

    /// The counts since the last call of this function.
    pub fn take(&self) -> BTreeMap<(usize, usize), u64> {
        std::mem::take(&mut *self.links.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
