//! Operations on their way into a program.

use std::sync::Arc;

use ptx::{LocId, Opcode};

use crate::evaluate::{Evaluate, Evaluations};
use crate::form::op::{Op, OpKind, Touched};
use crate::form::program::{Code, CodeSite};

/// An operation whose targets are still labels.
pub(super) struct Draft {
    pub op: Op,
    /// How it is evaluated, if it is arithmetic.
    pub evaluate: Option<Evaluate>,
    pub line: u32,
    pub loc: Option<LocId>,
    pub touched: Touched,
    /// The instruction of the text; `None` for operations that decoding added.
    pub opcode: Option<Arc<Opcode>>,
}

impl Code {
    /// Puts operations behind all others.
    pub(super) fn append(&mut self, drafts: Vec<Draft>, evaluations: &mut Evaluations) {
        for draft in drafts {
            self.sites.push(CodeSite { ptx_line: draft.line, loc: draft.loc });
            self.touched.push(draft.touched);
            self.opcodes.push(draft.opcode);
            self.ops.push(draft.op);
            evaluations.0.push(draft.evaluate);
        }
    }
}

/// A part of the function's body in order.
pub(super) enum Item {
    Label(u32),
    Op(Draft),
}

impl OpKind {
    /// The label (then program counter) that a branch goes to.
    pub(super) fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            OpKind::Branch { target } | OpKind::Jump { target } => Some(target),
            _ => None,
        }
    }

    /// The table that a `brx.idx` goes by.
    pub(super) fn table_mut(&mut self) -> Option<&mut Arc<[u32]>> {
        match self {
            OpKind::BranchIndexed { targets, .. } => Some(targets),
            _ => None,
        }
    }
}
