//! Decoders of instructions that are executed by an [`Extension`](crate::form::extension::Extension).

use super::Refusal;
use super::function::Decoder;
use super::modifiers::Form;
use super::{asynchronous, matrix, multimem, stack, texture};
use crate::form::op::OpKind;

/// Decodes an instruction of that kind; `None` if it is none.
pub(super) fn decode(d: &mut Decoder<'_>, form: &mut Form<'_>) -> Result<Option<OpKind>, Refusal> {
    let made = match form.name {
        "mma" => matrix::mma(d, form),
        "wmma" => matrix::wmma(d, form),
        "wgmma" => matrix::wgmma(d, form),
        "ldmatrix" => matrix::matrix_access(d, form, false),
        "stmatrix" => matrix::matrix_access(d, form, true),
        "movmatrix" => matrix::movmatrix(d, form),
        "mbarrier" => asynchronous::mbarrier(d, form),
        "cp" => asynchronous::copy(d, form),
        "multimem" => multimem::decode(d, form),
        "tensormap" => asynchronous::tensormap(d, form),
        "barrier" => asynchronous::barrier_cluster(form),
        "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" | "istypep" => texture::decode(d, form),
        "alloca" | "stacksave" | "stackrestore" => stack::decode(d, form),
        _ => return Ok(None),
    };
    made.map(Some)
}
