//! One part of the module from bitcode to text, or from an earlier build.

use crate::assembly::lines::{self, Chains};
use crate::assembly::partition::{Plan, Which};
use crate::assembly::{capability, functions, ptx_version};
use crate::bitcode::{
    atomics, backward_steps, blockwise, entry, inline_spaces, local_arrays, local_atomics, memory_ops,
    panic_places, sizes, unroll,
};
use crate::llvm::{Context, Module, TargetMachine};
use crate::options::Options;
use crate::parcel;
use crate::pass::{self, Pass, always};
use llvm_library::cache::{Cache, Key};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// LLVM recurses deeply on large functions; this is what rustc gives its own threads, and more.
const STACK: usize = 32 << 20;

/// A part as the back end printed it, with what is still to be put in.
pub struct Part {
    pub text: String,
    pub chains: Chains,
    /// The PTX version, times ten, that its instructions ask for.
    pub version: u32,
    /// The part before the back end, if that is kept.
    pub bitcode: Vec<u8>,
    /// Its functions in LLVM's assembly language, if they are kept.
    pub functions: String,
    /// Notes for the user, a line each.
    pub warnings: String,
}

/// Lowers all parts of a plan, on all cores. `key` stands for everything but the parts' own content.
pub fn lower_all(plan: &Plan, options: &Options, earlier: (&Cache, Key)) -> Result<Vec<Part>, String> {
    let which = plan.parts();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Part, String>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(which) = which.get(index) else { return };
            let part = lower(plan, *which, options, earlier);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, part));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get).min(which.len());
    std::thread::scope(|scope| -> std::io::Result<()> {
        for _ in 0..cores {
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)?;
        }
        Ok(())
    })
    .map_err(|error| format!("no thread could be started: {error}"))?;
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, part)| part).collect()
}

fn lower(plan: &Plan, which: Which, options: &Options, earlier: (&Cache, Key)) -> Result<Part, String> {
    let bitcode = plan.cut(&Context::new(), which)?;
    let (cache, conditions) = earlier;
    let key = conditions.and(&[b"part", &bitcode]);
    if let Some(part) = cache.get(key).and_then(|entry| Part::decode(&entry)) {
        return Ok(part);
    }
    // Read back, so that the answer depends on these bytes and nothing else.
    let context = Context::new();
    let module = context.parse(&bitcode, "device")?;
    let part = translate(plan, &context, &module, options)?;
    cache.put(key, &part.encode());
    Ok(part)
}

/// The subject of the passes over a part.
struct Translation<'a, 'c> {
    context: &'c Context,
    module: &'a Module<'c>,
    machine: TargetMachine,
    options: &'a Options,
    /// Notes for the user.
    warnings: String,
}

impl Translation<'_, '_> {
    /// Runs passes of LLVM's own.
    fn llvm(&self, passes: &str) -> Result<(), String> {
        self.machine.run_passes(self.module, passes)
    }

    fn capability(&self) -> u32 {
        self.options.arch.capability_value()
    }
}

