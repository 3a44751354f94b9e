//! A project's kernels as PTX, one module for each feature level, and which of them a device admits.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::error::Error;
use crate::fingerprint;
use crate::limits::Limits;

/// The kernels of one feature level, compiled for its architecture.
#[derive(Clone, Copy)]
pub struct Level {
    target: Target,
    ptx: &'static str,
}

/// The architecture that PTX is for: `sm_90a` is 90 and `a`.
#[derive(Clone, Copy)]
struct Target {
    number: u32,
    /// `a`: this capability only. `f`: this one and higher ones of its family. 0: this one and all higher
    /// ones.
    suffix: u8,
}

impl Target {
    /// Reads the directive `.target`, which is among the first lines.
    const fn of(ptx: &str) -> Self {
        const DIRECTIVE: &[u8] = b".target sm_";
        let text = ptx.as_bytes();
        let mut start = 0;
        while start + DIRECTIVE.len() < text.len() {
            let mut same = 0;
            while same < DIRECTIVE.len() && text[start + same] == DIRECTIVE[same] {
                same += 1;
            }
            if same == DIRECTIVE.len() {
                let (mut at, mut number) = (start + same, 0);
                while at < text.len() && text[at].is_ascii_digit() {
                    number = number * 10 + (text[at] - b'0') as u32;
                    at += 1;
                }
                let suffix = if at < text.len() && text[at].is_ascii_lowercase() { text[at] } else { 0 };
                return Self { number, suffix };
            }
            start += 1;
        }
        panic!("this is no PTX: it has no line `.target sm_`");
    }
}

impl Level {
    /// A module whose `.target` says what it needs.
    pub const fn new(ptx: &'static str) -> Self {
        Self { target: Target::of(ptx), ptx }
    }

    /// The architecture's name, as the compiler has it: `compute_90a`.
    pub fn arch(&self) -> String {
        let Target { number, suffix } = self.target;
        let suffix = (suffix != 0).then_some(char::from(suffix));
        format!("compute_{number}{}", suffix.map_or(String::new(), String::from))
    }

    /// The PTX.
    pub fn ptx(&self) -> &'static str {
        self.ptx
    }

    /// The compute capability that it needs, at least or exactly.
    pub fn capability(&self) -> (u32, u32) {
        (self.target.number / 10, self.target.number % 10)
    }

    /// Why a device of this capability cannot run the module; `None` if it can.
    pub fn refusal(&self, capability: (u32, u32)) -> Option<String> {
        let needed = self.capability();
        let (admitted, only) = match self.target.suffix {
            b'a' => (capability == needed, "exactly"),
            b'f' => (capability.0 == needed.0 && capability.1 >= needed.1, "the family of"),
            _ => (capability >= needed, "at least"),
        };
        (!admitted).then(|| {
            format!(
                "{} needs {only} compute capability {}.{}, the device has {}.{}",
                self.arch(),
                needed.0,
                needed.1,
                capability.0,
                capability.1
            )
        })
    }

    /// The module with this entry alone, so that the driver need not compile the others to launch one kernel.
    pub fn alone(&self, kernel: &str) -> String {
        alone(self.ptx, kernel)
    }
}

/// A module with one of its entries alone.
pub fn alone(ptx: &str, kernel: &str) -> String {
    let (mut alone, mut rest) = (String::new(), ptx);
    while let Some(start) = rest.find(ENTRY) {
        let (before, entry) = rest.split_at(start);
        let (entry, after) = entry.split_at(end_of_body(entry));
        let name = entry[ENTRY.len()..].split('(').next().unwrap_or_default();
        alone.push_str(before);
        if name.trim() == kernel {
            alone.push_str(entry);
        }
        rest = after;
    }
    alone + rest
}

/// The modules of one crate, lowest level first: a kernel is in one of them, and all devices that the crate supports admit the
/// first.
///
/// A static of the crate that embeds the PTX:
///
/// ```ignore
/// static LEVELS: Levels = Levels::new(&[
///     Level::new(include_str!(concat!(env!("OUT_DIR"), "/kernels_compute_75.ptx"))),
///     Level::new(include_str!(concat!(env!("OUT_DIR"), "/kernels_compute_90a.ptx"))),
/// ]);
/// ```
pub struct Levels {
    levels: &'static [Level],
    /// The kernels of each, found when they are first asked for.
    indices: OnceLock<Box<[OnceLock<Index>]>>,
}

/// A kernel in the PTX.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The level that has it.
    pub level: &'static Level,
    /// Its name and its parameters, as Warpsmith's own parser reads them; without its body.
    pub signature: &'a ptx::Function,
    /// Its fingerprint, if it is one without `unsafe`.
    pub fingerprint: Option<&'static str>,
}

/// A module's kernels, by name. The text is searched, not parsed: modules have tens of megabytes, and a program launches a few
/// of their kernels.
type Index = HashMap<&'static str, KernelHead>;

const KERNEL: &str = ".entry";

/// A kernel of a module.
struct KernelHead {
    /// From its name to the brace that opens its body.
    head: &'static str,
    fingerprint: Option<&'static str>,
    signature: OnceLock<Result<ptx::Module, Box<ptx::Error>>>,
}

