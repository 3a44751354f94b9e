//! What kernels without `unsafe` may reach.

use crate::compile::{build, count, function, scratch};
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

/// What `alloc` and `core` hold compiled comes by the last link.
pub fn compiled_libraries_are_refused() {
    let compiled = |b: cuda_builder::CudaBuilder| b.build_args(&["--features", "compiled"]);
    let message =
        build("compiled", "blockwise", Compute80, compiled).expect_err("it reaches too much").to_string();
    for (kernel, what) in [
        ("lowers", "allocates on the heap"),
        ("mends", "allocates on the heap"),
        ("grows", "allocates on the heap"),
        ("shows_an_atomic", "uses an atomic"),
        ("shows_by_an_object", "uses an atomic"),
    ] {
        assert!(message.contains(&format!("the kernel `{kernel}` {what}")), "{kernel}:\n{message}");
    }
    assert!(message.contains("where `fixture_blockwise::compiled::"), "{message}");
}

/// A product and its sum are one operation in every copy, or two that `ptxas` keeps apart; NaN is one where its bits decide.
pub fn floats_have_one_value() {
    let ptx = build("floats", "blockwise", Compute80, |b| b).expect("it compiles");
    for kernel in ["fuses", "fuses_backwards"] {
        assert!(count(&ptx, kernel, "fma.rn.f32") >= 1, "{:#?}", function(&ptx, kernel));
        assert_eq!(
            count(&ptx, kernel, "mul"),
            count(&ptx, kernel, "mul.wide"),
            "{:#?}",
            function(&ptx, kernel)
        );
    }
    let asks_for_nan = |line: &&str| line.starts_with("setp.nan") || line.starts_with("setp.num");
    let table =
        include_str!("../fixtures/blockwise/src/floats.rs").split("decide! {").nth(1).expect("a table");
    let kernels = table.lines().filter_map(|line| line.trim().split_once(": |")).map(|(name, _)| name);
    let kernels: Vec<&str> = kernels.filter(|kernel| *kernel != "moves").collect();
    assert!(kernels.len() > 10);
    for kernel in kernels {
        let lines = function(&ptx, kernel);
        let may_be_fused = ["add.f32", "sub.f32", "mul.f32"];
        assert!(!lines.iter().any(|line| may_be_fused.iter().any(|it| line.contains(it))), "{lines:#?}");
        assert!(lines.iter().any(asks_for_nan), "NaN has any bits: {lines:#?}");
    }
    // What was only moved is what it was.
    assert!(!function(&ptx, "moves").iter().any(asks_for_nan), "{:#?}", function(&ptx, "moves"));
}

/// `fast_div` and `fast_sqrt` are nothing that is folded; `ftz` would let LLVM choose.
pub fn fast_floats_have_one_value() {
    let fast = |b: cuda_builder::CudaBuilder| b.fast_div(true).fast_sqrt(true).ftz(true);
    let ptx = build("floats-fast", "blockwise", Compute80, fast).expect("it compiles");
    assert!(count(&ptx, "divides", "div.approx.f32") >= 1, "{:#?}", function(&ptx, "divides"));
    assert!(count(&ptx, "takes_roots", "sqrt.approx.f32") >= 1, "{:#?}", function(&ptx, "takes_roots"));
    let reciprocal = count(&ptx, "takes_the_reciprocal", "div.approx.f32")
        + count(&ptx, "takes_the_reciprocal", "rcp.approx.f32");
    assert!(reciprocal >= 1, "{:#?}", function(&ptx, "takes_the_reciprocal"));
    let flushes: Vec<&str> =
        ptx.lines().filter(|line| line.contains(".ftz") && !line.contains(".approx.ftz")).collect();
    assert!(flushes.is_empty(), "{flushes:#?}");
}
