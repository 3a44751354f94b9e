//! Control flow, fences, and instructions that only hint.

use ptx::{Name, Operand, ScalarType};

use super::Refusal;
use super::function::{Decoder, Symbol, rows_of};
use super::instruction::Form;
use crate::exec::lanewise::map1;
use crate::observer::{Order, Scope};
use crate::op::{CallOp, Callee, OpKind, SystemFunction, SystemOp, Transfer};
use crate::program::Place;

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    f.modifiers.take("uni");
    Ok(match f.name {
        "bra" => {
            let [Operand::Name(label)] = f.operands()? else { return Err(Refusal::new("it takes a label")) };
            OpKind::Branch { target: d.label(label) }
        }
        "brx" => {
            f.modifiers.take("idx");
            let [index, Operand::Name(list)] = f.operands()? else {
                return Err(Refusal::new("it takes an index and a list of targets"));
            };
            let Some(Symbol::Targets(targets)) = d.symbol(list).cloned() else {
                return Err(Refusal(format!("`{list}` is no list of branch targets")));
            };
            OpKind::BranchIndexed { index: d.source(index, ScalarType::U32)?, targets }
        }
        "call" => return call(d, f),
        "ret" => OpKind::Return,
        "exit" => OpKind::Exit,
        "trap" => OpKind::Trap,
        "brkpt" => OpKind::Breakpoint,
        "nanosleep" => {
            f.modifiers.take("u32");
            let [time] = f.operands()?;
            d.source(time, ScalarType::U32)?;
            OpKind::Yield
        }
        "membar" | "fence" => fence(f)?,
        "createpolicy" => {
            f.modifiers.take_map(|_| None::<()>);
            let Some(target) = f.operands.first() else { return Err(Refusal::new("it gives a policy")) };
            while f.modifiers.take_map(|_| Some(())).is_some() {}
            // A policy changes when things move, not what they are.
            let zero = d.constant(0, 2)?;
            let target = d.real_target(target, ScalarType::B64)?;
            OpKind::Alu(map1(target, zero, |a: u64| a))
        }
        // Hints, and what counts registers that the virtual GPU does not run short of.
        _ => {
            while f.modifiers.take_map(|_| Some(())).is_some() {}
            OpKind::Nop
        }
    })
}

fn fence(f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    if m.take_map(|w| (w.starts_with("proxy") || w == "mbarrier_init").then_some(())).is_some() {
        // Between proxies: memory here is one. The order that it also gives is that of the rest of its name.
        let proxies = m.take_map(|w| w.starts_with("async").then_some(())).is_some();
        let order = m.order().unwrap_or(Order::AcquireRelease);
        let scope = m.scope().unwrap_or(Scope::Block);
        while m.take_map(|_| Some(())).is_some() {}
        return Ok(OpKind::Fence { order, scope, proxies });
    }
    let order = m.order().unwrap_or(if f.name == "fence" {
        Order::AcquireRelease
    } else {
        Order::SequentiallyConsistent
    });
    let level = m.take_any(&[("gl", Scope::Device)]);
    let scope = level.or_else(|| m.scope()).ok_or_else(|| Refusal::new("it names no scope"))?;
    // `.sync_restrict::…` narrows what is ordered; ordering more is within the rules.
    m.take_map(|w| w.starts_with("sync_restrict").then_some(()));
    f.operands::<0>()?;
    Ok(OpKind::Fence { order, scope, proxies: false })
}

