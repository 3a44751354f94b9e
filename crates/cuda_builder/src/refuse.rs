//! What the back end cannot take is refused before it is asked: it would abort the process or print what is not PTX.
//!
//! Every refusal names the construct, the function it is in, who calls that, and what to do.

use crate::llvm::{Module, Opcode, Type, TypeKind, Value};
use crate::{link, marks, names};

/// What the driver provides.
const SYSTEM_CALLS: [&str; 4] = ["__assertfail", "vprintf", "malloc", "free"];

/// The attribute that `inline_ptx` leaves on its own calls, to tell them from assembly for the host.
pub const OWN_ASSEMBLY: &str = "warpsmith-ptx";

/// Removes host constructs that mean nothing on the device.
pub fn drop_harmless(singlethread: u32, module: &Module<'_>) {
    for function in module.functions() {
        for instruction in function.instructions() {
            let name = instruction.called().and_then(Value::as_function).map(Value::name).unwrap_or_default();
            let spin_hint =
                matches!(name.as_str(), "llvm.x86.sse2.pause" | "llvm.aarch64.hint" | "llvm.aarch64.isb");
            // A fence of one thread only (`compiler_fence`) orders nothing that the device could see.
            let compiler_fence =
                instruction.opcode() == Opcode::Fence && instruction.sync_scope() == singlethread;
            if spin_hint || compiler_fence {
                instruction.erase();
            }
        }
    }
}

/// Looks at everything that will be printed.
pub fn check(module: &Module<'_>) -> Result<(), String> {
    undefined(module)?;
    for global in module.globals() {
        if global.is_thread_local() {
            let user = global.users().first().map(|u| place(*u)).unwrap_or_default();
            return Err(format!(
                "`{}` is `thread_local`, which a GPU has no counterpart of{user}. Use a local variable, or a static indexed by the thread",
                names::of(global)
            ));
        }
    }
    for function in module.functions() {
        for instruction in function.instructions() {
            if let Some(problem) = problem(instruction) {
                return Err(format!("{problem}{}", place(instruction)));
            }
        }
    }
    Ok(())
}

/// In which function, and who calls it.
fn place(user: Value) -> String {
    let Some(instruction) = user.as_instruction() else { return String::new() };
    let function = instruction.function();
    let name = names::of(function);
    let mut text = format!("\n  in `{}`", name.strip_prefix(marks::ENTRY).unwrap_or(&name));
    if let Some((file, directory, line)) = function.source() {
        let file = if file.starts_with('/') { file } else { format!("{directory}/{file}") };
        text.push_str(&format!(" ({file}:{line})"));
    }
    let mut callee = function;
    for _ in 0..8 {
        let Some(call) = callee.users().into_iter().find(|u| u.as_instruction().is_some()) else { break };
        callee = call.function();
        let name = callee.name();
        let name = name.strip_prefix(marks::ENTRY).map_or_else(|| names::readable(&name), str::to_owned);
        let line = format!("\n  called by `{name}`");
        if !text.ends_with(&line) {
            text.push_str(&line);
        }
    }
    text
}

fn undefined(module: &Module<'_>) -> Result<(), String> {
    for name in link::undefined(module) {
        if SYSTEM_CALLS.contains(&name.as_str()) || name == marks::DYNAMIC_SHARED {
            continue;
        }
        let value = module.function(&name).or_else(|| module.global(&name));
        let user = value.and_then(|v| v.users().into_iter().find(|u| u.as_instruction().is_some()));
        let place = user.map(place).unwrap_or_default();
        let readable = names::readable(&name);
        let advice = match readable.as_str() {
            "rust_eh_personality" | "_Unwind_Resume" => "device code cannot unwind",
            "__rustc::__rust_alloc" | "__rustc::__rust_dealloc" | "__rustc::__rust_realloc" => {
                "nothing allocates: add `use cuda_std as _;` so that its allocator is linked"
            }
            n if n.starts_with("std::") => {
                "the standard library is not on the device: switch off the dependency's feature `std` (often `default-features = false`)"
            }
            _ => {
                "no crate of the device build defines it. If it is a function of C or of the host's system, the device has none: guard its use with `#[cfg(not(target_os = \"cuda\"))]`"
            }
        };
        return Err(format!("`{readable}` is used but defined nowhere: {advice}{place}"));
    }
    Ok(())
}

/// Those of `f32` and `f64` are `cuda_std`'s by now.
const WIDE_FLOAT: &str = "only `f32` and `f64` can be converted to a 128-bit integer on the GPU";

/// Why one instruction cannot be PTX.
fn problem(instruction: Value) -> Option<String> {
    if let Some(callee) = instruction.called() {
        if callee.is_inline_asm() && !instruction.has_call_string_attribute(OWN_ASSEMBLY) {
            let text = callee.inline_asm_text();
            let krate = crate_of(instruction);
            return Some(format!(
                "inline assembly for the host's processor (`{}`) cannot run on the GPU: the crate `{krate}` takes a path of its own for it. \
                 Switch that off (a feature such as `arch`, `asm` or `simd`, often on by default), or use `cuda_std::ptx!` for PTX",
                text.lines().next().unwrap_or_default().trim()
            ));
        }
        let name = callee.as_function().map(Value::name).unwrap_or_default();
        for processor in ["llvm.x86.", "llvm.aarch64.", "llvm.arm."] {
            if let Some(rest) = name.strip_prefix(processor) {
                let krate = crate_of(instruction);
                return Some(format!(
                    "the host processor's instruction `{rest}` cannot run on the GPU: the crate `{krate}` takes a path of its own for it. \
                     Switch that off by a feature of the crate (often `default-features = false`)"
                ));
            }
        }
        if name.starts_with("llvm.fptosi.sat.i128") || name.starts_with("llvm.fptoui.sat.i128") {
            return Some(WIDE_FLOAT.to_owned());
        }
        for unselectable in ["sin", "cos", "tan", "pow", "powi", "exp10", "sincos", "ldexp", "frexp"] {
            if name.starts_with(&format!("llvm.{unselectable}.")) {
                return Some(format!(
                    "the GPU has no instruction for `{name}`: use `cuda_std`'s `GpuFloat`, or the crate `libm`"
                ));
            }
        }
    }
    let wide = |ty: Type| ty.kind() == TypeKind::Integer && ty.int_width() > 64;
    let operand = |index| instruction.operand(index).ty();
    match instruction.opcode() {
        Opcode::FpToSi | Opcode::FpToUi if wide(instruction.ty()) => Some(WIDE_FLOAT.to_owned()),
        Opcode::SiToFp | Opcode::UiToFp if wide(operand(0)) => {
            Some("a 128-bit integer can be converted to `f32` and `f64` only on the GPU".to_owned())
        }
        _ if instruction.ty().kind() == TypeKind::Fp128 => {
            Some("`f128` does not exist on the GPU: use `f64`".to_owned())
        }
        _ => None,
    }
}

/// The crate that an instruction is in; for one of `core`'s, the crate that called it.
fn crate_of(instruction: Value) -> String {
    let mut function = instruction.function();
    for _ in 0..8 {
        let name = names::of(function);
        let caller =
            || function.users().into_iter().find(|u| u.as_instruction().is_some()).map(Value::function);
        if name.starts_with(marks::ENTRY) {
            break;
        }
        let first = name.trim_start_matches(['<', '&']).split("::").next().unwrap_or(&name).to_owned();
        match (first.as_str(), caller()) {
            ("core" | "alloc", Some(caller)) => function = caller,
            _ => return first,
        }
    }
    "of the kernel".to_owned()
}
