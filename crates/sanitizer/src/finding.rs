//! Findings of the checks, and how equal ones are counted as one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};

use serde::{Deserialize, Serialize};
use virtual_gpu::{Location, SourceFrame};

use crate::checks::Check;
use crate::cure::Cure;
use crate::kind::{Conflict, Decides, Kind, Severity};
use crate::names::readable;
use crate::origin::HostSite;

/// A source position, innermost frame first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// The inlined function, when known.
    pub function: Option<String>,
}

macro_rules! actions {
    ($($action:ident $words:literal)*) => {
        /// The thread's part in a finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Action {
            $(#[serde(rename = $words)] $action,)*
        }

        impl fmt::Display for Action {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Action::$action => $words,)*
                })
            }
        }
    };
}
actions! {
    Read "read"
    Write "write"
    Atomic "atomic"
    AtomicRead "atomic read"
    AtomicWrite "atomic write"
    VolatileRead "volatile read"
    VolatileWrite "volatile write"
    UnwrittenRead "read of memory that was never written"
    UnsetRegister "first use of a variable that was never set"
    AbsentLane "shuffle from a lane that does not execute it"
    UndefinedWrite "write of a value that was never written"
    NearbyWrite "latest write beside it"
    StoreOfAddress "stored the address"
    Access "access"
    Copy "copy"
    Use "use"
    Free "free"
    Call "call"
    Jump "jump"
    Trap "trap"
    Instruction "instruction"
    Wait "wait"
    Barrier "barrier"
    Bypass "went around it"
    Return "returned here"
    End "ended after this"
}

impl Action {
    pub(crate) fn writes(self) -> bool {
        matches!(self, Action::Write | Action::AtomicWrite | Action::VolatileWrite | Action::Atomic)
    }
}

/// One side of a finding: who did what, where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    pub what: Action,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    pub ptx_line: u32,
    /// Function of the PTX.
    pub function: String,
    /// Source frames.
    pub frames: Vec<Frame>,
}

impl Site {
    /// The innermost frame outside of libraries, or else the innermost one: the user's own line.
    pub fn place(&self) -> Option<&Frame> {
        self.frames.get(self.own())
    }

    /// Which of the frames that is.
    pub(crate) fn own(&self) -> usize {
        self.frames.iter().position(|frame| !is_library(&frame.file)).unwrap_or(0)
    }

    /// A site at a place in the program.
    pub fn new(what: Action, block: [u32; 3], thread: [u32; 3], location: Location) -> Self {
        let frame = |SourceFrame { file, line, column, function }| Frame {
            file,
            line,
            column,
            function: function.as_deref().map(readable),
        };
        Site {
            what,
            block,
            thread,
            ptx_line: location.ptx_line,
            function: readable(&location.function),
            frames: location.frames.into_iter().map(frame).collect(),
        }
    }
}

/// The innermost frame that is the user's, or else the innermost.
pub(crate) fn user_frame(frames: &[SourceFrame]) -> Option<&SourceFrame> {
    frames.iter().find(|frame| !is_library(&frame.file)).or(frames.first())
}

/// Whether a file is of our own libraries, of the languages', or of those that come with CUDA.
fn is_library(file: &str) -> bool {
    const FOLDERS: [&str; 13] = [
        "crates/blockwise/src/",
        "/include/cub/",
        "/include/cuda/",
        "/include/cooperative_groups",
        "/include/crt/",
        "/include/cuda_awbarrier",
        "/include/cuda_bf16",
        "/include/cuda_fp",
        "/include/cuda_pipeline",
        "/include/device_atomic_functions",
        "/include/sm_",
        "/include/texture_",
        "/cccl/",
    ];
    virtual_gpu::is_library(file) || FOLDERS.iter().any(|folder| file.contains(folder))
}

/// The object that was touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// `global`, `shared`, `local`, `const`.
    pub space: Cow<'static, str>,
    /// Its name, if it is a variable.
    pub name: Option<String>,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
    /// The byte that was touched, from its start; before it, the number wraps around.
    pub offset: u64,
    /// Bytes of the elements that the access takes it for, so that `offset` can be told as an index.
    pub element: Option<u32>,
    /// Where the host's code allocated it, as far as the program's symbols tell.
    pub allocated: Option<HostSite>,
}

