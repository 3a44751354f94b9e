//! Static memory that no device has is refused with the numbers.

use crate::bitcode::entry;
use crate::bitcode::names;
use crate::llvm::{Module, Value};
use std::collections::{BTreeMap, HashSet};

/// Static shared memory of one block, on every device.
const SHARED: u64 = 48 * 1024;
/// Constant memory of one module.
pub const CONSTANT: u64 = 64 * 1024;
/// Local memory of one thread.
const LOCAL: u64 = 512 * 1024;

fn in_space<'m>(module: &'m Module<'_>, space: u32) -> impl Iterator<Item = Value> + use<'m> {
    module.globals().into_iter().filter(move |g| g.ty().address_space() == space)
}

fn list<'s>(statics: impl IntoIterator<Item = (&'s String, &'s u64)>) -> String {
    let line = |(name, bytes): (&String, &u64)| format!("\n  {bytes} bytes in `{}`", names::readable(name));
    statics.into_iter().map(line).collect()
}

/// Variables in constant memory: names and bytes.
pub fn constants(module: &Module<'_>) -> impl Iterator<Item = (String, u64)> {
    in_space(module, 4).map(|global| (global.name(), module.size_of(global.value_type())))
}

/// Refuses more constant memory than a module has. `automatic` says whether statics without a mark are there, too.
pub fn check_constants(constants: &BTreeMap<String, u64>, automatic: bool) -> Result<(), String> {
    let total: u64 = constants.values().sum();
    if total > CONSTANT {
        let another =
            if automatic { ", or all that are not marked (`.use_constant_memory_space(false)`)" } else { "" };
        return Err(format!(
            "the statics in constant memory take {total} bytes, and a module has {CONSTANT}: leave large tables in global memory \
             (`#[cuda_std::address_space(global)]`){another}{}",
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
                list(used.iter().map(|(name, bytes)| (name, bytes)))
            ));
        }
    }
    Ok(())
}

/// Refuses a function whose variables need more local memory than a thread has, by the text of its part.
pub fn check_local(ptx: &str) -> Result<(), String> {
    let mut function = "";
    for line in ptx.lines() {
        function = names::begun(line).unwrap_or(function);
        let frame =
            line.trim_start().starts_with(".local").then(|| line.split_once("__local_depot")).flatten();
        let size = frame.and_then(|(_, rest)| rest.split_once('[')?.1.split_once(']')?.0.parse::<u64>().ok());
        if let Some(size) = size.filter(|size| *size > LOCAL) {
            return Err(format!(
                "the variables of `{}` take {size} bytes of local memory, and a thread has {LOCAL}: keep large arrays in global \
                 memory, as a parameter of the kernel (or `alloc::vec!`, which does not build them on the stack first, as \
                 `Box::new` may)",
                names::readable(function)
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

#[cfg(test)]
mod tests {
    use super::check_local;

    #[test]
    fn a_frame_too_large_is_named_with_its_function() {
        let with = |size: u64| {
            format!(
                ".visible .entry sums(\n)\n{{\n\t.local .align 8 .b8 \t__local_depot0[{size}];\n\tret;\n}}\n"
            )
        };
        assert_eq!(check_local(&with(512 << 10)), Ok(()));
        let message = check_local(&with((512 << 10) + 8)).unwrap_err();
        assert!(
            message.starts_with("the variables of `sums` take 524296 bytes of local memory"),
            "{message}"
        );
    }
}
