//! Races across streams: two pieces of work that touch the same bytes, one of them writes, and neither an event nor a
//! wait of the host orders the two.
//!
//! Who issues work says what comes before it ([`Work`]); what it touches is the shadow of its launches and the ranges of
//! its copies. That is kept as long as something may still be issued that does not come after it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::finding::{Check, Finding, Object, Severity, Site};
use crate::objects::Objects;
use crate::observer::Launched;
use crate::race::{GlobalRaces, words};
use crate::shadow::Stamp;

/// For each stream, the last piece of its work that comes before.
pub type Before = BTreeMap<usize, u64>;

/// A piece of work that a stream does.
#[derive(Debug, Clone)]
pub struct Work {
    /// The context: work of two of them is not compared.
    pub queue: usize,
    /// The stream; 0 for what the host does itself.
    pub stream: usize,
    /// Its number; those of one stream grow.
    pub ticket: u64,
    /// What comes before it, of other streams.
    pub before: Arc<Before>,
}

impl Work {
    fn comes_after(&self, other: &Work) -> bool {
        self.queue != other.queue
            || self.stream == other.stream
            || self.before.get(&other.stream).is_some_and(|&ticket| ticket >= other.ticket)
    }

    fn place(&self) -> String {
        match self.stream {
            0 => "in a call that waits".to_owned(),
            1 => "on the default stream".to_owned(),
            stream => format!("on stream {stream:#x}"),
        }
    }
}

/// What work touched.
#[derive(Debug)]
enum Touched {
    Kernel { launched: Arc<Launched>, races: Arc<Mutex<GlobalRaces>> },
    Bytes { what: &'static str, address: u64, bytes: u64, write: bool },
}

#[derive(Debug)]
struct Done {
    work: Work,
    touched: Vec<Touched>,
}

/// Work that was done and that later work may clash with.
#[derive(Debug, Default)]
pub(crate) struct Streams(VecDeque<Done>);

/// Pieces of work that are kept; of more the oldest are dropped.
const MOST: usize = 256;
/// Bytes of their shadows, likewise.
const MOST_BYTES: usize = 512 << 20;

thread_local! {
    /// What the thread's current piece of work has touched.
    static TOUCHED: RefCell<Option<Vec<Touched>>> = const { RefCell::new(None) };
}

fn touch(touched: impl FnOnce() -> Touched) {
    TOUCHED.with_borrow_mut(|current| {
        if let Some(current) = current {
            current.push(touched());
        }
    });
}

/// A launch has ended.
pub(crate) fn launched(launched: &Arc<Launched>, races: &Arc<Mutex<GlobalRaces>>) {
    touch(|| Touched::Kernel { launched: launched.clone(), races: races.clone() });
}

/// Bytes were copied, filled or freed.
pub(crate) fn bytes(what: &'static str, address: u64, bytes: u64, write: bool) {
    touch(|| Touched::Bytes { what, address, bytes, write });
}

/// Does a piece of work, and tells what it touched.
pub(crate) fn watch<T>(run: impl FnOnce() -> T) -> (T, Touches) {
    TOUCHED.set(Some(Vec::new()));
    let result = run();
    (result, Touches(TOUCHED.take().unwrap_or_default()))
}

/// See [`watch`].
pub(crate) struct Touches(Vec<Touched>);

impl Streams {
    /// Forgets what nothing can clash with any more.
    pub fn forget(&mut self, over: impl Fn(&Work) -> bool) {
        self.0.retain(|done| !over(&done.work));
    }

    /// Memory is given out anew: what was done to those bytes is over.
    pub fn allocated(&mut self, start: u64, size: u64) {
        for touched in self.0.iter_mut().flat_map(|done| &mut done.touched) {
            match touched {
                Touched::Kernel { races, .. } => lock(races).shadow.forget_range(start, size),
                Touched::Bytes { address, bytes, .. } if overlap((*address, *bytes), (start, size)) => {
                    *bytes = 0
                }
                Touched::Bytes { .. } => {}
            }
        }
    }

    /// A piece of work is done: what it clashes with.
    pub fn done(&mut self, work: Work, touches: Touches, objects: &Objects) -> Vec<Finding> {
        let done = Done { work, touched: touches.0 };
        let mut found = Vec::new();
        if done.touched.is_empty() {
            return found;
        }
        for earlier in &self.0 {
            if done.work.comes_after(&earlier.work) || earlier.work.comes_after(&done.work) {
                continue;
            }
            // Work that talks through atomics or volatile accesses has an order of its own.
            let pairs = || done.touched.iter().flat_map(|a| earlier.touched.iter().map(move |b| (a, b)));
            let clashes: Vec<_> = pairs().map(|(a, b)| clash(a, b)).collect();
            if clashes.iter().any(|clash| matches!(clash, Clash::Talk)) {
                continue;
            }
            for ((a, b), clash) in pairs().zip(clashes) {
                if let Clash::Race { address, words, sides } = clash {
                    found.push(finding(
                        (&done.work, a),
                        (&earlier.work, b),
                        objects.global(address),
                        words,
                        sides,
                    ));
                }
            }
        }
        self.0.push_back(done);
        while self.0.len() > MOST || self.0.len() > 1 && self.bytes() > MOST_BYTES {
            self.0.pop_front();
        }
        found
    }

