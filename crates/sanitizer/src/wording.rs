//! Findings in words: what happened, and what usually mends it.

mod cure;
mod race;

use crate::finding::{Action, Finding};
use crate::kind::{Cause, Decides, Invalid, InvalidAccess, Kind, Others, Work};

impl Finding {
    /// One line: what happened.
    pub fn message(&self) -> String {
        match &self.kind {
            Kind::InvalidAccess(access) => invalid(access),
            Kind::Fault { said, .. } | Kind::Stuck { said } | Kind::InvalidSync { said } => said.clone(),
            Kind::OutsideArray { bytes } => self.outside_array(*bytes),
            Kind::OutsideAllocation { bytes } => self.outside_allocation(*bytes),
            Kind::ForeignLocalArray => {
                "the address of another thread's local array is used: it names the thread's own memory".into()
            }
            Kind::DoubleFree { address } => format!("double free of the buffer at {address:#x}"),
            Kind::InvalidFree { address } => format!("free of {address:#x}, where no buffer starts"),
            Kind::HostOutside { bytes, freed } => format!(
                "a copy or fill of {bytes} bytes from the host's side goes beyond its buffer{}",
                if *freed { ", in a buffer that was freed" } else { "" }
            ),
            Kind::Leak => format!("a buffer of {} bytes was never freed", self.object_size()),
            Kind::Race { how } => self.race(*how),
            Kind::WorkRace(work) => race::between_works(work),
            Kind::EarlyResult => "the result of a `wgmma` is read before its group was waited for".into(),
            Kind::UnawaitedCopy => {
                "a thread ends while its asynchronous copy may still write shared memory".into()
            }
            Kind::EndedBlock => format!(
                "{} of the shared memory of another block of the cluster, which may have ended",
                self.verb()
            ),
            Kind::Undefined { decides } => match decides {
                Decides::Address => "a value that was never written is used as an address",
                Decides::Guard => "a value that was never written decides a branch",
                Decides::Atomic => "an atomic operation meets a value that was never written",
                Decides::Print => "a value that was never written is printed",
            }
            .into(),
            Kind::UndefinedCopy { padding } => format!(
                "{} copied to the host, the first at offset {}",
                match padding {
                    true => "padding of structures that was never written is",
                    false => "bytes that were never written are",
                },
                self.object.as_ref().map_or(0, |object| object.offset)
            ),
            Kind::Divergent(others) => format!(
                "barrier in divergent code: {} of the warp's threads are elsewhere, {}",
                others.count,
                example(others.thread)
            ),
            Kind::Mismatched => {
                format!("threads of one block wait at two different barriers{}", self.other_thread())
            }
            Kind::Bypassed => {
                format!("a thread never arrives: it went around and ended{}", self.other_thread())
            }
            Kind::EarlyReturn { .. } => format!(
                "threads have ended before a barrier of the whole block that others of their warp come to{}",
                self.other_thread()
            ),
            Kind::NotInMask(Others { lane, thread, .. }) => format!(
                "lane {lane} executes a warp-wide instruction whose mask leaves it out, {}",
                example(*thread)
            ),
            Kind::EndedInMask(Others { lane, thread, .. }) => format!(
                "the mask of a warp-wide instruction names lane {lane}, which has ended, {}",
                example(*thread)
            ),
            Kind::UnexpectedBytes { surplus } => {
                format!("copies bring an mbarrier {surplus} bytes more than it was told to expect")
            }
            Kind::FailedCall { function, answer, why, .. } => {
                let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                format!("`{function}` failed with {answer}{why}")
            }
            Kind::UnawaitedLaunch => {
                "the program ends while the kernel is in flight: on a GPU its results would be lost".into()
            }
        }
    }

