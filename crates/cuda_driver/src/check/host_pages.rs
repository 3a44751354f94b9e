//! Pages of managed and pinned memory, closed to the host's own code while it has not waited for the work that used them.
//!
//! A page is closed when work has ended that used each of its bytes, and the host has not waited for it: to loads and stores if
//! all was written, to stores otherwise. So whatever the processor stops is a mistake, and neither the host's accesses beside
//! that memory are stopped, nor system calls on it. Pages are open while work runs or a call of the driver is in progress,
//! since kernels and the driver use the same addresses as the host.
//!
//! Any wait of the host, and any flag that it may look at, ends all of this for the work before it and beside it: whatever the
//! host waits for may have heard of other work by ways that are not followed. So a wait for another stream hides a mistake.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sanitizer::{Check, Touches, UsedPages};

use super::{host_fault, sanitizer};
use crate::fork;
use crate::objects::device::memory;
use crate::objects::order::Mark;

/// Pieces of work that are kept; of more the oldest are forgotten.
const MOST_WORK: usize = 256;
/// Bytes of their shadows, likewise.
const MOST_BYTES: usize = 512 << 20;
/// Runs of pages that are closed in one allocation: each may be a mapping of its own to the system, which has a limit.
const MOST_RUNS: usize = 64;
/// Runs in all allocations: Linux admits 65,530 mappings.
const MOST_CLOSED: usize = 8192;

struct WatchedMemory {
    range: Range<u64>,
    closed: bool,
}

/// Work that has ended.
struct Ended {
    mark: Mark,
    /// Its stream is the default one.
    default: bool,
    /// By their names in the PTX.
    kernels: Vec<String>,
    touches: Touches,
    used: Vec<UsedPages>,
}

struct Pages {
    memory: Vec<WatchedMemory>,
    ended: VecDeque<Ended>,
    /// Calls and pieces of work in progress.
    busy: usize,
    /// Waits of the host, and pieces of work that may have told it something.
    signals: u64,
}

static PAGES: Mutex<Pages> =
    Mutex::new(Pages { memory: Vec::new(), ended: VecDeque::new(), busy: 0, signals: 0 });

fn pages() -> MutexGuard<'static, Pages> {
    // Whole after a panic elsewhere: what was left out is not closed, or is opened once more.
    PAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All pages are open while one of these is there.
pub(crate) struct OpenPages {
    /// Signals before it.
    signals: u64,
}

/// Opens all pages, for a call of the driver or a piece of work; `None` where the checks close none.
pub(crate) fn open() -> Option<OpenPages> {
    sanitizer().filter(|sanitizer| sanitizer.checks().has(Check::Race))?;
    let mut pages = pages();
    pages.tell();
    pages.busy += 1;
    for memory in &mut pages.memory {
        if std::mem::take(&mut memory.closed) {
            host_fault::open(&memory.range);
        }
    }
    Some(OpenPages { signals: pages.signals })
}

impl Drop for OpenPages {
    fn drop(&mut self) {
        let mut pages = pages();
        pages.busy -= 1;
        if pages.busy == 0 && !pages.ended.is_empty() && !fork::is_child() && host_fault::is_watching() {
            pages.close();
        }
    }
}

impl OpenPages {
    /// The pages that a piece of work has used.
    pub fn used(&self, touches: &Touches) -> Vec<UsedPages> {
        let mut memory: Vec<_> = pages().memory.iter().map(|memory| memory.range.clone()).collect();
        memory.sort_unstable_by_key(|range| range.start);
        touches.used_pages(&memory, host_fault::page_size())
    }

