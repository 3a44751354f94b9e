//! Loads the kernels, runs the demos, and holds the `warpsmith` command line.
//!
//! - [`device`] finds a device and loads the modules that it admits; [`launch`] starts kernels with their own
//!   parameter types; [`extra`] is what `cust` lacks.
//! - [`tensor`] chooses the kernel for a product on tensor cores.
//! - [`demos`] allocate, launch and check; [`verify`] compares results with float64.
//! - [`bench`](mod@bench) times kernels on a real GPU beside nvcc's, cuBLAS and the driver's copy.
//! - [`commands`] are the commands of the tool, one file each.

// Its symbols are the CUDA driver that `cust` links to.
use warpsmith_cuda as _;

pub mod bench;
pub mod cli;
pub mod commands;
pub mod counters;
pub mod data;

pub mod demos;
pub mod device;
pub mod error;
pub mod extra;
pub mod half;
#[cfg(feature = "ladder")]
pub mod ladder;
pub mod launch;
pub mod merging;
pub mod modules;
pub mod product;
pub mod profiling;
pub mod programs;
pub mod registry;
pub mod resources;
pub mod size;
pub mod source;
pub mod tensor;
pub mod terminal;
pub mod transpose;
pub mod verify;
