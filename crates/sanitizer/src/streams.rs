//! Races across streams, of one device or of several: two pieces of work that touch the same bytes, one of them writes, and neither an event nor a
//! wait of the host orders the two.
//!
//! Who issues work says what comes before it ([`Issued`]); what it touches is the shadow of its launches and the ranges of
//! its copies. That is kept as long as something may still be issued that does not come after it.

mod host;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use crate::finding::{Action, Finding, Object, Site};
use crate::history::GlobalRaces;
use crate::kind::{Between, Kind, StreamName, Work, WorkConflict, WorkRace, WorkSide};
use crate::launched::Launched;
use crate::names::readable;
use crate::objects::Objects;
use crate::reached::words;
use crate::shadow::{Shadow, Stamp, mask_of};
pub use host::{HostAccess, UsedPages};

/// In place of a stream, for what the host does itself.
const HOST: usize = 0;

/// For each stream, the last piece of its work that comes before.
pub type Before = BTreeMap<usize, u64>;

/// A piece of work as a stream was given it: what does it, and what comes before.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The device that does it.
    pub device: u32,
    /// Whether the stream is its context's default stream.
    pub default: bool,
    /// The stream, by a number that no other has; 0 for what the host does itself.
    pub stream: usize,
    /// Its number; those of one stream grow.
    pub ticket: u64,
    /// Its predecessors in other streams.
    pub before: Arc<Before>,
}

/// In place of a device, for the nodes of a graph.
const IN_GRAPH: u32 = u32::MAX;

impl Issued {
    fn comes_after(&self, other: &Issued) -> bool {
        self.stream == other.stream
            || self.before.get(&other.stream).is_some_and(|&ticket| ticket >= other.ticket)
    }

    /// Whether the two run on different devices. What the host does is no device's.
    fn is_apart_from(&self, other: &Issued) -> bool {
        self.device != other.device && self.stream != HOST && other.stream != HOST
    }

    fn stream_name(&self) -> StreamName {
        match self.stream {
            _ if self.device == IN_GRAPH => StreamName::Node,
            HOST => StreamName::Host,
            _ if self.default => StreamName::Default,
            stream => StreamName::Stream(stream as u64),
        }
    }
}

/// Memory that work touched.
#[derive(Debug, Clone)]
enum Touched {
    Kernel {
        launched: Arc<Launched>,
        races: Arc<Mutex<GlobalRaces>>,
    },
    /// `word`: what each aligned word of them was filled with.
    Bytes {
        what: Work,
        address: u64,
        bytes: u64,
        write: bool,
        word: Option<u32>,
    },
}

impl Touched {
    /// Bytes of its shadow.
    fn bytes(&self) -> usize {
        match self {
            Touched::Kernel { races, .. } => lock(races).bytes(),
            Touched::Bytes { .. } => 0,
        }
    }
}

#[derive(Debug)]
struct Done {
    work: Issued,
    touched: Vec<Touched>,
}

impl Done {
    /// Whether it has kernels, none of which fences for all devices.
    fn lacks_fences(&self) -> bool {
        let kernels = self.touched.iter().filter_map(|touched| match touched {
            Touched::Kernel { races, .. } => Some(lock(races).orders_devices),
            Touched::Bytes { .. } => None,
        });
        let fences: Vec<bool> = kernels.collect();
        !fences.is_empty() && !fences.contains(&true)
    }
}

/// Work that was done and that later work may clash with.
#[derive(Debug, Default)]
pub(crate) struct Streams(VecDeque<Done>);

/// Pieces of work that are kept; of more the oldest are dropped.
const MOST: usize = 256;
/// Bytes of their shadows, likewise.
const MOST_BYTES: usize = 512 << 20;