impl Object {
    /// Whether both are one variable, or were allocated at one place.
    fn is(&self, other: &Self) -> bool {
        let place = |object: &Self| match &object.allocated {
            Some(_) => None,
            None => object.size,
        };
        (&self.space, &self.name, &self.allocated, place(self))
            == (&other.space, &other.name, &other.allocated, place(other))
    }
}

/// A line of the source, or of a function of the PTX that has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Line {
    pub file: String,
    pub line: u32,
}

impl Line {
    fn of(site: &Site) -> Self {
        match site.place() {
            Some(frame) => Line { file: frame.file.clone(), line: frame.line },
            None => Line { file: format!("PTX of {}", site.function), line: site.ptx_line },
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Something found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: Kind,
    /// Kernel, as the source names it; empty for what the host did.
    pub kernel: String,
    /// Its name in the PTX, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The object touched.
    pub object: Option<Object>,
    /// Where: the later access first, then the earlier one.
    pub sites: Vec<Site>,
    /// The lines of other sites that the same mistake was seen at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Vec<Line>>,
    /// Where the host's code did it, of what the host did, as far as the program's symbols tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSite>,
    /// The order of the two sides of a race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cure: Option<Cure>,
    /// How many times it was seen.
    pub count: u64,
    /// The seed of the schedule that showed it, for `WARPSMITH_SEED`; none in the plain order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Finding {
    /// A mistake seen once, at no place yet.
    pub fn new(kind: Kind) -> Self {
        Finding {
            kind,
            kernel: String::new(),
            symbol: None,
            object: None,
            sites: Vec::new(),
            also: Vec::new(),
            host: None,
            cure: None,
            count: 1,
            seed: None,
        }
    }

    /// The same in a kernel, by its name in the PTX.
    pub(crate) fn in_kernel(self, symbol: &str) -> Self {
        let kernel = readable(symbol);
        Finding { symbol: (kernel != symbol).then(|| symbol.to_owned()), kernel, ..self }
    }

    /// The tool that found it.
    pub fn check(&self) -> Check {
        self.kind.check()
    }

    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// The user's lines, in order; where the source has none, the PTX's.
    fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.sites.iter().map(Line::of).collect();
        lines.sort_unstable();
        lines
    }

    /// Whether both tell of one mistake: of one kind, at the same lines, about the same allocation. A race is also the same
    /// where one of its two lines is, if the same cure mends both: a missing barrier leaves many pairs of lines unordered.
    pub fn is_again(&self, other: &Self) -> bool {
        if discriminant(&self.kind) != discriminant(&other.kind) || self.kernel != other.kernel {
            return false;
        }
        if let (Kind::InvalidAccess(access), Kind::InvalidAccess(other)) = (&self.kind, &other.kind)
            && access.why != other.why
        {
            return false;
        }
        // Only lines join kernels that the source names alike, as instances of a template.
        let has_lines = |finding: &Self| {
            !finding.sites.is_empty() && finding.sites.iter().all(|site| site.place().is_some())
        };
        if self.symbol != other.symbol && !(has_lines(self) && has_lines(other)) {
            return false;
        }
        let (mine, others) = (self.lines(), other.lines());
        let one_object = || match (&self.object, &other.object) {
            (Some(object), Some(other)) => object.is(other),
            (object, other) => object.is_none() == other.is_none(),
        };
        match (&self.kind, &other.kind) {
            (Kind::Race { .. }, _) => {
                let known = || mine.iter().chain(self.also.iter().flatten());
                let meets = || known().any(|line| others.contains(line));
                mine == others || self.cure == other.cure && one_object() && meets()
            }
            (Kind::WorkRace(work), Kind::WorkRace(others_work)) => {
                let one_place = self.host.is_some() && self.host == other.host;
                work.is(others_work) && mine == others && (one_place || one_object())
            }
            // What left the value undefined is the mistake, and not each of its uses.
            (Kind::Undefined { .. }, _) if mine.len() == 2 && others.len() == 2 => {
                Line::of(&self.sites[1]) == Line::of(&other.sites[1]) && one_object()
            }
            (
                Kind::FailedCall { function, answer, .. },
                Kind::FailedCall { function: others_function, answer: others_answer, .. },
            ) if self.host.is_some() => {
                (function, answer, &self.host) == (others_function, others_answer, &other.host)
            }
            _ if !mine.is_empty() => mine == others && one_object(),
            (Kind::Leak, _) => one_object(),
            _ if self.host.is_some() => self.host == other.host,
            _ => self.kind == other.kind && one_object(),
        }
    }

    /// Counts another that tells of the same, keeps the graver of the two, and advises what mends both.
    pub fn take_in(&mut self, mut other: Finding) {
        let (count, cure) = (self.count + other.count, self.cure.max(other.cure));
        if other.severity() > self.severity() {
            std::mem::swap(self, &mut other);
        }
        (self.count, self.cure) = (count, cure);
        let own = self.lines();
        for lines in std::iter::once(other.lines()).chain(other.also) {
            if lines != own && !self.also.contains(&lines) {
                self.also.push(lines);
            }
        }
    }
}

/// Adds a finding to others, or counts it with the one that tells of the same.
pub fn add(findings: &mut Vec<Finding>, finding: Finding) {
    match findings.iter_mut().find(|known| known.is_again(&finding)) {
        Some(known) => known.take_in(finding),
        None => findings.push(finding),
    }
}

/// Findings of a block are the same when these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    kind: Discriminant<Kind>,
    /// Of a race.
    how: Option<(Conflict, Cure)>,
    /// Of an undefined value.
    decides: Option<Decides>,
    /// Instructions concerned.
    pcs: [u32; 2],
}

