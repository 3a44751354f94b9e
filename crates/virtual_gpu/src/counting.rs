//! The seam between machine code and an observer that is content with counts ([`BlockObserver::counts`]).
//!
//! Counts that are the same for each run of a block of operations are taken once for the block, in a table: how often it ran, and with
//! how many lanes. So are accesses to shared memory of which the cost follows from how far the two halves of the warp are apart.
//! Other accesses whose halves go to one place or side by side are logged, by two addresses; the observer is given the log when
//! it is full and when the block's slice ends. All others are shown to [`BlockObserver::access`].
//!
//! [`BlockObserver::counts`]: crate::BlockObserver::counts
//! [`BlockObserver::access`]: crate::BlockObserver::access

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::observer::MemorySpace;

/// A place of the table, with two numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counter {
    /// Operations that ran one after the other: how often, and the lanes in sum. The lanes of those with a guard count apart.
    Run(Range<u32>),
    /// The second number is the sum of the lanes of an operation with a guard, without those of a branch.
    Guarded(u32),
    /// Accesses to a space of which nothing else is counted; the first number says how many.
    Plain(MemorySpace),
    /// The first number is no count: it says how far the second half of a warp is behind the first, for [`Counter::Halves`].
    Distance,
    /// Accesses to the block's shared memory by the operation at `pc`, of all lanes, which are `step` bytes apart in each half. The
    /// first number says how many there were since the number at `distance` last changed.
    Halves { pc: u32, step: u32, distance: u32 },
}

/// The two numbers.
pub type Numbers = Cell<[u64; 2]>;

/// An access of all lanes of a warp.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Logged {
    pub pc: u32,
    /// How far the lanes of each half are apart: not at all, or as many bytes as each of them accesses.
    pub step: u32,
    /// The address of the first lane of each half.
    pub first: [u64; 2],
}

/// Where code counts.
#[derive(Debug, Clone)]
pub struct Tables {
    /// As many as there are counters.
    pub numbers: *const Numbers,
    /// Where the log begins and ends; it is empty.
    pub log: Range<*const Cell<Logged>>,
}

/// How many accesses a log has room for. Code makes sure of that where a block begins, so a block has no more.
pub const LOG: usize = 256;

/// An observer that counts. There is code for warps whose lanes are `together`, and code for all others; each has its tables.
pub trait Counts {
    /// Code that counts is about to run: code with the same counters in all blocks of the launch. The tables are there and
    /// no other thread reaches them until it has run.
    fn tables(&mut self, together: bool, counters: &Arc<[Counter]>) -> Tables;

    /// Counts the accesses in the log, which is empty afterwards.
    fn logged(&mut self, together: bool, accesses: usize);

    /// Sets the number of a [`Counter::Distance`]. What was counted with the one before is to be accounted for.
    fn set_distance(&mut self, together: bool, counter: u32, distance: u64);
}