fn call(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let (results, rest) = match f.operands {
        [Operand::List(results), rest @ ..] => (&**results, rest),
        rest => (&[] as &[Operand], rest),
    };
    let [Operand::Name(callee), rest @ ..] = rest else {
        return Err(Refusal::new("it names no function"));
    };
    let (arguments, prototype) = match rest {
        [] => (&[] as &[Operand], None),
        [Operand::List(arguments)] => (&**arguments, None),
        [Operand::List(arguments), Operand::Name(prototype)] => (&**arguments, Some(prototype)),
        [Operand::Name(prototype)] => (&[] as &[Operand], Some(prototype)),
        _ => return Err(Refusal::new("its operands do not fit")),
    };
    if let Some((index, signature)) = d.module.functions.get(callee).cloned() {
        let fewest = signature.params.len() - usize::from(signature.variadic);
        if !(fewest..=signature.params.len()).contains(&arguments.len())
            || results.len() != signature.results.len()
        {
            return Err(Refusal(format!(
                "`{callee}` takes {} arguments and gives {} results",
                signature.params.len(),
                signature.results.len()
            )));
        }
        d.calls.insert(index);
        let pass = |d: &mut Decoder<'_>, operands: &[Operand], places: &[Place], out: bool| {
            let last = |i: usize| !out && signature.variadic && i + 1 == places.len();
            operands
                .iter()
                .zip(places)
                .enumerate()
                .map(|(i, (o, p))| transfer(d, o, Some(*p), out, last(i)))
                .collect::<Result<Box<[_]>, _>>()
        };
        let arguments = pass(d, arguments, &signature.params, false)?;
        let results = pass(d, results, &signature.results, true)?;
        return Ok(OpKind::Call(Box::new(CallOp { callee: Callee::Direct(index), arguments, results })));
    }
    if d.is_register(callee) {
        match prototype.map(|name| d.symbol(name)) {
            None => return Err(Refusal::new("an indirect call needs a prototype or a list of targets")),
            Some(Some(Symbol::Prototype | Symbol::CallTargets)) => {}
            Some(_) => return Err(Refusal::new("what it names last is no prototype and no list of targets")),
        }
        d.calls_indirectly = true;
        let slot = d.source(&Operand::Name(callee.clone()), ScalarType::B64)?;
        let pass = |d: &mut Decoder<'_>, operands: &[Operand], out| {
            operands.iter().map(|o| transfer(d, o, None, out, false)).collect::<Result<Box<[_]>, _>>()
        };
        let arguments = pass(d, arguments, false)?;
        let results = pass(d, results, true)?;
        return Ok(OpKind::Call(Box::new(CallOp { callee: Callee::Indirect(slot), arguments, results })));
    }
    system_call(d, callee, arguments, results)
}

/// How one argument or result is passed. `variadic`: the place has room for more.
fn transfer(
    d: &mut Decoder<'_>,
    operand: &Operand,
    place: Option<Place>,
    out: bool,
    variadic: bool,
) -> Result<Transfer, Refusal> {
    let local = match operand {
        Operand::Name(name) => match d.symbol(name) {
            Some(&Symbol::Local { offset, size, .. }) => Some((offset, size)),
            _ => None,
        },
        _ => None,
    };
    match (local, place) {
        (Some((_, size)), Some(Place::Bytes { size: has, .. })) if size > has || size < has && !variadic => {
            Err(Refusal(format!("`{operand}` has {size} bytes where the function has {has}")))
        }
        (Some((caller, size)), Some(Place::Bytes { offset, .. })) => {
            Ok(Transfer::Bytes { caller, callee: offset, size })
        }
        (Some((caller, size)), None) => Ok(Transfer::Bytes { caller, callee: 0, size }),
        (Some(_), Some(Place::Register { .. })) => {
            Err(Refusal::new("a parameter in a register is passed from a register"))
        }
        (None, place) => {
            let (size, callee, rows) = match place {
                Some(Place::Register { slot, rows }) => (0, slot, Some(rows)),
                Some(Place::Bytes { offset, size }) => (size, offset, None),
                None => (8, 0, None),
            };
            let ty = match (rows, size) {
                (Some(0), _) => ScalarType::Pred,
                (Some(1), _) | (None, 0..=4) => ScalarType::B32,
                (Some(2), _) | (None, 5..=8) => ScalarType::B64,
                _ => ScalarType::B128,
            };
            let slot = if out { d.real_target(operand, ty)? } else { d.source(operand, ty)? };
            Ok(match rows {
                Some(_) => Transfer::Registers { caller: slot, callee, rows: rows_of(ty) },
                None => Transfer::RegisterToBytes { caller: slot, callee, size: size.min(16) },
            })
        }
    }
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
