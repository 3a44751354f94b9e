//! PTX text to a typed module; errors carry line and column.

pub mod ast;
pub mod constant;
pub mod instruction;
mod name;
mod types;

pub use ast::*;
pub use constant::{Constant, Initializer, SymbolAddress};
pub use instruction::{Address, Guard, Instruction, Opcode, Operand};
pub use name::Name;
pub use types::{Linkage, ScalarType, Space};
