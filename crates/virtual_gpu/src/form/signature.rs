//! What a function takes and gives, and where its callers have it.

use super::registers::Slot;

/// What a function takes and gives.
#[derive(Debug, Default, Clone)]
pub(crate) struct Signature {
    pub params: Vec<Formal>,
    pub results: Vec<Formal>,
    /// The last parameter is an array without a length, which takes what a call passes, or nothing: C's `...`.
    pub variadic: bool,
}

/// A formal parameter or result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Formal {
    /// Its type; `None` for an array, which only bytes are passed to.
    pub ty: Option<ptx::ScalarType>,
    pub place: Passed,
}

/// Where a frame has a value that a call passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Bytes in the frame's local memory.
    Bytes { offset: u32, size: u32 },
    /// Registers of `bytes` each, one behind the other: the components of a vector, most often one. 0 bytes are a predicate.
    Registers { slot: Slot, bytes: u32, count: u32 },
    /// `_`, for a result that nobody wants.
    Sink,
}

impl Passed {
    /// Bytes of the whole.
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

    /// Whether a value here is passed to or from a formal parameter's place. `variadic`: that one has room for more.
    pub fn fits(self, formal: Passed, variadic: bool) -> bool {
        let room = variadic && matches!(self, Passed::Bytes { .. }) && self.size() <= formal.size();
        self == Passed::Sink
            || self.is_predicate() == formal.is_predicate() && (self.size() == formal.size() || room)
    }
}
