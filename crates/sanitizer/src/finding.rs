//! What a check found, and how equal findings are counted as one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};

use serde::{Deserialize, Serialize};
use virtual_gpu::{Location, SourceFrame};

use crate::checks::Check;
use crate::cure::Cure;
use crate::kind::{Conflict, Kind, Severity};
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

/// Something found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: Kind,
    /// Kernel, as the source names it; empty for what the host did.
    pub kernel: String,
    /// Its name in the PTX, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// What was touched.
    pub object: Option<Object>,
    /// Where: the later access first, then the earlier one.
    pub sites: Vec<Site>,
    /// Where the host's code did it, of what the host did, as far as the program's symbols tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSite>,
    /// What orders the two sides of a race.
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

    /// Whether both are of one tool and one kernel, at the same lines of the user's.
    fn is_at_same_lines(&self, other: &Self) -> bool {
        fn lines(finding: &Finding) -> Option<Vec<(&str, u32)>> {
            let places = finding.sites.iter().map(Site::place);
            let mut lines: Vec<_> =
                places.map(|place| Some((&*place?.file, place?.line))).collect::<Option<_>>()?;
            lines.sort_unstable();
            (!lines.is_empty()).then_some(lines)
        }
        self.check() == other.check()
            && self.kernel == other.kernel
            && lines(self).is_some_and(|mine| Some(mine) == lines(other))
    }

    /// Whether both tell of the same mistake, seen another time: by another launch, or under another schedule.
    pub fn is_again(&self, other: &Self) -> bool {
        if (self.check(), &self.kernel) != (other.check(), &other.kernel) {
            return false;
        }
        if matches!(self.kind, Kind::WorkRace(_)) || matches!(other.kind, Kind::WorkRace(_)) {
            return (&self.kind, &self.sites) == (&other.kind, &other.sites);
        }
        if self.check() == Check::Race && self.is_at_same_lines(other) {
            return true;
        }
        fn name(finding: &Finding) -> Option<(Option<&String>, Option<u64>)> {
            finding.object.as_ref().map(|object| (object.name.as_ref(), object.size))
        }
        fn allocated(finding: &Finding) -> Option<&HostSite> {
            finding.object.as_ref()?.allocated.as_ref()
        }
        // Without source lines, those of the PTX tell them apart.
        fn places(finding: &Finding) -> impl Iterator<Item = (&[Frame], &str, u32)> {
            finding.sites.iter().map(|site| match site.frames.is_empty() {
                true => (&[][..], &*site.function, site.ptx_line),
                false => (&*site.frames, "", 0),
            })
        }
        self.severity() == other.severity()
            && name(self) == name(other)
            && places(self).eq(places(other))
            // Without a place in a kernel only what happened and the host's lines do.
            && (!self.sites.is_empty()
                || (&self.kind, &self.host, allocated(self)) == (&other.kind, &other.host, allocated(other)))
    }

    /// Counts another that tells of the same, keeps the graver of the two, and advises what mends both.
    pub fn take_in(&mut self, mut other: Finding) {
        let count = self.count + other.count;
        let cure = self.cure.max(other.cure);
        if other.severity() > self.severity() {
            std::mem::swap(self, &mut other);
        }
        (self.count, self.cure) = (count, cure);
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
    /// Instructions concerned.
    pcs: [u32; 2],
}

impl Key {
    /// Of a kind, whatever its numbers.
    pub fn of(kind: &Kind, pcs: [u32; 2]) -> Self {
        Key { kind: discriminant(kind), how: None, pcs }
    }

    pub fn of_race(how: Conflict, cure: Cure, mut pcs: [u32; 2]) -> Self {
        pcs.sort_unstable();
        Key { kind: discriminant(&Kind::Race { how }), how: Some((how, cure)), pcs }
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

    /// The findings, in the order in which they came, one for a pair of the user's lines: a compiler copies a line as often
    /// as it unrolls the loop around it, and what one barrier would mend is often both kinds of a race.
    pub fn into_vec(self) -> Vec<Finding> {
        let mut told: Vec<Finding> = Vec::new();
        for (_, finding) in self.list {
            let alike = |known: &Finding| {
                finding.check() == Check::Race || discriminant(&known.kind) == discriminant(&finding.kind)
            };
            match told.iter_mut().find(|known| alike(known) && known.is_at_same_lines(&finding)) {
                Some(known) => known.take_in(finding),
                None => told.push(finding),
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::InvalidAccess;

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
    fn without_source_lines_those_of_the_ptx_tell_two_apart() {
        let of = |ptx_line: u32| {
            let mut finding = at_line(Finding::new(Kind::InvalidAccess(InvalidAccess::default())), 7);
            finding.sites.iter_mut().for_each(|site| (site.ptx_line, site.frames) = (ptx_line, Vec::new()));
            finding
        };
        assert!(of(7).is_again(&of(7)) && !of(7).is_again(&of(8)));
    }
}
