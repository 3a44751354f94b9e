//! The steps between [`tiled`](super::tiled) and the [fast product](super::product), each a file with what is new in it.
//!
//! They are here to be read and measured (`warpsmith bench ladder`), so they keep to what they show: A, B and C are dense
//! and row-major, m, n and k multiples of the step's own tile, nothing is guarded.
//!
//! | file | what is new |
//! | --- | --- |
//! | [`registers_1d`] | a thread computes 8 elements of a column: one load of B serves eight multiply-adds |
//! | [`registers_2d`] | 8 × 8 elements a thread: 16 loads for 64 multiply-adds |
//! | [`vectors`] | 16 bytes a load: 4 loads for 64 |
//! | [`asynchronous`] | two stages, filled by copies that run beside the arithmetic |
//! | [`warps`] | a square of C for each warp, 16 × 8 elements a thread, lanes in the order of a Z |
//! | [`ordered`] | loads a k ahead, four stages, and multiply-adds in the order that the register file likes |

#[cfg(not(target_feature = "compute_80"))]
pub mod registers_1d;
#[cfg(not(target_feature = "compute_80"))]
pub mod registers_2d;
pub mod vectors;

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod asynchronous;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod ordered;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod warps;
