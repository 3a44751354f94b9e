//! Compiles the virtual GPU's programs to machine code, through the LLVM of the Rust toolchain.
//!
//! From operations to machine code:
//!
//! | file | what it does |
//! | --- | --- |
//! | `blocks` | basic blocks, their regions, and live registers |
//! | `live_edges` | live-ins and live-outs of regions |
//! | `function` | a function as LLVM IR: entries and exits, blocks, and the branches between them |
//! | `if_conversion` | short forward branches at which a group diverges, as predicated code |
//! | `loops` | divergent loops as predicated code |
//! | `writer` | the text in progress |
//! | `values` | registers: the current value of each, and the IR for reading and writing them |
//! | `arithmetic`, `floats`, `compare`, `convert` | one operation as IR |
//! | `memory` | loads, stores and atomics as IR |
//! | `families` | accesses that are tested together, and the memory that they may reach |
//! | `vectors` | accesses of consecutive addresses, or of one |
//! | `lanes` | uniformity and stride analysis |
//! | `widths` | uniform registers, computed for one lane or for one of each half |
//! | `rows` | affine registers |
//! | `scattered` | functions for accesses of any addresses |
//! | `collective` | shuffles and votes as IR |
//! | `counting` | what code counts for an observer |
//! | `llvm` | IR → an object file |
//! | `link` | an object file → code in memory |
//! | `kept` | object files of earlier processes |
//! | `processor` | what code is made for |
//!
//! A warp's register is a vector of 32 lanes, a predicate a 32-bit integer. Results equal the interpreter's in every
//! bit: the code calls the interpreter's own function for any operation without IR that guarantees this.

mod arithmetic;
mod blocks;
mod collective;
mod compare;
mod convert;
mod counting;
mod families;
mod floats;
mod function;
mod if_conversion;
mod kept;
mod lanes;
mod link;
mod live_edges;
mod llvm;
mod loops;
mod memory;
mod processor;
mod rows;
mod scattered;
mod values;
mod vectors;
mod widths;
mod writer;

use std::sync::Arc;

use llvm_library::cache::{Cache, Key};
use virtual_gpu::jit::{Compilation, CompiledRegion, Compiler, Function, State};

use link::Unlinked;
use llvm::{Effort, Llvm};

/// Why programs cannot be compiled here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// There is no code generator for this kind of processor.
    #[error("machine code is made for x86-64 processors with AVX2 and FMA only")]
    Processor,
    /// The toolchain's LLVM is missing, or is another version.
    #[error("{0}")]
    Library(String),
    /// LLVM itself refused.
    #[error("the toolchain's LLVM has no code for this processor: {0}")]
    Llvm(String),
}

/// A kernel is interpreted for this many times its own length before its code is looked up in the cache: about as long as
/// that takes, some microseconds per operation.
const LOOK_AFTER: u64 = 500;
/// The same before it is compiled: 0.4 ms for each operation.
const COMPILE_AFTER: u64 = 40_000;
/// The least for each vector instruction of the IR of a function that is not [`SHORT`]. LLVM's time follows the text, and
/// predicated branches and tested accesses make up to eight times as much of it per operation as arithmetic.
const COMPILE_AFTER_VECTOR: u64 = 20_000;
/// LLVM's time for an operation grows with their number, because of its register allocation: at this many it has doubled.
const TWICE_AT: u64 = 500;
/// Functions with more operations than this get fewer optimisations, which then take a third to half of the time.
const SHORT: usize = 128;
/// Functions with more operations than this are interpreted: LLVM would take seconds for them.
const MOST_OPERATIONS: usize = 2400;

/// Where code of earlier processes is looked up, and new code is stored.
#[derive(Debug, Clone)]
pub enum Kept {
    /// Nowhere.
    Not,
    /// Next to the builder's cache if the program is in cargo's target folder, else in the user's cache folder.
    AsUsual,
    /// In a separate folder.
    In(Cache),
}

#[derive(Debug)]
struct Engine {
    eager: bool,
    kept: Kept,
}

/// Whether programs can be compiled on this machine. Opens the toolchain's LLVM.
pub fn available() -> Result<(), &'static Unavailable> {
    if !processor::is_known() {
        return Err(&Unavailable::Processor);
    }
    Llvm::get().map(|_| ())
}