impl Key {
    /// Of a kind, whatever its numbers.
    pub fn of(kind: &Kind, pcs: [u32; 2]) -> Self {
        let decides = match kind {
            Kind::Undefined { decides } => Some(*decides),
            _ => None,
        };
        Key { kind: discriminant(kind), how: None, decides, pcs }
    }

    pub fn of_race(how: Conflict, cure: Cure, mut pcs: [u32; 2]) -> Self {
        pcs.sort_unstable();
        Key { how: Some((how, cure)), ..Key::of(&Kind::Race { how }, pcs) }
    }
}

/// Findings of a launch, counted.
#[derive(Debug, Default)]
pub struct Findings {
    places: HashMap<Key, usize>,
    list: Vec<(Key, Finding)>,
}

impl Findings {
    /// Counts a finding that was seen before; false if it is new.
    pub(crate) fn again(&mut self, key: &Key) -> bool {
        match self.places.get(key) {
            Some(&at) => {
                self.list[at].1.count += 1;
                true
            }
            None => false,
        }
    }

    /// Adds a finding that was not seen before.
    pub(crate) fn add(&mut self, key: Key, finding: Finding) {
        self.places.insert(key, self.list.len());
        self.list.push((key, finding));
    }

    /// Takes in the findings of a block.
    pub fn merge(&mut self, other: Findings) {
        for (key, finding) in other.list {
            match self.places.get(&key) {
                Some(&at) => self.list[at].1.count += finding.count,
                None => self.add(key, finding),
            }
        }
    }

