//! What the builder says when it cannot.

use crate::compile::{build, builder, fixture, scratch};
use crate::surroundings::{copy_of_gates, said_in_child};
use cuda_builder::NvvmArch::Compute75;
use cuda_builder::{CudaBuilder, CudaBuilderError};
use std::fs;

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
    says(
        "ptx_assembly",
        &["cuda_std::ptx!(\n    \"add.u32 {sum}, {x}, 1;\",\n    sum = out(u32) sum,\n    x = in(u32) x"],
    );
    says("nightly", &["stable Rust", "delete the line `#![feature(…)]`"]);
    says("uses_std", &["no `std`", "`core` and `alloc`"]);
}

/// A library that asks for `std` by its name gets `core`, and its errors are of what only the host's has.
pub fn libraries_with_std() {
    let folder = scratch().join("with-std");
    let kernels = copy_of_gates(&folder);
    let library = folder.join("counting");
    fs::create_dir_all(library.join("src")).expect("a folder");
    let manifest = "[package]\nname = \"counting\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(library.join("Cargo.toml"), manifest).expect("the manifest");
    let source = "#![no_std]\nextern crate std;\npub fn three() -> usize {\n    std::vec![0; 3].len()\n}\n";
    fs::write(library.join("src/lib.rs"), source).expect("the library");
    let manifest = fs::read_to_string(kernels.join("Cargo.toml")).expect("the manifest");
    let manifest = manifest.replace("[workspace]", "counting = { path = \"../counting\" }\n\n[workspace]");
    fs::write(kernels.join("Cargo.toml"), manifest).expect("the manifest");
    let text = fs::read_to_string(kernels.join("src/lib.rs")).expect("the kernels");
    let counts =
        "#[kernel]\npub unsafe fn counts(out: *mut usize) {\n    unsafe { *out = counting::three() };\n}\n";
    fs::write(kernels.join("src/lib.rs"), text + counts).expect("the kernels");
    let kernels = kernels.to_str().expect("a path in Unicode");
    let message = build("with-std", kernels, Compute75, |b| b).expect_err("there is no `std`").to_string();
    assert!(message.contains("Device crates have no `std`"), "{message}");
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

pub fn statics_named_like_marks() {
    for (feature, name) in [
        ("named_like_a_layout", "warpsmith.layout.other"),
        ("named_like_an_agreement", "warpsmith.blockwise.other"),
    ] {
        says(feature, &[name, "is a name that `#[kernel]` gives", "rename the static"]);
    }
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

pub fn constant_memory_that_folds_away() {
    let options = |automatic| {
        move |b: CudaBuilder| {
            b.build_args(&["--features", "many_constants"]).use_constant_memory_space(automatic)
        }
    };
    let message = match build("many_constants", "fails", Compute75, options(true)) {
        Ok(_) => panic!("72000 bytes of constant memory became PTX"),
        Err(error) => error.to_string(),
    };
    let out =
        ["72000 bytes", "65536", "ONES", "TWOS", "address_space(global)", "use_constant_memory_space(false)"];
    for part in out {
        assert!(message.contains(part), "`{part}` is not in:\n{message}");
    }
    assert!(!message.contains("THREES"), "it is left in global memory:\n{message}");
    build("many_constants_off", "fails", Compute75, options(false)).unwrap_or_else(|error| panic!("{error}"));
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
