//! What is inlined whatever its size.
//!
//! A call that takes a pointer loses the address space of what it points to: shared memory is then read by generic
//! loads. nvcc inlines nearly everything for the same reason. Recursive functions, and those that say `#[inline(never)]`
//! or `#[cold]`, stay calls, as do the standard library's.

use crate::llvm::{At, Module, TypeKind, Value};
use crate::{entry, names};
use std::collections::{HashMap, HashSet};

pub fn mark(module: &Module<'_>) {
    let defined: Vec<Value> = module.functions().into_iter().filter(|f| !f.is_declaration()).collect();
    let calls: HashMap<Value, Vec<Value>> = defined.iter().map(|f| (*f, callees(*f))).collect();
    for &function in &defined {
        let takes_pointer = (0..function.parameter_count())
            .any(|index| function.parameter(index).ty().kind() == TypeKind::Pointer);
        let keeps = ["noinline", "cold", "alwaysinline", "optnone"]
            .iter()
            .any(|a| function.has_enum_attribute(At::Function, a));
        let name = names::of(function);
        let standard =
            ["core::", "alloc::", "<core::", "<alloc::", "__nv_"].iter().any(|start| name.starts_with(start));
        let is_entry = function.calling_convention() == entry::PTX_KERNEL;
        if takes_pointer && !keeps && !standard && !is_entry && !is_recursive(function, &calls) {
            function.add_enum_attribute(At::Function, "alwaysinline", 0);
        }
    }
}

fn callees(function: Value) -> Vec<Value> {
    function.instructions().into_iter().filter_map(|i| i.called()?.as_function()).collect()
}

fn is_recursive(function: Value, calls: &HashMap<Value, Vec<Value>>) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![function];
    while let Some(next) = open.pop() {
        for &callee in calls.get(&next).map(Vec::as_slice).unwrap_or_default() {
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
