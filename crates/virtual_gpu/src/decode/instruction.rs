//! Finds the decoder of an opcode.

use ptx::{Instruction, Operand};

use super::function::Decoder;
use super::modifiers::{Form, Modifiers};
use super::{
    Refusal, address, asynchronous, atomics, call, compare, control, convert, data, elements, extension,
    float, forms, half, multimem, video, warp,
};
use crate::evaluate::{self, Evaluate};
use crate::form::arithmetic::Opcode;
use crate::form::op::OpKind;

/// Decodes an instruction, and finds how it is evaluated if it is arithmetic.
pub(super) fn decode(d: &mut Decoder<'_>, i: &Instruction) -> Result<(OpKind, Option<Evaluate>), Refusal> {
    let mut form =
        Form { name: i.opcode.name.as_str(), modifiers: Modifiers::new(&i.opcode), operands: &i.operands };
    let packed_or_half =
        i.opcode.modifiers.iter().any(|m| matches!(m.as_str(), "f16" | "f16x2" | "bf16" | "bf16x2"));
    let float = i.opcode.modifiers.iter().any(|m| matches!(m.as_str(), "f32" | "f64" | "f32x2"));
    let f = &mut form;
    // In a vector ptxas reads them first.
    let vector = f.operands.iter().any(|o| matches!(o, Operand::Vector(_) | Operand::Indexed(..)));
    d.reads_special =
        vector || f.name == "mov" || f.name == "cvt" && !float && !packed_or_half && !i.opcode.has("pack");
    if vector {
        elements::check(d, i)?;
    }
    let kind = match f.name {
        "add" | "sub" | "mul" | "fma" if packed_or_half && float => half::mixed(d, f)?,
        "add" | "sub" | "mul" | "fma" | "mad" | "min" | "max" | "abs" | "neg" | "ex2" | "tanh"
            if packed_or_half =>
        {
            half::decode(d, f)?
        }
        "add" | "sub" | "mul" | "fma" | "mad" | "div" | "min" | "max" | "abs" | "neg" if float => {
            float::decode(d, f)?
        }
        "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "testp" | "copysign" => {
            float::decode(d, f)?
        }
        "setp" | "set" | "selp" | "slct" => compare::decode(d, f)?,
        "cvt" => convert::decode(d, f)?,
        "st" | "red" if i.opcode.has("async") && i.opcode.has("release") => multimem::released(d, f)?,
        "st" | "red" if i.opcode.has("async") => asynchronous::store(d, f)?,
        "st" if i.opcode.has("bulk") => return Err(Refusal::new(BULK)),
        "mov" | "ld" | "ldu" | "st" => data::decode(d, f)?,
        "cvta" | "isspacep" | "mapa" | "getctarank" => address::decode(d, f)?,
        "atom" | "red" => atomics::decode(d, f)?,
        "call" => call::decode(d, f)?,
        "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "membar" | "fence" | "prefetch"
        | "prefetchu" | "discard" | "applypriority" | "createpolicy" | "pmevent" | "griddepcontrol"
        | "setmaxnreg" => control::decode(d, f)?,
        "bar" | "barrier" if !i.opcode.has("cluster") => warp::barrier(d, f)?,
        "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => warp::decode(d, f)?,
        name if video::knows(name) => video::decode(d, f)?,
        _ => match extension::decode(d, f)? {
            Some(kind) => kind,
            None if Opcode::of(f.name).is_some() => super::arithmetic::decode(d, f)?,
            None => return Err(Refusal::new(unknown(f.name))),
        },
    };
    let evaluate = match &kind {
        OpKind::Alu(operation) => {
            Some(evaluate::evaluation(operation).map_err(|unknown| Refusal(unknown.0))?)
        }
        _ => None,
    };
    form.done()?;
    let short = matches!(i.opcode.name.as_str(), "ld" | "st") && i.operands.len() < 3;
    let ends_in_address = matches!(i.operands.last(), Some(Operand::Address(_)));
    if i.opcode.has("L2::cache_hint") && (short || ends_in_address) {
        return Err(Refusal::new("`.L2::cache_hint` takes the policy as a last operand"));
    }
    // Last, because what a decoder says is more to the point.
    forms::check(&i.opcode)?;
    d.module.requirements.check(i)?;
    Ok((kind, evaluate))
}

const BULK: &str = "Blackwell's filling of shared memory is not executed; store the zeros with st";

/// Why an instruction that no decoder takes is not executed.
fn unknown(name: &str) -> &'static str {
    match name {
        "tcgen05" => {
            "the virtual GPU has no tensor memory, which Blackwell's tcgen05 works on; mma.sync and wgmma are executed"
        }
        "clusterlaunchcontrol" => {
            "the virtual GPU does not cancel clusters that have not begun; take work from a counter by atom.add"
        }
        _ => "the virtual GPU does not know this instruction",
    }
}
