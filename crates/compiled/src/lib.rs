//! Compiles the virtual GPU's programs for the processor, through the LLVM of the Rust toolchain.
//!
//! Operations in, machine code out:
//!
//! | file | what it does |
//! | --- | --- |
//! | `blocks` | which operations run together without the interpreter, and which registers are alive between them |
//! | `function` | a function as LLVM IR: the ways in and out, the blocks, the branches between them |
//! | `values` | registers: what holds each at the moment, and the IR for reading and writing them |
//! | `arithmetic` | one operation as IR |
//! | `memory` | loads and stores as IR |
//! | `llvm` | IR → an object file |
//! | `link` | an object file → code in memory |
//! | `kept` | object files of earlier processes |
//! | `beside` | the thread on which all this is done while the interpreter goes on |
//! | `processor` | what code is made for |
//!
//! A register of a warp is a vector of 32 lanes, a predicate an integer of 32 bits. Results are the interpreter's in every
//! bit: what has no IR that gives just these is left to the interpreter's own function, called from the code.

mod arithmetic;
mod beside;
mod blocks;
mod function;
mod kept;
mod link;
mod llvm;
mod memory;
mod processor;
mod values;

use std::sync::Arc;

use llvm_library::cache::{Cache, Key};
use virtual_gpu::stretch::{Answer, Compiler, Function, State, Stretches, Task};

use link::Unlinked;
use llvm::Llvm;

/// Why programs cannot be compiled here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// There is no code for this kind of processor.
    #[error("machine code is made for x86-64 processors with AVX2 and FMA only")]
    Processor,
    /// The toolchain's LLVM is not there, or another.
    #[error("{0}")]
    Library(String),
    /// LLVM itself said no.
    #[error("the toolchain's LLVM has no code for this processor: {0}")]
    Llvm(String),
}

/// So many times its own length a kernel is interpreted before somebody looks whether its code was made before: about as long
/// as it takes to look, some microseconds for each operation.
const LOOK_AFTER: u64 = 500;
/// So many times before it is compiled: about as long as that takes, half a millisecond for each operation.
const COMPILE_AFTER: u64 = 50_000;
/// Functions with more operations than this are interpreted: LLVM would take a second for them.
const MOST_OPERATIONS: usize = 2000;

/// Where code of earlier processes is looked for, and new code is kept.
#[derive(Debug, Clone)]
pub enum Kept {
    /// Nowhere.
    Not,
    /// Beside what the builder keeps if the program lies in cargo's target folder, else in the user's folder for such things.
    AsUsual,
    /// In a folder of its own.
    In(Cache),
}

/// The compiler.
#[derive(Debug)]
struct Engine {
    eager: bool,
    kept: Kept,
}

/// Whether programs can be compiled here. Opens the toolchain's LLVM.
pub fn available() -> Result<(), &'static Unavailable> {
    if !processor::is_known() {
        return Err(&Unavailable::Processor);
    }
    Llvm::get().map(|_| ())
}

/// A compiler, which looks for LLVM when it is asked for the first time; without one everything stays with the interpreter.
/// `eager`: kernels are compiled before they run the first time. Else the interpreter begins, and a thread beside makes the
/// code when they have shown that they run for long.
pub fn compiler(eager: bool, kept: Kept) -> Arc<dyn Compiler> {
    Arc::new(Engine { eager, kept })
}

// SAFETY: the text is made of operations whose IR does what the interpreter does, lane by lane, which the tests compare;
// memory is reached at places that are inside the block's shared memory or an allocation, and through the interpreter.
unsafe impl Compiler for Engine {
    fn patience(&self, function: &Function<'_>) -> u64 {
        if self.eager { 0 } else { LOOK_AFTER * function.range().len() as u64 }
    }

    fn compile(&self, task: Task) {
        if self.eager {
            let made = made(&task, self.kept.cache(), true);
            // The interpreter does as well; but tests must not pass without the code.
            debug_assert!(!matches!(made, Err(Failed::Mistake(_))), "{made:?}");
            task.answer(made.map_or(Answer::Never, Answer::Code));
        } else {
            let kept = self.kept.clone();
            beside::hand_over(move || make(task, &kept));
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
    /// It was not made before, and is not to be made yet.
    NotKept,
    /// The function stays with the interpreter.
    Left,
    /// LLVM refused the text, or made something of it that cannot be used.
    Mistake(#[allow(dead_code, reason = "for the message of an assertion")] String),
}

/// What is done while the interpreter goes on.
fn make(task: Task, kept: &Kept) {
    if !task.is_wanted() {
        return;
    }
    let compile_after = COMPILE_AFTER * task.function().range().len() as u64;
    let answer = match made(&task, kept.cache(), task.executed() >= compile_after) {
        Ok(code) => Answer::Code(code),
        Err(Failed::NotKept) => Answer::Later(compile_after),
        Err(Failed::Left | Failed::Mistake(_)) => Answer::Never,
    };
    task.answer(answer);
}

/// The code of a function: what was kept of it, or new code if it is to be `compiled`.
fn made(task: &Task, cache: Option<&Cache>, compiled: bool) -> Result<Stretches, Failed> {
    let function = task.function();
    if function.range().len() > MOST_OPERATIONS || !processor::is_known() {
        return Err(Failed::Left);
    }
    let library = llvm::library().map_err(|_| Failed::Left)?;
    let made = function::write(&function, link::ENTRY, processor::is_wide()).ok_or(Failed::Left)?;
    let key = Key::of(&[made.text.as_bytes(), &llvm::conditions(library), &processor::identity()]);
    let kept = cache.and_then(|cache| cache.get(key)).and_then(|object| link::place(&object).ok());
    let placed = match kept {
        Some(placed) => placed,
        None if !compiled => return Err(Failed::NotKept),
        None => {
            let llvm = Llvm::get().map_err(|_| Failed::Left)?;
            let mistake = |why: String| Failed::Mistake(format!("{why}\n{}", made.text));
            let object = llvm.object(&made.text).map_err(|why| mistake(why.to_string()))?;
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
    // SAFETY: it is the address of the function of that name, which LLVM made with this signature, and whose bytes are what
    // it made: they are new, or have the hash that they had.
    let run =
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut State, u32) -> u32>(placed.entry()) };
    Ok(Stretches {
        run,
        start: function.range().start,
        blocks: made.entries,
        sites: made.sites,
        code: Box::new(placed),
    })
}
