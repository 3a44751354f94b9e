//! Arrays that loops walk through, and that stay in local memory for as long as the loops stay loops.
//!
//! LLVM sees how often `for mask in [16, 8, 4, 2, 1]` runs once two tests of one condition have become one: that the
//! iterator has ended, and that `next` gave nothing. Joining them is jump threading's work, which LLVM leaves out for GPUs;
//! what stands in for it gives up where another loop is around. So where such an array has remained, jumps are threaded, and
//! the optimiser runs once more. Nothing convergent is copied by that: barriers and shuffles stay as many as they were.

use crate::llvm::{Module, Opcode, TargetMachine, Value};

/// Takes them apart, as far as the number of a loop's rounds is known.
pub fn unroll(module: &Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    if !any(module) {
        return Ok(());
    }
    module.run_passes_of_no_target("function(jump-threading)")?;
    machine.run_passes(module, "default<O3>")
}

/// Whether there is an array with an index that is not known.
fn any(module: &Module<'_>) -> bool {
    let all = module.functions().into_iter().flat_map(Value::instructions);
    all.filter(|instruction| instruction.opcode() == Opcode::Alloca).any(is_walked)
}

/// Whether some place after this one depends on what is known at run time only.
fn is_walked(place: Value) -> bool {
    let places = place.users().into_iter().filter(|user| {
        user.as_instruction().is_some()
            && matches!(user.opcode(), Opcode::GetElementPtr | Opcode::AddrSpaceCast)
    });
    places
        .into_iter()
        .any(|next| next.operands().skip(1).any(|index| index.as_int().is_none()) || is_walked(next))
}
