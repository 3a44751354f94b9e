//! From bitcode to PTX: the steps in their order, which matters. Each step is a file of its own.

use crate::arch::NvvmArch;
use crate::archive::Archive;
use crate::cache::{Cache, Key};
use crate::float_modes::FloatModes;
use crate::llvm::{self, Context, DATA_LAYOUT, Module, TRIPLE, TargetMachine};
use crate::part::Part;
use crate::partition::{self, Plan};
use crate::{
    assembly, atomics, clean, convergence, empty_assembly, entry, float_modes, inline_ptx, inlining,
    intrinsics, link, mathematics, names, panics, parcel, part, printing, ptx_version, refuse, sizes, spaces,
    unroll, x86_vectors,
};
use std::collections::{BTreeMap, BTreeSet};

/// What the lowering is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The kernel crate, as in symbols.
    pub crate_name: String,
    pub arch: NvvmArch,
    pub optimise: bool,
    pub floats: FloatModes,
    pub override_libm: bool,
    pub constant_statics: bool,
    pub line_info: bool,
    /// Keep the module as LLVM's assembly language.
    pub keep_assembly: bool,
    /// Keep the functions as LLVM's assembly language.
    pub keep_functions: bool,
    /// Keep the module as bitcode.
    pub keep_bitcode: bool,
}

impl Options {
    pub fn keep_module(&self) -> bool {
        self.keep_assembly || self.keep_bitcode
    }

    pub fn machine(&self) -> Result<TargetMachine, String> {
        let features = format!("+ptx{}", self.arch.first_ptx_version());
        TargetMachine::new(&self.arch.processor(), &features, self.optimise)
    }
}

/// What it makes.
#[derive(Debug, Default)]
pub struct Output {
    pub ptx: String,
    /// The module before the back end, as text and as bitcode.
    pub assembly: String,
    pub bitcode: Vec<u8>,
    /// Its functions by themselves, as text.
    pub functions: String,
    /// What the user should know, a line each.
    pub warnings: String,
}

impl Output {
    pub fn encode(&self) -> Vec<u8> {
        let texts = [&self.ptx, &self.assembly, &self.functions, &self.warnings];
        let [ptx, assembly, functions, warnings] = texts.map(|text| text.as_bytes());
        parcel::pack(&[ptx, assembly, &self.bitcode, functions, warnings])
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [ptx, assembly, bitcode, functions, warnings] = parcel::unpack(bytes)?[..] else { return None };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(Self {
            ptx: text(ptx),
            assembly: text(assembly),
            bitcode: bitcode.to_vec(),
            functions: text(functions),
            warnings: text(warnings),
        })
    }
}

/// LLVM's options that have no other door. Accumulator arrays become registers only if their loops are unrolled in
/// full before they are taken apart: 64 turns of an 8×8 tile need more than the default threshold, and 3000 would
/// unroll the loop over K of a matrix product.
const LLVM_OPTIONS: [&str; 1] = ["-unroll-threshold=1000"];

/// Lowers the archive's crates to PTX. `earlier` is where parts of earlier builds are, and the key of everything that is
/// not a part's own content.
pub fn lower(archive: &Archive, options: &Options, earlier: (&Cache, Key)) -> Result<Output, String> {
    llvm::set_options(&LLVM_OPTIONS);
    let (plan, said) = prepare_whole(archive, options)?;
    let parts = part::lower_all(&plan, options, earlier)?;
    let (ptx, version) = assembly::join(&plan, &parts)?;
    let ptx = ptx_version::raise(&ptx, options.arch.first_ptx_version(), version);
    // A function that several kernels call is in the parts of each.
    let of_parts = parts.iter().flat_map(|part| part.warnings.lines());
    let warnings: BTreeSet<&str> = said.iter().map(String::as_str).chain(of_parts).collect();
    let warnings = warnings.into_iter().collect::<Vec<_>>().join("\n");
    let mut output = Output { ptx, warnings, ..Output::default() };
    if options.keep_functions {
        output.functions = assembly::join_functions(parts.iter().map(|part| part.functions.as_str()));
    }
    if options.keep_module() {
        let context = Context::new();
        let module = rejoin(&context, &parts)?;
        if options.keep_assembly {
            output.assembly = module.print();
        }
        if options.keep_bitcode {
            output.bitcode = module.bitcode();
        }
    }
    Ok(output)
}

/// All crates in one module, ready for the optimiser, and how to cut it; and what the user should know.
fn prepare_whole(archive: &Archive, options: &Options) -> Result<(Plan, Vec<String>), String> {
    let context = Context::new();
    let capability = options.arch.capability_value();
    let first_version = options.arch.first_ptx_version();
    let machine = options.machine()?;

    let mut constants = BTreeMap::new();
    let module = link::crates(&context, archive, |part| {
        if options.constant_statics {
            let own = |(name, _): &(String, u64)| names::is_of(name, &options.crate_name);
            constants.extend(spaces::tables(part).filter(own));
        }
    })?;
    // Before any pass: statics to their memories, and names to what they stand for.
    let warnings = spaces::place(&context, &module, options.constant_statics);
    if options.override_libm {
        mathematics::override_libm(&module);
    }
    mathematics::replace_unselectable(&context, &module);
    entry::build(&context, &module, first_version >= 77 && capability >= 70)?;
    entry::forget_used(&module);
    // Most of the libraries is out of reach of any kernel: nothing more is done for it.
    link::internalise(&module);
    machine.run_passes(&module, "globaldce,strip-dead-prototypes")?;
    constants.extend(sizes::constants(&module));
    sizes::check_constants(&constants, options.constant_statics)?;
    prepare(&context, &module);
    float_modes::mark(&module, options.floats);
    intrinsics::capability(&context, &module, capability);
    intrinsics::resolve(&context, &module)?;
    inline_ptx::resolve(&context, &module)?;
    unroll::resolve(&context, &module);
    clean::unwinding(&module, &machine)?;
    // Panics after this, so that the arguments of a message are stored where its panic finds them. What only they
    // needed is gone before the standard library is asked for it.
    machine.run_passes(&module, "function(sroa,instcombine<no-verify-fixpoint>)")?;
    printing::rewrite(&context, &module);
    panics::rewrite(&context, &module);
    machine.run_passes(&module, "function(sroa,adce,simplifycfg),globaldce,strip-dead-prototypes")?;
    link::standard_library(&context, &module, archive, |part| {
        prepare(&context, part);
        float_modes::mark(part, options.floats);
        panics::rewrite(&context, part);
    })?;
    empty_assembly::resolve(&context, &module);
    x86_vectors::define(&context, &module)?;
    link::release(&module);
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
    Ok((partition::plan(&context, &module), warnings))
}

/// The optimised parts as one module.
fn rejoin<'c>(context: &'c Context, parts: &[Part]) -> Result<Module<'c>, String> {
    let module = context.module("device");
    module.set_target(TRIPLE, DATA_LAYOUT);
    for part in parts {
        if !module.link(context.parse(&part.bitcode, "device")?) {
            return Err(format!("the parts cannot be linked: {}", context.take_errors().join("\n")));
        }
    }
    Ok(module)
}

/// What every part gets before it is linked or optimised.
fn prepare(context: &Context, module: &Module<'_>) {
    clean::host_attributes(module);
    refuse::drop_harmless(context.sync_scope("singlethread"), module);
    convergence::mark(module);
}
