//! The examples, on the virtual GPU. Each compares its result with what the host computes.

#![allow(dead_code, reason = "a test needs no `main`")]

use warpsmith_launch::{Device, Wish};

#[path = "../examples/gemm_bf16.rs"]
mod gemm_bf16;
#[path = "../examples/gemm_f32.rs"]
mod gemm_f32;
#[path = "../examples/structs.rs"]
mod structs;
#[path = "../examples/transpose.rs"]
mod transpose;

#[test]
fn every_example_is_right() {
    let device = Device::open(Wish::Virtual).unwrap();
    gemm_f32::run(&device).unwrap();
    gemm_bf16::run(&device).unwrap();
    transpose::run(&device).unwrap();
    structs::run(&device).unwrap();
}