/// A compiler that looks for LLVM when it is first asked; without LLVM everything is interpreted. `eager`: compiles
/// kernels before their first run. Otherwise the interpreter begins, and the thread that runs a kernel compiles it once it has
/// run for long. No thread of its own does so: LLVM destroys its data when a process ends, which waits for its launches
/// only.
pub fn compiler(eager: bool, kept: Kept) -> Arc<dyn Compiler> {
    Arc::new(Engine { eager, kept })
}

// SAFETY: the text consists of operations whose IR does what the interpreter does, lane by lane, as the tests check; it
// accesses memory only at addresses within the block's shared memory or an allocation, or through the interpreter.
unsafe impl Compiler for Engine {
    fn tier_up_after(&self, function: &Function<'_>) -> u64 {
        if self.eager { 0 } else { LOOK_AFTER * function.range().len() as u64 }
    }

    fn compile(&self, function: &Function<'_>, executed: u64) -> Compilation {
        let made = made(function, self.kept.cache(), if self.eager { u64::MAX } else { executed });
        // The interpreter does as well, but tests must not pass without compiled code.
        debug_assert!(!self.eager || !matches!(made, Err(Failed::Mistake(_))), "{made:?}");
        match made {
            Ok(code) => Compilation::Code(code),
            Err(Failed::NotKept(compile_after)) => Compilation::Later(compile_after),
            Err(Failed::Left | Failed::Mistake(_)) => Compilation::Never,
        }
    }
}

impl Kept {
    fn cache(&self) -> Option<&Cache> {
        match self {
            Kept::Not => None,
            Kept::AsUsual => kept::usual(),
            Kept::In(cache) => Some(cache),
        }
    }
}

/// Why there is no code.
#[derive(Debug)]
enum Failed {
    /// It was not compiled earlier, and is to be compiled after this many operations.
    NotKept(u64),
    /// The function stays with the interpreter.
    Left,
    /// LLVM refused the text, or its output cannot be used.
    Mistake(#[allow(dead_code, reason = "for the message of an assertion")] String),
}

/// How many operations of a function of this length are interpreted before LLVM gets its text: about as long as LLVM takes.
fn compile_after(length: usize, text: &str) -> u64 {
    let operations = length as u64;
    let by_length = COMPILE_AFTER * (operations + operations * operations / TWICE_AT);
    if length <= SHORT {
        return by_length;
    }
    let vectors = text.lines().filter(|line| line.starts_with("  ") && line.contains("<32 x")).count();
    by_length.max(COMPILE_AFTER_VECTOR * vectors as u64)
}

/// The code of a function: stored code, or new code if enough of its operations were executed.
fn made(function: &Function<'_>, cache: Option<&Cache>, executed: u64) -> Result<CompiledRegion, Failed> {
    let length = function.range().len();
    if length > MOST_OPERATIONS || !processor::is_known() {
        return Err(Failed::Left);
    }
    let library = llvm::library().map_err(|_| Failed::Left)?;
    let made = function::write(function, link::ENTRY, processor::is_wide()).ok_or(Failed::Left)?;
    let effort = if length > SHORT { Effort::Quick } else { Effort::Usual };
    let key = Key::of(&[made.text.as_bytes(), &llvm::conditions(library, effort), &processor::identity()]);
    let kept = cache.and_then(|cache| cache.get(key)).and_then(|object| link::place(&object).ok());
    let placed = match kept {
        Some(placed) => placed,
        None => {
            let compile_after = compile_after(length, &made.text);
            if executed < compile_after {
                return Err(Failed::NotKept(compile_after));
            }
            let llvm = Llvm::get().map_err(|_| Failed::Left)?;
            let mistake = |why: String| Failed::Mistake(format!("{why}\n{}", made.text));
            let object = llvm.object(&made.text, effort).map_err(|why| mistake(why.to_string()))?;
            let placed = link::place(&object).map_err(|why| match why {
                Unlinked::Stack(_) => Failed::Left,
                why => mistake(why.to_string()),
            })?;
            if let Some(cache) = cache {
                kept::keep(cache, key, &object);
            }
            placed
        }
    };
    // SAFETY: it is the address of the function with this name and signature, and its bytes are LLVM's output: they are
    // new, or have the stored hash.
    let run =
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut State, u32) -> u32>(placed.entry()) };
    Ok(CompiledRegion {
        run,
        start: function.range().start,
        blocks: made.entries,
        starts: made.starts,
        compact: made.compact,
        compact_at: made.compact_at,
        sites: made.sites,
        counters: made.counters.into(),
        code: Box::new(placed),
    })
}
