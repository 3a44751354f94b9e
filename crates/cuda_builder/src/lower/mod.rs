//! From bitcode to PTX: the whole module, its parts, and their texts joined.

pub mod isolate;
mod passes;

use crate::assembly::{self, part, part::Part};
use crate::front_end::archive::Archive;
use crate::llvm::{self, Context, DATA_LAYOUT, Module, TRIPLE};
use crate::options::Options;
use crate::parcel;
use llvm_library::cache::{Cache, Key};
use std::collections::BTreeSet;

/// Its output.
#[derive(Debug, Default)]
pub struct Output {
    pub ptx: String,
    /// The module before the back end, as text and as bitcode.
    pub assembly: String,
    pub bitcode: Vec<u8>,
    /// Its functions by themselves, as text.
    pub functions: String,
    /// Notes for the user, a line each.
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
    let (plan, agreed, said) = passes::run(archive, options)?;
    let parts = part::lower_all(&plan, options, earlier)?;
    let (ptx, version) = assembly::join(&plan, &parts)?;
    let ptx = assembly::raise(&ptx, options.arch.first_ptx_version(), version);
    let ptx = agreed.iter().fold(ptx, |ptx, kernel| kernel.write(&ptx));
    // A function that several kernels call is in the parts of each.
    let of_parts = parts.iter().flat_map(|part| part.warnings.lines());
    let warnings: BTreeSet<&str> = said.iter().map(String::as_str).chain(of_parts).collect();
    let warnings = warnings.into_iter().collect::<Vec<_>>().join("\n");
    let mut output = Output { ptx, warnings, ..Output::default() };
    if options.keep_functions {
        output.functions = assembly::functions::join(parts.iter().map(|part| part.functions.as_str()));
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
