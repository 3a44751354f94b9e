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
//! | `llvm` | IR → machine code in memory |
//!
//! A register of a warp is a vector of 32 lanes, a predicate an integer of 32 bits. Results are the interpreter's in every
//! bit: what has no IR that gives just these is left to the interpreter's own function, called from the code.

mod arithmetic;
mod blocks;
mod function;
mod llvm;
mod memory;
mod values;

use std::sync::Arc;

use virtual_gpu::stretch::{Compiler, Function, State, Stretches};

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
    Library(#[from] llvm_library::LlvmError),
    /// LLVM itself said no.
    #[error("the toolchain's LLVM has no code for this processor: {0}")]
    Llvm(String),
}

/// So many times its own length a kernel is interpreted before it is compiled: about as long as it takes to compile it, half a
/// millisecond for each operation.
const PATIENCE: u64 = 50_000;
/// Functions with more operations than this are interpreted: LLVM would take a second for them.
const MOST_OPERATIONS: usize = 2000;

/// The compiler.
#[derive(Debug)]
struct Engine {
    eager: bool,
}

/// Whether programs can be compiled here. Opens the toolchain's LLVM.
pub fn available() -> Result<(), &'static Unavailable> {
    if !is_known_processor() {
        return Err(&Unavailable::Processor);
    }
    Llvm::get().map(|_| ())
}

/// A compiler, which looks for LLVM when it is asked for the first time; without one everything stays with the interpreter.
/// `eager`: kernels are compiled before they run the first time, else when they have shown that they run for long.
pub fn compiler(eager: bool) -> Arc<dyn Compiler> {
    Arc::new(Engine { eager })
}

fn is_known_processor() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

// SAFETY: the text is made of operations whose IR does what the interpreter does, lane by lane, which the tests compare;
// memory is reached at places that are inside the block's shared memory or an allocation, and through the interpreter.
unsafe impl Compiler for Engine {
    fn patience(&self, function: &Function<'_>) -> u64 {
        if self.eager { 0 } else { PATIENCE * function.range().len() as u64 }
    }

    fn compile(&self, function: &Function<'_>) -> Option<Stretches> {
        if function.range().len() > MOST_OPERATIONS || available().is_err() {
            return None;
        }
        let llvm = Llvm::get().ok()?;
        let name = llvm.new_name();
        let made = function::write(function, &name, llvm.has("avx512bw") && llvm.has("avx512vl"))?;
        let object = llvm.object(&name, &made.text);
        let placed = object.and_then(|object| llvm.place(&name, &object));
        let placed = match placed {
            Ok(placed) => placed,
            // The interpreter does as well; but tests must not pass without the code.
            Err(error) => {
                debug_assert!(!self.eager, "{error}\n{}", made.text);
                return None;
            }
        };
        // SAFETY: LLVM gave the address of the function of that name, which has this signature.
        let run = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn(*mut State, u32) -> u32>(
                placed.address as usize,
            )
        };
        Some(Stretches {
            run,
            start: function.range().start,
            blocks: made.entries,
            sites: made.sites,
            code: Box::new(placed),
        })
    }
}
