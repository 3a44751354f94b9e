//! Keeps barriers, votes and shuffles where they stand.
//!
//! Everything is marked `convergent`, functions and calls both: a call that is not marked may be copied into the arms of
//! a branch or merged out of them. LLVM itself removes the mark where it can prove that nothing below needs it.

use crate::llvm::{At, Module, Opcode};

pub fn mark(module: &Module<'_>) {
    for function in module.functions() {
        if function.is_intrinsic() {
            continue;
        }
        function.add_enum_attribute(At::Function, "convergent", 0);
        for instruction in function.instructions() {
            if matches!(instruction.opcode(), Opcode::Call | Opcode::Invoke)
                && instruction
                    .called()
                    .is_some_and(|callee| !callee.is_inline_asm() && !callee.is_intrinsic())
            {
                instruction.add_call_attribute("convergent");
            }
        }
    }
}
