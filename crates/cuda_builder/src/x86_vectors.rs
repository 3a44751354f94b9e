//! The x86 instructions on vectors, and those that carry, by what they compute.
//!
//! Most of `core::arch` is generic vector code that the device runs as it is. The rest are LLVM's `llvm.x86.…`, which no GPU
//! has; those of SSE and SSE2 that libraries of vectors use, and the carries of big integers (`_addcarry_u64`), which their
//! libraries use on every x86 and have no switch for, are defined in `x86_vectors.ll`. All others are refused.

use crate::llvm::{Context, DATA_LAYOUT, Linkage, Module, TRIPLE, Value};

const DEFINITIONS: &str = include_str!("x86_vectors.ll");

/// What the definitions' names begin with, in place of `llvm.x86.`.
const OWN: &str = "warpsmith.x86.";

/// Puts the definitions where the instructions are used.
pub fn define(context: &Context, module: &Module<'_>) -> Result<(), String> {
    let own_name = |function: &Value| {
        let name = format!("{OWN}{}", function.name().strip_prefix("llvm.x86.")?);
        DEFINITIONS.contains(&format!("@{name}(")).then_some(name)
    };
    let used: Vec<(Value, String)> = module
        .functions()
        .into_iter()
        .filter_map(|function| Some((function, own_name(&function)?)))
        .filter(|(function, _)| function.is_used())
        .collect();
    if used.is_empty() {
        return Ok(());
    }
    let definitions = context.parse_assembly(DEFINITIONS)?;
    definitions.set_target(TRIPLE, DATA_LAYOUT);
    if !module.link(definitions) {
        return Err(format!("x86's vectors cannot be linked: {}", context.take_errors().join("\n")));
    }
    for (instruction, name) in used {
        if let Some(own) = module.function(&name).filter(|own| own.value_type() == instruction.value_type()) {
            instruction.replace_all_uses(own);
        }
    }
    for function in module.functions().into_iter().filter(|function| function.name().starts_with(OWN)) {
        function.set_linkage(Linkage::Internal);
    }
    Ok(())
}
