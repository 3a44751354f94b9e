//! A function as a compiler sees it: operations, the registers that they touch, and the values that a launch gives.

use std::ops::Range;

use crate::form::arithmetic::Arithmetic;
use crate::form::extension::Needs;
use crate::form::op::{AtomicOp, CollectiveOp, DynamicSpecial, Guard, MemoryOp, OpKind, ParamOp};
use crate::form::program::{Code, FunctionCode, Init};
use crate::form::registers::{NONE, Slot};

/// How neighbouring lanes differ in a register that the launch sets, most often: blocks may be narrower than a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchValue {
    /// The same in all lanes.
    Uniform,
    /// The same in a row of the block.
    RowUniform,
    /// Numbers that follow each other.
    Consecutive,
    Varying,
}

/// The launches and warps for which code of a function is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// It has to count what it does.
    pub counted: bool,
    /// It runs only for complete warps that have never diverged, the threads of each half of which are neighbours in one row of
    /// the block. So lanes of a register differ only by the values that the launch sets.
    pub converged: bool,
}

impl Variant {
    pub(super) fn index(self) -> usize {
        usize::from(self.counted) + 2 * usize::from(self.converged)
    }
}

/// A function as a compiler sees it.
#[derive(Debug, Clone, Copy)]
pub struct Function<'c> {
    code: &'c Code,
    function: &'c FunctionCode,
    pub(super) variant: Variant,
}

/// An operation as a compiler sees it.
#[derive(Debug, Clone, Copy)]
pub struct Instruction<'c> {
    /// The predicate under which it runs.
    pub guard: Guard,
    /// Its effect.
    pub kind: Kind<'c>,
    /// Registers that it reads, with their rows (0: a predicate), the guard not among them.
    pub reads: &'c [(Slot, u32)],
    /// Registers that it writes.
    pub writes: &'c [(Slot, u32)],
    /// Registers that it names beside these.
    pub mentioned: &'c [Slot],
}

/// The effect of an operation, as far as a compiler may take it on.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'c> {
    /// Registers only.
    Arithmetic(&'c Arithmetic),
    Load(&'c MemoryOp),
    Store(&'c MemoryOp),
    /// A load of a kernel's parameter.
    Parameter(&'c ParamOp),
    Atomic(&'c AtomicOp),
    /// Lanes take part converged. If [`CollectiveOp::members`] are not all here, with one member mask, it is the interpreter's.
    Collective(&'c CollectiveOp),
    Fence,
    /// Writes which lanes run it.
    ActiveMask {
        target: Slot,
    },
    Branch {
        target: u32,
    },
    /// Goes to one of these.
    Table(&'c [u32]),
    Nothing,
    /// The interpreter does it ([`State::perform`](super::State::perform)) and goes on with the next operation, if all lanes of the warp do it where it
    /// takes the `whole` warp.
    Called {
        whole: bool,
    },
    /// The function ends here, or the thread, unless the guard says no.
    End,
    /// For the interpreter alone.
    Other,
}

impl<'c> Function<'c> {
    pub(crate) fn new(code: &'c Code, index: u32, variant: Variant) -> Self {
        Function { code, function: &code.functions[index as usize], variant }
    }

    /// See [`Variant::counted`].
    pub fn is_counted(&self) -> bool {
        self.variant.counted
    }

    /// See [`Variant::converged`].
    pub fn is_converged(&self) -> bool {
        self.variant.converged
    }

    /// Registers that may be read before they are written.
    pub fn unset(&self) -> &'c [Slot] {
        &self.function.unset
    }

    /// Its program counters.
    pub fn range(&self) -> Range<u32> {
        self.function.start..self.function.end
    }

    /// Rows of its frame.
    pub fn rows(&self) -> u32 {
        self.function.image.len() as u32
    }

    /// The operation at one of them.
    pub fn step(&self, pc: u32) -> Instruction<'c> {
        let (op, touched) = (&self.code.ops[pc as usize], &self.code.touched[pc as usize]);
        let kind = match &op.kind {
            OpKind::Alu(arithmetic) => Kind::Arithmetic(arithmetic),
            OpKind::Load(op) => Kind::Load(op),
            OpKind::Store(op) => Kind::Store(op),
            OpKind::LoadParam(op) => Kind::Parameter(op),
            OpKind::Atomic(op) => Kind::Atomic(op),
            OpKind::Collective(op) => Kind::Collective(op),
            OpKind::Fence { .. } => Kind::Fence,
            &OpKind::Special { target, which: DynamicSpecial::ActiveMask } => Kind::ActiveMask { target },
            &OpKind::Branch { target } | &OpKind::Jump { target } => Kind::Branch { target },
            OpKind::BranchIndexed { targets, .. } => Kind::Table(targets),
            OpKind::Nop => Kind::Nothing,
            OpKind::Return | OpKind::Exit | OpKind::Trap => Kind::End,
            OpKind::Extension(extension) if touched.mentioned.is_empty() => match extension.needs() {
                Some(Needs::AnyLanes) => Kind::Called { whole: false },
                Some(Needs::WholeWarp) if self.variant.converged && op.guard.slot == NONE => {
                    Kind::Called { whole: true }
                }
                _ => Kind::Other,
            },
            _ => Kind::Other,
        };
        Instruction {
            guard: op.guard,
            kind,
            reads: &touched.reads,
            writes: &touched.writes,
            mentioned: &touched.mentioned,
        }
    }

    /// Registers that are set when a frame is made and that no operation writes: what a thread is told of itself and of the
    /// launch. They are not among those that operations read.
    pub fn fixed(&self) -> impl Iterator<Item = (Slot, LaunchValue)> + 'c {
        self.function.inits.iter().map(|&(slot, init)| {
            let told = match init {
                Init::Tid(0) | Init::LaneId => LaunchValue::Consecutive,
                Init::LaneMask(_) => LaunchValue::Varying,
                Init::Tid(_) => LaunchValue::RowUniform,
                _ => LaunchValue::Uniform,
            };
            (slot, told)
        })
    }

    /// The value of a register that no operation writes and no thread has its own of: by 32 bits, the lowest first.
    pub fn constant(&self, slot: Slot, rows: u32) -> Option<u64> {
        self.function.constants.binary_search(&slot).ok()?;
        let row = |at: u32| self.function.image.get(at as usize).map(|row| row.0);
        match rows {
            0 | 1 => row(slot).map(|row| row[0].into()),
            2 => row(slot).map(|row| u64::from(row[1]) << 32 | u64::from(row[0])),
            _ => None,
        }
    }
}
