//! A decoded program: registers, operations, functions, and what can be derived from them. Nothing here depends on who
//! runs it.

pub(crate) mod access;
pub(crate) mod arithmetic;
pub(crate) mod asynchronous;
pub(crate) mod exchange;
pub(crate) mod extension;
pub(crate) mod matrix;
pub(crate) mod op;
pub(crate) mod operation;
mod paths;
pub(crate) mod print;
pub(crate) mod program;
pub(crate) mod provenance;
pub(crate) mod qualifiers;
pub(crate) mod registers;
pub(crate) mod signature;
pub(crate) mod texture;
mod update;
pub(crate) mod values;
