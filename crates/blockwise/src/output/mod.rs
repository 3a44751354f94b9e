//! What a kernel writes: memory that is divided among blocks and threads by a map, so that each element has one owner.
//!
//! The map is part of the parameter's type. So there is one map for one output, the host knows the grid that it asks for, and
//! the launch refuses another one.

mod matrix;
mod slice;

pub use matrix::{MatrixMut, Mirrored, Rows, Tiles};
pub use sealed::Sealed;
pub use slice::{OneEach, Part, SliceMut, Strided};

mod sealed {
    /// Keeps the maps to this crate.
    pub trait Sealed {}
}
