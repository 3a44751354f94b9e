//! Replacements of values that lanes could not load.
//!
//! An access that goes wrong is skipped, and what it would have loaded is zero, so that loops over it end. It means nothing all
//! the same, and an access whose address is made from it would land anywhere: such accesses are skipped, too, without a
//! finding. Which values these are is followed as the initialisation check follows undefined ones, in a launch in which
//! something was skipped and in no other.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use virtual_gpu::observer::{
    Access, AsyncEvent, At, Carrier, Entered, MemorySpace, Named, Operands, Register,
};

use crate::init::BlockInit;
use crate::launched::Launched;
use crate::reached::Reached;
use crate::watched::Watched;
use crate::written::Written;

/// The most accesses of a launch that are skipped; the next one ends it.
pub(crate) const MOST: u32 = 100_000;

/// The part that the blocks of one launch share.
#[derive(Debug)]
pub(crate) struct Spread {
    skips: AtomicU32,
    /// Whether some value was not loaded, and may be in global memory by now.
    some: AtomicBool,
    global: Arc<Mutex<Written>>,
}

impl Default for Spread {
    fn default() -> Self {
        let global = Arc::new(Mutex::new(Written::of_global()));
        Spread { skips: AtomicU32::new(0), some: AtomicBool::new(false), global }
    }
}

impl Spread {
    /// Whether one more access may be skipped.
    pub fn allows(&self) -> bool {
        self.skips.fetch_add(1, Ordering::Relaxed) < MOST
    }

    /// Whether one more was not.
    pub fn is_over(&self) -> bool {
        self.skips.load(Ordering::Relaxed) > MOST
    }
}

/// Of one block.
#[derive(Debug)]
pub(crate) struct Poison {
    spread: Arc<Spread>,
    launched: Arc<Launched>,
    threads: u32,
    /// Once there is something to follow.
    values: Option<Box<BlockInit>>,
}

impl Poison {
    pub fn of(block: &Watched<'_>, spread: &Arc<Spread>) -> Self {
        let (spread, launched) = (spread.clone(), block.launched.clone());
        Poison { spread, launched, threads: block.threads, values: None }
    }

    /// Whether one more access may be skipped.
    pub fn allows(&self) -> bool {
        self.spread.allows()
    }

    #[cold]
    fn begin(&mut self) -> &mut BlockInit {
        self.spread.some.store(true, Ordering::Relaxed);
        let (code, global) = (self.launched.code.clone(), self.spread.global.clone());
        self.values.get_or_insert_with(|| Box::new(BlockInit::following(code, self.threads, global)))
    }

    /// Lanes went on without what an access would have loaded.
    pub fn skipped(&mut self, at: At, loaded: Named<'_>) {
        self.begin().skipped(at, loaded);
    }

    /// Lanes for which a register is, or comes from, what was not loaded.
    #[inline]
    pub fn lanes(&self, at: At, register: Register) -> u32 {
        self.values.as_ref().map_or(0, |values| values.undefined_lanes(at, register))
    }

    #[inline]
    pub fn follows(&self, warp: u32) -> bool {
        self.values.as_ref().is_some_and(|values| values.is_tainted(warp))
    }

    #[inline]
    pub fn registers(&mut self, at: At, reads: &[Register], writes: &[Register], operands: &Operands<'_>) {
        if let Some(values) = self.values.as_mut().filter(|values| values.is_tainted(at.warp)) {
            // What it decides is the way that the thread goes on.
            let _ = values.executed(at, reads, writes, operands);
        }
    }

    #[inline]
    pub fn access(&mut self, at: At, access: &Access<'_>, reached: &Reached) {
        if self.values.is_none() && self.spread.some.load(Ordering::Relaxed) {
            self.begin();
        }
        if let Some(values) = &mut self.values {
            values.accessed(at, access, reached, |_, _, _| {});
        }
    }

    pub fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>) {
        if let Some(values) = &mut self.values {
            let _ = values.moved(at, event);
        }
    }

    /// A copy wrote zeros in the place of what it could not read.
    pub fn copied_nothing(&mut self, space: MemorySpace, address: u64, bytes: u32) {
        self.begin().forget(space, address, bytes);
    }

    pub fn shuffled(&mut self, at: At, target: Register, value: Option<Register>, sources: &[u8; 32]) {
        if let Some(values) = &mut self.values {
            values.exchanged(at, target, value, sources);
        }
    }

    pub fn enter(&mut self, at: At, frame: &Entered) {
        if let Some(values) = &mut self.values {
            values.entered(at, frame);
        }
    }

    pub fn passed(&mut self, at: At, from: Carrier, to: Carrier, bytes: u32) {
        if let Some(values) = &mut self.values {
            values.carried_over(at, from, to, bytes);
        }
    }
}