/// The passes over a part, in their order: the optimiser's, and then what it understands and the back end does badly.
fn passes<'a, 'c>() -> Vec<Pass<Translation<'a, 'c>>> {
    vec![
        Pass {
            name: "settle floats of kernels without unsafe",
            when: always,
            run: |t| {
                let machine = t.options.optimise.then_some(&t.machine);
                t.warnings += &blockwise::floats::settle(t.context, t.module, machine)?;
                Ok(())
            },
        },
        Pass {
            name: "optimise",
            when: always,
            run: |t| t.llvm(if t.options.optimise { "default<O3>" } else { "default<O0>" }),
        },
        Pass {
            name: "fill in the places of panics",
            when: always,
            run: |t| {
                panic_places::fill_in(t.context, t.module);
                Ok(())
            },
        },
        Pass {
            name: "unroll loops over local arrays",
            when: |options| options.optimise,
            run: |t| local_arrays::unroll(t.module, &t.machine),
        },
        Pass {
            name: "find loops that were not unrolled",
            when: |options| options.optimise,
            run: |t| {
                t.warnings += &unroll::not_done(t.context, t.module, &t.machine)?;
                Ok(())
            },
        },
        Pass {
            name: "make local atomics plain",
            when: always,
            run: |t| match local_atomics::make_plain(t.module) {
                true => t.llvm("function(sroa,instcombine<no-verify-fixpoint>,early-cse,simplifycfg,adce)"),
                false => Ok(()),
            },
        },
        Pass {
            name: "name the spaces of atomics and inline PTX",
            when: always,
            run: |t| {
                let inline =
                    if t.options.optimise { inline_spaces::marked(t.context, t.module) } else { Vec::new() };
                if atomics::any(t.module) || !inline.is_empty() {
                    entry::global_pointers(t.context, t.module);
                    t.llvm("function(infer-address-spaces)")?;
                    inline_spaces::name(t.context, inline);
                    atomics::replace(t.context, t.module, t.capability());
                }
                Ok(())
            },
        },
        Pass {
            name: "fence accesses of atomics",
            when: |options| options.arch.capability_value() < 70,
            run: |t| {
                atomics::fence_accesses(t.module);
                Ok(())
            },
        },
        Pass {
            name: "widen copies",
            when: always,
            run: |t| match memory_ops::widen(t.context, t.module) {
                true => {
                    t.llvm("always-inline,function(instcombine<no-verify-fixpoint>,simplifycfg),globaldce")
                }
                false => Ok(()),
            },
        },
        Pass {
            name: "choose backward steps",
            when: always,
            run: |t| {
                backward_steps::choose(t.context, t.module);
                Ok(())
            },
        },
        Pass { name: "measure shared memory", when: always, run: |t| sizes::check_shared(t.module) },
    ]
}

/// Optimises and prints.
fn translate(plan: &Plan, context: &Context, module: &Module<'_>, options: &Options) -> Result<Part, String> {
    let machine = options.machine()?;
    let mut translation = Translation { context, module, machine, options, warnings: String::new() };
    pass::run(&passes(), options, &mut translation)?;
    let Translation { machine, warnings, .. } = translation;
    let bitcode = if options.keep_module() { module.bitcode() } else { Vec::new() };
    let functions =
        if options.keep_functions { functions::of_module(&module.print()) } else { String::new() };
    plan.settle(module);
    let chains = lines::number(context, module);
    let text = emit(context, module, &machine)?;
    capability::check(&text, options.arch.capability_value())?;
    sizes::check_local(&text)?;
    let version = ptx_version::required(&text);
    Ok(Part { text, chains, version, bitcode, functions, warnings })
}

fn emit(context: &Context, module: &Module<'_>, machine: &TargetMachine) -> Result<String, String> {
    let ptx = machine.emit(module)?;
    let errors = context.take_errors();
    if errors.is_empty() { Ok(ptx) } else { Err(errors.join("\n")) }
}

impl Part {
    fn encode(&self) -> Vec<u8> {
        parcel::pack(&[
            self.text.as_bytes(),
            &self.chains.encode(),
            &self.version.to_le_bytes(),
            &self.bitcode,
            self.functions.as_bytes(),
            self.warnings.as_bytes(),
        ])
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let [text, chains, version, bitcode, functions, warnings] = parcel::unpack(bytes)?[..] else {
            return None;
        };
        Some(Self {
            text: String::from_utf8(text.to_vec()).ok()?,
            chains: Chains::decode(chains)?,
            version: u32::from_le_bytes(version.try_into().ok()?),
            bitcode: bitcode.to_vec(),
            functions: String::from_utf8(functions.to_vec()).ok()?,
            warnings: String::from_utf8(warnings.to_vec()).ok()?,
        })
    }
}
