//! Executes PTX on the CPU, warp by warp.

pub mod alu;
