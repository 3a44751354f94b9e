//! Parses PTX text into a typed module; errors carry line and column.
//!
//! [`parse`] knows the grammar of the whole language but not the instructions: an instruction is its opcode, its
//! modifiers in order, and its operands. What they mean, and whether they are supported, is up to the crate that executes
//! them.
//!
//! ```
//! let module = ptx::parse(
//!     ".version 8.6
//!      .target sm_90
//!      .address_size 64
//!      .visible .entry fill(.param .u64 out) {
//!          .reg .b64 %rd<2>;
//!          ld.param.u64 %rd1, [out];
//!          st.global.u32 [%rd1+4], 7;
//!          ret;
//!      }",
//! )?;
//! let ptx::Statement::Instruction(store) = &module.functions[0].body.as_ref().unwrap().statements[2] else { panic!() };
//! assert_eq!(store.opcode.to_string(), "st.global.u32");
//! assert_eq!((store.position.line, store.position.column), (7, 10));
//! # Ok::<(), ptx::Error>(())
//! ```
//!
//! No text makes it panic, exhaust the stack, or use more memory than a small multiple of its length. Counts in the
//! text (`%r<4294967295>`, array lengths) remain numbers; code that allocates for them must check their size.

pub mod ast;
pub mod constant;
mod error;
pub mod instruction;
mod lexer;
mod lines;
mod name;
mod nearest;
mod parser;
mod print;
mod types;

pub use ast::*;
pub use constant::{Constant, Initializer, SymbolAddress};
pub use error::{Error, Problem};
pub use instruction::{Address, Guard, Instruction, Opcode, Operand};
pub use lines::{Frame, SourceLines};
pub use name::{Name, rust_name};
pub use nearest::{meant, nearest};
pub use types::{Linkage, ScalarType, Space};

/// Parses a whole module.
pub fn parse(text: &str) -> Result<Module, Error> {
    parser::Parser::new(text)?.module()
}