    /// A piece of work has ended, and is about to count as done.
    pub fn ended(self, mark: Mark, default: bool, touches: Touches, used: Vec<UsedPages>) {
        let signals = touches.may_signal_host(is_hosts);
        let mut pages = pages();
        if signals {
            pages.signal();
        } else if pages.signals == self.signals && !pages.memory.is_empty() {
            // Its shadow takes memory, and tells only of those pages.
            let kernels = touches.kernels().map(str::to_owned).collect();
            let touches = if used.is_empty() { Touches::default() } else { touches };
            pages.ended.push_back(Ended { mark, default, kernels, touches, used });
            let bytes =
                |ended: &VecDeque<Ended>| ended.iter().map(|ended| ended.touches.bytes()).sum::<usize>();
            while pages.ended.len() > MOST_WORK || pages.ended.len() > 1 && bytes(&pages.ended) > MOST_BYTES {
                pages.ended.pop_front();
            }
        }
    }
}

impl Pages {
    fn signal(&mut self) {
        self.signals += 1;
        self.ended.clear();
    }

    fn close(&mut self) {
        let mut left = MOST_CLOSED;
        for memory in &mut self.memory {
            let of_memory = |used: &&UsedPages| memory.range.contains(&used.pages.start);
            let used = || self.ended.iter().flat_map(|ended| &ended.used).filter(of_memory);
            // What one piece of work read and another wrote is closed to loads as well.
            let runs = used().filter(|used| !used.written).chain(used().filter(|used| used.written));
            for run in runs.take(MOST_RUNS.min(left)) {
                host_fault::close(&run.pages, run.written);
                memory.closed = true;
                left -= 1;
            }
        }
    }

    /// Tells of the accesses that were stopped.
    fn tell(&mut self) {
        for access in host_fault::take() {
            let told = |ended: &Ended| {
                let stream = (ended.mark.0, ended.default);
                sanitizer().is_some_and(|sanitizer| sanitizer.host_accessed(&access, &ended.touches, stream))
            };
            self.ended.iter().rev().any(told);
        }
    }
}

/// Tells of the accesses so far.
pub(crate) fn tell() {
    pages().tell();
}

/// Tells whether there is memory whose pages can be closed.
pub(crate) fn has_memory() -> bool {
    sanitizer().is_some() && !pages().memory.is_empty()
}

/// Tells whether memory is the host's, too.
fn is_hosts(address: u64) -> bool {
    memory().find(address).is_some_and(|found| found.device().is_none())
}

/// Memory was allocated that has its pages to itself.
pub(crate) fn allocated(address: u64, bytes: u64) {
    let range = address..address + bytes;
    if sanitizer().is_some_and(|sanitizer| sanitizer.checks().has(Check::Race)) {
        // The table's places are chosen under this lock.
        let mut pages = pages();
        if host_fault::watch(&range) {
            pages.memory.push(WatchedMemory { range, closed: false });
        }
    }
}

/// Memory is about to be freed; another mapping may then have its addresses.
pub(crate) fn freed(address: u64) {
    if sanitizer().is_none() {
        return;
    }
    let mut pages = pages();
    if let Some(at) = pages.memory.iter().position(|memory| memory.range.start == address) {
        let WatchedMemory { range, closed } = pages.memory.swap_remove(at);
        if closed {
            host_fault::open(&range);
        }
        host_fault::unwatch(&range);
        for ended in &mut pages.ended {
            ended.used.retain(|used| !range.contains(&used.pages.start));
        }
    }
}

/// A stream has written a value for which the host may look.
pub(crate) fn signalled() {
    if has_memory() {
        pages().signal();
    }
}

/// The host has waited for some work, which may have heard of all other.
pub(crate) fn waited() {
    pages().signal();
}

/// The host is about to free pinned memory, in a call that waits.
pub(crate) fn frees(address: u64) {
    let Some(sanitizer) = sanitizer() else { return };
    for Ended { mark, default, touches, .. } in &pages().ended {
        if sanitizer.host_frees_early(address, touches, (mark.0, *default)) {
            return;
        }
    }
}

/// Kernels that have ended and that the host has not waited for, by their names in the PTX.
pub(crate) fn not_awaited() -> Vec<String> {
    let pages = pages();
    pages.ended.iter().flat_map(|ended| &ended.kernels).cloned().collect()
}
