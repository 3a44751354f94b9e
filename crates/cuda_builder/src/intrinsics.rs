//! Foreign functions whose link name is `llvm:NAME` become the LLVM intrinsic NAME.

use crate::llvm::{Context, Module, Opcode};
use crate::marks;
use crate::names;

pub fn resolve(context: &Context, module: &Module<'_>) -> Result<(), String> {
    for function in module.functions() {
        let link_name = function.name();
        let Some(name) = link_name.strip_prefix(marks::LLVM) else { continue };
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
