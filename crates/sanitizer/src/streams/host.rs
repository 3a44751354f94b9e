//! Accesses of the host's own code, without a call, to memory of work that it has not waited for.
//!
//! The shadow of that work tells which pages it used up to the last byte: any access of the host there is a mistake, whichever
//! byte it wants. A kernel that makes accesses or fences for the whole system may tell the host by a flag that it is done.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Clash, HOST, How, Issued, Touched, Touches, Unordered, clash, finding, lock};
use crate::Sanitizer;
use crate::finding::Finding;
use crate::kind::{Between, Kind, Work, WorkConflict};
use crate::origin::Calls;
use crate::shadow::{Shadow, words_of};

/// Bytes of a page of the shadow.
const SHADOW_PAGE: u64 = 256;

/// Pages of one allocation that follow each other, each of whose bytes a piece of work used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedPages {
    pub pages: Range<u64>,
    /// Each byte was written.
    pub written: bool,
}

/// A load or store of the host's own code.
#[derive(Debug)]
pub struct HostAccess {
    address: u64,
    /// `None` where the processor does not tell.
    writes: Option<bool>,
    calls: Calls,
}

impl HostAccess {
    /// By the code that led here.
    pub fn here(address: u64, writes: Option<bool>) -> Self {
        HostAccess { address, writes, calls: Calls::here() }
    }
}

impl Touches {
    /// Tells whether one among them may have told the host by a flag that it is done: a kernel, or a copy or fill of no more
    /// than a flag in memory that `is_hosts`.
    pub fn may_signal_host(&self, is_hosts: impl Fn(u64) -> bool) -> bool {
        const FLAG: u64 = 8;
        self.0.iter().any(|touched| match touched {
            Touched::Kernel { races, .. } => {
                let races = lock(races);
                races.orders_devices || races.reaches_host
            }
            &Touched::Bytes { address, bytes, write, .. } => write && bytes <= FLAG && is_hosts(address),
        })
    }

    /// Bytes of their shadows.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(Touched::bytes).sum()
    }

    /// The kernels, by their names in the PTX.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|touched| match touched {
            Touched::Kernel { launched, .. } => Some(launched.kernel.as_str()),
            Touched::Bytes { .. } => None,
        })
    }

    /// The pages of allocations that one kernel, copy or fill among them used up to the last byte. `memory` is sorted; each
    /// range begins with a page, and may end within one, of which only that part counts.
    pub fn used_pages(&self, memory: &[Range<u64>], page: u64) -> Vec<UsedPages> {
        let mut runs: Vec<UsedPages> = Vec::new();
        let mut add = |first: u64, start: u64, written: bool| match runs.last_mut() {
            Some(run) if run.pages.end == start && start != first && run.written == written => {
                run.pages.end += page
            }
            _ => runs.push(UsedPages { pages: start..start + page, written }),
        };
        let within = |at: u64| {
            memory.get(memory.partition_point(|range| range.end <= at)).filter(|range| range.contains(&at))
        };
        for touched in &self.0 {
            match touched {
                Touched::Kernel { races, .. } => {
                    let shadow = &lock(races).shadow;
                    // A page that is used up has its first byte used.
                    let begins = shadow.pages().map(|at| at * SHADOW_PAGE);
                    let begins: BTreeSet<u64> = begins.filter(|at| at % page == 0).collect();
                    for (start, range) in begins.into_iter().filter_map(|at| Some((at, within(at)?))) {
                        if let Some(written) = uses_up(shadow, start..range.end.min(start + page)) {
                            add(range.start, start, written);
                        }
                    }
                }
                &Touched::Bytes { address, bytes, write, .. } => {
                    let end = address.saturating_add(bytes);
                    let from = memory.partition_point(|range| range.end <= address);
                    for range in memory[from..].iter().take_while(|range| range.start < end) {
                        let mut start = address.max(range.start).next_multiple_of(page);
                        while start < range.end && range.end.min(start + page) <= end {
                            add(range.start, start, write);
                            start += page;
                        }
                    }
                }
            }
        }
        runs
    }

    /// The first of them that clashes with an access of the host, and its own access.
    fn clash_with(&self, access: &HostAccess) -> Option<(&Touched, Unordered)> {
        let HostAccess { address, writes, .. } = *access;
        let unordered = |wrote: bool, stamp| {
            // A load of what was only read is not stopped.
            let writes = writes.unwrap_or(!wrote);
            let sides = [(writes, None), (wrote, stamp)];
            (writes || wrote).then_some(Unordered { address, words: 1, sides, equal: false, narrow: false })
        };
        self.0.iter().find_map(|touched| match touched {
            Touched::Kernel { races, .. } => {
                let mut stamps: Vec<_> = lock(races).shadow.stamps(address / 4).collect();
                stamps.retain(|(stamp, _)| stamp.bytes() >> (address % 4) & 1 != 0);
                let stamp = stamps.iter().find(|(stamp, _)| stamp.writes()).or(stamps.first())?.0;
                Some((touched, unordered(stamp.writes(), Some(stamp))?))
            }
            &Touched::Bytes { address: from, bytes, write, .. } => (address.wrapping_sub(from) < bytes)
                .then(|| unordered(write, None))
                .flatten()
                .map(|race| (touched, race)),
        })
    }
}

