//! Host memory that kernels can reach: pinned, registered, managed. Its device address is its host address.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, CUresult};

/// Host ranges that the device can reach: their first bytes and lengths.
static RANGES: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn ranges() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    RANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the device can reach all of these bytes.
pub fn is_pinned(address: usize, bytes: usize) -> bool {
    ranges()
        .range(..=address)
        .next_back()
        .is_some_and(|(&start, &length)| address - start <= length && bytes <= length - (address - start))
}

/// Notes memory that the device is to reach.
pub fn add(address: usize, bytes: usize) -> Answer {
    let end = address.checked_add(bytes).ok_or(CUresult::INVALID_VALUE)?;
    let mut ranges = ranges();
    if ranges.range(..end).next_back().is_some_and(|(&start, &length)| start + length > address) {
        return Err(CUresult::HOST_MEMORY_ALREADY_REGISTERED);
    }
    ranges.insert(address, bytes);
    Ok(())
}

/// Forgets it again.
pub fn remove(address: usize) {
    ranges().remove(&address);
}
