//! The steps between [`tiled`](super::tiled) and the [fast product](super::product), each a file with what is new in it.
//!
//! They are here to be read and measured (`warpsmith bench ladder`), so they keep to what they show: A, B and C are dense
//! and row-major, m, n and k multiples of the step's own tile, nothing is guarded.
//!
//! | file | what is new | TFLOP/s at 4096³ on an H200 |
//! | --- | --- | ---: |
//! | [`naive`](super::naive), [`tiled`](super::tiled) | one element a thread; tiles of 32 × 32 in shared memory | 5.4, 8.6 |
//! | [`01_registers_1d`](registers_1d) | a thread computes 8 elements of a column: one load of B serves eight multiply-adds | 17.2 |
//! | [`02_registers_2d`](registers_2d) | 8 × 8 elements a thread: 16 loads for 64 multiply-adds | 21.5 |
//! | [`03_vectors`](vectors) | 16 bytes a load: 4 loads for 64 | 40.5 |
//! | [`04_asynchronous`](asynchronous) | two stages, filled by copies that run beside the arithmetic | 43.5 |
//! | [`05_warps`](warps) | a square of C for each warp, 16 × 8 elements a thread, lanes in the order of a Z | 43.9 |
//! | [`06_ordered`](ordered) | loads a k ahead, four stages, and multiply-adds in the order that the register file likes | 52.8 |
//! | [`product_large_nn`](fn@super::product::product_large_nn) | any extents, alignments and transpositions | 54.1 |
//!
//! The rates are those of `benches/results/h200-2026-11-21-ladder.md`.

#[cfg(not(target_feature = "compute_80"))]
#[path = "01_registers_1d.rs"]
pub mod registers_1d;
#[cfg(not(target_feature = "compute_80"))]
#[path = "02_registers_2d.rs"]
pub mod registers_2d;
#[cfg(not(target_feature = "compute_80"))]
#[path = "03_vectors.rs"]
pub mod vectors;

#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
#[path = "04_asynchronous.rs"]
pub mod asynchronous;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
#[path = "06_ordered.rs"]
pub mod ordered;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
#[path = "05_warps.rs"]
pub mod warps;
