//! Calls: the callee, and the places of arguments in the caller.

use ptx::{Name, Operand, ScalarType, Space, Variable};

use super::function::{Decoder, Symbol, rows_of, same_kind};
use super::modifiers::Form;
use super::{Refusal, declaration};
use crate::form::op::{CallOp, Callee, OpKind, SystemFunction, SystemOp};
use crate::form::registers::NONE;
use crate::form::signature::{Formal, Passed, Signature};

/// Decodes `call`.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    f.modifiers.take("uni");
    let (results, rest) = match f.operands {
        [Operand::List(results), rest @ ..] => (&**results, rest),
        rest => (&[] as &[Operand], rest),
    };
    let [Operand::Name(callee), rest @ ..] = rest else {
        return Err(Refusal::new("it names no function"));
    };
    let (arguments, shape) = match rest {
        [] => (&[] as &[Operand], None),
        [Operand::List(arguments)] => (&**arguments, None),
        [Operand::List(arguments), Operand::Name(shape)] => (&**arguments, Some(shape)),
        [Operand::Name(shape)] => (&[] as &[Operand], Some(shape)),
        _ => return Err(Refusal::new("its operands do not fit")),
    };
    let (target, signature) = if let Some((index, signature)) = d.module.functions.get(callee).cloned() {
        d.calls.insert(index);
        (Callee::Direct(index), signature)
    } else if d.is_register(callee) {
        let shape =
            shape.ok_or_else(|| Refusal::new("an indirect call needs a prototype or a list of targets"))?;
        let signature = signature_of(d, shape)?;
        d.calls_indirectly = true;
        let slot = d.source(&Operand::Name(callee.clone()), ScalarType::B64)?;
        (Callee::Indirect(slot), signature)
    } else {
        return system_call(d, callee, arguments, results);
    };
    let Signature { params, results: wanted, .. } = &signature;
    let fewest = params.len() - usize::from(signature.variadic);
    if !(fewest..=params.len()).contains(&arguments.len()) || results.len() != wanted.len() {
        return Err(Refusal(format!(
            "`{callee}` takes {} arguments and gives {} results",
            params.len(),
            wanted.len()
        )));
    }
    let variadic = |i: usize| signature.variadic && i + 1 == params.len();
    let arguments = arguments.iter().zip(params).enumerate();
    let arguments = arguments.map(|(i, (operand, formal))| passed(d, operand, formal, false, variadic(i)));
    let arguments = arguments.collect::<Result<_, _>>()?;
    let results = results.iter().zip(wanted).map(|(operand, formal)| passed(d, operand, formal, true, false));
    let results = results.collect::<Result<_, _>>()?;
    Ok(OpKind::Call(Box::new(CallOp { callee: target, arguments, results })))
}

/// The shape of the functions that an indirect call may reach, of its prototype or its list of targets.
fn signature_of(d: &Decoder<'_>, name: &Name) -> Result<Signature, Refusal> {
    match d.symbol(name) {
        Some(Symbol::Prototype(signature)) => Ok((**signature).clone()),
        Some(Symbol::CallTargets(targets)) => {
            let first = targets.first().and_then(|target| d.module.functions.get(target));
            first
                .map(|(_, signature)| signature.clone())
                .ok_or_else(|| Refusal(format!("`{name}` lists no function of this module")))
        }
        _ => Err(Refusal::new("what it names last is no prototype and no list of targets")),
    }
}

/// Where the caller has an argument or, `out`, wants a result. As ptxas takes it: what is passed has the size of the formal
/// parameter, and unless it is a vector its kind, too.
fn passed(
    d: &mut Decoder<'_>,
    operand: &Operand,
    formal: &Formal,
    out: bool,
    variadic: bool,
) -> Result<Passed, Refusal> {
    let place = match operand {
        Operand::Sink if out => Passed::Sink,
        Operand::Name(name) => match d.symbol(name) {
            Some(&Symbol::Local { offset, size, ty, .. }) => {
                let kinds = match (ty, formal.ty) {
                    (Some(has), Some(wants)) => formal.place.is_vector() || same_kind(has, wants),
                    (has, wants) => has == wants,
                };
                if !kinds {
                    return Err(Refusal(format!(
                        "`{operand}` is not of the type of the function's parameter"
                    )));
                }
                Passed::Bytes { offset, size }
            }
            _ => in_register(d, operand, formal, out)?,
        },
        _ => in_register(d, operand, formal, out)?,
    };
    if place.fits(formal.place, variadic) {
        return Ok(place);
    }
    let (size, has) = (place.size(), formal.place.size());
    Err(Refusal(match formal.place.is_predicate() || place.is_predicate() {
        true => format!("`{operand}` and the function's parameter are not both predicates"),
        false => format!("`{operand}` has {size} bytes where the function has {has}"),
    }))
}

