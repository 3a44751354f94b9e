//! `new --project` to its end: a project outside this repository, built, run and tested as a newcomer would.
//!
//! The first run compiles the driver seam once more, for that workspace; later runs find it compiled, in a target folder
//! of their own.

mod outside;

use std::path::Path;
use std::process::Command;

use outside::{cargo, text};

/// Writes a project.
fn new_project(folder: &Path, options: &[&str]) {
    let written = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["new", "--project"])
        .arg(folder)
        .args(options)
        .output()
        .unwrap();
    assert!(written.status.success(), "{}", text(&written));
}

#[test]
fn a_new_project_builds_runs_and_passes_its_test() {
    let outside = tempfile::tempdir().unwrap();
    // As a person might call it.
    let folder = outside.path().join("mein ü \"project\"");
    new_project(&folder, &[]);
    let ran = cargo(&folder, "run");
    assert!(ran.status.success(), "{}", text(&ran));
    let out = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(out.trim(), "[11.0, 22.0, 33.0]");

    let tested = cargo(&folder, "test");
    assert!(tested.status.success(), "{}", text(&tested));
    assert!(text(&tested).contains("test sums ... ok"), "{}", text(&tested));
    assert_formatted(&folder);
}

#[test]
fn a_new_project_in_two_packages_passes_its_test() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("two");
    new_project(&folder, &["--two-packages"]);
    let kernels = std::fs::read_to_string(folder.join("kernels/src/lib.rs")).unwrap();
    assert!(kernels.contains("#![forbid(unsafe_code)]") && kernels.contains("block: Block<TILE>"));
    let tested = cargo(&folder, "test");
    assert!(tested.status.success(), "{}", text(&tested));
    assert!(text(&tested).contains("tiles_come_out_reversed ... ok"), "{}", text(&tested));
    assert_formatted(&folder);
}

/// Only what is written: to build it would take another minute. `.ci/new-kernel` builds a raw kernel.
#[test]
fn a_raw_project_has_an_unsafe_kernel_and_the_crates_that_it_names() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("raw");
    new_project(&folder, &["--raw"]);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    assert!(read("kernels/src/lib.rs").contains("pub unsafe fn reverse_tiles("));
    assert!(read("host/src/lib.rs").contains("unsafe { kernel.launch("));
    let manifest = read("kernels/Cargo.toml");
    for dependency in ["cuda_std.workspace = true", "tile.workspace = true"] {
        assert!(manifest.contains(dependency), "{manifest}");
    }
    assert_formatted(&folder);
}

/// The project is formatted by its own toolchain's rules.
fn assert_formatted(folder: &Path) {
    let formatted =
        Command::new("cargo").args(["fmt", "--all", "--check"]).current_dir(folder).output().unwrap();
    assert!(formatted.status.success(), "{}", text(&formatted));
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "mine").unwrap();
    for place in [folder.path(), file.as_path()] {
        let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .args(["new", "--project"])
            .arg(place)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
