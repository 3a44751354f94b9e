//! Memory, race, initialisation and barrier checks, as observers of the virtual GPU.
//!
//! [`Sanitizer`] lives as long as the program under test; each launch runs with the observer that
//! [`Sanitizer::launch`] makes, the host's own copies and allocations are told to it, and [`Sanitizer::findings`] gives
//! what was found.

mod api;
mod barrier;
mod carried;
mod checks;
mod clock;
mod cluster;
mod copies;
mod cure;
mod finding;
mod flow;
mod history;
mod init;
mod kind;
mod launched;
mod local_pointer;
mod memory;
mod names;
mod numbered;
mod objects;
mod observer;
mod origin;
mod outstanding;
mod pending_race;
mod place;
mod poison;
mod products;
mod race;
mod reached;
mod render;
mod report;
mod sarif;
mod shadow;
mod streams;
mod sync_object;
mod tool;
mod tools;
mod transactions;
mod watched;
mod wording;
mod written;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use checks::{Check, Checks, UnknownCheck, from_env};
pub use cure::Cure;
pub use finding::{Action, Finding, Findings, Frame, Line, Object, Site, add};
pub use kind::{
    Between, Cause, Conflict, Decides, Invalid, InvalidAccess, Kind, Others, Severity, StreamName, Work,
    WorkConflict, WorkRace, WorkSide,
};
pub use observer::{BlockCheck, LaunchCheck, Profiled};
pub use origin::HostSite;
pub use render::{Format, render, worded};
pub use streams::{Before, HostAccess, Issued, Touches, UsedPages};

use history::GlobalRaces;
use launched::Launched;
use objects::Objects;
use origin::Calls;
use shadow::Spare;
use streams::Streams;
use written::{Storer, Written};

/// Schedules that are worth their time: two show either order of all pairs, the others much of what comes in between, as
/// `tests/labelled/orders.rs` measures.
pub const SCHEDULES: u32 = 8;

/// The name of memory that the host pinned or shares with the device.
pub const HOST_MEMORY: &str = "host memory";

/// The checks of one program: what it allocated and wrote, and what was found.
#[derive(Debug)]
pub struct Sanitizer {
    checks: Checks,
    objects: Arc<Objects>,
    written: Arc<Mutex<Written>>,
    report: Arc<Mutex<Vec<Finding>>>,
    spare: Spare,
    streams: Mutex<Streams>,
    /// Whether a launch ended with a fault: its context is lost then, and frees nothing.
    faulted: Arc<AtomicBool>,
    launches: AtomicU64,
    /// Findings about what the host did.
    told: AtomicU64,
}