fn in_register(
    d: &mut Decoder<'_>,
    operand: &Operand,
    formal: &Formal,
    out: bool,
) -> Result<Passed, Refusal> {
    let Some(ty) = formal.ty else {
        return Err(Refusal(format!("`{operand}` is no array, as the function's parameter is one")));
    };
    if let Operand::Name(name) = operand
        && let Ok((slot, has, count @ 2..)) = d.vector_register(name)
    {
        for part in 0..u32::from(count) {
            d.note_component(slot + part * rows_of(has), rows_of(has), out);
        }
        return Ok(Passed::Registers { slot, bytes: has.size() as u32, count: count.into() });
    }
    // A scalar stands for a vector of its size.
    let ty = match formal.place.is_vector() {
        false => ty,
        true if matches!(operand, Operand::Constant(_)) => {
            return Err(Refusal::new("a constant is no vector"));
        }
        true => match formal.place.size() {
            2 => ScalarType::B16,
            4 => ScalarType::B32,
            8 => ScalarType::B64,
            _ => ScalarType::B128,
        },
    };
    let slot = if out { d.target(operand, ty)? } else { d.source(operand, ty)? };
    let bytes = if ty == ScalarType::Pred { 0 } else { ty.size() as u32 };
    Ok(Passed::Registers { slot, bytes, count: 1 })
}

/// A function's formal parameters and results, placed by `place`.
pub(super) fn signature(
    results: &[Variable],
    params: &[Variable],
    mut place: impl FnMut(&Variable) -> Result<Formal, Refusal>,
) -> Result<Signature, Refusal> {
    let before_last = params.split_last().map_or(&[][..], |(_, before)| before);
    if results.iter().chain(before_last).any(declaration::is_incomplete) {
        return Err(Refusal::new("only the last parameter of a function can be an array without a length"));
    }
    let results = results.iter().map(&mut place).collect::<Result<_, _>>()?;
    let variadic = params.last().is_some_and(is_variadic);
    let params = params.iter().map(|v| match is_variadic(v) {
        true => place(&Variable { dims: [Some(VARIADIC_BYTES / v.ty.size())].into(), ..v.clone() }),
        false => place(v),
    });
    Ok(Signature { params: params.collect::<Result<_, _>>()?, results, variadic })
}

/// The parameters of a variadic function's frame.
const VARIADIC_BYTES: u64 = 1024;

/// Whether a formal parameter stands for C's `...`: an array without a length.
fn is_variadic(variable: &Variable) -> bool {
    variable.space == Space::Param && declaration::is_incomplete(variable)
}

/// A formal parameter or result that has no place yet, as those of prototypes.
pub(super) fn formal(variable: &Variable) -> Result<Formal, Refusal> {
    declaration::vector(variable.space, variable.ty, variable.vector)?;
    let bytes = if variable.ty == ScalarType::Pred { 0 } else { variable.ty.size() as u32 };
    if variable.space == Space::Reg {
        let place = Passed::Registers { slot: NONE, bytes, count: variable.vector.into() };
        return Ok(Formal { ty: Some(variable.ty), place });
    }
    let size = variable.size().and_then(|size| u32::try_from(size).ok());
    let size = size.ok_or_else(|| Refusal::new("the variable is too large"))?;
    let ty = variable.dims.is_empty().then_some(variable.ty);
    Ok(Formal { ty, place: Passed::Bytes { offset: 0, size } })
}

/// Said of what nvcc makes of a launch in a kernel.
pub(super) const DYNAMIC_PARALLELISM: &str =
    "kernels that launch kernels (dynamic parallelism) are not supported; launch it from the host";

fn system_call(
    d: &mut Decoder<'_>,
    callee: &Name,
    arguments: &[Operand],
    results: &[Operand],
) -> Result<OpKind, Refusal> {
    let (function, count) = match callee.as_str() {
        "vprintf" => (SystemFunction::Printf, 2),
        "__assertfail" => (SystemFunction::AssertFail, 5),
        "malloc" => (SystemFunction::Malloc, 1),
        "free" => (SystemFunction::Free, 1),
        name if name.starts_with("__cudaCDP") || name.starts_with("cudaLaunchDevice") => {
            return Err(Refusal(format!("`{callee}` is of the device runtime: {DYNAMIC_PARALLELISM}")));
        }
        name if name.starts_with("__nv_") => {
            return Err(Refusal(format!(
                "the function `{callee}` is defined nowhere; it is of libdevice, which whoever makes the PTX links in"
            )));
        }
        _ => return Err(Refusal(format!("the function `{callee}` is defined nowhere"))),
    };
    let place = |operand: &Operand| match operand {
        Operand::Name(name) => match d.symbol(name) {
            Some(&Symbol::Local { offset, .. }) => Ok(offset),
            _ => Err(Refusal::new("arguments of system calls are passed in `.param` variables")),
        },
        _ => Err(Refusal::new("arguments of system calls are passed in `.param` variables")),
    };
    if arguments.len() != count {
        return Err(Refusal(format!("`{callee}` takes {count} arguments")));
    }
    let arguments = arguments.iter().map(place).collect::<Result<_, _>>()?;
    let result = results.first().map(place).transpose()?;
    Ok(OpKind::System(Box::new(SystemOp { function, arguments, result })))
}
