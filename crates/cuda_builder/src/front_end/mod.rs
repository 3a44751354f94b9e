//! From the kernel crate to bitcode: cargo and stock rustc, what they are told, and what is said where they refuse.

pub mod advice;
pub mod archive;
pub mod cargo;
mod inline_assembly;
mod levels;
pub mod project;
pub mod toolchain;
mod wrapper;
