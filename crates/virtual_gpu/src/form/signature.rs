//! A function's parameters and results, and where its callers keep them.

use super::registers::Slot;

/// A function's parameters and results.
#[derive(Debug, Default, Clone)]
pub(crate) struct Signature {
    pub params: Vec<Formal>,
    pub results: Vec<Formal>,
    /// The last parameter is an array without a length, which receives whatever a call passes, or nothing: C's `...`.
    pub variadic: bool,
}

/// A formal parameter or result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Formal {
    /// Its type; `None` for an array, to which only bytes can be passed.
    pub ty: Option<ptx::ScalarType>,
    pub place: Passed,
}

/// Where a frame has a value that a call passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Bytes in the frame's local memory.
    Bytes { offset: u32, size: u32 },
    /// Consecutive registers of `bytes` each: the components of a vector, or most often one. A predicate has 0 bytes.
    Registers { slot: Slot, bytes: u32, count: u32 },
    /// `_`, for an unused result.
    Sink,
}

impl Passed {
    /// Total bytes.
    pub fn size(self) -> u32 {
        match self {
            Passed::Bytes { size, .. } => size,
            Passed::Registers { bytes, count, .. } => bytes * count,
            Passed::Sink => 0,
        }
    }

    pub fn is_vector(self) -> bool {
        matches!(self, Passed::Registers { count: 2.., .. })
    }

    pub fn is_predicate(self) -> bool {
        matches!(self, Passed::Registers { bytes: 0, .. })
    }

    /// Whether a value here can be passed to or from a formal parameter. `variadic`: that parameter has room for more.
    pub fn fits(self, formal: Passed, variadic: bool) -> bool {
        let room = variadic && matches!(self, Passed::Bytes { .. }) && self.size() <= formal.size();
        self == Passed::Sink
            || self.is_predicate() == formal.is_predicate() && (self.size() == formal.size() || room)
    }
}
