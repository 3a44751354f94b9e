//! Read-modify-write atomics keep their ordering and scope.
//!
//! LLVM 22 prints `atom.global.add.u32` for every `atomicrmw` that PTX has an instruction for, which is relaxed and of
//! the device's scope, whatever was asked. (`cmpxchg`, loads, stores and fences it gets right.) So these become inline
//! PTX `atom.SEMANTICS.SCOPE.SPACE.OP.TYPE` after the optimiser has run, when their address space is known; those that
//! LLVM turns into a loop around `cas` get fences around them before.

use crate::llvm::{Builder, Cast, Context, Module, Opcode, Ordering, TypeKind, Value};

/// Gives read-modify-write operations that become `cas` loops the fences that LLVM forgets. Must come before the
/// optimiser: the fences order the accesses around them.
pub fn fence_loops(module: &Module<'_>) {
    for operation in operations(module) {
        if instruction(operation).is_some() {
            continue;
        }
        let (Some(ordering), scope) = (operation.ordering(), operation.sync_scope()) else { continue };
        let before = match ordering {
            Ordering::SeqCst => Some(Ordering::SeqCst),
            Ordering::Release | Ordering::AcqRel => Some(Ordering::Release),
            _ => None,
        };
        let after = matches!(ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst);
        if let Some(before) = before {
            Builder::before(operation).fence(before, scope);
        }
        if let (true, Some(next)) = (after, operation.next_instruction()) {
            Builder::before(next).fence(Ordering::Acquire, scope);
        }
        operation.set_ordering(Ordering::Relaxed);
    }
}

/// Whether there is anything to replace.
pub fn any(module: &Module<'_>) -> bool {
    operations(module).into_iter().any(|operation| instruction(operation).is_some())
}

/// Replaces the others by their PTX instruction. Must come after the optimiser. `capability` 70 and later have
/// semantics in the instruction; before, fences stand around it.
pub fn replace(context: &Context, module: &Module<'_>, capability: u32) {
    for operation in operations(module) {
        let Some(Instruction { name, register, negate }) = instruction(operation) else { continue };
        let scope = scope_name(context, operation.sync_scope());
        let ordering = operation.ordering().unwrap_or(Ordering::SeqCst);
        let (address, value) = (operation.operand(0), operation.operand(1));
        let space = match address.ty().address_space() {
            1 => ".global",
            3 => ".shared",
            _ => "",
        };
        let build = Builder::before(operation);
        let value =
            if negate { build.binary(crate::llvm::Binary::Sub, value.ty().zero(), value) } else { value };
        let semantics = match ordering {
            Ordering::Relaxed => ".relaxed",
            Ordering::Acquire => ".acquire",
            Ordering::Release => ".release",
            Ordering::AcqRel | Ordering::SeqCst => ".acq_rel",
        };
        let atom = if capability >= 70 {
            let fence =
                if ordering == Ordering::SeqCst { format!("fence.sc.{scope};\n\t") } else { String::new() };
            format!("{fence}atom{semantics}.{scope}{space}.{name} $0, [$1], $2;")
        } else {
            let membar = match scope {
                "cta" => "membar.cta;",
                "gpu" => "membar.gl;",
                _ => "membar.sys;",
            };
            let scope = if capability >= 60 && scope != "gpu" { format!(".{scope}") } else { String::new() };
            match ordering {
                Ordering::Relaxed => format!("atom{scope}{space}.{name} $0, [$1], $2;"),
                _ => format!("{membar}\n\tatom{scope}{space}.{name} $0, [$1], $2;\n\t{membar}"),
            }
        };
        let pointer_letter = "l";
        let address = build.cast(Cast::PtrToInt, address, context.int(64));
        let ty = value.ty();
        let (argument, result_ty) = if ty.kind() == TypeKind::Pointer {
            (build.cast(Cast::PtrToInt, value, context.int(64)), context.int(64))
        } else {
            (value, ty)
        };
        let signature = result_ty.function(&[address.ty(), argument.ty()]);
        let constraints = format!("={register},{pointer_letter},{register},~{{memory}}");
        let result = build.inline_asm(signature, &atom, &constraints, true, &[address, argument]);
        result.add_call_attribute("nounwind");
        let result =
            if ty.kind() == TypeKind::Pointer { build.cast(Cast::IntToPtr, result, ty) } else { result };
        operation.replace_all_uses(result);
        operation.erase();
    }
}

/// Gives loads and stores of devices before 7.0 their ordering by fences: they have no ordered instructions, and LLVM
/// breaks off where one is asked for.
pub fn fence_accesses(module: &Module<'_>) {
    let all = module.functions().into_iter().flat_map(Value::instructions);
    for access in all.filter(|i| matches!(i.opcode(), Opcode::Load | Opcode::Store)).collect::<Vec<_>>() {
        let (Some(ordering), scope) = (access.ordering(), access.sync_scope()) else { continue };
        if ordering == Ordering::Relaxed {
            continue;
        }
        let is_load = access.opcode() == Opcode::Load;
        if !is_load || ordering == Ordering::SeqCst {
            Builder::before(access).fence(Ordering::SeqCst, scope);
        }
        if let (true, Some(next)) = (is_load, access.next_instruction()) {
            Builder::before(next).fence(Ordering::SeqCst, scope);
        }
        access.set_ordering(Ordering::Relaxed);
    }
}

fn operations(module: &Module<'_>) -> Vec<Value> {
    let all = module.functions().into_iter().flat_map(Value::instructions);
    all.filter(|i| i.opcode() == Opcode::AtomicRmw).collect()
}

struct Instruction {
    /// Such as `add.u32`.
    name: String,
    /// The constraint letter of value and result.
    register: &'static str,
    /// Subtraction is the addition of the negated value.
    negate: bool,
}

/// The PTX instruction of a read-modify-write operation, if there is one for its width.
fn instruction(operation: Value) -> Option<Instruction> {
    let ty = operation.operand(1).ty();
    let (bits, register) = match ty.kind() {
        TypeKind::Integer if ty.int_width() == 32 => (32, "r"),
        TypeKind::Integer if ty.int_width() == 64 => (64, "l"),
        TypeKind::Pointer => (64, "l"),
        TypeKind::Float => (32, "f"),
        TypeKind::Double => (64, "d"),
        _ => return None,
    };
    let is_float = matches!(ty.kind(), TypeKind::Float | TypeKind::Double);
    // The numbers of `LLVMAtomicRMWBinOp`.
    let (name, negate) = match operation.atomic_operation() {
        0 if !is_float => (format!("exch.b{bits}"), false),
        1 => (format!("add.u{bits}"), false),
        2 => (format!("add.u{bits}"), true),
        3 => (format!("and.b{bits}"), false),
        5 => (format!("or.b{bits}"), false),
        6 => (format!("xor.b{bits}"), false),
        7 => (format!("max.s{bits}"), false),
        8 => (format!("min.s{bits}"), false),
        9 => (format!("max.u{bits}"), false),
        10 => (format!("min.u{bits}"), false),
        11 => (format!("add.f{bits}"), false),
        _ => return None,
    };
    Some(Instruction { name, register, negate })
}

fn scope_name(context: &Context, scope: u32) -> &'static str {
    [("block", "cta"), ("cluster", "cluster"), ("device", "gpu")]
        .into_iter()
        .find(|(llvm, _)| context.sync_scope(llvm) == scope)
        .map_or("sys", |(_, ptx)| ptx)
}
