//! Uses that only the blockwise crate may have in a kernel without `unsafe`.

use crate::bitcode::{link, marks};
use crate::llvm::{Opcode, Value};

/// In order of precedence: of several that one call does, the first is reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Use {
    Thread,
    Barrier,
    Lanes,
    Atomic,
    Copy,
    Clock,
    Heap,
    Fence,
    InlinePtx,
    Instruction,
}

impl Use {
    /// The predicate of the message, after the kernel's name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Thread => "asks which thread it is",
            Self::Clock => {
                "asks for the time or its multiprocessor, which need not be the same for all threads"
            }
            Self::Barrier => "waits at a barrier",
            Self::Fence => "orders memory by a fence",
            Self::Lanes => "exchanges values between the lanes of a warp",
            Self::Atomic => "uses an atomic",
            Self::Copy => "copies asynchronously",
            Self::Heap => "allocates on the heap, where each thread gets an address of its own",
            Self::InlinePtx => "has inline PTX",
            Self::Instruction => "uses an instruction that is not known to be the same for all threads",
        }
    }

    /// The replacement.
    pub fn instead(self) -> &'static str {
        match self {
            Self::Thread => {
                "the code of a block is the same for all of its threads, and what differs between them stands in a closure, which is \
                 handed its thread: `block.each(|t| … t.x() …)`"
            }
            Self::Clock => "measure by events on the host, or write the kernel as an `unsafe fn`",
            Self::Barrier => {
                "a change of a tile from being filled to being read has its barriers: `block.share(filled)`, `block.reuse(shared)`"
            }
            Self::Fence => "what threads share is a tile or an output, whose changes order memory themselves",
            Self::Lanes => {
                "all lanes of a warp take part in the operations of the block and the warp: `block.reduce(…)`, `block.scan(…)`, \
                 `block.warps(|warp| …)`"
            }
            Self::Atomic => {
                "what many threads add to is a parameter of type `Counters`, or a tile that counts: `histogram.add(t, i, 1)`; what \
                 threads hand to each other is a tile, or `block.reduce(…)`"
            }
            Self::Copy => "fill a tile; a kernel that copies ahead is an `unsafe fn`",
            Self::Heap => "use an array on the stack, a tile of shared memory, or a buffer from the host",
            Self::InlinePtx | Self::Instruction => {
                "use an operation of the blockwise crate, or write the kernel as an `unsafe fn`"
            }
        }
    }
}

/// The refused use of an instruction, if it has one.
pub fn of(instruction: Value, single_thread: u32) -> Option<Use> {
    match instruction.opcode() {
        Opcode::AtomicRmw | Opcode::CmpXchg => Some(Use::Atomic),
        Opcode::Load | Opcode::Store if instruction.is_atomic() => Some(Use::Atomic),
        Opcode::Fence if instruction.sync_scope() != single_thread => Some(Use::Fence),
        Opcode::Call | Opcode::Invoke => of_mark(&instruction.called()?.as_function()?.name()),
        _ => None,
    }
}

fn of_mark(name: &str) -> Option<Use> {
    if let Some(intrinsic) = name.strip_prefix(marks::LLVM) {
        of_intrinsic(intrinsic)
    } else if let Some(description) = name.strip_prefix(marks::PTX) {
        Some(of_inline_ptx(description))
    } else if name == "malloc" || link::allocates(name) {
        Some(Use::Heap)
    } else {
        None
    }
}

/// Intrinsics that are uniform in a block, or depend on nothing but operands.
const UNIFORM: [&str; 6] = [
    "read.ptx.sreg.ntid.",
    "read.ptx.sreg.ctaid.",
    "read.ptx.sreg.nctaid.",
    "mul.rn.",
    "fma.rn.",
    "nanosleep",
];

/// By the beginnings of the names of NVPTX's intrinsics.
const INTRINSICS: [(Use, &[&str]); 6] = [
    (
        Use::Thread,
        &["read.ptx.sreg.tid.", "read.ptx.sreg.laneid", "read.ptx.sreg.lanemask", "read.ptx.sreg.warpid"],
    ),
    (
        Use::Clock,
        &["read.ptx.sreg.clock", "read.ptx.sreg.globaltimer", "read.ptx.sreg.smid", "read.ptx.sreg.pm"],
    ),
    (Use::Barrier, &["bar", "mbarrier"]),
    (Use::Fence, &["membar", "fence"]),
    (Use::Lanes, &["shfl", "vote", "match", "activemask", "elect", "redux"]),
    (Use::Atomic, &["atomic"]),
];

