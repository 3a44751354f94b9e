//! What the checks found, put into words: who, where, and what usually mends it.

use virtual_gpu::observer::{Access, AccessKind, At, MemorySpace};
use virtual_gpu::{Fault, FaultKind, SharedArray};

use crate::barrier::Wrong;
use crate::checks::Checks;
use crate::finding::{Check, Finding, Findings, Key, Object, Severity, Site};
use crate::init::Decides;
use crate::objects::Objects;
use crate::observer::Launched;
use crate::race::Race;
use crate::shadow::{Clash, Stamp};

/// Where in the block something was found, for making sites.
pub(crate) struct Reporter<'a> {
    pub launched: &'a Launched,
    pub objects: &'a Objects,
    pub block: u32,
    pub findings: &'a mut Findings,
}

/// A variable's name as the source has it.
fn readable(name: &str) -> String {
    let whole = format!("{:#}", rustc_demangle::demangle(name));
    let short = whole.strip_suffix("::shared_array::ARRAY").unwrap_or(&whole);
    if !short.starts_with("_Z") {
        return short.to_owned();
    }
    local_in_cpp(name).unwrap_or(name).to_owned()
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

impl Reporter<'_> {
    fn site(&self, what: &'static str, pc: u32, block: u32, warp: u32, lane: u32) -> Site {
        let shape = &self.launched.shape;
        Site::new(what, shape.block(block), shape.thread(warp, lane), self.launched.code.location(pc))
    }

    fn object(&self, space: MemorySpace, address: u64) -> Object {
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

    /// A race, unless it is one that any outcome is right for: a load that only guesses what a compare-and-swap will
    /// find, beside the atomics of others, or their stores to other bytes of the word.
    pub fn race(&mut self, at: At, space: MemorySpace, race: Race, strong: bool) {
        // A store to another byte of the word makes the swap fail; one to its own races with the swap, too.
        let (read, harmless) = match (race.write, race.earlier.writes()) {
            (false, true) => (Some(at.pc), race.earlier.is_strong() || race.earlier.is_narrow()),
            (true, false) => (Some(race.earlier.pc), strong || race.narrow),
            _ => (None, false),
        };
        if harmless && read.is_some_and(|pc| self.launched.code.guesses(pc)) {
            return;
        }
        if race.clash == Clash::Gone {
            return self.block_gone(&race.earlier);
        }
        let verb = |write: bool, strong: bool| match (write, strong) {
            (true, true) => "atomic write",
            (true, false) => "write",
            (false, true) => "atomic read",
            (false, false) => "read",
        };
        let earlier = race.earlier;
        let same_warp = (earlier.block, earlier.warp()) == (self.block, at.warp);
        // The programming guide says what comes of it: one of the lanes' stores, and they are the same.
        let one_instruction = race.clash == Clash::Equal && same_warp && earlier.pc == at.pc;
        let kind = match (race.clash, earlier.writes(), race.write) {
            (Clash::NoAcquire, ..) => "read without acquire",
            (Clash::NoProxyFence, ..) => "read without a proxy fence",
            (Clash::Equal, ..) if one_instruction => "writes of equal values by lanes of one warp",
            (Clash::Equal, ..) => "writes of equal values",
            (_, true, true) => "write after write",
            (_, true, false) => "read after write",
            (_, false, _) => "write after read",
        };
        let mut pcs = [at.pc, earlier.pc];
        pcs.sort_unstable();
        let key = Key { check: Check::Race, kind, pcs };
        if self.findings.again(&key) {
            return;
        }
        let help = if race.clash == Clash::NoProxyFence {
            "put `fence.proxy.async` behind the stores, by the threads that make them, before the barrier that comes before \
             the copy or product"
        } else if earlier.is_asynchronous() && !earlier.writes() {
            "what was issued may still read its source: wait for its group (`cp.async.bulk.wait_group.read`, \
             `wgmma.wait_group`), and meet at a barrier if another thread writes, first"
        } else if earlier.is_asynchronous() {
            "the copy may not have landed: wait for its group (and meet at a barrier, if another thread reads) first"
        } else if race.clash == Clash::NoAcquire {
            "put a fence between reading the flag and reading what it stands for, or read the flag with `acquire`"
        } else if one_instruction {
            "the outcome is defined; let one lane write to say so"
        } else if race.clash == Clash::Equal {
            "the outcome is the same, yet undefined: let one thread write, or use an atomic"
        } else if earlier.block != self.block && space == MemorySpace::Shared {
            "let the blocks of the cluster meet between the two: `barrier.cluster`, and not only the block's own barrier"
        } else if earlier.block != self.block {
            "nothing orders blocks of one launch: use an atomic, or a device fence and a flag, or a second launch"
        } else if same_warp && earlier.pc == at.pc {
            "several lanes store to one place: give each its own, or use an atomic"
        } else if same_warp {
            "lanes of a warp need not run together: put `warp::sync_warp` between the two"
        } else {
            "put `thread::sync_threads()` between the two"
        };
        let (launched, block, race_clash) = (self.launched, self.block, race.clash);
        let sites = vec![
            self.site(verb(race.write, false), at.pc, block, at.warp, race.lane),
            self.site(
                verb(earlier.writes(), earlier.is_strong()),
                earlier.pc,
                earlier.block,
                earlier.warp(),
                earlier.first(),
            ),
        ];
        let object = Object { element: self.element(at.pc), ..self.object(space, race.address) };
        let space = object.space.clone();
        let race = |what: &str| format!("race in {space} memory: {what}");
        let (severity, message) = match race_clash {
            Clash::Unordered | Clash::Gone => {
                (Severity::Error, race(&format!("{kind}, and nothing orders the two")))
            }
            Clash::NoProxyFence => (
                Severity::Error,
                race(
                    "a bulk copy or `wgmma` reads what plain stores wrote, and no fence between the proxies is behind them",
                ),
            ),
            Clash::NoAcquire => (Severity::Error, race("a flag was read, and no fence makes it count")),
            Clash::Equal if one_instruction => (
                Severity::Note,
                format!("lanes of one warp store the same value to one place of {space} memory"),
            ),
            Clash::Equal => (Severity::Warning, race(&format!("{kind}, and nothing orders the two"))),
        };
        self.findings.note(key, || Finding {
            check: Check::Race,
            severity,
            message,
            kernel: launched.kernel.clone(),
            object: Some(object),
            sites,
            help: help.into(),
            count: 1,
        });
    }

    /// A register was read that a product may still have to write.
    pub fn result_too_early(&mut self, at: At) {
        let key = Key { check: Check::Race, kind: "result", pcs: [at.pc, at.pc] };
        if self.findings.again(&key) {
            return;
        }
        let site = self.site("read", at.pc, self.block, at.warp, at.lanes.trailing_zeros() & 31);
        let kernel = self.launched.kernel.clone();
        self.findings.note(key, || Finding {
            check: Check::Race,
            severity: Severity::Error,
            message: "the result of a `wgmma` is read, and nobody has waited for it".to_owned(),
            kernel,
            object: None,
            sites: vec![site],
            help: "commit the product's group and wait for it (`wgmma.wait_group`) before its registers are used".into(),
            count: 1,
        });
    }

    /// The shared memory of another block of the cluster was used by this access, and that block may have ended before.
    pub fn block_gone(&mut self, access: &Stamp) {
        let key = Key { check: Check::Race, kind: "ended", pcs: [access.pc, access.pc] };
        if self.findings.again(&key) {
            return;
        }
        let what = if access.writes() { "write" } else { "read" };
        let site = self.site(what, access.pc, access.block, access.warp(), access.first());
        let kernel = self.launched.kernel.clone();
        self.findings.note(key, || Finding {
            check: Check::Race,
            severity: Severity::Error,
            message: format!(
                "{what} of the shared memory of another block of the cluster, which may have ended"
            ),
            kernel,
            object: None,
            sites: vec![site],
            help: "let the blocks of the cluster meet behind the last such access, before any of them ends"
                .into(),
            count: 1,
        });
    }

    pub fn outside_array(&mut self, at: At, access: &Access<'_>, lane: u32, array: &SharedArray) {
        let key = Key { check: Check::Memory, kind: "outside a shared array", pcs: [at.pc, at.pc] };
        if self.findings.again(&key) {
            return;
        }
        let what = match access.kind {
            AccessKind::Load => "read",
            AccessKind::Store => "write",
            AccessKind::Atomic | AccessKind::Reduction => "atomic",
        };
        let address = access.addresses[lane as usize];
        let (start, size, bytes) = (u64::from(array.offset), u64::from(array.size), access.bytes());
        let name = readable(&array.name);
        let place = match address.checked_sub(start) {
            Some(offset) => format!("{} bytes from its start", offset),
            None => format!("{} bytes before its start", start - address),
        };
        let site = self.site(what, at.pc, self.block, at.warp, lane);
        let kernel = self.launched.kernel.clone();
        self.findings.note(key, || Finding {
            check: Check::Memory,
            severity: Severity::Error,
            message: format!("shared {what} of {bytes} bytes outside `{name}` of {size} bytes: {place}"),
            kernel,
            object: Some(Object {
                space: "shared".into(),
                name: Some(name),
                size: Some(size),
                offset: address.wrapping_sub(start),
                element: None,
                allocated: None,
            }),
            sites: vec![site],
            help: "it lands in the array beside it: compare the index with the array's length".into(),
            count: 1,
        });
    }

    pub fn undefined(&mut self, at: At, space: Option<(MemorySpace, u64)>, decides: Decides, lanes: u32) {
        let kind = match decides {
            Decides::Address => "a value that was never written is used as an address",
            Decides::Guard => "a value that was never written decides a branch",
            Decides::Atomic => "an atomic operation meets a value that was never written",
            Decides::Print => "a value that was never written is printed",
        };
        let key = Key { check: Check::Init, kind, pcs: [at.pc, at.pc] };
        if self.findings.again(&key) {
            return;
        }
        let site = self.site("use", at.pc, self.block, at.warp, lanes.trailing_zeros());
        let object = space
            .map(|(space, address)| Object { element: self.element(at.pc), ..self.object(space, address) });
        let kernel = self.launched.kernel.clone();
        self.findings.note(key, || Finding {
            check: Check::Init,
            severity: Severity::Error,
            message: kind.to_owned(),
            kernel,
            object,
            sites: vec![site],
            help: "write the memory first: from the host, by an earlier kernel, or before the barrier that comes before the read".into(),
            count: 1,
        });
    }

    pub fn barrier(&mut self, at: At, wrong: Wrong) {
        let shape = &self.launched.shape;
        let named = |warp: u32, lanes: u32| {
            let [x, y, z] = shape.thread(warp, lanes.trailing_zeros() & 31);
            format!("for example thread ({x}, {y}, {z})")
        };
        let mut severity = Severity::Error;
        let mut sites =
            vec![self.site("barrier", at.pc, self.block, at.warp, at.lanes.trailing_zeros() & 31)];
        let (kind, message, help) = match wrong {
            Wrong::Divergent { elsewhere } => (
                "divergent",
                format!(
                    "barrier in divergent code: {} of the warp's threads are elsewhere, {}",
                    elsewhere.count_ones(),
                    named(at.warp, elsewhere)
                ),
                "every thread of the block must reach the same barrier: move it out of the branch",
            ),
            Wrong::Mismatched { other, warp, lanes } => {
                sites.push(self.site("barrier", other, self.block, warp, lanes.trailing_zeros() & 31));
                (
                    "mismatched",
                    format!("threads of one block wait at two different barriers, {}", named(warp, lanes)),
                    "every thread of the block must reach the same barrier: move it out of the branch, or give each \
                     group a named barrier of its own with its number of threads",
                )
            }
            Wrong::WentRound { thread, last } => {
                sites.push(self.site("went round it", last, self.block, thread / 32, thread % 32));
                (
                    "went round",
                    format!(
                        "a thread never arrives: it went round and ended, {}",
                        named(thread / 32, 1 << (thread % 32))
                    ),
                    "let every thread that the barrier or mask names come to it: move it out of the branch or the loop",
                )
            }
            Wrong::NotMember { lanes } => (
                "not a member",
                format!(
                    "lane {} executes a warp-wide instruction whose mask leaves it out, {}",
                    lanes.trailing_zeros(),
                    named(at.warp, lanes)
                ),
                "give the mask of all lanes that execute it: `warp::activemask()` before the branch, or `u32::MAX`",
            ),
            Wrong::Ended { lanes } => {
                severity = Severity::Warning;
                (
                    "ended",
                    format!(
                        "the mask of a warp-wide instruction names lane {}, which has ended, {}",
                        lanes.trailing_zeros(),
                        named(at.warp, lanes)
                    ),
                    "do not return early from lanes that a later mask names",
                )
            }
        };
        let key = Key { check: Check::Barrier, kind, pcs: [at.pc, at.pc] };
        let kernel = self.launched.kernel.clone();
        self.findings.note(key, || Finding {
            check: Check::Barrier,
            severity,
            message,
            kernel,
            object: None,
            sites,
            help: help.into(),
            count: 1,
        });
    }
}

/// A fault as a finding of the tool that is on for it.
pub(crate) fn of_fault(fault: &Fault, checks: Checks, kernel: &str, objects: &Objects) -> Option<Finding> {
    let (check, what, help) = match &fault.kind {
        FaultKind::IllegalAddress { .. } => (
            Check::Memory,
            "access",
            "compare the index with the length before the access; in Rust, index a slice",
        ),
        FaultKind::MisalignedAddress { .. } => {
            (Check::Memory, "access", "an access of n bytes needs an address that is a multiple of n")
        }
        FaultKind::HeapMisuse { .. } => (
            Check::Memory,
            "free",
            "free once what `malloc` gave in a kernel; the host frees what it allocated",
        ),
        FaultKind::WriteToConstant { .. } => (Check::Memory, "write", "write to a global buffer instead"),
        FaultKind::StackOverflow { .. } => {
            (Check::Memory, "call", "bound the recursion, or raise the stack limit")
        }
        FaultKind::InvalidPc(_) => {
            (Check::Memory, "jump", "call through a pointer that holds a device function")
        }
        FaultKind::Assert(_) | FaultKind::Trap | FaultKind::Breakpoint => {
            (Check::Memory, "trap", "the kernel ended itself: its own check failed")
        }
        FaultKind::Deadlock(_) | FaultKind::Timeout { .. } => (
            Check::Barrier,
            "wait",
            "every thread that a barrier or mask names must come to it, or have ended; a flag that is waited for must \
             be set",
        ),
        FaultKind::IllegalInstruction(why) => {
            let meets = ["mask", "barrier"].iter().any(|word| why.contains(word));
            let check = if meets { Check::Barrier } else { Check::Memory };
            (check, "instruction", "give the instruction operands that it is defined for")
        }
        _ => return None,
    };
    let on = match check {
        Check::Memory => checks.memory,
        _ => checks.barrier,
    };
    // The buffer that the address lies in or behind.
    let object = match &fault.kind {
        FaultKind::IllegalAddress { access, address, bytes, .. }
        | FaultKind::MisalignedAddress { access, address, bytes }
            if access.starts_with("global") =>
        {
            let object = Object { element: Some(*bytes), ..objects.global(*address) };
            Some(object).filter(|object| object.size.is_some())
        }
        _ => None,
    };
    on.then(|| Finding {
        check,
        severity: Severity::Error,
        message: fault.kind.to_string(),
        kernel: kernel.to_owned(),
        object,
        sites: vec![Site::new(what, fault.block, fault.thread, fault.location.clone())],
        help: help.into(),
        count: 1,
    })
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
        assert_eq!(readable("_Z6global"), "_Z6global");
        assert_eq!(readable("dynamic"), "dynamic");
    }
}
