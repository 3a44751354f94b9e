//! Refuses what the back end cannot take before it sees it: it would abort the process, or print what is not PTX.
//!
//! Every refusal names the construct, the function it is in, who calls that, and what to do.

use crate::bitcode::packages::is_of_the_standard_library;
use crate::bitcode::{link, marks, names};
use crate::llvm::{Module, Opcode, Type, TypeKind, Value};
use std::collections::{HashSet, VecDeque};

/// Functions that the driver provides.
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

/// In which function, and who calls it, up to the kernel.
fn place(user: Value) -> String {
    let Some(instruction) = user.as_instruction() else { return String::new() };
    let mut steps: Vec<(String, Option<String>)> = Vec::new();
    for function in way_from_kernel(instruction.function()) {
        // The first source that is the reader's.
        let known = steps.iter().any(|(_, place)| place.is_some());
        let place = source(function).filter(|place| !known && !is_of_the_standard_library(place));
        let name = shown(function);
        match steps.last_mut() {
            // The step from a kernel's entry to the user's function of the same name is no call of the user's.
            Some(last) if last.0 == name || last.0.ends_with(&format!("::{name}")) => {
                *last = (name, last.1.take().or(place));
            }
            _ => steps.push((name, place)),
        }
    }
    let lines = steps.into_iter().enumerate().map(|(at, (name, place))| {
        let how = if at == 0 { "in" } else { "called by" };
        let place = place.map_or_else(String::new, |place| format!(" ({place})"));
        format!("\n  {how} `{name}`{place}")
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.len() > MOST {
        let left_out = lines.len() - MOST;
        lines.splice(MOST - 1..lines.len() - 1, [format!("\n  … and {left_out} more")]);
    }
    lines.concat()
}

/// As many functions are named on the way to the kernel.
const MOST: usize = 6;

/// Where a function stands: `FILE:LINE`.
fn source(function: Value) -> Option<String> {
    let (file, directory, line) = function.source()?;
    Some(if file.starts_with('/') { format!("{file}:{line}") } else { format!("{directory}/{file}:{line}") })
}

/// The shortest way of calls to a function from a kernel: the function first, the kernel's entry last.
fn way_from_kernel(function: Value) -> Vec<Value> {
    let mut ways = VecDeque::from([vec![function]]);
    let mut seen = HashSet::from([function]);
    let mut longest = vec![function];
    while let Some(way) = ways.pop_front() {
        let last = way[way.len() - 1];
        if way.len() > longest.len() {
            longest.clone_from(&way);
        }
        if last.name().starts_with(marks::ENTRY) {
            return way;
        }
        for caller in last.users().into_iter().filter_map(Value::as_instruction).map(Value::function) {
            if seen.insert(caller) {
                ways.push_back(way.iter().copied().chain([caller]).collect());
            }
        }
    }
    longest
}

/// A function's name for people: a kernel's own for its entry, and not all of what generics make of a name.
fn shown(function: Value) -> String {
    const LONGEST: usize = 120;
    let name = names::of(function);
    let name = name.strip_prefix(marks::ENTRY).unwrap_or(&name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
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
            _ => match user.and_then(library_of) {
                Some(library) => {
                    return Err(format!(
                        "`{readable}` is used but defined nowhere: the crate `{library}` has it from the host: its system, or C or \
                         assembly for its processor. Switch that off by a feature of the crate (such as `pure` or `no_asm`; often \
                         `default-features = false`){place}"
                    ));
                }
                None => {
                    "no crate of the device build defines it. If it is a function of C or of the host's system, the device has none: guard its use with `#[cfg(not(target_os = \"cuda\"))]`"
                }
            },
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
            let advice = match library_of(instruction) {
                Some(library) => format!(
                    "the crate `{library}` takes a path of its own for it. Switch that off (a feature such as `arch`, `asm` or \
                     `simd`, often on by default)"
                ),
                None => "for PTX there is `cuda_std::ptx!`; code for the host alone stands behind \
                         `#[cfg(not(target_os = \"cuda\"))]`"
                    .to_owned(),
            };
            return Some(format!(
                "inline assembly for the host's processor (`{}`) cannot run on the GPU: {advice}",
                text.lines().next().unwrap_or_default().trim()
            ));
        }
        let name = callee.as_function().map(Value::name).unwrap_or_default();
        for processor in ["llvm.x86.", "llvm.aarch64.", "llvm.arm."] {
            if let Some(rest) = name.strip_prefix(processor) {
                let advice = match library_of(instruction) {
                    Some(library) => format!(
                        "the crate `{library}` takes a path of its own for it. Switch that off by a feature of the crate (often \
                         `default-features = false`)"
                    ),
                    None => "write it in plain Rust, or keep it for the host by `#[cfg(not(target_os = \"cuda\"))]`".to_owned(),
                };
                return Some(format!(
                    "the host processor's instruction `{rest}` cannot run on the GPU: {advice}"
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

/// The library that an instruction is in; for one of `core`'s, the library that called it. `None` where that is the package
/// of the kernel, whose author is the reader.
fn library_of(instruction: Value) -> Option<String> {
    let way = way_from_kernel(instruction.function());
    let kernel = way.last().and_then(|kernel| package_folder(*kernel));
    let of_core = |name: &str| name == "core" || name == "alloc";
    let function = *way.iter().find(|function| !of_core(&crate_of(**function)))?;
    let folder = package_folder(function)?;
    (kernel.is_some_and(|kernel| kernel != folder)).then(|| crate_of(function))
}

/// The first word of a function's path.
fn crate_of(function: Value) -> String {
    let name = names::of(function);
    name.trim_start_matches(['<', '&']).split("::").next().unwrap_or(&name).to_owned()
}

/// Where the package lies that a function's source is in.
fn package_folder(function: Value) -> Option<String> {
    let file = source(function)?;
    Some(file.rsplit_once("/src/").map_or(file.clone(), |(folder, _)| folder.to_owned()))
}
