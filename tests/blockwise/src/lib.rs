//! Kernels without the word `unsafe`, for the suite to compare with plain loops: one file an idea. Each file forbids the word, but
//! for `raw` and `raw_registers`, the twins of those that have none elsewhere.
#![no_std]

pub mod attention;
pub mod coalescing;
pub mod diagonals;
pub mod generic;
pub mod histogram;
pub mod levels;
pub mod linear;
pub mod otherwise;
pub mod product;
pub mod public;
pub mod raw;
pub mod raw_registers;
pub mod records;
pub mod reduction;
pub mod registers;
pub mod rows;
pub mod scan;
pub mod sort;
pub mod stencil;
pub mod suites;
pub mod transpose;
pub mod unusual;
pub mod vecadd;
