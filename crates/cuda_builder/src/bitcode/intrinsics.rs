//! Foreign functions that stand for something else: those whose link name is `llvm:NAME` become the LLVM intrinsic NAME,
//! and the one that asks for the compute capability a number.

use crate::bitcode::marks;
use crate::bitcode::names;
use crate::llvm::{Context, Module, Opcode};

/// Gives the compute capability (75 for 7.5) where it is asked for.
pub fn capability(context: &Context, module: &Module<'_>, capability: u32) {
    let Some(function) = module.function(marks::CAPABILITY) else { return };
    let number = context.int(32).int(i64::from(capability) * 10);
    for call in function.users().into_iter().filter(|user| user.opcode() == Opcode::Call) {
        call.replace_all_uses(number);
        call.erase();
    }
    if !function.is_used() {
        function.delete_function();
    }
}

pub fn resolve(context: &Context, module: &Module<'_>) -> Result<(), String> {
    for function in module.functions() {
        let link_name = function.name();
        let blockwise = || link_name.strip_prefix(marks::BLOCKWISE).filter(|name| name.starts_with("llvm."));
        let Some(name) = link_name.strip_prefix(marks::LLVM).or_else(blockwise) else { continue };
        let caller = || function.users().first().map(|user| names::of(user.function())).unwrap_or_default();
        if !context.is_intrinsic(name) {
            return Err(format!("`{name}`, used by `{}`, is not an intrinsic of this LLVM", caller()));
        }
        let declared = function.value_type();
        if let Some(expected) = context.intrinsic_type(name)
            && expected != declared
        {
            return Err(format!(
                "the intrinsic `{name}`, used by `{}`, is `{}` in LLVM but declared as `{}`",
                caller(),
                expected.print(),
                declared.print()
            ));
        }
        let intrinsic = module.declare(name, declared);
        for user in function.users() {
            if user.as_instruction().is_some() && user.called() == Some(function) {
                debug_assert!(matches!(user.opcode(), Opcode::Call | Opcode::Invoke));
            } else {
                return Err(format!(
                    "the intrinsic `{name}` can only be called, not taken as a function pointer"
                ));
            }
        }
        function.replace_all_uses(intrinsic);
        function.delete_function();
    }
    Ok(())
}
