//! From bitcode to PTX: the steps in their order, which matters. Each step is a file of its own.

use crate::arch::NvvmArch;
use crate::archive::Archive;
use crate::llvm::{self, Context, TargetMachine};
use crate::{clean, convergence, entry, inline_ptx, intrinsics, link, names, panics, spaces};

/// What the lowering is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    pub arch: NvvmArch,
    pub optimise: bool,
    pub fma_contraction: bool,
    pub keep_module: bool,
}

/// What it makes.
#[derive(Debug, Default)]
pub struct Output {
    pub ptx: String,
    /// The module before the back end, as text and as bitcode.
    pub assembly: String,
    pub bitcode: Vec<u8>,
}

/// LLVM's options that have no other door. Accumulator arrays become registers only if their loops are unrolled in
/// full before they are taken apart: 64 turns of an 8×8 tile need more than the default threshold, and 3000 would
/// unroll the loop over K of a matrix product.
const LLVM_OPTIONS: [&str; 1] = ["-unroll-threshold=1000"];

/// What the driver provides.
const SYSTEM_CALLS: [&str; 4] = ["__assertfail", "vprintf", "malloc", "free"];

pub fn lower(archive: &Archive, options: &Options) -> Result<Output, String> {
    llvm::set_options(&LLVM_OPTIONS);
    let context = Context::new();
    let ptx_version = options.arch.first_ptx_version();
    let machine =
        TargetMachine::new(&options.arch.processor(), &format!("+ptx{ptx_version}"), options.optimise)?;

    let module = link::crates(&context, archive)?;
    spaces::place(&context, &module);
    clean::host_attributes(&module);
    panics::rewrite(&context, &module);
    intrinsics::resolve(&context, &module)?;
    inline_ptx::resolve(&context, &module)?;
    convergence::mark(&module);
    let grid_constant = ptx_version >= 77 && options.arch.capability_value() >= 70;
    entry::build(&context, &module, grid_constant)?;
    entry::forget_used(&module);
    link::internalise(&module);
    clean::unwinding(&module, &machine)?;
    // What only rewritten panics needed is gone before the standard library is asked for it.
    machine.run_passes(&module, "function(sroa,adce,simplifycfg),globaldce,strip-dead-prototypes")?;
    link::standard_library(&context, &module, &machine, archive, |part| {
        clean::host_attributes(part);
        panics::rewrite(&context, part);
        convergence::mark(part);
    })?;
    clean::unwinding(&module, &machine)?;
    machine.run_passes(&module, "globaldce,strip-dead-prototypes")?;

    for name in link::undefined(&module) {
        if SYSTEM_CALLS.contains(&name.as_str()) || name == crate::marks::DYNAMIC_SHARED {
            continue;
        }
        return Err(format!("`{}` is used but defined nowhere", names::readable(&name)));
    }
    module.verify()?;
    machine.run_passes(&module, "default<O3>")?;
    let (assembly, bitcode) =
        if options.keep_module { (module.print(), module.bitcode()) } else { Default::default() };
    let ptx = machine.emit(&module)?;
    let errors = context.take_errors();
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    Ok(Output { ptx, assembly, bitcode })
}
