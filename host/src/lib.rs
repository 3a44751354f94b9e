//! Loads the kernels, runs the demos, and holds the `warpsmith` command line.
//!
//! - [`registry`] lists the kernels, whose PTX `warpsmith_kernels` holds; `warpsmith_launch` takes a device and starts them.
//! - [`demos`] allocate, launch and check; [`verify`] compares results with float64.
//! - [`bench`](mod@bench) times kernels on a real GPU beside nvcc's, cuBLAS and the driver's copy.
//! - [`commands`] are the commands of the tool, one file each.

pub mod answer;
pub mod bench;
pub mod checking;
pub mod cli;
pub mod commands;
pub mod counters;
pub mod data;
pub mod demos;
pub mod dependencies;
pub mod error;
mod input;
#[cfg(feature = "ladder")]
pub mod ladder;
pub mod links;
pub mod merging;
pub mod modules;
pub mod profiling;
pub mod program;
pub mod programs;
pub mod registry;
pub mod resources;
pub mod size;
pub mod source;
pub mod spread;
mod stand_in;
pub mod subject;
pub mod terminal;
pub mod verify;
