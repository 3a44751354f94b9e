//! What the builder says when it cannot.

use crate::compile::{build, builder, fixture};
use crate::surroundings::said_in_child;
use cuda_builder::NvvmArch::Compute75;
use cuda_builder::{CudaBuilder, CudaBuilderError};

/// The message for the fixture `fails` with one of its features.
fn message(feature: &str) -> String {
    match build(feature, "fails", Compute75, |b| b.build_args(&["--features", feature])) {
        Ok(_) => panic!("`{feature}` became PTX"),
        Err(error) => error.to_string(),
    }
}

fn says(feature: &str, parts: &[&str]) {
    let message = message(feature);
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in:\n{message}");
    }
}

pub fn missing_crate() {
    let error = CudaBuilder::new("no/such/crate").build().expect_err("there is none");
    assert!(
        matches!(&error, CudaBuilderError::CratePathDoesntExist(path) if path.ends_with("no/such/crate"))
    );
    assert!(error.to_string().contains("Cargo.toml"), "{error}");
}

pub fn rust_errors() {
    let error = builder("fails", Compute75).build_args(&["--features", "not_unsafe"]).build();
    assert!(matches!(error, Err(CudaBuilderError::BuildFailed)), "{error:?}");
}

pub fn what_only_upstreams_compiler_takes() {
    says("ptx_assembly", &["cuda_std::ptx!", "o = out(u32) o"]);
    says("nightly", &["stable Rust", "delete the line `#![feature(…)]`"]);
    says("uses_std", &["no `std`", "`core` and `alloc`"]);
}

pub fn undefined_symbols() {
    says(
        "undefined",
        &[
            "gettimeofday",
            "in `fixture_fails::undefined::asks_the_host`",
            "called by `tells_time`",
            "lib.rs:",
        ],
    );
}

pub fn instructions_of_newer_devices() {
    says("newer", &["`redux.sync.add.u32`", "compute_80", "compiled for compute_75", "in `reduces`"]);
}

pub fn kernels_of_one_name() {
    says("twice", &["Two kernels have the same name", "rename one"]);
}

pub fn host_assembly() {
    if cfg!(target_arch = "x86_64") {
        says("host_assembly", &["lea", "in `assembles`", "lib.rs:", "cuda_std::ptx!"]);
        let said = message("host_assembly");
        assert!(
            !said.contains("called by") && !said.contains("the crate"),
            "the kernel itself has it:\n{said}"
        );
    }
}

pub fn host_intrinsics() {
    if cfg!(target_arch = "x86_64") {
        says("host_intrinsic", &["sse2", "called by `encrypts`", "plain Rust"]);
    }
}

pub fn shared_memory() {
    says("large_shared", &["`shares`", "53248 bytes", "49152", "dynamic_shared_mem"]);
}

pub fn constant_memory() {
    says("large_constant", &["69632 bytes", "65536", "TABLE", "address_space(global)"]);
}

pub fn local_memory() {
    says("large_local", &["`keeps`", "655360 bytes", "524288", "global memory"]);
}

pub fn blocks() {
    says("large_block", &["`crowds`", "1024 threads"]);
}

/// A build script may go on after an error, and must not then be taken for up to date.
pub fn failed_builds_are_repeated() {
    let said = said_in_child("repeated", &fixture("no such crate"));
    let file = said.lines().find_map(|line| line.strip_prefix("cargo:rerun-if-changed="));
    assert!(file.is_some_and(|file| !std::path::Path::new(file).exists()), "{said}");
}

pub fn what_is_not_done_is_told() {
    let said = said_in_child("unrolled", &fixture("kernels"));
    let told: Vec<_> = said.lines().filter(|line| line.contains("unroll!")).collect();
    assert!(
        matches!(told[..], [line] if line.starts_with("cargo:warning=") && line.contains("src/memory.rs:")),
        "{said}"
    );
    let told: Vec<_> = said.lines().filter(|line| line.contains("initial values")).collect();
    assert!(
        matches!(told[..], [line] if line.starts_with("cargo:warning=") && line.contains("::WEIGHTS`")),
        "{said}"
    );
}
