//! The steps between [`tiled`](super::tiled) and the fast product, each a file with what is new in it.
//!
//! They are here to be read and measured (`warpsmith bench ladder`), so they keep to what they show: A, B and C are dense
//! and row-major, m, n and k multiples of the step's own tile, nothing is guarded.
//!
//! | file | what is new |
//! | --- | --- |
//! | [`registers_1d`] | a thread computes 8 elements of a column: one load of B serves eight multiply-adds |

pub mod registers_1d;