thread_local! {
    /// Memory that the thread's current piece of work has touched. Never dropped: work may come while the thread ends.
    static TOUCHED: RefCell<ManuallyDrop<Option<Vec<Touched>>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

fn touch(touched: impl FnOnce() -> Touched) {
    TOUCHED.with_borrow_mut(|current| {
        if let Some(current) = &mut **current {
            current.push(touched());
        }
    });
}

/// A launch has ended.
pub(crate) fn launched(launched: &Arc<Launched>, races: &Arc<Mutex<GlobalRaces>>) {
    touch(|| Touched::Kernel { launched: launched.clone(), races: races.clone() });
}

/// Bytes were copied, filled or freed.
pub(crate) fn bytes(what: Work, address: u64, bytes: u64, write: bool) {
    touch(|| Touched::Bytes { what, address, bytes, write, word: None });
}

/// Bytes were filled with a value of 1, 2 or 4 bytes.
pub(crate) fn filled(address: u64, bytes: u64, value: &[u8]) {
    touch(|| {
        let word = match *value {
            [byte] => Some(u32::from(byte) * 0x0101_0101),
            [low, high] => Some(u32::from_le_bytes([low, high, low, high])),
            [a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d])),
            _ => None,
        };
        Touched::Bytes { what: Work::Fill, address, bytes, write: true, word }
    });
}

/// Does a piece of work, and returns its accesses, too.
pub(crate) fn watch<T>(run: impl FnOnce() -> T) -> (T, Touches) {
    let around = TOUCHED.replace(ManuallyDrop::new(Some(Vec::new())));
    let result = run();
    let touched = ManuallyDrop::into_inner(TOUCHED.replace(around));
    (result, Touches(touched.unwrap_or_default()))
}

/// Runs the nodes of a graph, and compares each with those before it that it does not come after. What they touched
/// counts for the graph as a whole, too.
pub(crate) fn graph(after: &[Vec<usize>], run: &mut dyn FnMut(usize), objects: &Objects) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut done: Vec<Done> = Vec::with_capacity(after.len());
    // By node: those that come before it, a bit each.
    let mut before: Vec<Vec<u64>> = Vec::with_capacity(after.len());
    for (node, direct) in after.iter().enumerate() {
        let mut all = vec![0; after.len().div_ceil(64)];
        for &earlier in direct.iter().filter(|&&earlier| earlier < node) {
            all.iter_mut().zip(&before[earlier]).for_each(|(all, before)| *all |= before);
            all[earlier / 64] |= 1 << (earlier % 64);
        }
        let (device, default) = (IN_GRAPH, false);
        let work = Issued { device, default, stream: node, ticket: 0, before: Arc::default() };
        let touched = watch(|| run(node)).1.0;
        let this = Done { work, touched };
        let unordered =
            done.iter().enumerate().filter(|(earlier, _)| all[earlier / 64] >> (earlier % 64) & 1 == 0);
        unordered.for_each(|(_, earlier)| compare(&this, earlier, objects, &mut found));
        done.push(this);
        before.push(all);
    }
    for touched in done.into_iter().flat_map(|done| done.touched) {
        touch(|| touched);
    }
    found
}

/// Memory that a piece of work touched.
#[derive(Debug, Clone, Default)]
pub struct Touches(Vec<Touched>);

impl Streams {
    /// Forgets what nothing can clash with any more.
    pub fn forget(&mut self, over: impl Fn(&Issued) -> bool) {
        self.0.retain(|done| !over(&done.work));
    }

    /// Memory is given out anew: what was done to those bytes is over.
    pub fn allocated(&mut self, start: u64, size: u64) {
        for touched in self.0.iter_mut().flat_map(|done| &mut done.touched) {
            match touched {
                Touched::Kernel { races, .. } => lock(races).shadow.forget_range(start, size),
                Touched::Bytes { address, bytes, .. } if overlap((*address, *bytes), (start, size)) => {
                    *bytes = 0;
                }
                Touched::Bytes { .. } => {}
            }
        }
    }

    /// A piece of work is done: what it clashes with.
    pub fn done(&mut self, work: Issued, touches: Touches, objects: &Objects) -> Vec<Finding> {
        let done = Done { work, touched: touches.0 };
        let mut found = Vec::new();
        if done.touched.is_empty() {
            return found;
        }
        for earlier in &self.0 {
            if done.work.comes_after(&earlier.work) || earlier.work.comes_after(&done.work) {
                continue;
            }
            compare(&done, earlier, objects, &mut found);
        }
        self.0.push_back(done);
        while self.0.len() > MOST || self.0.len() > 1 && self.bytes() > MOST_BYTES {
            self.0.pop_front();
        }
        found
    }

    fn bytes(&self) -> usize {
        self.0.iter().flat_map(|done| &done.touched).map(Touched::bytes).sum()
    }
}

