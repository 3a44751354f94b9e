//! What a check found, and how equal findings are counted as one.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use virtual_gpu::{Location, SourceFrame};

use crate::checks::Check;
use crate::mend::Mend;
use crate::origin::HostSite;

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
    /// Where the host's code did it, of what the host did, as far as the program's symbols tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSite>,
    /// What usually mends it.
    pub help: Cow<'static, str>,
    /// How many times it was seen.
    pub count: u64,
    /// The seed of the schedule that showed it, for `WARPSMITH_SEED`; none in the plain order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// How messages begin that tell of races between launches, copies and nodes.
const BETWEEN: [&str; 3] = ["race across streams", "race between devices", "race in a graph"];

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

    /// Whether two pieces of work race, rather than two threads of one launch.
    fn is_of_several_launches(&self) -> bool {
        self.check == Check::Race && BETWEEN.iter().any(|between| self.message.starts_with(between))
    }

    /// Whether both tell of the same mistake, seen another time: by another launch, or under another schedule.
    pub fn is_again(&self, other: &Self) -> bool {
        if (self.check, &self.kernel) != (other.check, &other.kernel) {
            return false;
        }
        if self.is_of_several_launches() || other.is_of_several_launches() {
            return (&self.message, &self.sites) == (&other.message, &other.sites);
        }
        if self.check == Check::Race && self.is_at_same_lines(other) {
            return true;
        }
        fn name(finding: &Finding) -> Option<Option<&String>> {
            finding.object.as_ref().map(|object| object.name.as_ref())
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
        self.severity == other.severity
            && name(self) == name(other)
            && places(self).eq(places(other))
            // Without a place in a kernel only the message and the host's lines do.
            && (!self.sites.is_empty()
                || (&self.message, &self.host, allocated(self)) == (&other.message, &other.host, allocated(other)))
    }

    /// Counts another that tells of the same, keeps the graver of the two, and advises what mends both.
    pub fn take_in(&mut self, mut other: Finding) {
        let count = self.count + other.count;
        let mend = Mend::of_help(&self.help).max(Mend::of_help(&other.help));
        if other.severity > self.severity {
            std::mem::swap(self, &mut other);
        }
        self.count = count;
        if mend > Mend::None {
            self.help = mend.help().into();
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
        for (key, finding) in self.list {
            let same = told.iter_mut().find(|(before, known)| {
                (before.kind == key.kind || key.check == Check::Race) && known.is_at_same_lines(&finding)
            });
            let Some((before, known)) = same else {
                told.push((key, finding));
                continue;
            };
            before.mend = before.mend.max(key.mend);
            known.take_in(finding);
        }
        told.into_iter().map(|(_, finding)| finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race(mend: Mend, severity: Severity, line: u32) -> Finding {
        let frame = Frame { file: "my/kernel.cu".into(), line, column: 3, function: None };
        let site = |frame: Frame| Site {
            what: "write".into(),
            block: [0; 3],
            thread: [0; 3],
            ptx_line: 7,
            function: "k".into(),
            frames: vec![frame],
        };
        Finding {
            check: Check::Race,
            severity,
            message: format!("{mend:?}"),
            kernel: "k".into(),
            object: None,
            sites: vec![site(frame.clone()), site(frame)],
            host: None,
            help: mend.help().into(),
            count: 2,
            seed: None,
        }
    }

    #[test]
    fn what_another_launch_or_schedule_shows_again_is_one_finding_that_mends_both() {
        let mut all = Vec::new();
        add(&mut all, race(Mend::Warp, Severity::Warning, 7));
        add(&mut all, race(Mend::Block, Severity::Error, 7));
        add(&mut all, race(Mend::Warp, Severity::Error, 7));
        add(&mut all, race(Mend::Warp, Severity::Error, 8));
        let [first, second] = &all[..] else { panic!("{all:#?}") };
        assert_eq!((first.count, first.severity, first.message.as_str()), (6, Severity::Error, "Block"));
        assert!(first.help.contains("sync_threads") && second.help.contains("sync_warp"), "{all:#?}");
    }

    #[test]
    fn without_source_lines_those_of_the_ptx_tell_two_apart() {
        let of = |ptx_line: u32| {
            let mut finding = race(Mend::None, Severity::Error, 7);
            finding.check = Check::Memory;
            finding.sites.iter_mut().for_each(|site| (site.ptx_line, site.frames) = (ptx_line, Vec::new()));
            finding
        };
        assert!(of(7).is_again(&of(7)) && !of(7).is_again(&of(8)));
    }
}
