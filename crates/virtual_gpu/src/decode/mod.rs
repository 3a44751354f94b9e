//! From the parsed module to the flat program that runs.
//!
//! [`module`] places variables and collects names, [`function`] decodes a function's statements into operations,
//! [`instruction`] finds the decoder of an opcode, [`flow`] orders basic blocks.

mod address;
mod allocation;
mod arithmetic;
mod asynchronous;
mod atomics;
mod body;
mod call;
mod compare;
mod control;
mod convert;
mod data;
mod declaration;
mod draft;
mod elements;
pub(crate) mod extension;
mod float;
mod flow;
mod forms;
mod function;
mod half;
mod hint;
mod instruction;
mod liveness;
mod matrix;
mod modifiers;
mod module;
mod multimem;
mod reach;
mod requirements;
mod special;
mod stack;
mod texture;
mod video;
mod warp;

pub(crate) use module::load;

/// Why an instruction or declaration is not executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(pub String);

impl Refusal {
    pub fn new(reason: &str) -> Self {
        Refusal(reason.to_owned())
    }
}
