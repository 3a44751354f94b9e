//! An operation as observers see it.

use super::arithmetic::Arithmetic;
use super::extension::Extension;
use super::op::{AtomicOp, CollectiveOp, MemoryOp, OpKind};
use super::program::Code;

/// An instruction's operation.
#[derive(Debug, Clone, Copy)]
pub enum Operation<'c> {
    /// The same in every lane, registers only.
    Arithmetic(&'c Arithmetic),
    Load(&'c MemoryOp),
    Store(&'c MemoryOp),
    Atomic(&'c AtomicOp),
    /// An instruction with a member mask.
    Collective(&'c CollectiveOp),
    /// `brx`
    BranchIndexed,
    /// A product of matrices, or a move of their parts: tells what it does through [`Undefined`](crate::observer::Undefined).
    Matrix {
        /// `wgmma`
        asynchronous: bool,
    },
    Other,
}

impl Code {
    pub fn operation(&self, pc: u32) -> Operation<'_> {
        match self.ops.get(pc as usize).map(|op| &op.kind) {
            Some(OpKind::Alu(arithmetic)) => Operation::Arithmetic(arithmetic),
            Some(OpKind::Load(load)) => Operation::Load(load),
            Some(OpKind::Store(store)) => Operation::Store(store),
            Some(OpKind::Atomic(atomic)) => Operation::Atomic(atomic),
            Some(OpKind::Collective(collective)) => Operation::Collective(collective),
            Some(OpKind::BranchIndexed { .. }) => Operation::BranchIndexed,
            Some(OpKind::Extension(extension)) => match &**extension {
                Extension::GroupMultiply(_) => Operation::Matrix { asynchronous: true },
                Extension::WarpMultiply(_)
                | Extension::SparseMultiply(_)
                | Extension::FragmentMultiply(_)
                | Extension::MatrixAccess(_)
                | Extension::FragmentAccess(_)
                | Extension::Transpose(_) => Operation::Matrix { asynchronous: false },
                _ => Operation::Other,
            },
            _ => Operation::Other,
        }
    }
}
