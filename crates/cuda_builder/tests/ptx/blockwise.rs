//! What kernels without `unsafe` may reach.

use crate::compile::{build, scratch};
use cuda_builder::NvvmArch::Compute80;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What is said of the fixture's kernels that must be refused, with paths from the workspace's root.
fn refusal(release: bool) -> String {
    let label = if release { "refused" } else { "refused-debug" };
    let refused = |b: cuda_builder::CudaBuilder| b.build_args(&["--features", "refused"]).release(release);
    let message = build(label, "blockwise", Compute80, refused).expect_err("it reaches too much").to_string();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    message.replace(&format!("{}/", root.display()), "")
}

/// Rust's own libraries do much that could be taken for what is refused.
pub fn what_asks_nothing_is_accepted() {
    for release in [true, false] {
        let label = if release { "accepted" } else { "accepted-debug" };
        let built = build(label, "blockwise", Compute80, |b| b.release(release));
        let ptx = built.unwrap_or_else(|error| panic!("{error}"));
        assert!(ptx.contains(".entry computes("));
    }
}

/// The whole message. Where it is meant to change, what the test wrote replaces the golden text.
pub fn each_use_is_refused() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/blockwise.txt");
    let message = refusal(true) + "\n";
    if fs::read_to_string(&golden).unwrap_or_default() != message {
        let path = scratch().join("blockwise.txt");
        fs::write(&path, &message).expect("the message can be written");
        panic!("{} is not what is said now: {}\n{message}", golden.display(), path.display());
    }
    // Each of the fixture's kernels, by their table.
    let source = include_str!("../fixtures/blockwise/src/refused.rs");
    let table = source.split("super::kernels! {").nth(1).and_then(|rest| rest.split("\n}").next());
    let kernels: Vec<&str> = table
        .expect("a table")
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .map(|(name, _)| name)
        .collect();
    assert!(kernels.len() > 30);
    for kernel in kernels.into_iter().chain(["smuggles"]) {
        assert!(message.contains(&format!("the kernel `{kernel}` ")), "nothing is said of `{kernel}`");
    }
}

/// Unoptimised, rustc inlines nothing: other functions stand between a kernel and what it does.
pub fn unoptimised_crates_are_refused_the_same() {
    let (optimised, unoptimised) = (refusal(true), refusal(false));
    let said = |message: &'_ str| -> BTreeSet<String> {
        message.lines().filter(|line| line.starts_with("the kernel")).map(str::to_owned).collect()
    };
    assert_eq!(said(&optimised), said(&unoptimised));
}
