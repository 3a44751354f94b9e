//! Rebuilds the PTX signature of each kernel from what `#[kernel]` left: upstream's rules, independent of the ABI by
//! which rustc passes the same values on the host.

use crate::bitcode::{debug_info, marks};
use crate::llvm::{At, Builder, Cast, Context, Linkage, Module, Type, Value};

/// The calling convention `ptx_kernel`.
pub const PTX_KERNEL: u32 = 71;

/// One parameter as rustc measured it, in the numbers of `cuda_std`'s `Probe::CODE`.
struct Parameter {
    size: u64,
    align: u32,
    code: u64,
    by_reference: bool,
}

/// Builds every entry. `grid_constant` says whether the target can take the address of a by-value parameter.
pub fn build<'c>(context: &'c Context, module: &Module<'c>, grid_constant: bool) -> Result<(), String> {
    let functions = module.functions().into_iter();
    let entries: Vec<(String, Value)> =
        functions.filter_map(|f| Some((f.name().strip_prefix(marks::ENTRY)?.to_owned(), f))).collect();
    let places: Vec<_> = entries.iter().filter_map(|(name, f)| debug_info::place(name, *f)).collect();
    debug_info::declare(context, module, &places)?;
    for (name, forwarded) in entries {
        if !is_ptx_name(&name) {
            return Err(format!(
                "the kernel `{name}` needs another name: PTX knows only ASCII letters, digits, `_` and `$`"
            ));
        }
        let parameters = read_layout(module, &name)?;
        // A device function or static of the same name gives way; only kernels are known by name outside.
        for other in [module.function(&name), module.global(&name)].into_iter().flatten() {
            if other.is_declaration() {
                return Err(format!(
                    "the kernel `{name}` has the name of a foreign item that the crate declares: rename one"
                ));
            }
            other.set_name(&format!("{name}$device"));
        }
        let function = build_one(context, module, &name, forwarded, &parameters, grid_constant);
        launch_bounds(module, &name, function)?;
    }
    for global in module.globals() {
        let name = global.name();
        if [marks::LAYOUT, marks::NAMES, marks::BOUNDS].iter().any(|mark| name.starts_with(mark)) {
            delete_mark(module, global)?;
        }
    }
    Ok(())
}

/// Deletes what `#[kernel]` has left of a kernel. No code uses such a description, so what is used is an item of the user's.
pub fn delete_mark(module: &Module<'_>, mark: Value) -> Result<(), String> {
    /// By code, or by another static; constants that nothing uses do not count.
    fn is_used(value: Value) -> bool {
        let mut users = value.users().into_iter();
        users.any(|user| {
            user.as_instruction().is_some() || user.as_global_variable().is_some() || is_used(user)
        })
    }
    forget_used(module);
    if is_used(mark) {
        return Err(format!(
            "`{}` is a name that `#[kernel]` gives: rename the static that has it",
            mark.name()
        ));
    }
    mark.delete_global();
    Ok(())
}

/// `#[used]` put the descriptions on LLVM's list of what must stay; the lowering decides that itself.
pub fn forget_used(module: &Module<'_>) {
    for list in ["llvm.used", "llvm.compiler.used"] {
        if let Some(list) = module.global(list) {
            list.delete_global();
        }
    }
}

pub fn is_ptx_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'$')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$')
}

pub fn description(module: &Module<'_>, mark: &str, kernel: &str) -> Result<Vec<u8>, String> {
    let missing = || {
        format!(
            "the kernel `{kernel}` lacks its description: use the `#[kernel]` of this cuda_builder's cuda_std"
        )
    };
    let global = module.global(&format!("{mark}{kernel}")).ok_or_else(missing)?;
    let initial = global.initializer().ok_or_else(missing)?;
    if module.size_of(initial.ty()) == 0 {
        return Ok(Vec::new());
    }
    initial.as_bytes().ok_or_else(missing)
}

fn read_layout(module: &Module<'_>, kernel: &str) -> Result<Vec<Parameter>, String> {
    let bytes = description(module, marks::LAYOUT, kernel)?;
    let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
    let read = |row: &[u64; 4]| {
        let [size, align, code, by_reference] = *row;
        Parameter { size, align: align as u32, code, by_reference: by_reference != 0 }
    };
    Ok(numbers.as_chunks().0.iter().map(read).collect())
}

impl Parameter {
    /// The types by which PTX passes it: none for a zero-sized type, two for a slice.
    fn ptx_types(&self, context: &Context) -> Vec<Type> {
        match self.code {
            1 => vec![context.int(self.size as u32 * 8)],
            2 => vec![context.int(1)],
            3 => vec![context.float()],
            4 => vec![context.double()],
            5 => vec![context.pointer(0)],
            6 => vec![context.pointer(0), context.int(64)],
            _ if self.size == 0 => vec![],
            _ => vec![context.pointer(0)],
        }
    }

    fn is_bytes(&self) -> bool {
        self.code == 0 && self.size > 0
    }
}