fn of_intrinsic(name: &str) -> Option<Use> {
    let begins = |with: &&str| name.strip_prefix("llvm.nvvm.").is_some_and(|name| name.starts_with(*with));
    if UNIFORM.iter().any(&begins) {
        return None;
    }
    let known = INTRINSICS.iter().find(|(_, beginnings)| beginnings.iter().any(&begins));
    match known {
        Some((what, _)) => Some(*what),
        None if name.starts_with("llvm.nvvm.") || name.starts_with("llvm.read") => Some(Use::Instruction),
        None => None,
    }
}

/// By the beginnings of the text's words. Which of these it is matters to the message alone: all inline PTX is refused.
const WORDS: [(Use, &[&str]); 7] = [
    (Use::Thread, &["%tid", "%laneid", "%lanemask", "%warpid"]),
    (
        Use::Lanes,
        &[
            "shfl.",
            "vote.",
            "match.",
            "activemask",
            "elect.",
            "redux.",
            "bar.warp.",
            "ldmatrix",
            "mma.",
            "wmma.",
        ],
    ),
    (Use::Copy, &["cp.", "mbarrier."]),
    (Use::Barrier, &["bar.", "barrier."]),
    (Use::Atomic, &["atom.", "red."]),
    (Use::Clock, &["%clock", "%globaltimer", "%smid"]),
    (Use::Fence, &["membar.", "fence."]),
];

fn of_inline_ptx(description: &str) -> Use {
    let text = description.splitn(3, '|').last().unwrap_or_default();
    let words = || text.split(|c: char| c.is_whitespace() || "{};,".contains(c));
    let known =
        WORDS.iter().find(|(_, begin)| words().any(|word| begin.iter().any(|with| word.starts_with(*with))));
    known.map_or(Use::InlinePtx, |(what, _)| *what)
}

#[cfg(test)]
mod tests {
    use super::{Use, of_mark};

    #[test]
    fn marks_are_judged_by_what_they_ask() {
        for (mark, expected) in [
            ("llvm:llvm.nvvm.read.ptx.sreg.tid.x", Some(Use::Thread)),
            ("llvm:llvm.nvvm.read.ptx.sreg.lanemask.lt", Some(Use::Thread)),
            ("llvm:llvm.nvvm.read.ptx.sreg.clock64", Some(Use::Clock)),
            ("llvm:llvm.nvvm.barrier.cta.sync.aligned.all", Some(Use::Barrier)),
            ("llvm:llvm.nvvm.membar.gl", Some(Use::Fence)),
            ("llvm:llvm.nvvm.shfl.sync.bfly.i32", Some(Use::Lanes)),
            ("llvm:llvm.nvvm.cp.async.wait.all", Some(Use::Instruction)),
            ("llvm:llvm.readcyclecounter", Some(Use::Instruction)),
            ("llvm:llvm.nvvm.read.ptx.sreg.ctaid.x", None),
            ("llvm:llvm.nvvm.read.ptx.sreg.ntid.y", None),
            ("llvm:llvm.nvvm.mul.rn.f", None),
            ("llvm:llvm.fma.f32", None),
            ("ptx:pn|i:u32,o:u32|add.u32 {1}, {0}, {0};", Some(Use::InlinePtx)),
            ("ptx:|o:u64|mov.u64 {0}, %clock64;", Some(Use::Clock)),
            ("ptx:c|o:u32,i:u32|redux.sync.add.u32 {0}, {1}, 0xffffffff;", Some(Use::Lanes)),
            ("ptx:c|i:u32|bar.warp.sync {0};", Some(Use::Lanes)),
            ("ptx:||cp.async.wait_all;", Some(Use::Copy)),
            ("ptx:|i:ptr|red.gpu.add.u32 [{0}], 1;", Some(Use::Atomic)),
            ("ptx:||membar.gl;", Some(Use::Fence)),
            ("blockwise:llvm.nvvm.read.ptx.sreg.tid.x", None),
            ("blockwise:ptx:||bar.sync 0;", None),
            ("malloc", Some(Use::Heap)),
            ("_RNvCsdBezzDwma51_7___rustc12___rust_alloc", Some(Use::Heap)),
            ("_RNvCsdBezzDwma51_7___rustc14___rust_dealloc", None),
            ("_RNvNtCs1_4core9panicking5panic", None),
        ] {
            assert_eq!(of_mark(mark), expected, "{mark}");
        }
    }
}
