//! Puts statics where they belong: shared memory, constant memory, global memory.

use crate::bitcode::{marks, names, sizes};
use crate::llvm::{Context, Linkage, Module, Type, Value};

const SHARED_SPACE: u32 = 3;
const CONSTANT_SPACE: u32 = 4;

/// Moves every marked static. Must come before any pass: in the generic space a static that only one function uses may
/// be turned into a local variable, and one that is never written folded into its initialiser.
///
/// `constants` puts unmarked tables into constant memory too: statics that no one can write, of up to 64 KiB. Returns what the
/// user should know, a line each.
pub fn place(context: &Context, module: &Module<'_>, constants: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for global in module.globals() {
        let section = global.section();
        let size = || module.size_of(global.value_type());
        if global.name() == marks::DYNAMIC_SHARED {
            let array = module.add_global("", context.int(8).array(0), SHARED_SPACE);
            array.set_alignment(128);
            replace(context, global, array);
            // A second declaration of the same name would be the same array.
            array.set_name(marks::DYNAMIC_SHARED);
        } else if section == marks::SHARED {
            let ty = padded(context, module, global).unwrap_or_else(|| global.value_type());
            let array = module.add_global("", ty, SHARED_SPACE);
            array.set_initializer(ty.undef());
            array.set_linkage(Linkage::Internal);
            array.set_alignment(global.alignment().max(16));
            let name = global.name();
            if global.initializer().is_some_and(has_values) {
                warnings.push(format!(
                    "the initial values of `{}` are lost: shared memory has none when a block starts. Write them in the kernel, \
                     and let a barrier follow",
                    names::readable(&name)
                ));
            }
            replace(context, global, array);
            array.set_name(&name);
        } else if section == marks::CONSTANT {
            let table = module.add_global("", global.value_type(), CONSTANT_SPACE);
            if let Some(initial) = global.initializer() {
                table.set_initializer(initial);
            }
            table.set_global_constant(true);
            // The host may write it before a launch, so the initialiser says nothing about its value.
            table.set_externally_initialized();
            table.set_alignment(global.alignment());
            table.set_linkage(if global.is_internal() { Linkage::Internal } else { Linkage::External });
            let name = global.name();
            replace(context, global, table);
            table.set_name(&name);
        } else if constants && is_constant_static(global) && size() > sizes::CONSTANT {
            warnings.push(format!(
                "`{}` has {} bytes, and constant memory has {}: it is left in global memory",
                names::readable(&global.name()),
                size(),
                sizes::CONSTANT
            ));
        } else if constants && is_constant_static(global) {
            let table = module.add_global("", global.value_type(), CONSTANT_SPACE);
            if let Some(initial) = global.initializer() {
                table.set_initializer(initial);
            }
            table.set_global_constant(true);
            table.set_alignment(global.alignment());
            table.set_linkage(Linkage::Internal);
            let name = global.name();
            replace(context, global, table);
            table.set_name(&name);
        } else if !section.is_empty() {
            if section == marks::GLOBAL {
                // The host may write it, through `cuModuleGetGlobal`: one that no kernel writes is no constant.
                global.set_externally_initialized();
            }
            global.clear_section();
        } else if is_exported_variable(global) {
            // As `__device__` variables are in C++: the host finds it by its name, and may write it.
            global.set_externally_initialized();
        } else if !global.is_global_constant()
            && !global.is_declaration()
            && global.name().starts_with("_R")
            && let Some(ty) = padded(context, module, global)
            && let Some(initial) = global.initializer()
        {
            let variable = module.add_global("", ty, 0);
            variable.set_initializer(context.constant_structure(&[initial, ty.fields()[1].undef()]));
            variable.set_linkage(Linkage::Internal);
            variable.set_alignment(global.alignment().max(WORD as u32));
            let name = global.name();
            global.replace_all_uses(variable);
            global.delete_global();
            variable.set_name(&name);
        }
    }
    warnings
}

/// Whether a constant has bytes other than zero, which is what kernels write who mean nothing by it.
fn has_values(constant: Value) -> bool {
    constant.as_bytes().map_or_else(
        || (0..).map_while(|index| constant.element(index)).any(has_values),
        |bytes| bytes.iter().any(|byte| *byte != 0),
    )
}

/// Width of the GPU's narrowest compare-and-swap for bytes.
const WORD: u64 = 4;

/// The type of a variable with bytes after it that fill its last word, if it does not: an atomic operation on a byte
/// (`AtomicBool`, `AtomicU8`) reads and writes the whole word around it, which must be the variable's own.
fn padded(context: &Context, module: &Module<'_>, global: Value) -> Option<Type> {
    let missing = module.size_of(global.value_type()).wrapping_neg() % WORD;
    (missing != 0).then(|| context.structure(&[global.value_type(), context.int(8).array(missing)]))
}

/// A variable with `#[no_mangle]` or a name of its choice for the linker; all others have rustc's.
fn is_exported_variable(global: Value) -> bool {
    !global.is_global_constant()
        && !global.is_declaration()
        && !global.is_internal()
        && !global.name().starts_with("_R")
}

/// The statics without a mark that constant memory can hold: names and bytes. All of them count against its size, since
/// rustc itself folds reads of them, and nothing then shows which were read.
pub fn tables(module: &Module<'_>) -> impl Iterator<Item = (String, u64)> {
    let tables = module.globals().into_iter().filter(|global| is_constant_static(*global));
    let all = tables.map(|table| (table.name(), module.size_of(table.value_type())));
    all.filter(|(_, bytes)| *bytes <= sizes::CONSTANT)
}

/// A `static` of the user's: rustc's own constants have names without a path.
fn is_constant_static(global: Value) -> bool {
    let name = global.name();
    global.is_global_constant()
        && !global.is_declaration()
        && global.section().is_empty()
        && name.starts_with("_R")
}

fn replace(context: &Context, old: Value, new: Value) {
    old.replace_all_uses(new.addrspace_cast(context.pointer(0)));
    old.delete_global();
}
