//! The libraries' examples: each compares its result with what the host computes.

#![allow(dead_code, reason = "a case needs no `main`")]

#[path = "../../crates/kernels/examples/gemm_bf16.rs"]
mod gemm_bf16;
#[path = "../../crates/kernels/examples/gemm_f32.rs"]
mod gemm_f32;
#[path = "../../crates/kernels/examples/structs.rs"]
mod structs;
#[path = "../../crates/kernels/examples/transpose.rs"]
mod transpose;

use warpsmith_launch::Device;

use crate::Case;

/// The cases.
pub fn cases() -> Vec<Case> {
    type Run = fn(&Device) -> Result<(), Box<dyn std::error::Error>>;
    let all: [(&str, Run); 4] = [
        ("gemm_f32", gemm_f32::run),
        ("gemm_bf16", gemm_bf16::run),
        ("transpose", transpose::run),
        ("structs", structs::run),
    ];
    let case = |(name, run): (&str, Run)| {
        Case::new(format!("examples::{name}"), move |device| {
            run(device).map_err(|error| anyhow::anyhow!("{error}"))
        })
    };
    all.map(case).into()
}
