//! Loads the kernels, runs the demos, and holds the `warpsmith` command line.

pub mod cli;
pub mod commands;
pub mod size;
pub mod terminal;
