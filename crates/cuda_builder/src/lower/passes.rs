//! The passes over the whole module, in their order, which matters.

use crate::assembly::partition::{self, Plan};
use crate::bitcode::blockwise::Agreed;
use crate::bitcode::{
    atomics, blockwise, clean, convergence, empty_assembly, entry, float_modes, inline_ptx, inlining,
    intrinsics, link, mathematics, names, panics, printing, refuse, sizes, spaces, unroll, x86_vectors,
};
use crate::front_end::archive::Archive;
use crate::llvm::{Context, Module, TargetMachine, Value};
use crate::options::Options;
use crate::pass::{self, Pass, always};
use std::collections::{BTreeMap, HashSet};

/// The subject of the passes.
struct Whole<'a, 'c> {
    context: &'c Context,
    module: Module<'c>,
    machine: TargetMachine,
    archive: &'a Archive,
    options: &'a Options,
    /// The kernel crate's variables for constant memory, used or not.
    tables: BTreeMap<String, u64>,
    /// The types that kernels without `unsafe` were compiled with.
    agreed: Vec<Agreed>,
    /// The functions that were there before the standard library was linked.
    own: HashSet<Value>,
    /// Notes for the user.
    said: Vec<String>,
}

impl Whole<'_, '_> {
    /// Runs passes of LLVM's own.
    fn llvm(&self, passes: &str) -> Result<(), String> {
        self.machine.run_passes(&self.module, passes)
    }
}

/// Passes over every module before it is linked or optimised.
fn prepare(context: &Context, module: &Module<'_>) {
    clean::host_attributes(module);
    refuse::drop_harmless(context.sync_scope("singlethread"), module);
    convergence::mark(module);
}

const UNREACHED: &str = "globaldce,strip-dead-prototypes";

