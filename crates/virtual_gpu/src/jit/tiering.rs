//! Tier-up: functions begin in the interpreter, and are compiled once their launches have run enough operations.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CompiledRegion, Function, Variant};

/// Makes machine code of functions.
///
/// # Safety
/// The code must do to the rows of a frame, to memory and to [`State`](super::State) what the interpreter would do in its place,
/// and reach no other memory.
pub unsafe trait Compiler: fmt::Debug + Send + Sync {
    /// Operations of a kernel that the interpreter runs before the kernel is compiled.
    fn tier_up_after(&self, function: &Function<'_>) -> u64;

    /// Compiles a function of which the interpreter has run `executed` operations. When the code comes makes no difference to
    /// results and counters.
    fn compile(&self, function: &Function<'_>, executed: u64) -> Compilation;
}

/// Result of [`Compiler::compile`].
#[derive(Debug)]
pub enum Compilation {
    Code(CompiledRegion),
    /// Not yet: to be tried again when the function's launches have run this many operations in all.
    Later(u64),
    /// The function stays with the interpreter.
    Never,
}

/// The compiled functions of a module, by function and variant.
#[derive(Debug)]
pub(crate) struct CodeTable(Box<[[TierUp; 4]]>);

#[derive(Debug, Default)]
struct TierUp {
    /// Operations that launches have run, before the function was compiled.
    executed: AtomicU64,
    /// The function is compiled after this many operations; [`UNSET`] at first, [`REQUESTED`] while the compiler works and
    /// afterwards.
    threshold: AtomicU64,
    code: OnceLock<CompiledRegion>,
}

const UNSET: u64 = 0;
const REQUESTED: u64 = u64::MAX;

impl CodeTable {
    /// A table without code, for `functions` functions.
    pub fn none(functions: usize) -> Self {
        CodeTable((0..functions).map(|_| Default::default()).collect())
    }

    /// The machine code of a function, if it is there.
    pub fn of(&self, function: u32, variant: Variant) -> Option<&CompiledRegion> {
        self.0[function as usize][variant.index()].code.get()
    }

    /// Whether a function has machine code.
    pub fn has(&self, function: u32) -> bool {
        self.0[function as usize].iter().any(|tier| tier.code.get().is_some())
    }

    /// Adds operations that a launch has run, and compiles the function when its threshold is reached.
    pub fn count(&self, compiler: &dyn Compiler, function: &Function<'_>, index: u32, executed: u64) {
        let tier = &self.0[index as usize][function.variant.index()];
        let before = tier.threshold.load(Ordering::Relaxed);
        if before == REQUESTED {
            return;
        }
        let executed = tier.executed.fetch_add(executed, Ordering::Relaxed) + executed;
        let threshold = if before == UNSET { compiler.tier_up_after(function) } else { before };
        let after = if executed < threshold { threshold } else { REQUESTED };
        if after == before {
            return;
        }
        let order = Ordering::Relaxed;
        let is_first = tier.threshold.compare_exchange(before, after, order, order).is_ok();
        if is_first && after == REQUESTED {
            match compiler.compile(function, executed) {
                Compilation::Code(code) => {
                    // The thread that set `REQUESTED` is the only one that compiles.
                    let _ = tier.code.set(code);
                }
                Compilation::Later(operations) => tier.threshold.store(operations, Ordering::Relaxed),
                Compilation::Never => {}
            }
        }
    }
}
