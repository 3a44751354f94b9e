//! Passes over LLVM modules: each takes one thing that device code means, and makes it what the back end understands. Their
//! order is in `lower`.

pub mod atomics;
pub mod backward_steps;
pub mod blockwise;
pub mod clean;
pub mod convergence;
pub mod debug_info;
pub mod empty_assembly;
pub mod entry;
pub mod float_modes;
pub mod format;
pub mod inline_ptx;
pub mod inline_spaces;
pub mod inlining;
pub mod intrinsics;
pub mod link;
pub mod local_arrays;
pub mod local_atomics;
pub mod marks;
pub mod mathematics;
pub mod memory_ops;
pub mod names;
pub mod packages;
pub mod panic_places;
pub mod panics;
pub mod printing;
pub mod refuse;
pub mod sizes;
pub mod spaces;
pub mod unroll;
pub mod x86_vectors;