/// Two pieces of work that nothing orders.
fn compare(done: &Done, earlier: &Done, objects: &Objects, found: &mut Vec<Finding>) {
    // Work that talks through atomics or volatile accesses has an order of its own; between devices it needs fences that
    // reach both, and a kernel without any has ordered nothing.
    let pairs = || done.touched.iter().flat_map(|a| earlier.touched.iter().map(move |b| (a, b)));
    let apart = done.work.is_apart_from(&earlier.work);
    let all = |how: How| pairs().map(|(a, b)| clash(a, b, how)).collect::<Vec<_>>();
    let mut clashes = all(How { apart, ignores_flags: false });
    let synchronised = clashes.iter().any(|clash| matches!(clash, Clash::Synchronised));
    if synchronised {
        if !(apart && [done, earlier].into_iter().any(Done::lacks_fences)) {
            return;
        }
        clashes = all(How { apart, ignores_flags: true });
    }
    for ((a, b), clash) in pairs().zip(clashes) {
        if let Clash::Race(race) = clash {
            let object = objects.global(race.address);
            found.push(finding((&done.work, a), (&earlier.work, b), object, race, synchronised));
        }
    }
}

fn lock(races: &Mutex<GlobalRaces>) -> std::sync::MutexGuard<'_, GlobalRaces> {
    races.lock().unwrap_or_else(PoisonError::into_inner)
}

fn overlap((a, bytes_a): (u64, u64), (b, bytes_b): (u64, u64)) -> bool {
    a < b.saturating_add(bytes_b) && b < a.saturating_add(bytes_a)
}

/// One side of a clash: whether it writes, and of a kernel which access.
type SideOf = (bool, Option<Stamp>);

enum Clash {
    Nothing,
    /// Both use a place as a flag.
    Synchronised,
    Race(Unordered),
}

/// Accesses of two pieces of work to the same bytes.
struct Unordered {
    address: u64,
    words: u64,
    sides: [SideOf; 2],
    /// Both only write, and the same.
    equal: bool,
    /// Both are atomic or volatile, and of a scope that ends at the device.
    narrow: bool,
}

/// Gathers the words at which two pieces of work clash.
#[derive(Default)]
struct Clashes {
    /// At the lowest address, where they differ and where they write the same: the same work always gives the same report.
    different: Option<(u64, [SideOf; 2])>,
    /// As `different`, of accesses whose scope is too narrow.
    narrow: Option<(u64, [SideOf; 2])>,
    equal: Option<(u64, [SideOf; 2])>,
    words: u64,
}

impl Clashes {
    fn add(&mut self, address: u64, sides: [SideOf; 2], equal: bool) {
        let strong = |(_, stamp): SideOf| stamp.is_some_and(|stamp| stamp.is_strong());
        let first = match equal {
            true => &mut self.equal,
            false if sides.into_iter().all(strong) => &mut self.narrow,
            false => &mut self.different,
        };
        if first.is_none_or(|(at, _)| address < at) {
            *first = Some((address, sides));
        }
    }

    fn over(self) -> Clash {
        let narrow = self.different.is_none() && self.narrow.is_some();
        let first = self.different.or(self.narrow);
        let equal = first.is_none();
        match first.or(self.equal) {
            Some((address, sides)) => {
                Clash::Race(Unordered { address, words: self.words, sides, equal, narrow })
            }
            None => Clash::Nothing,
        }
    }
}

/// How two pieces of work are compared.
#[derive(Clone, Copy)]
struct How {
    /// They ran on different devices.
    apart: bool,
    /// Flags that they have for each other order nothing.
    ignores_flags: bool,
}

fn clash(a: &Touched, b: &Touched, how: How) -> Clash {
    match (a, b) {
        (
            &Touched::Bytes { address, bytes, write, word, .. },
            &Touched::Bytes { address: other, bytes: others, write: writes, word: others_word, .. },
        ) => {
            if (write || writes) && overlap((address, bytes), (other, others)) {
                let sides = [(write, None), (writes, None)];
                let equal = write && writes && word.is_some() && word == others_word;
                Clash::Race(Unordered { address: address.max(other), words: 1, sides, equal, narrow: false })
            } else {
                Clash::Nothing
            }
        }
        (Touched::Kernel { races, .. }, &Touched::Bytes { address, bytes, write, word, .. }) => {
            with_bytes(&lock(races), (address, bytes), write, word, how)
        }
        (&Touched::Bytes { address, bytes, write, word, .. }, Touched::Kernel { races, .. }) => {
            match with_bytes(&lock(races), (address, bytes), write, word, how) {
                Clash::Race(race) => {
                    let [kernel, copy] = race.sides;
                    Clash::Race(Unordered { sides: [copy, kernel], ..race })
                }
                other => other,
            }
        }
        // A launch that a graph repeats is compared with itself.
        (Touched::Kernel { races: a, .. }, Touched::Kernel { races: b, .. }) if Arc::ptr_eq(a, b) => {
            Clash::Nothing
        }
        (Touched::Kernel { races: a, .. }, Touched::Kernel { races: b, .. }) => {
            between(&lock(a).shadow, &lock(b).shadow, how)
        }
    }
}