    /// The usual cure.
    pub fn help(&self) -> &'static str {
        match &self.kind {
            Kind::Race { .. } => self.cure.map_or("", cure::help),
            Kind::WorkRace(work) => race::help_between_works(work),
            Kind::InvalidAccess(InvalidAccess { why, .. }) => match why {
                Invalid::OutOfBounds => {
                    "compare the index with the length before the access; in Rust, index a slice"
                }
                Invalid::Freed => {
                    "free the memory when the last launch that uses it has ended, and use no copy of its pointer after that"
                }
                Invalid::Misaligned => "an access of n bytes needs an address that is a multiple of n",
                Invalid::ReadOnly => "write to a global buffer instead",
            },
            Kind::Fault { cause, .. } => match cause {
                Cause::Heap => "free once what `malloc` gave in a kernel; the host frees what it allocated",
                Cause::Stack => "bound the recursion, or raise the stack limit",
                Cause::Jump => "call through a pointer that holds a device function",
                Cause::Trap => "the kernel ended itself: its own check failed",
                Cause::Instruction => OPERANDS,
            },
            Kind::OutsideArray { .. } => {
                "it lands in what lies beside it: compare the index with the array's length"
            }
            Kind::OutsideAllocation { .. } => {
                "allocations lie elsewhere on a device, where this access faults: compare the index with the length, and do not \
                 go from one buffer to another by a difference of their addresses"
            }
            Kind::ForeignLocalArray => {
                "threads share no stacks: put what others are to reach into shared or global memory"
            }
            Kind::DoubleFree { .. } | Kind::InvalidFree { .. } => {
                "free each buffer once, by the address that the allocation returned"
            }
            Kind::HostOutside { .. } => {
                "compare the number of bytes, not of elements, with what was allocated"
            }
            Kind::Leak => "drop the buffer before its context",
            Kind::EarlyResult => {
                "commit the product's group and wait for it (`wgmma.wait_group`) before its registers are used"
            }
            Kind::UnawaitedCopy => {
                "wait for all groups before the kernel ends (`cp.async.wait_all`): the memory may be another block's by then"
            }
            Kind::EndedBlock => {
                "let the blocks of the cluster meet behind the last such access, before any of them ends"
            }
            Kind::Undefined { .. } => match self.sites.get(1).map(|site| site.what) {
                Some(Action::UnsetRegister) => "give the variable a value on every way to that line",
                Some(Action::AbsentLane) => {
                    "let every lane that is read from execute the shuffle, or read from one that does"
                }
                _ => {
                    "write the memory first: from the host, by an earlier kernel, or before the barrier that comes before the \
                     read"
                }
            },
            Kind::UndefinedCopy { padding: true } => {
                "nothing reads padding; give the structure a named field there if the bytes must be the same each time"
            }
            Kind::UndefinedCopy { padding: false } => {
                "let the kernel write every element, or fill the buffer first"
            }
            Kind::Divergent(_) => {
                "every thread of the block must reach the same barrier: move it out of the branch"
            }
            Kind::Mismatched => {
                "every thread of the block must reach the same barrier: move it out of the branch, or give each group a named \
                 barrier of its own with its number of threads"
            }
            Kind::Bypassed => {
                "let every thread that the barrier or mask names come to it: move it out of the branch or the loop"
            }
            // The PTX manual, `barrier`: on sm_6x and below it counts as if all threads of the warp had executed it.
            Kind::EarlyReturn { target: 70.. } => {
                "since compute capability 7.0 a barrier waits for each thread that has not ended, so this one opens; CUDA C++ \
                 allows `__syncthreads` in a branch only if the whole block takes it: let all threads of a warp come, or end as a \
                 whole warp"
            }
            Kind::EarlyReturn { .. } => {
                "before compute capability 7.0, for which this is compiled, a barrier counts whole warps, so this one opens; CUDA \
                 C++ allows `__syncthreads` in a branch only if the whole block takes it, and newer devices count each thread: \
                 let all threads of a warp come, or end as a whole warp"
            }
            Kind::NotInMask(_) => {
                "give the mask of all lanes that execute it: `warp::activemask()` before the branch, or `u32::MAX`"
            }
            Kind::EndedInMask(_) => "do not return early from lanes that a later mask names",
            Kind::UnexpectedBytes { .. } => {
                "announce the bytes of all copies of a phase (`mbarrier.arrive.expect_tx`, `mbarrier.expect_tx`): what is left \
                 over counts for the next phase, which then ends before its own bytes have come, or never"
            }
            Kind::Stuck { .. } => {
                "every thread that a barrier or mask names must come to it, or have ended; a flag that is waited for must be set"
            }
            Kind::InvalidSync { .. } => OPERANDS,
            Kind::FailedCall { .. } => {
                "what the call was to do was not done: look at what it answers before going on"
            }
            Kind::UnawaitedLaunch => "wait for the stream or the context before the program ends",
        }
    }

    /// A verb for the host's action at its place.
    pub(crate) fn host_verb(&self) -> &'static str {
        match &self.kind {
            Kind::WorkRace(work) if work.sides[0].what == Work::HostCode => "accessed",
            _ => "called",
        }
    }

    fn outside_array(&self, bytes: u32) -> String {
        let name = self.object.as_ref().and_then(|object| object.name.as_deref()).unwrap_or_default();
        let (verb, size, place) = (self.verb(), self.object_size(), self.distance_from_start());
        format!("shared {verb} of {bytes} bytes outside `{name}` of {size} bytes: {place}")
    }

    fn outside_allocation(&self, bytes: u32) -> String {
        format!(
            "global {} of {bytes} bytes outside the allocation of {} bytes that its pointer was given for: {}, in another \
             allocation",
            self.verb(),
            self.object_size(),
            self.distance_from_start()
        )
    }

    fn verb(&self) -> String {
        self.sites.first().map_or_else(|| "access".to_owned(), |site| site.what.to_string())
    }

    fn object_size(&self) -> u64 {
        self.object.as_ref().and_then(|object| object.size).unwrap_or(0)
    }

    /// Where the access is in its object; an offset below it has wrapped around.
    fn distance_from_start(&self) -> String {
        let offset = self.object.as_ref().map_or(0, |object| object.offset as i64);
        let side = if offset < 0 { "before" } else { "from" };
        format!("{} bytes {side} its start", offset.unsigned_abs())
    }

    /// The thread of the second site.
    fn other_thread(&self) -> String {
        self.sites.get(1).map_or_else(String::new, |site| format!(", {}", example(site.thread)))
    }
}

const OPERANDS: &str = "give the instruction operands that it is defined for";

fn example([x, y, z]: [u32; 3]) -> String {
    format!("for example thread ({x}, {y}, {z})")
}

fn invalid(access: &InvalidAccess) -> String {
    let InvalidAccess { why, access, address, bytes, nearby, skipped, ended_after } = access;
    let what = match why {
        Invalid::OutOfBounds | Invalid::Freed => {
            format!("illegal address: {access} of {bytes} bytes at {address:#x}{nearby}")
        }
        Invalid::Misaligned => format!("misaligned address: {access} of {bytes} bytes at {address:#x}"),
        Invalid::ReadOnly => format!("write to read-only memory at {address:#x}"),
    };
    let skipped = if *skipped { "; the access was skipped, and the launch went on" } else { "" };
    let ended =
        ended_after.map_or_else(String::new, |most| format!(", and ended after {most} such accesses"));
    format!("{what}{skipped}{ended}")
}
