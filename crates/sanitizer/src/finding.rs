//! What a check found, and how equal findings are counted as one.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use virtual_gpu::{Location, profiler};

use crate::checks::Check;
use crate::origin::HostSite;
use crate::race::Mend;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Undefined, yet the outcome may be the same: a race of equal values.
    Warning,
    /// Wrong.
    Error,
}

/// A source position, innermost frame first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// The inlined function, when known.
    pub function: Option<String>,
}

/// One side of a finding: who did what, where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// `write`, `read`, `atomic`, `barrier` …
    pub what: Cow<'static, str>,
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
    pub fn new(what: &'static str, block: [u32; 3], thread: [u32; 3], location: Location) -> Self {
        let frames = location
            .frames
            .into_iter()
            .map(|f| Frame { file: f.file, line: f.line, column: f.column, function: f.function })
            .collect();
        Site {
            what: what.into(),
            block,
            thread,
            ptx_line: location.ptx_line,
            function: location.function,
            frames,
        }
    }
}

/// Whether a file is of our own libraries, of the languages', or of those that come with CUDA.
fn is_library(file: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        "crates/blockwise/src/",
        "/registry/src/",
        "/include/cub/",
        "/include/cuda/",
        "/include/cooperative_groups",
        "/include/crt/",
        "/cccl/",
    ];
    profiler::is_library(file) || FOLDERS.iter().any(|folder| file.contains(folder))
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
    /// The byte that was touched, from its start.
    pub offset: u64,
    /// Bytes of the elements that the access takes it for, so that `offset` can be told as an index.
    pub element: Option<u32>,
    /// Where the host's code allocated it, as far as the program's symbols tell.
    pub allocated: Option<HostSite>,
}

/// Something found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Tool.
    pub check: Check,
    pub severity: Severity,
    /// One line: what happened.
    pub message: String,
    /// Kernel; empty for what the host did.
    pub kernel: String,
    /// What was touched.
    pub object: Option<Object>,
    /// Where: the later access first, then the earlier one.
    pub sites: Vec<Site>,
    /// What usually mends it.
    pub help: Cow<'static, str>,
    /// How many times it was seen.
    pub count: u64,
    /// The seed of the schedule that showed it, for `WARPSMITH_SEED`; none in the plain order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Finding {
    /// Whether both are of one tool and one kernel, at the same lines of the user's.
    fn is_at_same_lines(&self, other: &Self) -> bool {
        fn lines(finding: &Finding) -> Option<Vec<(&str, u32)>> {
            let places = finding.sites.iter().map(Site::place);
            let mut lines: Vec<_> =
                places.map(|place| Some((&*place?.file, place?.line))).collect::<Option<_>>()?;
            lines.sort_unstable();
            (!lines.is_empty()).then_some(lines)
        }
        self.check == other.check
            && self.kernel == other.kernel
            && lines(self).is_some_and(|mine| Some(mine) == lines(other))
    }

    /// Whether both tell of the same mistake, seen another time.
    pub fn is_again(&self, other: &Self) -> bool {
        self.check == other.check
            && self.severity == other.severity
            && self.kernel == other.kernel
            && self.object.as_ref().map(|object| &object.name) == other.object.as_ref().map(|object| &object.name)
            && (self.sites.iter().map(|site| &site.frames).eq(other.sites.iter().map(|site| &site.frames))
                || self.check == Check::Race && self.is_at_same_lines(other))
            // Without a place in the program only the message tells them apart.
            && (!self.sites.is_empty() || self.message == other.message)
    }
}

/// Findings are the same when tool, message, instructions and what mends them are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Tool.
    pub check: Check,
    /// What happened, without the numbers of this time.
    pub kind: &'static str,
    /// Instructions concerned.
    pub pcs: [u32; 2],
    /// What mends a race.
    pub mend: Mend,
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
        self.places.insert(key.clone(), self.list.len());
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
        let mut told: Vec<(Key, Finding)> = Vec::new();
        for (key, mut finding) in self.list {
            let same = told.iter_mut().find(|(before, known)| {
                (before.kind == key.kind || key.check == Check::Race) && known.is_at_same_lines(&finding)
            });
            let Some((before, known)) = same else {
                told.push((key, finding));
                continue;
            };
            let count = known.count + finding.count;
            if finding.severity > known.severity {
                std::mem::swap(known, &mut finding);
            }
            known.count = count;
            if key.mend > before.mend {
                before.mend = key.mend;
                known.help = key.mend.help().into();
            }
        }
        told.into_iter().map(|(_, finding)| finding).collect()
    }
}
