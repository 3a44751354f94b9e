//! The steps between [`tiled`](super::matmul::tiled) and the [fast product](crate::product), each a file with what is new in it.
//!
//! They are here to be read and measured (`warpsmith bench ladder`), so they keep to what they show: A, B and C are dense
//! and row-major, m, n and k multiples of the step's own tile, nothing is guarded.
//!
//! | file | what is new | TFLOP/s at 4096³ on an H200 |
//! | --- | --- | ---: |
//! | [`naive`](super::matmul::naive), [`tiled`](super::matmul::tiled) | one element a thread; tiles of 32 × 32 in shared memory | 5.4, 8.6 |
//! | [`01_registers_1d`](registers_1d) | a thread computes 8 elements of a column: one load of B serves eight multiply-adds | 17.2 |
//! | [`02_registers_2d`](registers_2d) | 8 × 8 elements a thread: 16 loads for 64 multiply-adds | 21.5 |
//! | [`03_vectors`](vectors) | 16 bytes a load: 4 loads for 64 | 40.5 |
//! | [`04_asynchronous`](crate::ampere::ladder::asynchronous) | two stages, filled by copies that run beside the arithmetic | 43.5 |
//! | [`05_warps`](crate::ampere::ladder::warps) | a square of C for each warp, 16 × 8 elements a thread, lanes in the order of a Z | 43.9 |
//! | [`06_ordered`](crate::ampere::ladder::ordered) | loads a k ahead, four stages, and multiply-adds in the order that the register file likes | 52.8 |
//! | [`product_large_nn`](fn@crate::ampere::product::product_large_nn) | any extents, alignments and transpositions | 54.1 |
//!
//! From the fourth on they copy asynchronously, and so are in [`ampere::ladder`](crate::ampere::ladder). The rates are those of `benches/results/h200-2026-11-21-ladder.md`.

#[path = "01_registers_1d.rs"]
pub mod registers_1d;
#[path = "02_registers_2d.rs"]
pub mod registers_2d;
#[path = "03_vectors.rs"]
pub mod vectors;

#[cfg(feature = "host")]
use self::{registers_1d::matmul_registers_1d, registers_2d::matmul_registers_2d, vectors::matmul_vectors};
listed! { matmul_registers_1d matmul_registers_2d matmul_vectors }
