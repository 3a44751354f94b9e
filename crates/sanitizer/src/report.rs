//! Findings of a block: what the tools say is put beside who did it, where, and to which object.

use std::sync::Arc;

use virtual_gpu::SharedArray;
use virtual_gpu::observer::{At, MemorySpace};

use crate::checks::Check;
use crate::finding::{Finding, Findings, Key, Object, Severity, Site};
use crate::launched::Launched;
use crate::mend::Mend;
use crate::objects::Objects;

/// Takes down what is found in a block.
#[derive(Debug)]
pub(crate) struct Reporter {
    pub launched: Arc<Launched>,
    pub objects: Arc<Objects>,
    pub block: u32,
    pub findings: Findings,
}

/// What a tool says of a finding.
pub(crate) struct Told {
    pub severity: Severity,
    pub message: String,
    pub object: Option<Object>,
    /// The later access first.
    pub sites: Vec<Site>,
    pub help: &'static str,
}

/// A variable's name as the source has it.
pub(crate) fn readable(name: &str) -> String {
    let whole = format!("{:#}", rustc_demangle::demangle(name));
    let short = whole.strip_suffix("::__shared_array::__ARRAY").unwrap_or(&whole);
    if !short.starts_with("_Z") {
        return short.to_owned();
    }
    local_in_cpp(name).map(str::to_owned).or_else(|| function_in_cpp(name)).unwrap_or_else(|| name.to_owned())
}

/// The name of a function or variable of C++, with its namespaces and without types: `_ZN1a3addIfEEvPT_` is `a::add`.
fn function_in_cpp(mangled: &str) -> Option<String> {
    let rest = mangled.strip_prefix("_Z")?;
    let mut rest = rest.strip_prefix('N').or_else(|| rest.strip_prefix('L')).unwrap_or(rest);
    let mut parts = Vec::new();
    while let digits @ 1.. = rest.bytes().take_while(u8::is_ascii_digit).count() {
        let length = rest[..digits].parse::<usize>().ok()?;
        parts.push(match rest.get(digits..)?.get(..length)? {
            part if part.starts_with("_GLOBAL__N_") => "(anonymous namespace)",
            part => part,
        });
        rest = &rest[digits + length..];
        // Outside of `N…E` one name is all.
        if !mangled.starts_with("_ZN") {
            break;
        }
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// The name of a variable that C++ has inside a function: `_ZZ`, the function, `E`, and the length of the name before it. The
/// second of a name in one function has `_0` behind it, and so on.
fn local_in_cpp(mangled: &str) -> Option<&str> {
    let rest = mangled.strip_prefix("_ZZ")?;
    let numbered =
        rest.rsplit_once('_').filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    [numbered.map(|(before, _)| before), Some(rest)].into_iter().flatten().find_map(|rest| {
        let ends = (1..rest.len()).filter(|&at| rest.is_char_boundary(at));
        ends.rev().find_map(|at| {
            let (before, name) = rest.split_at(at);
            let digits = name.len().to_string();
            let starts = !name.starts_with(|first: char| first.is_ascii_digit());
            (starts && before.strip_suffix(&digits)?.ends_with('E')).then_some(name)
        })
    })
}

impl Reporter {
    /// Takes down what `tell` says, or counts it if it was told before of the same instructions.
    pub fn note(
        &mut self,
        check: Check,
        kind: &'static str,
        pcs: [u32; 2],
        tell: impl FnOnce(&Self) -> Told,
    ) {
        self.note_as(Key { check, kind, pcs, mend: Mend::None }, tell);
    }

    /// The same of a race, which something mends.
    pub fn note_race(
        &mut self,
        kind: &'static str,
        pcs: [u32; 2],
        mend: Mend,
        tell: impl FnOnce(&Self) -> Told,
    ) {
        self.note_as(Key { check: Check::Race, kind, pcs, mend }, tell);
    }

    fn note_as(&mut self, key: Key, tell: impl FnOnce(&Self) -> Told) {
        let check = key.check;
        if self.findings.again(&key) {
            return;
        }
        let Told { severity, message, object, sites, help } = tell(self);
        let kernel = self.launched.kernel.clone();
        self.findings.add(
            key,
            Finding {
                check,
                severity,
                message,
                kernel,
                object,
                sites,
                host: None,
                help: help.into(),
                count: 1,
                seed: None,
            },
        );
    }

    /// Where the first of the lanes that execute an instruction does something.
    pub fn here(&self, what: &'static str, at: At) -> Site {
        self.site(what, at.pc, self.block, at.warp, at.lanes.trailing_zeros() & 31)
    }

    /// Where a lane does something.
    pub fn site(&self, what: &'static str, pc: u32, block: u32, warp: u32, lane: u32) -> Site {
        let shape = &self.launched.shape;
        Site::new(what, shape.block(block), shape.thread(warp, lane), self.launched.code.location(pc))
    }

    /// What lies at an address.
    pub fn object(&self, space: MemorySpace, address: u64) -> Object {
        let own = |space: &'static str| Object {
            space: space.into(),
            name: None,
            size: None,
            offset: address,
            element: None,
            allocated: None,
        };
        match space {
            MemorySpace::Global => self.objects.global(address),
            MemorySpace::Shared => self.shared_object(address),
            MemorySpace::Local => own("local"),
            MemorySpace::Const => Object { space: "const".into(), ..self.objects.global(address) },
            MemorySpace::Param => own("param"),
        }
    }

    /// What an instruction accesses, as an array of the elements that it takes it for.
    pub fn accessed(&self, pc: u32, space: MemorySpace, address: u64) -> Object {
        Object { element: self.element(pc), ..self.object(space, address) }
    }

    /// Bytes of the elements that an instruction accesses.
    fn element(&self, pc: u32) -> Option<u32> {
        let opcode = self
            .launched
            .code
            .opcode(pc)
            .filter(|opcode| matches!(opcode.name.as_str(), "ld" | "ldu" | "st" | "atom" | "red"))?;
        let bits: u32 = opcode.modifiers.last()?.as_str().get(1..)?.parse().ok()?;
        Some(bits / 8)
    }

    /// The shared array that holds an address, or else the block's shared memory.
    fn shared_object(&self, address: u64) -> Object {
        let address = crate::cluster::within(address);
        let holds = |array: &&SharedArray| {
            let start = u64::from(array.offset);
            (start..start + u64::from(array.size)).contains(&address)
        };
        match self.launched.shared.iter().flatten().find(holds) {
            Some(array) => Object {
                space: "shared".into(),
                name: Some(readable(&array.name)),
                size: Some(array.size.into()),
                offset: address - u64::from(array.offset),
                element: None,
                allocated: None,
            },
            None => Object {
                space: "shared".into(),
                name: None,
                size: Some(self.launched.shared_bytes.into()),
                offset: address,
                element: None,
                allocated: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_its_name_of_the_source() {
        assert_eq!(readable("_ZZ16dsm_read_no_syncE1s"), "s");
        assert_eq!(readable("_ZZ6reducePfS_E7partial"), "partial");
        assert_eq!(readable("_ZZ6reducePfS_E7partial_0"), "partial");
        assert_eq!(readable("_ZZN3foo3barEiE9tile_12_a"), "tile_12_a");
        assert_eq!(readable("_Z6globalPf"), "global");
        assert_eq!(readable("_ZN1a12_GLOBAL__N_13addIfEEvPT_"), "a::(anonymous namespace)::add");
        assert_eq!(readable("_Z99short"), "_Z99short");
        assert_eq!(readable("dynamic"), "dynamic");
    }
}