fn passes<'a, 'c>() -> Vec<Pass<Whole<'a, 'c>>> {
    vec![
        // Before any pass of LLVM's: statics to their memories, and names to what they stand for.
        Pass {
            name: "place statics",
            when: always,
            run: |w| {
                w.said = spaces::place(w.context, &w.module, w.options.constant_statics);
                Ok(())
            },
        },
        Pass {
            name: "override libm",
            when: |options| options.override_libm,
            run: |w| {
                mathematics::override_libm(&w.module);
                Ok(())
            },
        },
        Pass {
            name: "replace what cannot be selected",
            when: always,
            run: |w| {
                mathematics::replace_unselectable(w.context, &w.module);
                Ok(())
            },
        },
        Pass {
            name: "build entries",
            when: always,
            run: |w| {
                let arch = w.options.arch;
                let grid_constants = arch.first_ptx_version() >= 77 && arch.capability_value() >= 70;
                entry::build(w.context, &w.module, grid_constants)?;
                entry::forget_used(&w.module);
                Ok(())
            },
        },
        // No kernel reaches most of the libraries: nothing more is done for those parts.
        Pass {
            name: "drop what no kernel reaches",
            when: always,
            run: |w| {
                link::internalise(&w.module);
                w.llvm(UNREACHED)
            },
        },
        Pass {
            name: "measure constant memory",
            when: always,
            run: |w| {
                w.tables.extend(sizes::constants(&w.module));
                sizes::check_constants(&w.tables, w.options.constant_statics)
            },
        },
        Pass {
            name: "prepare",
            when: always,
            run: |w| {
                prepare(w.context, &w.module);
                Ok(())
            },
        },
        Pass {
            name: "check kernels without unsafe",
            when: always,
            run: |w| {
                w.agreed = blockwise::check(w.context, &w.module)?;
                Ok(())
            },
        },
        Pass {
            name: "mark float modes",
            when: always,
            run: |w| {
                float_modes::mark(&w.module, w.options.floats);
                Ok(())
            },
        },
        Pass {
            name: "resolve the capability",
            when: always,
            run: |w| {
                intrinsics::capability(w.context, &w.module, w.options.arch.capability_value());
                Ok(())
            },
        },
        Pass { name: "resolve intrinsics", when: always, run: |w| intrinsics::resolve(w.context, &w.module) },
        Pass { name: "resolve inline PTX", when: always, run: |w| inline_ptx::resolve(w.context, &w.module) },
        Pass {
            name: "resolve unrolling",
            when: always,
            run: |w| {
                unroll::resolve(w.context, &w.module);
                Ok(())
            },
        },
        Pass { name: "drop unwinding", when: always, run: |w| clean::unwinding(&w.module, &w.machine) },
        // Panics after this, so that the arguments of a message are stored where its panic finds them. What only they
        // needed is gone before the standard library is asked for it.
        Pass {
            name: "take variables apart",
            when: always,
            run: |w| w.llvm("function(sroa,instcombine<no-verify-fixpoint>)"),
        },
        Pass {
            name: "rewrite prints",
            when: always,
            run: |w| {
                printing::rewrite(w.context, &w.module);
                Ok(())
            },
        },
        Pass {
            name: "rewrite panics",
            when: always,
            run: |w| {
                panics::rewrite(w.context, &w.module);
                Ok(())
            },
        },
        Pass {
            name: "drop what only messages needed",
            when: always,
            run: |w| w.llvm("function(sroa,adce,simplifycfg),globaldce,strip-dead-prototypes"),
        },
        Pass {
            name: "link the standard library",
            when: always,
            run: |w| {
                w.own = w.module.functions().into_iter().filter(|f| !f.is_declaration()).collect();
                link::standard_library(w.context, &w.module, w.archive, |part| {
                    prepare(w.context, part);
                    float_modes::mark(part, w.options.floats);
                    panics::rewrite(w.context, part);
                })
            },
        },
        // Before anything is dropped: functions are known by their places in memory.
        Pass {
            name: "check what kernels without unsafe reach of the standard library",
            when: always,
            run: |w| blockwise::check_standard_library(w.context, &w.module, std::mem::take(&mut w.own)),
        },
        Pass {
            name: "resolve empty assembly",
            when: always,
            run: |w| {
                empty_assembly::resolve(w.context, &w.module);
                Ok(())
            },
        },
        Pass {
            name: "define x86's vectors",
            when: always,
            run: |w| x86_vectors::define(w.context, &w.module),
        },
        Pass {
            name: "drop unwinding of libraries",
            when: always,
            run: |w| {
                link::release(&w.module);
                clean::unwinding(&w.module, &w.machine)?;
                w.llvm(UNREACHED)
            },
        },
        Pass {
            name: "refuse what cannot be PTX",
            when: always,
            run: |w| {
                refuse::check(&w.module)?;
                w.module.verify()
            },
        },
        Pass {
            name: "flush denormals",
            when: |options| options.floats.ftz,
            run: |w| {
                float_modes::flush_denormals(&w.module);
                Ok(())
            },
        },
        Pass {
            name: "drop lines",
            when: |options| !options.line_info,
            run: |w| {
                w.module.strip_debug_info();
                Ok(())
            },
        },
        Pass {
            name: "fence loops of atomics",
            when: always,
            run: |w| {
                atomics::fence_loops(&w.module);
                Ok(())
            },
        },
        Pass {
            name: "mark for inlining",
            when: |options| options.optimise,
            run: |w| {
                inlining::mark(&w.module);
                Ok(())
            },
        },
    ]
}

/// All crates in one module, ready for the optimiser, and how to cut it; what its kernels without `unsafe` were compiled with; and
/// what the user should know.
pub fn run(archive: &Archive, options: &Options) -> Result<(Plan, Vec<Agreed>, Vec<String>), String> {
    let context = Context::new();
    let mut tables = BTreeMap::new();
    let module = link::crates(&context, archive, |part| {
        if options.constant_statics {
            let own = |(name, _): &(String, u64)| names::is_of(name, &options.crate_name);
            tables.extend(spaces::tables(part).filter(own));
        }
    })?;
    let machine = options.machine()?;
    let (agreed, said) = (Vec::new(), Vec::new());
    let mut whole = Whole {
        context: &context,
        module,
        machine,
        archive,
        options,
        tables,
        agreed,
        own: HashSet::new(),
        said,
    };
    pass::run(&passes(), options, &mut whole)?;
    Ok((partition::plan(&context, &whole.module), whole.agreed, whole.said))
}
