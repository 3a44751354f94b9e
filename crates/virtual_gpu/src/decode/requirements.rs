//! Whether a module may use an instruction: its `.version` and `.target` must be new enough.
//!
//! ptxas and the real driver refuse what is newer than the module says, so a program that runs here must not depend on
//! it. What needs what stands in `requirements.txt`.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use ptx::{Instruction, Operand};

use super::Refusal;
use super::forms::is_type;

type Version = (u32, u32);

/// `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    number: u32,
    suffix: Option<char>,
}

impl Target {
    fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix("sm_")?;
        let suffix = number.chars().last().filter(|c| matches!(c, 'a' | 'f'));
        let number = number.trim_end_matches(['a', 'f']).parse().ok()?;
        Some(Target { number, suffix })
    }

    /// Whether a module for this target may use what needs another.
    fn admits(self, needed: Target) -> bool {
        match needed.suffix {
            None => self.number >= needed.number,
            Some('f') => {
                self.suffix.is_some()
                    && self.number / 10 == needed.number / 10
                    && self.number >= needed.number
            }
            Some(_) => self == needed,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.suffix.map_or("", |c| if c == 'a' { "a" } else { "f" }))
    }
}

/// Forms that need a version and a target: those with a word of each slot, types in this order.
#[derive(Debug, Clone)]
struct Need {
    /// Targets, and the version from which on each has the forms.
    targets: Vec<(Target, Version)>,
    slots: Vec<Vec<&'static str>>,
}

impl Need {
    fn concerns(&self, words: &[&str]) -> bool {
        let mut types = 0;
        self.slots.iter().all(|slot| {
            let from = if is_type(slot[0]) { types } else { 0 };
            let at = words[from..].iter().position(|word| slot.contains(word));
            if let (Some(at), true) = (at, is_type(slot[0])) {
                types = from + at + 1;
            }
            at.is_some()
        })
    }

    fn met(&self, version: Version, target: Target) -> bool {
        self.targets.iter().any(|&(needed, from)| version >= from && target.admits(needed))
    }

    /// Whether some version has the forms for a target.
    fn has(&self, target: Target) -> bool {
        self.targets.iter().any(|&(needed, _)| target.admits(needed))
    }

    /// The first version for a target, or for any if none has the forms for it.
    fn version(&self, target: Target) -> Version {
        let any = !self.has(target);
        let versions =
            self.targets.iter().filter(|(needed, _)| any || target.admits(*needed)).map(|(_, from)| *from);
        versions.min().unwrap_or_default()
    }
}

type Table = HashMap<&'static str, Vec<Need>>;

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table::new();
        let text = include_str!("requirements.txt");
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut parts = line.split(' ');
            let version = parts.next().and_then(version).unwrap_or_default();
            let targets = parts.next().into_iter().flat_map(|t| t.split(',')).filter_map(|target| {
                let (target, own) = target.split_once('@').unwrap_or((target, ""));
                Some((Target::parse(target)?, self::version(own).unwrap_or(version)))
            });
            let targets: Vec<_> = targets.collect();
            for form in parts {
                // A directive keeps its dot.
                let dot = usize::from(form.starts_with('.'));
                let end = form[dot..].find('.').map_or(form.len(), |end| end + dot);
                let slots = slots(&form[end..]);
                for name in words(&form[..end]) {
                    let (targets, slots) = (targets.clone(), slots.clone());
                    table.entry(name).or_default().push(Need { targets, slots });
                }
            }
        }
        table
    })
}

