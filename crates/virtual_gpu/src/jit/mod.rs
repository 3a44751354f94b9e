//! The seam between the interpreter and a compiler of its programs.
//!
//! A [`Compiler`] is shown a function ([`Function`]) and gives a [`CompiledRegion`]: machine code for blocks of operations in a
//! row and the branches between them, for a group of lanes that stays converged, and the program counters at which the code may
//! be entered. The interpreter enters it at these, and goes on at the program counter that comes back: at an operation that is
//! not compiled, where the group diverges or reconverges with another, or where the warp's slice ends. So the order in which
//! groups, warps and blocks run is the same to the operation, compiled or not.
//!
//! An operation without machine code is left to the interpreter by a call: [`State::perform`]. Launches whose observer wants
//! counts have code of their own, which counts ([`crate::counting`]).
//!
//! `abi` is the interface of machine code, `program` the functions as a compiler sees them, `tiering` when they are compiled.

mod abi;
mod program;
mod tiering;

pub use abi::{Compact, CompiledRegion, State};
pub use program::{Function, Instruction, Kind, LaunchValue, Variant};
pub(crate) use tiering::CodeTable;
pub use tiering::{Compilation, Compiler};

pub use crate::exec::MOST_BACKWARD;
pub use crate::form::access::{AddressOperand, AtomicFunction, SpaceOperand};
pub use crate::form::arithmetic::{Arithmetic, Opcode};
pub use crate::form::op::{AtomicOp, CollectiveKind, CollectiveOp, Guard, MemoryOp, ParamOp, ShuffleMode};
pub use crate::form::qualifiers::{
    Accuracy, Compare, Convert, Converted, ProductHalf, Qualifiers, Region, Relation, Tiny, Video,
};
pub use crate::form::registers::{NONE, Row, Slot};
pub use crate::memory::Site;