    /// The findings, in the order in which they came.
    pub fn into_vec(self) -> Vec<Finding> {
        let mut told = Vec::new();
        self.list.into_iter().for_each(|(_, finding)| add(&mut told, finding));
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{Between, InvalidAccess, StreamName, Work, WorkConflict, WorkRace, WorkSide};

    fn at_line(finding: Finding, line: u32) -> Finding {
        let frame = Frame { file: "my/kernel.cu".into(), line, column: 3, function: None };
        let site = |frame: Frame| Site {
            what: Action::Write,
            block: [0; 3],
            thread: [0; 3],
            ptx_line: 7,
            function: "k".into(),
            frames: vec![frame],
        };
        Finding { kernel: "k".into(), sites: vec![site(frame.clone()), site(frame)], count: 2, ..finding }
    }

    fn shared(name: &str) -> Object {
        Object {
            space: "shared".into(),
            name: Some(name.into()),
            size: Some(64),
            offset: 0,
            element: None,
            allocated: None,
        }
    }

    fn race(cure: Cure, how: Conflict, line: u32) -> Finding {
        at_line(Finding { cure: Some(cure), ..Finding::new(Kind::Race { how }) }, line)
    }

    #[test]
    fn what_another_launch_or_schedule_shows_again_is_one_finding_that_mends_both() {
        let mut all = Vec::new();
        add(&mut all, race(Cure::Warp, Conflict::Equal, 7));
        add(&mut all, race(Cure::Block, Conflict::Unordered, 7));
        add(&mut all, race(Cure::Warp, Conflict::Unordered, 7));
        add(&mut all, race(Cure::Warp, Conflict::Unordered, 8));
        let [first, second] = &all[..] else { panic!("{all:#?}") };
        assert_eq!((first.count, first.severity()), (6, Severity::Error));
        assert_eq!((first.cure, second.cure), (Some(Cure::Block), Some(Cure::Warp)));
    }

    #[test]
    fn one_missing_barrier_is_one_finding_with_all_its_lines() {
        let between = |first: u32, second: u32, name: &str, cure| {
            let mut finding = race(cure, Conflict::Unordered, first);
            finding.sites[1].frames[0].line = second;
            finding.object = Some(shared(name));
            finding
        };
        let mut all = Vec::new();
        add(&mut all, between(7, 7, "s", Cure::Warp));
        add(&mut all, between(7, 8, "s", Cure::Warp));
        add(&mut all, between(9, 8, "s", Cure::Warp));
        add(&mut all, between(8, 9, "s", Cure::Warp));
        add(&mut all, between(7, 9, "t", Cure::Warp));
        add(&mut all, between(7, 10, "s", Cure::Atomic));
        let [first, ..] = &all[..] else { panic!("{all:#?}") };
        assert_eq!((all.len(), first.count), (3, 8), "{all:#?}");
        let also: Vec<Vec<u32>> =
            first.also.iter().map(|lines| lines.iter().map(|line| line.line).collect()).collect();
        assert_eq!(also, [[7, 8], [8, 9]], "{all:#?}");
    }

    #[test]
    fn buffers_of_one_place_are_one_mistake() {
        let allocated = |line| HostSite { function: None, file: Some("my/main.rs".into()), line };
        let leak = |line, size| {
            let object = Object {
                space: "global".into(),
                allocated: Some(allocated(line)),
                size: Some(size),
                ..shared("s")
            };
            Finding { object: Some(object), ..Finding::new(Kind::Leak) }
        };
        let mut all = Vec::new();
        for (line, size) in [(7, 4), (7, 8), (8, 4)] {
            add(&mut all, leak(line, size));
        }
        assert_eq!(all.iter().map(|leak| leak.count).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn what_one_line_of_the_host_does_to_work_is_one_mistake() {
        let frees = |line: u32, size| {
            let side = |what| WorkSide { what, stream: StreamName::Host, device: None, writes: true };
            let (between, why) = (Between::HostAndDevice, WorkConflict::AwaitedByCall);
            let race = WorkRace { between, sides: [side(Work::Free), side(Work::Copy)], why };
            let host = Some(HostSite { function: None, file: Some("my/main.rs".into()), line });
            let object = Some(Object { size: Some(size), ..shared("s") });
            Finding { host, object, ..Finding::new(Kind::WorkRace(race)) }
        };
        assert!(frees(7, 4).is_again(&frees(7, 8)) && !frees(7, 4).is_again(&frees(8, 8)));
    }

    #[test]
    fn without_source_lines_those_of_the_ptx_tell_two_apart() {
        let of = |ptx_line: u32| {
            let mut finding = at_line(Finding::new(Kind::InvalidAccess(InvalidAccess::default())), 7);
            finding.sites.iter_mut().for_each(|site| (site.ptx_line, site.frames) = (ptx_line, Vec::new()));
            finding
        };
        assert!(of(7).is_again(&of(7)) && !of(7).is_again(&of(8)));
    }
}
