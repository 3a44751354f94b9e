//! Counters of an instruction in one space, and their rules.

use gpu_model::Halves;
use gpu_model::banks;
use gpu_model::profile::{GlobalCounters, SharedCounters, Strides};

use crate::form::access::{AtomicFunction, SpaceOperand};
use crate::form::op::{AtomicOp, OpKind};
use crate::form::program::Code;
use crate::memory::window;
use crate::observer::{Access, AccessKind, MemorySpace};

/// One memory instruction in one space; it belongs to one family.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub pc: u32,
    pub space: MemorySpace,
    pub count: Count,
    /// A family without a rule that counts its instructions, too.
    pub beside: Option<&'static str>,
    /// The distance between its lanes where that was costly.
    pub strides: Strides,
    /// The last of these that were found.
    pub known: Option<(Halves, Strides)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Count {
    Shared(AccessKind, banks::Access, SharedCounters),
    Global(AccessKind, GlobalCounters),
    NotCounted(&'static str, u64),
    /// Reads of `cp.async` are reported when its copies start.
    Copies,
}

/// The properties that decide on the family of an access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub space: MemorySpace,
    pub kind: AccessKind,
    /// Of each lane.
    pub bytes: u32,
    generic: bool,
    /// Whether it goes to the shared memory of another block of the cluster.
    pub remote: bool,
}

impl Asked {
    #[inline]
    pub fn of(access: &Access<'_>) -> Self {
        let first = access.addresses[access.lanes.trailing_zeros() as usize & 31];
        let remote = access.space == MemorySpace::Shared && first >> window::SHARED_OFFSET_BITS != 0;
        let (space, kind, generic) = (access.space, access.kind, access.generic);
        Asked { space, kind, bytes: access.bytes(), generic, remote }
    }

    /// Counted by machine code itself.
    pub fn by(code: &Code, pc: u32) -> Option<Self> {
        let (op, kind) = match &code.ops[pc as usize].kind {
            OpKind::Load(op) => (op, AccessKind::Load),
            OpKind::Store(op) => (op, AccessKind::Store),
            _ => return None,
        };
        let (space, generic) = match op.space {
            SpaceOperand::In(space) => (space, false),
            SpaceOperand::Generic => (MemorySpace::Global, true),
        };
        Some(Asked { space, kind, bytes: op.width * op.data.len() as u32, generic, remote: false })
    }

    /// Whether the instruction may have others in other spaces. Most generic addresses are global.
    pub fn is_aside(&self) -> bool {
        self.remote || (self.generic && self.space != MemorySpace::Global)
    }
}

impl Site {
    pub fn new(code: &Code, pc: u32, asked: &Asked) -> Self {
        let op = code.ops.get(pc as usize).map(|op| &op.kind);
        let is_wide_swap = matches!(op, Some(OpKind::Atomic(op)) if op.function == AtomicFunction::CompareAndSwap && op.width == 8);
        let beside = is_wide_swap.then_some(WIDE_SWAPS);
        let count = family(code, pc, asked);
        Site { pc, space: asked.space, count, beside, strides: Strides::default(), known: None }
    }
}

/// Two of 56 measurements differ from the rule, by one sector.
const WIDE_SWAPS: &str = "sectors of global compare-and-swaps of 8 bytes, which may be one more or fewer";

/// The family of an instruction, or the reason why none of its accesses has a measured rule.
fn family(code: &Code, pc: u32, asked: &Asked) -> Count {
    let not_counted = |what| Count::NotCounted(what, 0);
    let op = code.ops.get(pc as usize).map(|op| &op.kind);
    if matches!(op, Some(OpKind::Extension(_))) {
        let name = code.opcode(pc).map(|opcode| opcode.name.as_str());
        return match (name, asked.space) {
            (Some("ldmatrix" | "stmatrix"), MemorySpace::Shared) => {
                Count::Shared(asked.kind, banks::Access::Matrix, SharedCounters::default())
            }
            (Some("cp"), MemorySpace::Global) => Count::Copies,
            _ => not_counted("matrix and bulk instructions"),
        };
    }
    let multimem = match op {
        Some(OpKind::Load(op) | OpKind::Store(op)) => op.multimem,
        Some(OpKind::Atomic(op)) => op.multimem,
        _ => false,
    };
    if multimem {
        return not_counted("multimem");
    }
    let atomic = matches!(asked.kind, AccessKind::Atomic | AccessKind::Reduction);
    match asked.space {
        MemorySpace::Shared => {
            if asked.remote {
                not_counted("shared memory of other blocks")
            } else if atomic {
                match op {
                    Some(OpKind::Atomic(op)) => atomic_rule(op, asked.kind),
                    _ => not_counted("shared atomics"),
                }
            } else if asked.bytes > 16 {
                not_counted("shared accesses of more than 16 bytes")
            } else {
                let rule = match asked.kind {
                    AccessKind::Load if asked.generic => banks::Access::GenericLoad,
                    AccessKind::Load => banks::Access::Load,
                    _ => banks::Access::Store,
                };
                Count::Shared(asked.kind, rule, SharedCounters::default())
            }
        }
        // Those of 2 bytes become loops, whose iterations depend on timing; wider ones were not measured.
        _ if atomic => match op {
            Some(OpKind::Atomic(op)) if matches!(op.width, 4 | 8) && asked.bytes <= 16 => {
                Count::Global(asked.kind, GlobalCounters::default())
            }
            _ => not_counted("global atomics of 2 or more than 16 bytes"),
        },
        _ => Count::Global(asked.kind, GlobalCounters::default()),
    }
}

/// The rule for a shared atomic. Those for which the chip has no instruction become loops, whose iterations depend on
/// timing.
fn atomic_rule(op: &AtomicOp, kind: AccessKind) -> Count {
    use AtomicFunction::*;
    let rule = match (op.function, op.width) {
        (Add, 4) if op.counts => banks::Access::Count,
        (CompareAndSwap, 4 | 8) => banks::Access::CompareAndSwap,
        (Exchange, 4 | 8) => banks::Access::Atomic,
        (
            Add | And | Or | Xor | Increment | Decrement | MinUnsigned | MaxUnsigned | MinSigned | MaxSigned,
            4,
        ) => banks::Access::Atomic,
        _ => return Count::NotCounted("shared atomics that become loops of compare-and-swap", 0),
    };
    Count::Shared(kind, rule, SharedCounters::default())
}
