//! Arrays that loops walk through, and that stay in local memory for as long as the loops stay loops.
//!
//! LLVM sees how often `for mask in [16, 8, 4, 2, 1]` runs once two tests of one condition have become one: that the
//! iterator has ended, and that `next` gave nothing. Joining them is jump threading's work, which LLVM leaves out for GPUs;
//! what stands in for it gives up where another loop is around. So in a function where such an array has remained, jumps are
//! threaded, and the optimiser runs once more. Nothing convergent is copied by that: barriers and shuffles stay as many as
//! they were.

use crate::llvm::{At, Module, Opcode, TargetMachine, Value};
use std::collections::HashSet;

/// Attributes that keep a function as it is while the others are optimised.
const KEEPS: [&str; 2] = ["noinline", "optnone"];

/// Takes them apart, as far as the number of a loop's rounds is known.
pub fn unroll(module: &Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    let defined = module.functions().into_iter().filter(|function| !function.is_declaration());
    let (walked, others): (Vec<_>, Vec<_>) = defined.partition(|function| has_walked_array(*function));
    if walked.is_empty() {
        return Ok(());
    }
    // The others have been optimised, and are the same in all parts of the module.
    let mut added = HashSet::new();
    for function in others {
        for attribute in KEEPS {
            if !function.has_enum_attribute(At::Function, attribute) {
                function.add_enum_attribute(At::Function, attribute, 0);
                added.insert((function.name(), attribute));
            }
        }
    }
    module.run_passes_of_no_target("function(jump-threading)")?;
    machine.run_passes(module, "default<O3>")?;
    // By name: those that nothing calls any more are gone.
    for function in module.functions() {
        for attribute in KEEPS {
            if added.contains(&(function.name(), attribute)) {
                function.remove_enum_attribute(At::Function, attribute);
            }
        }
    }
    Ok(())
}

/// Whether the function has an array with an index that is not known. What is rarely run is left as it is.
fn has_walked_array(function: Value) -> bool {
    !function.has_enum_attribute(At::Function, "cold")
        && function
            .instructions()
            .into_iter()
            .any(|place| place.opcode() == Opcode::Alloca && is_walked(place))
}

/// Whether some place after this one depends on what is known at run time only.
fn is_walked(place: Value) -> bool {
    let next = |user: &Value| {
        user.as_instruction().is_some()
            && matches!(user.opcode(), Opcode::GetElementPtr | Opcode::AddrSpaceCast)
    };
    place.users().into_iter().filter(next).any(|place| {
        let mut indices = place.operands().skip(1);
        indices.any(|index| index.as_int().is_none()) || is_walked(place)
    })
}
