//! Advice on managed memory and its last prefetches: kept for queries, page by page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{CUdevice, CUmem_advise};

/// The host, as a device number.
pub const CPU: CUdevice = -1;
/// No device, or not the same one for all of a range.
pub const NONE: CUdevice = -2;

const PAGE: u64 = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    pub read_mostly: bool,
    pub preferred: CUdevice,
    pub accessed_by: BTreeSet<CUdevice>,
    pub prefetched_to: CUdevice,
}

impl Default for Advice {
    fn default() -> Self {
        Self { read_mostly: false, preferred: NONE, accessed_by: BTreeSet::new(), prefetched_to: NONE }
    }
}

/// Pages with advice: the first address of each run, its end, and what holds there.
type Runs = BTreeMap<u64, (u64, Advice)>;

static RUNS: Mutex<Runs> = Mutex::new(BTreeMap::new());

fn runs() -> MutexGuard<'static, Runs> {
    // A panic between a removal and an insertion would lose advice, which changes no result.
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pages that a range touches, from the first to the end of the last.
fn pages(address: u64, bytes: usize) -> (u64, u64) {
    (address / PAGE * PAGE, (address + bytes as u64).next_multiple_of(PAGE))
}

/// Makes runs begin and end at an address, if one contains it.
fn split(runs: &mut Runs, at: u64) {
    let Some((&start, &(end, _))) = runs.range(..at).next_back() else { return };
    if end > at
        && let Some((_, advice)) = runs.remove(&start)
    {
        runs.insert(start, (at, advice.clone()));
        runs.insert(at, (end, advice));
    }
}

/// Takes the pages of a range out, as runs without gaps.
fn take(runs: &mut Runs, (first, end): (u64, u64)) -> Vec<(u64, u64, Advice)> {
    split(runs, first);
    split(runs, end);
    let mut at = first;
    let mut all = Vec::new();
    for (start, (stop, advice)) in runs.extract_if(first..end, |_, _| true) {
        if start > at {
            all.push((at, start, Advice::default()));
        }
        all.push((start, stop, advice));
        at = stop;
    }
    if at < end {
        all.push((at, end, Advice::default()));
    }
    all
}

fn change(address: u64, bytes: usize, change: impl Fn(&mut Advice)) {
    let mut runs = runs();
    for (start, end, mut advice) in take(&mut runs, pages(address, bytes)) {
        change(&mut advice);
        if advice != Advice::default() {
            runs.insert(start, (end, advice));
        }
    }
}

/// Records what a program advises on a range for a device.
pub fn advise(address: u64, bytes: usize, advice: CUmem_advise, device: CUdevice) {
    change(address, bytes, |known| match advice {
        CUmem_advise::SET_READ_MOSTLY => known.read_mostly = true,
        CUmem_advise::UNSET_READ_MOSTLY => known.read_mostly = false,
        CUmem_advise::SET_PREFERRED_LOCATION => known.preferred = device,
        CUmem_advise::UNSET_PREFERRED_LOCATION => known.preferred = NONE,
        CUmem_advise::SET_ACCESSED_BY => drop(known.accessed_by.insert(device)),
        CUmem_advise::UNSET_ACCESSED_BY => drop(known.accessed_by.remove(&device)),
    });
}

pub fn prefetched(address: u64, bytes: usize, device: CUdevice) {
    change(address, bytes, |known| known.prefetched_to = device);
}

/// Forgets what was known of a range, whose memory is new.
pub fn forget(address: u64, bytes: usize) {
    take(&mut runs(), pages(address, bytes));
}

/// Advice common to a range.
pub fn advice(address: u64, bytes: usize) -> Advice {
    let (first, end) = pages(address, bytes);
    let runs = runs();
    let mut at = first;
    let mut all: Option<Advice> = None;
    let mut meet = |advice: &Advice| {
        let Some(all) = &mut all else { return all = Some(advice.clone()) };
        let same = |a: CUdevice, b: CUdevice| if a == b { a } else { NONE };
        all.read_mostly &= advice.read_mostly;
        all.preferred = same(all.preferred, advice.preferred);
        all.prefetched_to = same(all.prefetched_to, advice.prefetched_to);
        all.accessed_by.retain(|device| advice.accessed_by.contains(device));
    };
    for (&start, (stop, advice)) in runs.range(..end).filter(|(_, (stop, _))| *stop > first) {
        if start > at {
            meet(&Advice::default());
        }
        meet(advice);
        at = *stop;
    }
    if at < end {
        meet(&Advice::default());
    }
    all.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_holds_for_the_pages_it_was_given_for() {
        const START: u64 = 0x7000_0000_0000;
        const BYTES: usize = 16 * PAGE as usize;
        advise(START, BYTES, CUmem_advise::SET_READ_MOSTLY, 0);
        advise(START, BYTES, CUmem_advise::SET_ACCESSED_BY, 1);
        prefetched(START, BYTES, 1);
        prefetched(START + 3 * PAGE + 5, 1, CPU);
        let whole = advice(START, BYTES);
        assert!(whole.read_mostly && whole.accessed_by.contains(&1));
        assert_eq!(whole.prefetched_to, NONE);
        assert_eq!(advice(START + 3 * PAGE, 1).prefetched_to, CPU);
        assert_eq!(advice(START + 4 * PAGE, 12 * PAGE as usize).prefetched_to, 1);
        assert!(!advice(START, BYTES + 1).read_mostly, "the page behind has no advice");
        assert!(!advice(START - PAGE, BYTES).read_mostly);
        forget(START, BYTES);
        assert_eq!(advice(START, BYTES), Advice::default());
    }
}