/// Compares a range from a page on with what was used: `None` unless each byte was; then, whether each was written.
fn uses_up(shadow: &Shadow, range: Range<u64>) -> Option<bool> {
    let mut all_written = true;
    for page in range.start / SHADOW_PAGE..range.end.div_ceil(SHADOW_PAGE) {
        for (word, (used, written)) in words_of(page).zip(shadow.bytes_of(page)?) {
            let mask = 0xF >> (4 - range.end.saturating_sub(word * 4).min(4));
            if used & mask != mask {
                return None;
            }
            all_written &= written & mask == mask;
        }
    }
    Some(all_written)
}

impl Sanitizer {
    /// The host's own code accessed memory before it had waited for a stream's work. False if the work did not use it so.
    pub fn host_accessed(&self, access: &HostAccess, work: &Touches, stream: (usize, bool)) -> bool {
        let Some((touched, race)) = work.clash_with(access) else { return false };
        let address = access.address;
        let host =
            Touched::Bytes { what: Work::HostCode, address, bytes: 1, write: race.sides[0].0, word: None };
        self.host_clashes(&host, touched, stream, race, &access.calls, WorkConflict::Unordered);
        true
    }

    /// The host frees memory, in a call that waits, before it has waited for a stream's work. False as above.
    pub fn host_frees_early(&self, address: u64, work: &Touches, stream: (usize, bool)) -> bool {
        let bytes = self.objects.global(address).size.unwrap_or(0);
        let host = Touched::Bytes { what: Work::Free, address, bytes, write: true, word: None };
        let how = How { apart: false, ignores_flags: true };
        let found = work.0.iter().find_map(|touched| match clash(&host, touched, how) {
            Clash::Race(race) => Some((touched, race)),
            _ => None,
        });
        let Some((touched, race)) = found else { return false };
        self.host_clashes(&host, touched, stream, race, &Calls::here(), WorkConflict::AwaitedByCall);
        true
    }

    fn host_clashes(
        &self,
        host: &Touched,
        touched: &Touched,
        (stream, default): (usize, bool),
        race: Unordered,
        calls: &Calls,
        why: WorkConflict,
    ) {
        let object = self.objects.global(race.address);
        let sides = [(&issued(HOST, false), host), (&issued(stream, default), touched)];
        let mut found = finding(sides[0], sides[1], object, race, false);
        if let Kind::WorkRace(work) = &mut found.kind {
            (work.between, work.why) = (Between::HostAndDevice, why);
        }
        self.note(Finding { host: calls.site(), ..found });
    }
}

fn issued(stream: usize, default: bool) -> Issued {
    Issued { device: 0, default, stream, ticket: 0, before: Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;
    use crate::shadow::{Asking, Spare, Stamp, Touch};

    const PAGE: u64 = 4096;

    /// The bytes of each word that one thread wrote, or read, from address 0 on.
    fn touched(words: Range<u64>, write: bool, bytes: u8, shadow: &mut Shadow) {
        let clocks = Clocks::new(0, 32);
        let touch = Touch { write, ..Touch::default() };
        for word in words {
            let stamp = Stamp::new(0, 1, 9, 0, (3, 3), touch).of_bytes(bytes);
            let asking = Asking { stamp, floor: 0, clocks: &clocks };
            if write {
                shadow.write(word, &asking, None)
            } else {
                shadow.read(word, &asking)
            };
        }
    }

    #[test]
    fn a_page_is_used_up_when_each_of_its_bytes_is() {
        let mut shadow = Shadow::of_global(Spare::default());
        touched(0..1024, true, 0xF, &mut shadow);
        touched(1024..2047, true, 0xF, &mut shadow);
        touched(2047..2048, true, 0x7, &mut shadow);
        assert_eq!([uses_up(&shadow, 0..PAGE), uses_up(&shadow, PAGE..2 * PAGE)], [Some(true), None]);
        assert_eq!(uses_up(&shadow, PAGE..2 * PAGE - 1), Some(true), "the last byte is not the allocation's");
        touched(2047..2048, false, 0x8, &mut shadow);
        assert_eq!(uses_up(&shadow, PAGE..2 * PAGE), Some(false), "and was read");
        assert_eq!(uses_up(&shadow, 2 * PAGE..2 * PAGE + 4), None);
    }

    #[test]
    fn a_copy_uses_up_what_lies_within_it() {
        let bytes = |address, bytes| {
            Touches(vec![Touched::Bytes { what: Work::Copy, address, bytes, write: true, word: None }])
        };
        let used = |touches: Touches| -> Vec<(u64, u64)> {
            let pages = touches.used_pages(std::slice::from_ref(&(PAGE..3 * PAGE + 100)), PAGE);
            pages.into_iter().map(|used| (used.pages.start / PAGE, used.pages.end / PAGE)).collect()
        };
        assert_eq!(used(bytes(0, 9 * PAGE)), [(1, 4)]);
        assert_eq!(used(bytes(PAGE + 1, 2 * PAGE + 98)), [(2, 3)]);
        assert_eq!(used(bytes(PAGE + 1, 2 * PAGE + 99)), [(2, 4)]);
        assert_eq!(used(bytes(PAGE, PAGE - 1)), []);
    }
}