impl Sanitizer {
    /// With these checks on.
    pub fn new(checks: Checks) -> Self {
        Sanitizer {
            checks,
            objects: Arc::default(),
            written: Arc::new(Mutex::new(Written::of_global())),
            report: Arc::default(),
            spare: Spare::default(),
            streams: Mutex::default(),
            faulted: Arc::default(),
            launches: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    pub fn checks(&self) -> Checks {
        self.checks
    }

    /// How many launches there were so far.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// The observer for one launch.
    pub fn launch(&self) -> LaunchCheck {
        self.launches.fetch_add(1, Ordering::Relaxed);
        LaunchCheck {
            checks: self.checks,
            objects: self.objects.clone(),
            written: self.written.clone(),
            report: self.report.clone(),
            faulted: self.faulted.clone(),
            spread: Arc::default(),
            races: Arc::new(Mutex::new(GlobalRaces::new(self.spare.clone()))),
            spare: self.spare.clone(),
            teams: None,
            launch: None,
            findings: Findings::default(),
            block_bytes: 0,
        }
    }

    fn written(&self) -> std::sync::MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> std::sync::MutexGuard<'_, Vec<Finding>> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, finding: Finding) {
        self.told.fetch_add(1, Ordering::Relaxed);
        finding::add(&mut self.report(), finding);
    }

    /// The host allocated memory; what is in it is undefined. `name` for variables of a module, which are defined.
    pub fn host_allocated(&self, address: u64, bytes: u64, name: Option<&str>) {
        let by_program = name.is_none_or(|name| name == HOST_MEMORY);
        self.objects.allocated(address, bytes, name, by_program);
        if self.checks.has(Check::Race) {
            self.streams().allocated(address, bytes);
        }
        if self.checks.has(Check::Init) {
            self.written().set(address, bytes, name.is_some());
        }
    }

    /// The host is about to free memory in a call that does not wait.
    pub fn host_frees(&self, address: u64) {
        let object = self.objects.global(address);
        streams::bytes(Work::Free, address, object.size.unwrap_or(0), true);
    }

    /// The host freed memory.
    pub fn host_freed(&self, address: u64) {
        self.host_frees(address);
        self.objects.freed(address);
    }

    /// The host was refused a free.
    pub fn host_free_failed(&self, address: u64) {
        if !self.checks.has(Check::Memory) {
            return;
        }
        let kind = match self.objects.is_freed(address) {
            true => Kind::DoubleFree { address },
            false => Kind::InvalidFree { address },
        };
        let object = Some(self.objects.global(address));
        self.note(Finding { object, host: Calls::here().site(), ..Finding::new(kind) });
    }

    /// The host was refused a copy or fill of a range that is not all memory.
    pub fn host_went_beyond(&self, address: u64, bytes: u64) {
        if !self.checks.has(Check::Memory) {
            return;
        }
        let object = self.objects.global(address);
        let kind = Kind::HostOutside { bytes, freed: self.objects.is_freed(address) };
        let object = Some(object).filter(|object| object.size.is_some());
        self.note(Finding { object, host: Calls::here().site(), ..Finding::new(kind) });
    }

    /// A stream was given memory in its turn: uses on other streams must come after that.
    pub fn stream_took(&self, address: u64, bytes: u64) {
        streams::bytes(Work::Allocation, address, bytes, true);
    }

    /// The host wrote device memory.
    pub fn host_wrote(&self, address: u64, bytes: u64) {
        streams::bytes(Work::Write, address, bytes, true);
        self.host_defined(address, bytes);
    }

    /// The host filled device memory with a value of 1, 2 or 4 bytes.
    pub fn host_filled(&self, address: u64, bytes: u64, value: &[u8]) {
        streams::filled(address, bytes, value);
        self.host_defined(address, bytes);
    }

    fn host_defined(&self, address: u64, bytes: u64) {
        if self.checks.has(Check::Init) {
            self.written().set(address, bytes, true);
        }
    }

    /// The host copied within device memory.
    pub fn host_copied(&self, to: u64, from: u64, bytes: u64) {
        streams::bytes(Work::Copy, from, bytes, false);
        streams::bytes(Work::Copy, to, bytes, true);
        if !self.checks.has(Check::Init) {
            return;
        }
        let mut written = self.written();
        if written.first_missing(from, bytes).is_none() {
            return written.set(to, bytes, true);
        }
        for byte in 0..bytes {
            let defined = written.missing(from + byte, 1) == 0;
            written.set(to + byte, 1, defined);
        }
    }

    /// The host read device memory.
    pub fn host_read(&self, address: u64, bytes: u64) {
        streams::bytes(Work::CopyToHost, address, bytes, false);
        if !self.checks.has(Check::Init) {
            return;
        }
        let mut written = self.written();
        let Some(first) = written.first_missing(address, bytes) else { return };
        let padding = written.is_padding(address, bytes);
        let left = written.left_by(first);
        drop(written);
        let object = self.objects.global(first);
        // Who stored to another buffer has nothing to do with it.
        let start = first - object.offset;
        let left = left.filter(|(_, storer, _)| {
            storer.address >= start && object.size.is_none_or(|size| storer.address - start < size)
        });
        let kernel = left.as_ref().map_or("", |(launched, ..)| &launched.kernel);
        self.note(Finding {
            object: Some(object),
            sites: left
                .iter()
                .map(|(launched, storer, undefined)| store(launched, storer, *undefined))
                .collect(),
            ..Finding::new(Kind::UndefinedCopy { padding }).in_kernel(kernel)
        });
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a piece of a stream's work, and looks for work of other streams that it races with, if its order is known. Returns
    /// its accesses, too.
    pub fn work<T>(&self, work: Option<Issued>, run: impl FnOnce() -> T) -> (T, Touches) {
        if !self.checks.has(Check::Race) {
            return (run(), Touches::default());
        }
        let (result, touches) = streams::watch(run);
        if let Some(work) = work {
            let found = self.streams().done(work, touches.clone(), &self.objects);
            self.add(found);
        }
        (result, touches)
    }

    /// Runs the nodes of a graph, each of which comes after those named by its entry of `after` and those that they come
    /// after, and looks for races between nodes that nothing orders. `run` is given each node's number in turn.
    pub fn graph(&self, after: &[Vec<usize>], mut run: impl FnMut(usize)) {
        if !self.checks.has(Check::Race) {
            return (0..after.len()).for_each(run);
        }
        let found = streams::graph(after, &mut run, &self.objects);
        self.add(found);
    }

    fn add(&self, found: Vec<Finding>) {
        let mut report = self.report();
        found.into_iter().for_each(|finding| finding::add(&mut report, finding));
    }

    /// Forgets work that everything still to come comes after.
    pub fn work_is_over(&self, over: impl Fn(&Issued) -> bool) {
        self.streams().forget(over);
    }

    /// The program ends: what was not freed is a leak.
    pub fn program_ends(&self) {
        if !self.checks.has(Check::Memory) || self.faulted.load(Ordering::Relaxed) {
            return;
        }
        for address in self.objects.leaked() {
            self.note(Finding { object: Some(self.objects.global(address)), ..Finding::new(Kind::Leak) });
        }
    }

    /// Findings so far, in their order.
    pub fn findings(&self) -> Vec<Finding> {
        self.report().clone()
    }
}

/// The store of an undefined value, or the latest one beside what was never written.
fn store(launched: &Launched, storer: &Storer, undefined: bool) -> Site {
    let what = if undefined { Action::UndefinedWrite } else { Action::NearbyWrite };
    let (block, thread) =
        (launched.shape.block(storer.block), launched.shape.thread(storer.warp, storer.lane));
    Site::new(what, block, thread, launched.code.location(storer.pc))
}