fn build_one(
    context: &Context,
    module: &Module<'_>,
    name: &str,
    forwarded: Value,
    parameters: &[Parameter],
    grid_constant: bool,
) -> Value {
    let types: Vec<Type> = parameters.iter().flat_map(|p| p.ptx_types(context)).collect();
    let kernel = module.add_function(name, context.void().function(&types));
    kernel.set_calling_convention(PTX_KERNEL);
    let build = Builder::at_end(kernel.append_block("start"));

    let mut arguments = Vec::new();
    let mut next = 0;
    for parameter in parameters {
        let types = parameter.ptx_types(context);
        let received: Vec<Value> =
            (next..next + types.len() as u32).map(|index| kernel.parameter(index)).collect();
        if parameter.is_bytes() {
            let bytes = context.int(8).array(parameter.size);
            kernel.add_type_attribute(At::Parameter(next), "byval", bytes);
            kernel.add_enum_attribute(At::Parameter(next), "align", u64::from(parameter.align));
            kernel.add_enum_attribute(At::Parameter(next), "noalias", 0);
            if grid_constant {
                kernel.add_string_attribute(At::Parameter(next), "nvvm.grid_constant", "");
            }
        } else if parameter.code == 2 {
            kernel.add_enum_attribute(At::Parameter(next), "zeroext", 0);
        }
        match (parameter.by_reference, parameter.is_bytes()) {
            (true, true) => arguments.push(received[0]),
            (true, false) if types.is_empty() => {
                // A zero-sized value lives anywhere that is aligned.
                let address = context.int(64).int(i64::from(parameter.align));
                arguments.push(build.cast(Cast::IntToPtr, address, context.pointer(0)));
            }
            (true, false) => {
                // A type alias of a scalar or a slice: the macro could not see what it is, rustc could.
                let place = build.alloca(context.structure(&types), parameter.align);
                let mut offset = 0;
                for (value, ty) in received.iter().zip(&types) {
                    let at = build.offset(context.int(8), place, context.int(64).int(offset));
                    let value = if parameter.code == 2 {
                        build.cast(Cast::ZExt, *value, context.int(8))
                    } else {
                        *value
                    };
                    build.store(value, at, parameter.align);
                    offset += module.size_of(*ty) as i64;
                }
                arguments.push(place);
            }
            (false, _) => {
                for (index, value) in received.iter().enumerate() {
                    forwarded.copy_parameter_attributes(arguments.len() as u32, kernel, next + index as u32);
                    arguments.push(*value);
                }
            }
        }
        next += types.len() as u32;
    }
    let call = build.call(forwarded.value_type(), forwarded, &arguments);
    debug_info::take(module, name, kernel, call);
    build.return_void();
    forwarded.set_linkage(Linkage::Internal);
    forwarded.remove_enum_attribute(At::Function, "noinline");
    forwarded.add_enum_attribute(At::Function, "alwaysinline", 0);
    kernel
}

/// Says of every kernel's pointers that they point to global memory, as the driver's interface has it.
pub fn global_pointers(context: &Context, module: &Module<'_>) {
    for kernel in module.functions().into_iter().filter(|f| f.calling_convention() == PTX_KERNEL) {
        let Some(first) = kernel.instructions().first().copied() else { continue };
        for index in 0..kernel.parameter_count() {
            let pointer = kernel.parameter(index);
            let by_value = kernel.has_enum_attribute(At::Parameter(index), "byval");
            if pointer.ty() != context.pointer(0) || by_value {
                continue;
            }
            let build = Builder::before(first);
            let global = build.cast(Cast::AddrSpace, pointer, context.pointer(1));
            let generic = build.cast(Cast::AddrSpace, global, context.pointer(0));
            pointer.replace_all_uses(generic);
            global.set_operand(0, pointer);
        }
    }
}

/// `#[launch_bounds]` and its kin as the attributes that LLVM prints as PTX directives.
fn launch_bounds(module: &Module<'_>, name: &str, kernel: Value) -> Result<(), String> {
    let bytes = description(module, marks::BOUNDS, name)?;
    let numbers: Vec<u32> = bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let [threads, blocks, registers, bx, by, bz, cx, cy, cz] = numbers[..] else {
        return Err(format!(
            "the launch bounds of `{name}` have a form that this cuda_builder does not know"
        ));
    };
    let shape = |x: u32, y: u32, z: u32| u64::from(x) * u64::from(y) * u64::from(z);
    if threads > 1024 || shape(bx, by, bz) > 1024 || bz > 64 {
        return Err(format!(
            "the kernel `{name}` asks for larger blocks than there are: a block has at most 1024 threads, and 64 along z. Let each \
             thread do more, or the grid have more blocks"
        ));
    }
    if shape(cx, cy, cz) > 16 {
        return Err(format!(
            "the kernel `{name}` asks for larger clusters than there are: a cluster has at most 8 blocks, and 16 on some devices"
        ));
    }
    let say = |key: &str, value: String| kernel.add_string_attribute(At::Function, key, &value);
    if threads != 0 {
        say("nvvm.maxntid", threads.to_string());
    }
    if blocks != 0 {
        say("nvvm.minctasm", blocks.to_string());
    }
    if registers != 0 {
        say("nvvm.maxnreg", registers.to_string());
    }
    if bx != 0 {
        say("nvvm.reqntid", format!("{bx},{by},{bz}"));
    }
    if cx != 0 {
        say("nvvm.cluster_dim", format!("{cx},{cy},{cz}"));
    }
    Ok(())
}