/// Two launches. Atomics whose scope ends at the device are not atomic for another one.
fn between(a: &Shadow, b: &Shadow, how: How) -> Clash {
    let mut clashes = Clashes::default();
    for word in a.pages().filter(|&page| b.has_page(page)).flat_map(crate::shadow::words_of) {
        let mut here = false;
        for (x, mine) in a.stamps(word) {
            for (y, theirs) in b.stamps(word) {
                let both = x.bytes() & y.bytes();
                if both == 0 || !(x.writes() || y.writes()) {
                    continue;
                }
                let meet = !how.apart || x.reaches_devices() && y.reaches_devices();
                if x.is_strong() && y.is_strong() && meet {
                    // Two that only add to a place need no order; one that waits for the other has it.
                    if !(how.ignores_flags || x.writes() && y.writes()) {
                        return Clash::Synchronised;
                    }
                    continue;
                }
                let plain = !x.is_strong() && !y.is_strong();
                let equal = plain && same_bytes(mine, theirs, both);
                clashes.add(word * 4, [(x.writes(), Some(x)), (y.writes(), Some(y))], equal);
                here = true;
            }
        }
        clashes.words += u64::from(here);
    }
    clashes.over()
}

/// Whether two values that were written are the same in these bytes.
fn same_bytes(a: Option<u32>, b: Option<u32>, bytes: u32) -> bool {
    a.zip(b).is_some_and(|(a, b)| (a ^ b) & mask_of(bytes) == 0)
}

fn with_bytes(
    kernel: &GlobalRaces,
    (address, bytes): (u64, u64),
    write: bool,
    word: Option<u32>,
    how: How,
) -> Clash {
    let mut clashes = Clashes::default();
    if bytes == 0 {
        return Clash::Nothing;
    }
    let (low, high) = (address / 4, (address + bytes - 1) / 4);
    for page in kernel.shadow.pages() {
        for at in crate::shadow::words_of(page).filter(|at| (low..=high).contains(at)) {
            let mask = words(address.max(at * 4), 4.min(address + bytes - address.max(at * 4)))
                .find(|(this, _)| *this == at)
                .map_or(0, |(_, mask)| u32::from(mask));
            let mut here = false;
            for (stamp, value) in kernel.shadow.stamps(at) {
                if stamp.bytes() & mask == 0 || !(write || stamp.writes()) {
                    continue;
                }
                if stamp.is_strong() && write {
                    if how.ignores_flags {
                        continue;
                    }
                    return Clash::Synchronised;
                }
                let equal = write && same_bytes(value, word, stamp.bytes() & mask);
                clashes.add(at * 4, [(stamp.writes(), Some(stamp)), (write, None)], equal);
                here = true;
            }
            clashes.words += u64::from(here);
        }
    }
    clashes.over()
}

