//! Functions that are inlined whatever their size.
//!
//! A call that takes a pointer loses the address space of what it points to: shared memory is then read by generic
//! loads. nvcc inlines nearly everything for the same reason. Recursive functions, and those that say `#[inline(never)]`
//! or `#[cold]`, stay calls, as do the standard library's.
//!
//! There is an end to it. Where functions call each other many times over many levels, as in arithmetic on elliptic
//! curves, the copies multiply, and loops around them become so large that LLVM's loop passes, which walk all that a
//! value reaches for each value they touch, do not come to an end: `curve25519-dalek`'s verification of a signature took
//! more than four minutes, and takes three seconds with the limit. Where a function would grow past [`LIMIT`], LLVM decides
//! about the calls of the larger ones, by what is left of them once they are optimised: of `nalgebra`'s thousands of
//! instructions for the turn of a vector by a quaternion, some fifty.

use crate::bitcode::{entry, names};
use crate::llvm::{At, Module, TypeKind, Value};
use std::collections::{HashMap, HashSet};

/// LLVM instructions that a function may have with all that is inlined into it. No kernel of this repository has more
/// than 2,500 at this stage; at 10,000 the time that LLVM takes gets out of hand.
const LIMIT: usize = 4_000;
/// Functions up to this size are inlined all the same: a call costs about as much.
const SMALL: usize = 40;

/// A function that is defined here, and what it calls of such.
struct Caller {
    function: Value,
    instructions: usize,
    /// The call instructions, with what they call.
    calls: Vec<(Value, Value)>,
}

pub fn mark(module: &Module<'_>) {
    let callers: HashMap<Value, Caller> = module
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration())
        .map(|function| {
            let instructions = function.instructions();
            let called = |call: &Value| Some((*call, call.called()?.as_function()?));
            let calls = instructions.iter().filter_map(called).collect();
            (function, Caller { function, instructions: instructions.len(), calls })
        })
        .collect();
    let marked: HashSet<Value> =
        callers.values().filter(|caller| is_meant(caller, &callers)).map(|c| c.function).collect();
    // In the module's order, so that the same input gives the same output.
    let (mut sizes, mut left) = (HashMap::new(), HashSet::new());
    for function in module.functions() {
        bound(function, &callers, &marked, &mut sizes, &mut left);
    }
    let kept: HashSet<Value> = left.iter().filter_map(|call| call.called()?.as_function()).collect();
    for function in &marked {
        if !kept.contains(function) {
            function.add_enum_attribute(At::Function, "alwaysinline", 0);
        }
    }
    for (call, callee) in callers.values().flat_map(|caller| &caller.calls) {
        if kept.contains(callee) && !left.contains(call) {
            call.add_call_attribute("alwaysinline");
        }
    }
}

fn is_meant(Caller { function, .. }: &Caller, callers: &HashMap<Value, Caller>) -> bool {
    let takes_pointer = (0..function.parameter_count())
        .any(|index| function.parameter(index).ty().kind() == TypeKind::Pointer);
    let keeps = ["noinline", "cold", "alwaysinline", "optnone"]
        .iter()
        .any(|a| function.has_enum_attribute(At::Function, a));
    let name = names::of(*function);
    let standard =
        ["core::", "alloc::", "<core::", "<alloc::", "__nv_"].iter().any(|start| name.starts_with(start));
    let is_entry = function.calling_convention() == entry::PTX_KERNEL;
    takes_pointer && !keeps && !standard && !is_entry && !is_recursive(*function, callers)
}

/// The size of a function with all that is inlined into it; `left` gets the calls that would take it past the limit.
fn bound(
    function: Value,
    callers: &HashMap<Value, Caller>,
    marked: &HashSet<Value>,
    sizes: &mut HashMap<Value, usize>,
    left: &mut HashSet<Value>,
) -> usize {
    if let Some(&known) = sizes.get(&function) {
        return known;
    }
    let Some(caller) = callers.get(&function) else { return 0 };
    // What is asked for again meanwhile is recursive, and not inlined.
    sizes.insert(function, caller.instructions);
    let mut callees: Vec<(usize, Value, Vec<Value>)> = Vec::new();
    for &(call, callee) in &caller.calls {
        let size = bound(callee, callers, marked, sizes, left);
        if !marked.contains(&callee) {
            continue;
        }
        match callees.iter_mut().find(|(_, known, _)| *known == callee) {
            Some((_, _, calls)) => calls.push(call),
            None => callees.push((size, callee, vec![call])),
        }
    }
    // The smallest first: they are what loses most by a call.
    callees.sort_by_key(|(size, ..)| *size);
    let mut total = caller.instructions;
    for (size, _, calls) in callees {
        let grown = total + size * calls.len();
        if size <= SMALL || grown <= LIMIT {
            total = grown;
        } else {
            left.extend(calls);
        }
    }
    sizes.insert(function, total);
    total
}

fn is_recursive(function: Value, callers: &HashMap<Value, Caller>) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![function];
    while let Some(next) = open.pop() {
        for &(_, callee) in callers.get(&next).map(|caller| &caller.calls[..]).unwrap_or_default() {
            if callee == function {
                return true;
            }
            if seen.insert(callee) {
                open.push(callee);
            }
        }
    }
    false
}
