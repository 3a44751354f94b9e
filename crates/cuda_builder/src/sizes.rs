//! Static memory that no device has is refused with the numbers.

use crate::entry;
use crate::llvm::{Module, Value};
use crate::names;
use std::collections::HashSet;

/// Static shared memory of one block, on every device.
const SHARED: u64 = 48 * 1024;
/// Constant memory of one module.
const CONSTANT: u64 = 64 * 1024;

/// What the module has in constant memory: names and bytes.
pub fn constants(module: &Module<'_>) -> Vec<(String, u64)> {
    in_space(module, 4).map(|global| (global.name(), module.size_of(global.value_type()))).collect()
}

fn in_space<'m>(module: &'m Module<'_>, space: u32) -> impl Iterator<Item = Value> + use<'m> {
    module.globals().into_iter().filter(move |g| g.ty().address_space() == space)
}

fn list(statics: &[(String, u64)]) -> String {
    statics.iter().map(|(name, bytes)| format!("\n  {bytes} bytes in `{}`", names::readable(name))).collect()
}

/// Refuses more constant memory than a module has, all parts together.
pub fn check_constants(constants: &[(String, u64)]) -> Result<(), String> {
    let total: u64 = constants.iter().map(|(_, bytes)| bytes).sum();
    if total > CONSTANT {
        return Err(format!(
            "the statics in constant memory take {total} bytes, and a module has {CONSTANT}: leave large tables in global memory \
             (`#[address_space(global)]`){}",
            list(constants)
        ));
    }
    Ok(())
}

/// Refuses a kernel with more static shared memory than a block has.
pub fn check_shared(module: &Module<'_>) -> Result<(), String> {
    let shared: Vec<Value> = in_space(module, 3).filter(|g| !g.is_declaration()).collect();
    for kernel in module.functions() {
        if kernel.calling_convention() != entry::PTX_KERNEL {
            continue;
        }
        let reached = reachable(kernel);
        let used = shared.iter().filter(|global| is_used_in(**global, &reached));
        let used: Vec<(String, u64)> =
            used.map(|global| (global.name(), module.size_of(global.value_type()))).collect();
        let total: u64 = used.iter().map(|(_, bytes)| bytes).sum();
        if total > SHARED {
            return Err(format!(
                "the kernel `{}` has {total} bytes of static shared memory, and a block has {SHARED}: take dynamic shared memory \
                 (`cuda_std::shared::dynamic_shared_mem`), of which devices offer more, and give its size at the launch{}",
                kernel.name(),
                list(&used)
            ));
        }
    }
    Ok(())
}

fn reachable(kernel: Value) -> HashSet<Value> {
    let mut seen = HashSet::from([kernel]);
    let mut open = vec![kernel];
    while let Some(function) = open.pop() {
        for instruction in function.instructions() {
            for operand in instruction.operands() {
                if let Some(callee) = operand.as_function()
                    && seen.insert(callee)
                {
                    open.push(callee);
                }
            }
        }
    }
    seen
}

/// Whether an instruction of these functions uses a global, through constant expressions.
fn is_used_in(value: Value, functions: &HashSet<Value>) -> bool {
    value.users().into_iter().any(|user| match user.as_instruction() {
        Some(instruction) => functions.contains(&instruction.function()),
        None => is_used_in(user, functions),
    })
}
