//! Kernels with a planted bug each, and their correct twins: what the sanitizer is tested with.
//!
//! Both twins come from one body, generic over `BUG`, so they differ in the one place where the body asks for it. All
//! kernels have the same parameters, described at [`Data`]; [`CASES`] says how each is launched and what is wrong with the
//! bad one.
//!
//! A comment `// <-` marks the lines that a report may name for the case above it.
#![no_std]

pub mod across_blocks;
pub mod asynchronous;
pub mod barrier;
pub mod block;
pub mod bulk;
mod case;
pub mod init;
pub mod memory;
pub mod patterns;
pub mod phases;
pub mod tutorials;
pub mod warp;

pub use case::{Case, Check, Data, Unchecked, block_index, global_index, thread_index};

/// Every planted bug, family by family: the file's name and its cases.
pub const CASES: &[(&str, &str, &[Case])] = &[
    ("block", include_str!("block.rs"), block::CASES),
    ("warp", include_str!("warp.rs"), warp::CASES),
    ("across_blocks", include_str!("across_blocks.rs"), across_blocks::CASES),
    ("asynchronous", include_str!("asynchronous.rs"), asynchronous::CASES),
    ("memory", include_str!("memory.rs"), memory::CASES),
    ("init", include_str!("init.rs"), init::CASES),
    ("barrier", include_str!("barrier.rs"), barrier::CASES),
    ("phases", include_str!("phases.rs"), phases::CASES),
    ("bulk", include_str!("bulk.rs"), bulk::CASES),
    ("patterns", include_str!("patterns.rs"), patterns::CASES),
    ("tutorials", include_str!("tutorials.rs"), tutorials::CASES),
];
