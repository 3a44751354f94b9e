//! Decoders of instructions that are executed by an [`Extension`](crate::exec::extension::Extension).

use super::Refusal;
use super::function::Decoder;
use super::instruction::Form;
use crate::op::OpKind;

/// Decodes an instruction of that kind; `None` if it is none.
pub(super) fn decode(_d: &mut Decoder<'_>, _form: &mut Form<'_>) -> Result<Option<OpKind>, Refusal> {
    Ok(None)
}
