//! The video instructions.

use super::Refusal;
use super::function::Decoder;
use super::instruction::Form;
use crate::op::OpKind;

/// Whether an opcode is one of them.
pub(super) fn knows(_name: &str) -> bool {
    false
}

/// Decodes one.
pub(super) fn decode(_d: &mut Decoder<'_>, _form: &mut Form<'_>) -> Result<OpKind, Refusal> {
    Err(Refusal::new("video instructions are not supported"))
}