/// The kernels of a module.
fn index(ptx: &'static str) -> Index {
    // Bodies may be empty, names and parameters have no braces.
    let heads = ptx.match_indices(KERNEL).filter_map(|(start, _)| {
        let head = ptx[start + KERNEL.len()..].split('{').next()?.trim_start();
        let name = head.split(|c: char| c == '(' || c.is_whitespace()).next()?;
        Some((name, KernelHead { head, fingerprint: None, signature: OnceLock::new() }))
    });
    let mut index: Index = HashMap::new();
    for (name, head) in heads {
        index.entry(name).or_insert(head);
    }
    for (start, line) in ptx.match_indices(fingerprint::LINE) {
        let begins = start == 0 || ptx[..start].ends_with('\n');
        let line = ptx[start + line.len()..].lines().next().unwrap_or_default();
        if let (true, Some((kernel, fingerprint))) = (begins, line.split_once(' '))
            && let Some(head) = index.get_mut(kernel)
        {
            head.fingerprint = Some(fingerprint);
        }
    }
    index
}

impl KernelHead {
    /// The kernel with an empty body, read as a module of its own.
    fn signature(&self) -> Result<&ptx::Function, Box<ptx::Error>> {
        let module = self.signature.get_or_init(|| {
            let head = self.head;
            ptx::parse(&format!(".version 8.8\n.target sm_90\n.address_size 64\n{KERNEL} {head} {{ ret; }}"))
                .map_err(Box::new)
        });
        let functions = module.as_ref().map(|module| &module.functions).map_err(Clone::clone)?;
        Ok(functions.last().expect("it was written into the module"))
    }
}

impl Levels {
    /// The levels, lowest first.
    pub const fn new(levels: &'static [Level]) -> Self {
        Self { levels, indices: OnceLock::new() }
    }

    /// The levels, lowest first.
    pub fn all(&self) -> &'static [Level] {
        self.levels
    }

    /// Refuses a device that does not even admit the first.
    pub fn check(&self, limits: &Limits) -> Result<(), Error> {
        match self.levels.first() {
            Some(lowest) if lowest.refusal(limits.capability).is_some() => Err(Error::TooOld {
                name: limits.name.clone(),
                capability: limits.capability,
                needed: lowest.capability(),
            }),
            _ => Ok(()),
        }
    }

    /// The level that has the kernel; the lowest, should there be several.
    pub fn of(&self, kernel: &str) -> Option<&'static Level> {
        self.head(kernel).map(|(level, _)| level)
    }

    /// The kernel in the PTX.
    pub fn find(&self, kernel: &str) -> Result<Option<Entry<'_>>, Error> {
        let Some((level, head)) = self.head(kernel) else { return Ok(None) };
        let signature = head.signature().map_err(|error| Error::Ptx { arch: level.arch(), error })?;
        Ok(Some(Entry { level, signature, fingerprint: head.fingerprint }))
    }

    fn head(&self, kernel: &str) -> Option<(&'static Level, &KernelHead)> {
        let indices = self.indices.get_or_init(|| self.levels.iter().map(|_| OnceLock::new()).collect());
        let mut levels = self.levels.iter().zip(indices);
        levels.find_map(|(level, found)| Some((level, found.get_or_init(|| index(level.ptx)).get(kernel)?)))
    }
}

const ENTRY: &str = ".visible .entry ";

/// The length of an entry, up to the brace that closes its body. Braces in comments do not count.
fn end_of_body(entry: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    for line in entry.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or(line);
        for (place, byte) in code.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 1 => return at + place + 1,
                b'}' => depth -= 1,
                _ => {}
            }
        }
        at += line.len();
    }
    entry.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    static LEVELS: [Level; 4] = [
        Level::new(".version 7.8\n.target sm_75\n.address_size 64\n"),
        Level::new(".version 7.8\n.target sm_80, debug\n.address_size 64\n"),
        Level::new("//\n.version 8.0\n.target sm_90a\n.address_size 64\n"),
        Level::new(".version 8.8\n.target sm_120f\n.address_size 64\n"),
    ];

    #[test]
    fn the_target_tells_the_architecture() {
        let archs = LEVELS.each_ref().map(Level::arch);
        assert_eq!(archs, ["compute_75", "compute_80", "compute_90a", "compute_120f"]);
    }

    #[test]
    fn who_admits_what() {
        let admitted = |capability| LEVELS.each_ref().map(|level| level.refusal(capability).is_none());
        assert_eq!(admitted((7, 0)), [false, false, false, false]);
        assert_eq!(admitted((7, 5)), [true, false, false, false]);
        assert_eq!(admitted((8, 9)), [true, true, false, false]);
        assert_eq!(admitted((9, 0)), [true, true, true, false]);
        assert_eq!(admitted((10, 0)), [true, true, false, false]);
        assert_eq!(admitted((12, 1)), [true, true, false, true]);
        let refusal = LEVELS[2].refusal((10, 0)).unwrap();
        assert!(refusal.contains("exactly compute capability 9.0") && refusal.contains("10.0"), "{refusal}");
    }

    #[test]
    fn a_kernel_alone_is_a_module_of_its_own() {
        const PTX: &str = ".version 7.8
            .target sm_75
            .address_size 64
            .func (.reg .b32 %r) twice(.reg .b32 %a) { add.u32 %r, %a, %a; ret; } // } of no entry
            .visible .entry first(.param .u32 a) { { ret; } // }
            }
            .visible .entry second() { ret; }
            .visible .entry third() { ret; }";
        let level = Level::new(PTX);
        let text = level.alone("second");
        let module = ptx::parse(&text).unwrap();
        let names: Vec<_> = module.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["twice", "second"]);
        assert!(text.len() < PTX.len());
    }
}
