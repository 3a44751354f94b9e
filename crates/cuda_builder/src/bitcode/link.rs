//! Links the crates' bitcode into one module, with what they need of `core` and `alloc` and no more.

use crate::bitcode::{entry, marks, panics};
use crate::front_end::archive::{Archive, Bitcode};
use crate::llvm::{Context, DATA_LAYOUT, Linkage, Module, TRIPLE, Value};

/// C functions that `core` expects.
const RUNTIME: &str = include_str!("runtime.ll");

/// Links all of the device's own crates. `look` sees each while it still has what none of its functions uses.
pub fn crates<'c>(
    context: &'c Context,
    archive: &Archive,
    mut look: impl FnMut(&Module<'c>),
) -> Result<Module<'c>, String> {
    let module = context.module("device");
    module.set_target(TRIPLE, DATA_LAYOUT);
    for Bitcode { name, bytes } in &archive.crates {
        let part =
            context.parse(bytes, name).map_err(|e| format!("the bitcode of `{name}` cannot be read: {e}"))?;
        // A crate's own assembly is for the host; the allocator's shim is one such.
        part.clear_inline_assembly();
        part.set_target(TRIPLE, DATA_LAYOUT);
        look(&part);
        if !module.link(part) {
            return Err(format!("`{name}` cannot be linked: {}", context.take_errors().join("\n")));
        }
    }
    Ok(module)
}

/// Whether a symbol belongs to the module's outside: entries and their descriptions, visible functions, statics that the
/// host may write, dynamic shared memory.
fn stays_visible(value: Value) -> bool {
    let name = value.name();
    value.as_function().is_some_and(|f| f.calling_convention() == entry::PTX_KERNEL)
        || name.starts_with("warpsmith.")
        // Internal, it would be taken apart or folded into its initialiser.
        || value.as_function().is_none() && value.is_externally_initialized()
        || value.section() == marks::VISIBLE
        || name.starts_with("llvm.")
        // Until all that may call them is there; `release` ends that.
        || is_runtime(&name)
}

/// Whether it is one of the functions by which `alloc` reaches the allocator, such as `__rustc::__rust_alloc`. `alloc`'s
/// own code, linked on demand, asks for them when the crates' uses may be inlined long since.
fn is_allocators(name: &str) -> bool {
    name.starts_with("_R") && name.contains("___rustc") && name.contains("___rust_")
}

/// Whether it is one of the allocator's functions that give memory.
pub fn allocates(name: &str) -> bool {
    let gives = ["___rust_alloc", "___rust_alloc_zeroed", "___rust_realloc"];
    is_allocators(name) && gives.iter().any(|function| name.ends_with(function))
}

/// Whether the lowering may come to call it.
fn is_runtime(name: &str) -> bool {
    panics::runtime().any(|known| known == name) || is_allocators(name)
}

/// Gives up the functions that were kept for their names.
pub fn release(module: &Module<'_>) {
    for function in module.functions().into_iter().filter(|f| !f.is_declaration() && is_runtime(&f.name())) {
        function.set_linkage(Linkage::Internal);
    }
}

/// Makes everything internal that has a definition and is not meant for outside.
pub fn internalise(module: &Module<'_>) {
    for value in module.functions().into_iter().chain(module.globals()) {
        if !value.is_declaration() && !stays_visible(value) {
            value.set_linkage(Linkage::Internal);
        }
    }
}

/// Adds definitions from the standard library's bitcode for what is declared and used, and for what those need in
/// turn. `prepare` sees each part before it is linked.
pub fn standard_library<'c>(
    context: &'c Context,
    module: &Module<'c>,
    archive: &Archive,
    prepare: impl Fn(&Module<'c>),
) -> Result<(), String> {
    loop {
        let mut added = false;
        for source in archive.on_demand.iter().map(Some).chain([None]) {
            let wanted = undefined(module);
            if wanted.is_empty() {
                return Ok(());
            }
            let whole = match source {
                // Functions are read as they are linked: a kernel needs a few of thousands.
                Some(Bitcode { name, bytes }) => context
                    .parse_lazily(bytes, name)
                    .map_err(|e| format!("the bitcode of `{name}` cannot be read: {e}"))?,
                None => context.parse_assembly(RUNTIME)?,
            };
            whole.clear_inline_assembly();
            whole.set_target(TRIPLE, DATA_LAYOUT);
            let mut found = false;
            for value in whole.functions().into_iter().chain(whole.globals()).filter(|v| !v.is_declaration())
            {
                let is_wanted = wanted.contains(&value.name());
                found |= is_wanted;
                value.set_linkage(if is_wanted { Linkage::External } else { Linkage::Internal });
            }
            if !found {
                continue;
            }
            let failed =
                || format!("the standard library cannot be linked: {}", context.take_errors().join("\n"));
            // What is wanted, and what that needs.
            let part = context.module("standard library");
            part.set_target(TRIPLE, DATA_LAYOUT);
            if !part.link(whole) {
                return Err(failed());
            }
            // The shipped libraries carry full debug information, which would make the whole module a debug build.
            part.strip_debug_info();
            prepare(&part);
            if !module.link(part) {
                return Err(failed());
            }
            internalise(module);
            added = true;
        }
        if !added {
            return Ok(());
        }
    }
}

/// Names that are used and have no definition, intrinsics and marks apart.
pub fn undefined(module: &Module<'_>) -> Vec<String> {
    let is_wanted = |value: &Value| value.is_declaration() && value.is_used() && !value.is_intrinsic();
    let functions = module.functions().into_iter().filter(is_wanted);
    let globals = module.globals().into_iter().filter(|g| g.is_declaration() && g.is_used());
    functions
        .chain(globals)
        .map(Value::name)
        .filter(|name| {
            let marks = [marks::LLVM, marks::PTX, marks::BLOCKWISE, marks::UNROLL];
            !marks.iter().any(|mark| name.starts_with(mark))
        })
        .collect()
}