/// `synchronised`: the two have flags for each other, and not the fences.
fn finding(
    later: (&Issued, &Touched),
    earlier: (&Issued, &Touched),
    object: Object,
    race: Unordered,
    synchronised: bool,
) -> Finding {
    let devices = later.0.is_apart_from(earlier.0);
    let side = |(work, touched): (&Issued, &Touched), writes: bool| WorkSide {
        what: match touched {
            Touched::Kernel { launched, .. } => Work::Kernel(readable(&launched.kernel)),
            Touched::Bytes { what, .. } => what.clone(),
        },
        stream: work.stream_name(),
        device: devices.then_some(work.device),
        writes,
    };
    let site = |touched: &Touched, (write, stamp): SideOf| match (touched, stamp) {
        (Touched::Kernel { launched, .. }, Some(stamp)) => {
            let (block, thread) =
                (launched.shape.block(stamp.block), launched.shape.thread(stamp.warp(), stamp.first()));
            let what = if write { Action::Write } else { Action::Read };
            Some(Site::new(what, block, thread, launched.code.location(stamp.pc)))
        }
        _ => None,
    };
    let kernel = [later.1, earlier.1].into_iter().find_map(|touched| match touched {
        Touched::Kernel { launched, .. } => Some(launched.kernel.as_str()),
        Touched::Bytes { .. } => None,
    });
    let found = Finding::new(Kind::WorkRace(WorkRace {
        between: match (later.0.device == IN_GRAPH, devices) {
            (true, _) => Between::Nodes,
            (_, true) => Between::Devices,
            _ => Between::Streams,
        },
        sides: [side(later, race.sides[0].0), side(earlier, race.sides[1].0)],
        why: match race {
            Unordered { narrow: true, .. } => WorkConflict::NarrowScope,
            _ if synchronised => WorkConflict::NoSystemFence,
            Unordered { equal: true, .. } => WorkConflict::Equal,
            _ => WorkConflict::Unordered,
        },
    }));
    Finding {
        object: Some(object),
        sites: [site(later.1, race.sides[0]), site(earlier.1, race.sides[1])].into_iter().flatten().collect(),
        count: race.words,
        ..found.in_kernel(kernel.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;
    use crate::shadow::{Asking, Spare, Touch};

    const BESIDE: How = How { apart: false, ignores_flags: false };
    const APART: How = How { apart: true, ignores_flags: false };

    /// The shadow of a launch in which one thread stored to word 5.
    fn stored(value: u32, bytes: u8) -> Shadow {
        let (mut shadow, clocks) = (Shadow::of_global(Spare::default()), Clocks::new(0, 32));
        let touch = Touch { write: true, ..Touch::default() };
        let stamp = Stamp::new(0, 1, 9, 0, (3, 3), touch).of_bytes(bytes);
        shadow.write(5, &Asking { stamp, floor: 0, clocks: &clocks }, Some(value));
        shadow
    }

    fn kind(clash: Clash) -> &'static str {
        match clash {
            Clash::Nothing => "nothing",
            Clash::Synchronised => "synchronised",
            Clash::Race(Unordered { equal: true, .. }) => "equal",
            Clash::Race(_) => "race",
        }
    }

    #[test]
    fn equal_stores_are_told_from_others() {
        assert_eq!(kind(between(&stored(7, 0xF), &stored(8, 0xF), BESIDE)), "race");
        assert_eq!(kind(between(&stored(7, 0xF), &stored(7, 0xF), BESIDE)), "equal");
        assert_eq!(
            kind(between(&stored(0x0107, 0x1), &stored(0x0207, 0x1), BESIDE)),
            "equal",
            "in the byte of both"
        );
        assert_eq!(kind(between(&stored(7, 0x1), &stored(7, 0x2), BESIDE)), "nothing");
        let fill = |word| Touched::Bytes { what: Work::Fill, address: 16, bytes: 16, write: true, word };
        assert_eq!(kind(clash(&fill(Some(0)), &fill(Some(0)), BESIDE)), "equal");
        assert_eq!(kind(clash(&fill(Some(0)), &fill(None), BESIDE)), "race");
    }

    /// The shadow of a launch in which one thread added to word 5 atomically.
    fn added(system: bool) -> Shadow {
        let (mut shadow, clocks) = (Shadow::of_global(Spare::default()), Clocks::new(0, 32));
        let touch = Touch { write: true, strong: true, wide: true, system, ..Touch::default() };
        let stamp = Stamp::new(0, 1, 9, 0, (3, 3), touch).of_bytes(0xF);
        shadow.write(5, &Asking { stamp, floor: 0, clocks: &clocks }, None);
        shadow
    }

    #[test]
    fn atomics_of_a_device_are_none_for_another() {
        let narrow = |clash| matches!(clash, Clash::Race(Unordered { narrow: true, .. }));
        for (a, b) in [(false, false), (false, true), (true, false)] {
            assert!(narrow(between(&added(a), &added(b), APART)), "{a} {b}");
            assert_eq!(kind(between(&added(a), &added(b), BESIDE)), "nothing");
        }
        assert_eq!(kind(between(&added(true), &added(true), APART)), "nothing");
        assert_eq!(kind(between(&added(true), &stored(7, 0xF), APART)), "race");
    }
}