/// `8.6`
fn version(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `{a,b}` or `a`.
fn words(text: &'static str) -> Vec<&'static str> {
    text.trim_start_matches('{').trim_end_matches('}').split(',').collect()
}

/// `.a.{b,c}`; no dot stands in braces.
fn slots(text: &'static str) -> Vec<Vec<&'static str>> {
    text.split('.').skip(1).map(words).collect()
}

/// A feature that a module may not use.
#[derive(Debug)]
pub(super) struct Requirements {
    version: Version,
    target: Target,
    unmet: HashMap<&'static str, Vec<&'static Need>>,
}

impl Requirements {
    /// For a module of that `.version` and `.target`.
    pub fn new(version: Version, target: &str) -> Self {
        let target = Target::parse(target).unwrap_or(Target { number: 0, suffix: None });
        let unmet = table().iter().filter_map(|(&name, needs)| {
            let needs: Vec<_> = needs.iter().filter(|need| !need.met(version, target)).collect();
            (!needs.is_empty()).then_some((name, needs))
        });
        Requirements { version, target, unmet: unmet.collect() }
    }

    /// Whether shuffles and votes may be without `.sync`, whose lanes run in lockstep.
    pub fn lockstep(&self) -> bool {
        self.version < (6, 4) || self.target.number < 70
    }

    /// Refuses an instruction that the module is too old for.
    pub fn check(&self, i: &Instruction) -> Result<(), Refusal> {
        let name = i.opcode.name.as_str();
        if !self.unmet.contains_key(name) {
            return Ok(());
        }
        let mut words: Vec<&str> = i.opcode.modifiers.iter().map(|m| m.as_str()).collect();
        match name {
            "mov" => words.extend(i.operands.iter().filter_map(special)),
            "min" | "max" if i.operands.len() == 4 => words.push("3-input"),
            "fence" if !i.opcode.has("proxy") && !i.opcode.has("mbarrier_init") => words.push("own"),
            _ => {}
        }
        self.check_words(name, &words)
    }

    /// Refuses a directive that the module is too old for.
    pub fn check_words(&self, name: &str, words: &[&str]) -> Result<(), Refusal> {
        let unmet = self.unmet.get(name).into_iter().flatten();
        let unmet: Vec<_> = unmet.filter(|need| need.concerns(words)).collect();
        let mut missing = Vec::new();
        let newest = unmet.iter().map(|need| need.version(self.target)).max();
        let version = newest.filter(|&version| version > self.version);
        if let Some((major, minor)) = version {
            let (own_major, own_minor) = self.version;
            missing
                .push(format!("`.version {major}.{minor}` or later, the module has {own_major}.{own_minor}"));
        }
        let narrow = unmet.iter().filter(|need| !need.has(self.target));
        let strictest =
            |need: &&&&Need| need.targets.iter().map(|(t, _)| (t.suffix.is_some(), t.number)).max();
        if let Some(need) = narrow.max_by_key(strictest) {
            let targets: Vec<String> = need.targets.iter().map(|(target, _)| target.to_string()).collect();
            let later = if need.targets.iter().any(|(t, _)| t.suffix.is_some()) { "" } else { " or higher" };
            missing.push(format!(
                "`.target {}`{later}, the module has {}",
                targets.join("` or `"),
                self.target
            ));
        }
        if missing.is_empty() { Ok(()) } else { Err(Refusal(format!("it needs {}", missing.join("; ")))) }
    }
}

/// The special register that an operand names.
fn special(operand: &Operand) -> Option<&str> {
    match operand {
        Operand::Name(name) | Operand::Component(name, _) => Some(name.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(version: Version, target: &str, form: &str) -> Option<String> {
        let dot = usize::from(form.starts_with('.'));
        let (name, words) = form.split_at(form[dot..].find('.').map_or(form.len(), |end| end + dot));
        let words: Vec<&str> = words.split('.').filter(|word| !word.is_empty()).collect();
        Requirements::new(version, target).check_words(name, &words).err().map(|refusal| refusal.0)
    }

    /// Each was put to ptxas of CUDA 13.5.
    #[test]
    fn what_a_module_may_use() {
        for (version, target, form) in [
            ((8, 6), "sm_100", "add.rn.f32x2"),
            ((8, 8), "sm_100a", "max.ftz.f32.3-input"),
            ((8, 8), "sm_90", "max.ftz.f32"),
            ((8, 0), "sm_90a", "wgmma.fence.sync.aligned"),
            ((8, 8), "sm_103f", "setmaxnreg.inc.sync.aligned.u32"),
            ((7, 8), "sm_90", "cvt.rn.satfinite.e4m3x2.f32"),
            ((8, 1), "sm_89", "cvt.rn.satfinite.e4m3x2.f32"),
            ((8, 6), "sm_90", "fence.release.cluster.own"),
            ((8, 0), "sm_90", "fence.mbarrier_init.release.cluster"),
            ((8, 3), "sm_90", "fence.proxy.tensormap::generic.release.gpu"),
            ((7, 8), "sm_80", "cvt.rn.bf16.f32"),
            ((7, 1), "sm_80", "cvt.f32.bf16"),
            ((6, 0), "sm_70", "atom.relaxed.gpu.global.add.u32"),
            ((5, 0), "sm_52", "lop3.b32"),
            ((8, 3), "sm_70", "mov.b128"),
        ] {
            assert_eq!(says(version, target, form), None, "{form}");
        }
    }

    /// Each was put to ptxas of CUDA 13.5.
    #[test]
    fn what_a_module_may_not_use() {
        for (version, target, form, parts) in [
            (
                (8, 5),
                "sm_90",
                "add.rn.f32x2",
                &["`.version 8.6` or later, the module has 8.5", "`.target sm_100` or higher"][..],
            ),
            (
                (8, 8),
                "sm_90",
                "max.f32.3-input",
                &["it needs `.target sm_100` or higher, the module has sm_90"],
            ),
            ((8, 5), "sm_90", "wgmma.fence.sync.aligned", &["`.target sm_90a`, the module has sm_90"]),
            ((8, 8), "sm_100", "wgmma.fence.sync.aligned", &["`.target sm_90a`, the module has sm_100"]),
            (
                (8, 8),
                "sm_100",
                "setmaxnreg.inc.sync.aligned.u32",
                &["`.target sm_90a` or `sm_100f` or `sm_110f` or `sm_120f`"],
            ),
            ((8, 1), "sm_90a", "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", &["`.version 8.2`"]),
            ((8, 5), "sm_80", "cvt.rn.bf16.s32", &["`.target sm_90`"]),
            ((8, 5), "sm_80", "cvt.s32.bf16", &["`.target sm_90`"]),
            (
                (8, 0),
                "sm_89",
                "cvt.rn.satfinite.e4m3x2.f32",
                &["it needs `.version 8.1` or later, the module has 8.0"],
            ),
            ((8, 5), "sm_90", "fence.acquire.gpu.own", &["`.version 8.6`"]),
            ((8, 5), "sm_90", "fence.release.cluster.own", &["`.version 8.6`"]),
            ((7, 0), "sm_80", "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32", &["8.1", "sm_90"]),
            ((7, 8), "sm_90", "mov.u32.%aggr_smem_size", &["8.1"]),
            ((7, 7), "sm_90", ".target.sm_90", &["`.version 7.8`"]),
        ] {
            let text = says(version, target, form).unwrap_or_else(|| panic!("{form} is taken"));
            for part in parts {
                assert!(text.contains(part), "{part:?} is not in {text:?}");
            }
        }
        assert!(Requirements::new((6, 3), "sm_75").lockstep());
        assert!(!Requirements::new((6, 4), "sm_70").lockstep());
    }

    #[test]
    fn every_line_is_read() {
        for needs in table().values().flatten() {
            let oldest = needs.targets.iter().map(|(_, from)| *from).min();
            assert!(oldest >= Some((3, 0)), "{needs:?}");
        }
    }
}
