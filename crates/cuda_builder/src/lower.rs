//! From bitcode to PTX: the steps in their order, which matters. Each step is a file of its own.

use crate::arch::NvvmArch;
use crate::archive::Archive;
use crate::float_modes::FloatModes;
use crate::llvm::{self, Context, Module, TargetMachine};
use crate::{
    atomics, clean, convergence, entry, float_modes, inline_ptx, inlining, intrinsics, lines, link,
    mathematics, memory_ops, panics, ptx_version, refuse, sizes, spaces, unroll,
};

/// What the lowering is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    pub arch: NvvmArch,
    pub optimise: bool,
    pub floats: FloatModes,
    pub override_libm: bool,
    pub constant_statics: bool,
    pub line_info: bool,
    pub keep_module: bool,
}

/// What it makes.
#[derive(Debug, Default)]
pub struct Output {
    pub ptx: String,
    /// The module before the back end, as text and as bitcode.
    pub assembly: String,
    pub bitcode: Vec<u8>,
    /// What the user should know, a line each.
    pub warnings: String,
}

/// LLVM's options that have no other door. Accumulator arrays become registers only if their loops are unrolled in
/// full before they are taken apart: 64 turns of an 8×8 tile need more than the default threshold, and 3000 would
/// unroll the loop over K of a matrix product.
const LLVM_OPTIONS: [&str; 1] = ["-unroll-threshold=1000"];

/// Lowers the archive's crates to PTX.
pub fn lower(archive: &Archive, options: &Options) -> Result<Output, String> {
    llvm::set_options(&LLVM_OPTIONS);
    let context = Context::new();
    let capability = options.arch.capability_value();
    let first_version = options.arch.first_ptx_version();
    let machine =
        TargetMachine::new(&options.arch.processor(), &format!("+ptx{first_version}"), options.optimise)?;

    let module = link::crates(&context, archive)?;
    // Before any pass: statics to their memories, and names to what they stand for.
    spaces::place(&context, &module, options.constant_statics)?;
    if options.override_libm {
        mathematics::override_libm(&module);
    }
    mathematics::replace_unselectable(&context, &module);
    entry::build(&context, &module, first_version >= 77 && capability >= 70)?;
    entry::forget_used(&module);
    // Most of the libraries is out of reach of any kernel: nothing more is done for it.
    link::internalise(&module);
    machine.run_passes(&module, "globaldce,strip-dead-prototypes")?;
    prepare(&context, &module);
    float_modes::mark(&module, options.floats);
    intrinsics::resolve(&context, &module)?;
    inline_ptx::resolve(&context, &module)?;
    unroll::resolve(&context, &module);
    clean::unwinding(&module, &machine)?;
    // Panics after this, so that the arguments of a message are stored where its panic finds them. What only they
    // needed is gone before the standard library is asked for it.
    machine.run_passes(&module, "function(sroa,instcombine<no-verify-fixpoint>)")?;
    panics::rewrite(&context, &module);
    machine.run_passes(&module, "function(sroa,adce,simplifycfg),globaldce,strip-dead-prototypes")?;
    link::standard_library(&context, &module, &machine, archive, |part| {
        prepare(&context, part);
        float_modes::mark(part, options.floats);
        panics::rewrite(&context, part);
    })?;
    link::release(&module, panics::WITH_VALUES);
    clean::unwinding(&module, &machine)?;
    machine.run_passes(&module, "globaldce,strip-dead-prototypes")?;

    refuse::check(&module)?;
    module.verify()?;
    if options.floats.ftz {
        float_modes::flush_denormals(&module);
    }
    if !options.line_info {
        module.strip_debug_info();
    }
    atomics::fence_loops(&module);
    if options.optimise {
        inlining::mark(&module);
    }
    machine.run_passes(&module, if options.optimise { "default<O3>" } else { "default<O0>" })?;

    // What the optimiser understands and the back end does badly.
    if atomics::any(&module) {
        entry::global_pointers(&context, &module);
        machine.run_passes(&module, "function(infer-address-spaces)")?;
        atomics::replace(&context, &module, capability);
    }
    if memory_ops::widen(&context, &module) {
        machine.run_passes(
            &module,
            "always-inline,function(instcombine<no-verify-fixpoint>,simplifycfg),globaldce",
        )?;
    }
    sizes::check(&module)?;
    let (assembly, bitcode) =
        if options.keep_module { (module.print(), module.bitcode()) } else { Default::default() };
    let ptx = print(&context, &module, &machine, first_version)?;
    Ok(Output { ptx, assembly, bitcode, warnings: String::new() })
}

/// What every part gets before it is linked or optimised.
fn prepare(context: &Context, module: &Module<'_>) {
    clean::host_attributes(module);
    refuse::drop_harmless(context.sync_scope("singlethread"), module);
    convergence::mark(module);
}

fn print(
    context: &Context,
    module: &Module<'_>,
    machine: &TargetMachine,
    first_version: u32,
) -> Result<String, String> {
    let chains = lines::number(context, module);
    let ptx = machine.emit(module)?;
    let errors = context.take_errors();
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    let (ptx, inlined) = chains.restore(&ptx);
    let least = if inlined { lines::PTX_VERSION } else { 0 };
    Ok(ptx_version::raise(&ptx, first_version, least))
}
