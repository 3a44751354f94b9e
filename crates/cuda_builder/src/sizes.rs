//! Static memory that no device has is refused with the numbers.

use crate::entry;
use crate::llvm::{Module, Value};
use crate::names;
use std::collections::HashSet;

/// Static shared memory of one block, on every device.
const SHARED: u64 = 48 * 1024;
/// Constant memory of one module.
const CONSTANT: u64 = 64 * 1024;

pub fn check(module: &Module<'_>) -> Result<(), String> {
    let in_space = |space| module.globals().into_iter().filter(move |g| g.ty().address_space() == space);
    let size = |global: &Value| module.size_of(global.value_type());
    let list = |globals: &[Value]| {
        let lines = globals.iter().map(|g| format!("\n  {} bytes in `{}`", size(g), names::of(*g)));
        lines.collect::<String>()
    };
    let constants: Vec<Value> = in_space(4).collect();
    let total: u64 = constants.iter().map(size).sum();
    if total > CONSTANT {
        return Err(format!(
            "the statics in constant memory take {total} bytes, and a module has {CONSTANT}: leave large tables in global memory \
             (`#[address_space(global)]`){}",
            list(&constants)
        ));
    }
    let shared: Vec<Value> = in_space(3).filter(|g| !g.is_declaration()).collect();
    for kernel in module.functions() {
        if kernel.calling_convention() != entry::PTX_KERNEL {
            continue;
        }
        let reached = reachable(kernel);
        let used: Vec<Value> = shared.iter().copied().filter(|g| is_used_in(*g, &reached)).collect();
        let total: u64 = used.iter().map(size).sum();
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
