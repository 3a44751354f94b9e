//! Keeps barriers, votes and shuffles where they stand.
//!
//! Everything is marked `convergent`, functions and calls both: a call that is not marked may be copied into the arms of
//! a branch or merged out of them. LLVM itself removes the mark where it can prove that nothing below needs it.
//!
//! A stand-in of an intrinsic in blockwise kernels is left as the intrinsic is declared: their closures ask for a thread's index
//! at each access, and a marked call is neither merged with its like nor moved out of a loop.

use crate::bitcode::marks;
use crate::llvm::{At, Module, Opcode, Value};

pub fn mark(module: &Module<'_>) {
    for function in module.functions() {
        if function.is_intrinsic() {
            continue;
        }
        function.add_enum_attribute(At::Function, "convergent", 0);
        for instruction in function.instructions() {
            if matches!(instruction.opcode(), Opcode::Call | Opcode::Invoke)
                && instruction.called().is_some_and(|callee| !callee.is_inline_asm() && !is_intrinsic(callee))
            {
                instruction.add_call_attribute("convergent");
            }
        }
    }
}

/// Whether it is an intrinsic, or stands for one in a blockwise kernel.
fn is_intrinsic(callee: Value) -> bool {
    let marked =
        |name: &str| name.strip_prefix(marks::BLOCKWISE).is_some_and(|name| name.starts_with("llvm."));
    callee.is_intrinsic() || marked(&callee.name())
}
