//! How freely floating-point operations may be rounded: the builder's `fma_contraction`, `fast_sqrt`, `fast_div`, `ftz`.

use crate::bitcode::packages::package_of;
use crate::bitcode::{marks, names};
use crate::llvm::{At, Module, Opcode, TypeKind, Value};

/// `LLVMFastMathFlags`.
pub const CONTRACT: u32 = 1 << 5;
pub const APPROXIMATE: u32 = 1 << 6;

/// The choices.
#[derive(Debug, Clone, Copy, Default)]
pub struct FloatModes {
    pub contract: bool,
    pub fast_sqrt: bool,
    pub fast_div: bool,
    pub ftz: bool,
}

/// Marks every operation. Flags sit on instructions, where inlining keeps them.
pub fn mark(module: &Module<'_>, modes: FloatModes) {
    for function in module.functions() {
        if function.is_declaration() {
            continue;
        }
        let contract = modes.contract && !counts_roundings(&names::of(function));
        for instruction in function.instructions() {
            if contract && instruction.may_be_fused() && !is_from_a_library(instruction) {
                instruction.add_fast_math(CONTRACT);
            }
            let single = instruction.ty().kind() == TypeKind::Float;
            if single
                && (modes.fast_div && instruction.opcode() == Opcode::FDiv
                    || modes.fast_sqrt && is_square_root(instruction))
            {
                instruction.add_fast_math(APPROXIMATE);
            }
        }
    }
}

const DENORMALS: &str = "denormal-fp-math-f32";

/// Flushes denormals everywhere: the back end asks the function that an operation ends up in.
pub fn flush_denormals(module: &Module<'_>) {
    for function in module.functions().into_iter().filter(|f| !f.is_declaration()) {
        function.add_string_attribute(At::Function, DENORMALS, "preserve-sign,preserve-sign");
    }
}

/// Whether this function does.
pub fn flushes_denormals(function: Value) -> bool {
    function.has_string_attribute(DENORMALS)
}

/// Keeps denormals in this function.
pub fn keep_denormals(function: Value) {
    function.remove_string_attribute(DENORMALS);
}

/// Libraries of mathematics say themselves where they fuse, and prove their error bounds from it.
fn counts_roundings(name: &str) -> bool {
    // An operator's own function is called by either: it is not fused, so that the library's bounds hold.
    [
        "<f32 as core::ops::arith::",
        "<f64 as core::ops::arith::",
        "libm::",
        "cuda_std::",
        "<f32 as cuda_std::",
        "<f64 as cuda_std::",
    ]
    .iter()
    .any(|start| name.starts_with(start))
        || name.starts_with("__nv_")
}

/// The same of an operation that rustc has inlined from such a library: its place in the source tells. What `core` does for
/// another crate (the operators of generic code) is that one's.
fn is_from_a_library(instruction: Value) -> bool {
    let mut place = instruction.location();
    while let Some(location) = place {
        let file = location.file();
        if !file.contains("/library/core/") {
            return is_library(&file);
        }
        place = location.inlined_at();
    }
    false
}

/// `…/cuda_std/src/math/…`, or from the registry `…/libm-0.2.16/src/…`.
fn is_library(file: &str) -> bool {
    file.split(['/', '\\']).rev().skip(1).any(|folder| matches!(package_of(folder), "cuda_std" | "libm"))
}

/// By LLVM's name, or that by which `cuda_std` still knows it.
fn is_square_root(instruction: Value) -> bool {
    instruction.opcode() == Opcode::Call
        && instruction
            .called()
            .and_then(Value::as_function)
            .is_some_and(|f| f.name().trim_start_matches(marks::LLVM) == "llvm.sqrt.f32")
}