    fn bytes(&self) -> usize {
        let of = |touched: &Touched| match touched {
            Touched::Kernel { races, .. } => lock(races).bytes(),
            Touched::Bytes { .. } => 0,
        };
        self.0.iter().flat_map(|done| &done.touched).map(of).sum()
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
    Talk,
    Race {
        address: u64,
        words: u64,
        sides: [SideOf; 2],
    },
}

/// Keeps the clash at the lowest address: the same work always gives the same report.
fn lowest(first: &mut Option<(u64, [SideOf; 2])>, address: u64, sides: [SideOf; 2]) {
    if first.is_none_or(|(at, _)| address < at) {
        *first = Some((address, sides));
    }
}

fn clash(a: &Touched, b: &Touched) -> Clash {
    match (a, b) {
        (
            &Touched::Bytes { address, bytes, write, .. },
            &Touched::Bytes { address: other, bytes: others, write: writes, .. },
        ) => {
            if (write || writes) && overlap((address, bytes), (other, others)) {
                let sides = [(write, None), (writes, None)];
                Clash::Race { address: address.max(other), words: 1, sides }
            } else {
                Clash::Nothing
            }
        }
        (Touched::Kernel { races, .. }, &Touched::Bytes { address, bytes, write, .. }) => {
            with_bytes(&lock(races), (address, bytes), write)
        }
        (&Touched::Bytes { address, bytes, write, .. }, Touched::Kernel { races, .. }) => {
            match with_bytes(&lock(races), (address, bytes), write) {
                Clash::Race { address, words, sides: [kernel, copy] } => {
                    Clash::Race { address, words, sides: [copy, kernel] }
                }
                other => other,
            }
        }
        (Touched::Kernel { races: a, .. }, Touched::Kernel { races: b, .. }) => {
            // One launch's shadow is never both sides: a piece of work comes after itself.
            let (a, b) = (&*lock(a), &*lock(b));
            let mut first: Option<(u64, [SideOf; 2])> = None;
            let mut count = 0;
            for page in a.shadow.pages().filter(|&page| b.shadow.has_page(page)) {
                for word in crate::shadow::words_of(page) {
                    let both = || {
                        let others = move |x| b.shadow.stamps(word).map(move |y| (x, y));
                        a.shadow.stamps(word).flat_map(others)
                    };
                    let meet =
                        |x: &Stamp, y: &Stamp| x.bytes() & y.bytes() != 0 && (x.writes() || y.writes());
                    let clashes = both().filter(|(x, y)| meet(x, y));
                    let mut here = false;
                    for (x, y) in clashes {
                        if x.is_strong() && y.is_strong() {
                            // Two that only add to a place need no order; one that waits for the other has it.
                            if !(x.writes() && y.writes()) {
                                return Clash::Talk;
                            }
                            continue;
                        }
                        here = true;
                        lowest(&mut first, word * 4, [(x.writes(), Some(x)), (y.writes(), Some(y))]);
                    }
                    count += u64::from(here);
                }
            }
            match first {
                Some((address, sides)) => Clash::Race { address, words: count, sides },
                None => Clash::Nothing,
            }
        }
    }
}

fn with_bytes(kernel: &GlobalRaces, (address, bytes): (u64, u64), write: bool) -> Clash {
    let mut first = None;
    let mut count = 0;
    if bytes == 0 {
        return Clash::Nothing;
    }
    let (low, high) = (address / 4, (address + bytes - 1) / 4);
    for page in kernel.shadow.pages() {
        for word in crate::shadow::words_of(page).filter(|word| (low..=high).contains(word)) {
            let mask = words(address.max(word * 4), 4.min(address + bytes - address.max(word * 4)))
                .find(|(at, _)| *at == word)
                .map_or(0, |(_, mask)| u32::from(mask));
            let mut here = false;
            for stamp in kernel.shadow.stamps(word) {
                if stamp.bytes() & mask == 0 || !(write || stamp.writes()) {
                    continue;
                }
                if stamp.is_strong() && write {
                    return Clash::Talk;
                }
                here = true;
                lowest(&mut first, word * 4, [(stamp.writes(), Some(stamp)), (write, None)]);
            }
            count += u64::from(here);
        }
    }
    match first {
        Some((address, sides)) => Clash::Race { address, words: count, sides },
        None => Clash::Nothing,
    }
}

fn finding(
    later: (&Work, &Touched),
    earlier: (&Work, &Touched),
    object: Object,
    count: u64,
    [side, other]: [SideOf; 2],
) -> Finding {
    let say = |(work, touched): (&Work, &Touched), write: bool| {
        let verb = if write { "writes" } else { "reads" };
        match touched {
            Touched::Kernel { launched, .. } => {
                format!("kernel `{}` {} {verb}", launched.kernel, work.place())
            }
            Touched::Bytes { what, .. } => format!("{what} {} {verb}", work.place()),
        }
    };
    let site = |touched: &Touched, (write, stamp): SideOf| match (touched, stamp) {
        (Touched::Kernel { launched, .. }, Some(stamp)) => {
            let (block, thread) =
                (launched.shape.block(stamp.block), launched.shape.thread(stamp.warp(), stamp.first()));
            let what = if write { "write" } else { "read" };
            Some(Site::new(what, block, thread, launched.code.location(stamp.pc)))
        }
        _ => None,
    };
    let kernel = [later.1, earlier.1].into_iter().find_map(|touched| match touched {
        Touched::Kernel { launched, .. } => Some(launched.kernel.clone()),
        Touched::Bytes { .. } => None,
    });
    Finding {
        check: Check::Race,
        severity: Severity::Error,
        message: format!(
            "race across streams: {} what {}, and nothing orders the two",
            say(later, side.0),
            say(earlier, other.0)
        ),
        kernel: kernel.unwrap_or_default(),
        object: Some(object),
        sites: [site(later.1, side), site(earlier.1, other)].into_iter().flatten().collect(),
        help: "record an event behind the first and let the other stream wait for it, or wait for the first stream on \
               the host",
        count,
    }
}
