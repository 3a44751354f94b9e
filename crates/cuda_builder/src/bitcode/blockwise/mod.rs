//! The check of kernels that are written without `unsafe`.
//!
//! Such a kernel is one text for all threads of a block, and what differs between them stands in closures: that is what its
//! types see to. Two things they cannot see: a function such as `cuda_std::thread::thread_idx_x` is safe to call anywhere,
//! and an atomic carries a thread's value out of its closure. So nothing that the kernel can reach may ask who a thread is,
//! wait, exchange or write by an atomic, but through the marks that begin with `blockwise:`, which are the blockwise crate's.
//!
//! The check reads the bitcode as rustc made it, before any function is inlined but by rustc itself, which inlines calls of
//! foreign functions no more than it merges them. So it judges instructions, wherever they ended up, and takes the names of
//! functions for its messages only.
//!
//! - What can be reached is what is called, and every function whose address stands in code that is reached, in a
//!   table of such code, or in a static that it names. An indirect call can go nowhere else: no kernel without `unsafe` takes a
//!   pointer to a function, or makes one from a number.
//! - `unsafe` in such a kernel is its author's word for memory, and no way around this. With a thread's index in the block's own
//!   code no type of the blockwise crate means anything; who wants it writes an `unsafe` kernel.
//! - The heap is refused, too: each thread gets an address of its own from it, and an address is a number. The address of a
//!   local variable is the same number in all threads, which run the same frames.
//! - `core` and `alloc` come compiled where they are not generic, and are linked later, by what is left to ask for them. So there is a
//!   second look, after the last link, at what came by it.
//! - Panics, which end the launch, and prints, which return nothing, may do what they need: the functions that they end in are
//!   known by name.

pub mod floats;
mod message;
mod reach;
mod uses;

use crate::bitcode::{entry, marks};
use crate::llvm::{At, Context, Module, Value};
use std::collections::HashSet;

/// The types that a kernel without `unsafe` was compiled with.
#[derive(Debug)]
pub struct Agreed {
    kernel: String,
    numbers: Vec<u64>,
}

impl Agreed {
    /// The PTX with the numbers in a comment before the kernel's entry: the host compares them with its own.
    pub fn write(&self, ptx: &str) -> String {
        let Self { kernel, numbers } = self;
        let entry = format!("\n.visible .entry {kernel}(");
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let comment = format!("\n// {}{kernel} {}", marks::BLOCKWISE_KERNEL, numbers.join(" "));
        ptx.replacen(&entry, &format!("{comment}{entry}"), 1)
    }
}

/// Refuses what a kernel without `unsafe` must not reach: all of it at once. Returns what each was compiled with.
pub fn check(context: &Context, module: &Module<'_>) -> Result<Vec<Agreed>, String> {
    let mut code = reach::Code::new(context, HashSet::new());
    let (mut found, mut agreed) = (Vec::new(), Vec::new());
    for mark in module.globals() {
        let name = mark.name();
        let Some(kernel) = name.strip_prefix(marks::BLOCKWISE_KERNEL) else { continue };
        if let Some(function) = module.function(kernel) {
            found.extend(code.findings(kernel, function));
            function.add_string_attribute(At::Function, marks::WITHOUT_UNSAFE, "");
            let bytes = entry::description(module, marks::BLOCKWISE_KERNEL, kernel)?;
            let numbers = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
            agreed.push(Agreed { kernel: kernel.to_owned(), numbers });
        }
        entry::delete_mark(module, mark)?;
    }
    if found.is_empty() { Ok(agreed) } else { Err(message::of(&mut found)) }
}

/// Refuses what a kernel without `unsafe` reaches of the standard library as it comes compiled: of all functions but those that
/// were there before it was linked, `own`.
pub fn check_standard_library(
    context: &Context,
    module: &Module<'_>,
    own: HashSet<Value>,
) -> Result<(), String> {
    let mut code = reach::Code::new(context, own);
    let kernels = module.functions().into_iter().filter(|f| f.has_string_attribute(marks::WITHOUT_UNSAFE));
    let mut found: Vec<_> = kernels.flat_map(|kernel| code.findings(&kernel.name(), kernel)).collect();
    if found.is_empty() { Ok(()) } else { Err(message::of(&mut found)) }
}
