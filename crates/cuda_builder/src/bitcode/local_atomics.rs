//! Atomic operations on a thread's own variables become plain ones.
//!
//! No other thread can reach local memory, and PTX has no atomic operation on it: `atom` with such an address is an error on
//! the GPU. Rust code has them all the same, where an `AtomicU32` is a `let`.

use crate::llvm::{Binary, Builder, Module, Opcode, Value};

/// `LLVMIntPredicate`.
const EQUAL: u32 = 32;

/// Replaces them; says whether there was one. Must come after inlining, which shows where an address comes from.
pub fn make_plain(module: &Module<'_>) -> bool {
    let all = module.functions().into_iter().flat_map(Value::instructions);
    let atomics = all.filter(|i| matches!(i.opcode(), Opcode::AtomicRmw | Opcode::CmpXchg));
    let mut any = false;
    for operation in atomics.filter(|operation| is_local(operation.operand(0))).collect::<Vec<_>>() {
        let build = Builder::before(operation);
        let (address, value) = (operation.operand(0), operation.operand(1));
        let align = operation.alignment();
        let old = build.load(value.ty(), address, align);
        let result = if operation.opcode() == Opcode::CmpXchg {
            let same = build.compare(EQUAL, old, value);
            build.store(build.select(same, operation.operand(2), old), address, align);
            let pair = build.insert(operation.ty().undef(), old, 0);
            build.insert(pair, same, 1)
        } else {
            let Some(new) = combined(&build, operation.atomic_operation(), old, value) else { continue };
            build.store(new, address, align);
            old
        };
        operation.replace_all_uses(result);
        operation.erase();
        any = true;
    }
    any
}

/// Whether the address is that of a variable of this function, or a place in it.
fn is_local(mut address: Value) -> bool {
    while let Some(instruction) = address.as_instruction() {
        match instruction.opcode() {
            Opcode::Alloca => return true,
            Opcode::GetElementPtr | Opcode::AddrSpaceCast => address = instruction.operand(0),
            _ => return false,
        }
    }
    false
}

/// The new value, by the number of `LLVMAtomicRMWBinOp`; none for what Rust does not make.
fn combined(build: &Builder, operation: u32, old: Value, value: Value) -> Option<Value> {
    let greatest = |predicate| build.select(build.compare(predicate, old, value), old, value);
    Some(match operation {
        0 => value,
        1 => build.binary(Binary::Add, old, value),
        2 => build.binary(Binary::Sub, old, value),
        3 => build.binary(Binary::And, old, value),
        4 => build.binary(Binary::Xor, build.binary(Binary::And, old, value), value.ty().int(-1)),
        5 => build.binary(Binary::Or, old, value),
        6 => build.binary(Binary::Xor, old, value),
        7 => greatest(38),
        8 => greatest(40),
        9 => greatest(34),
        10 => greatest(36),
        _ => return None,
    })
}
