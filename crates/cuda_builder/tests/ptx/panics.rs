//! Panics of every kind.

use crate::compile::{count, function, kernels, texts, with};
use cuda_builder::NvvmArch::Compute75;

const CHECKED: [&str; 18] = [
    "index",
    "slice_range",
    "divide",
    "divide_signed",
    "remainder",
    "unwrap_option",
    "expect_option",
    "unwrap_result",
    "unwrap_number",
    "expect_result",
    "explicit",
    "explicit_with_value",
    "explicit_with_bits",
    "asserted",
    "asserted_equal",
    "asserted_unequal_floats",
    "copy_lengths",
    "unreachable_arm",
];

pub fn every_kind_keeps_its_check() {
    let ptx = kernels(Compute75);
    for kernel in CHECKED {
        assert!(count(&ptx, kernel, "call") >= 1, "`{kernel}` lost its panic");
        assert!(
            count(&ptx, kernel, "bra") + count(&ptx, kernel, "brx") >= 1,
            "`{kernel}` panics without asking"
        );
    }
}

pub fn texts_and_values_are_written() {
    let ptx = kernels(Compute75);
    let texts = texts(&ptx);
    for expected in [
        "index out of bounds: the len is {} but the index is {}",
        "range {}..{} out of range for slice of length {}",
        "attempt to divide by zero",
        "attempt to divide with overflow",
        "attempt to calculate the remainder with a divisor of zero",
        "called `Option::unwrap()` on a `None` value",
        "too large to triple",
        "called `Result::unwrap()` on an `Err` value, a `core::num::error::TryFromIntError`",
        "called `Result::unwrap()` on an `Err` value: {}",
        "the first is a digit: {}",
        "so is the second: {}",
        "a byte, a `core::num::error::TryFromIntError`",
        "a is above nine",
        "a is {}, above 9",
        "assertion failed: a < 9",
        "assertion `left == right` failed: left: {}, right: {}",
        "copy_from_slice: source slice length ({}) does not match destination slice length ({})",
        "internal error: entered unreachable code",
    ] {
        assert!(texts.iter().any(|text| text == expected), "no text says {expected:?}: {texts:#?}");
    }
    // Those that ask for a width, and floats, are scripts: a byte 1 stands for a value and its format.
    for expected in ["bits {}", "assertion `left != right` failed: they must differ: left: {}"] {
        assert!(
            texts.iter().any(|text| text.starts_with(expected)),
            "no script says {expected:?}: {texts:#?}"
        );
    }
    // Length and index themselves are passed, not only the text.
    let index = function(&ptx, "index");
    assert!(
        index.iter().filter(|line| line.starts_with("st.param.b64") && line.contains("%rd")).count() >= 5,
        "{index:#?}"
    );
    assert!(texts.iter().any(|text| text.ends_with("panics.rs")), "no file name");
}

pub fn threads_never_run_on() {
    let ptx = kernels(Compute75);
    for reporter in ["warpsmith_panic", "warpsmith_panic_values"] {
        let lines = function(&ptx, reporter);
        let call = lines.iter().rposition(|line| line.starts_with("call")).expect("it reports");
        assert!(lines[call..].iter().any(|line| line.starts_with("trap")), "{lines:#?}");
    }
    assert!(!ptx.contains(".noreturn"), "a declaration that says so makes LLVM drop the trap");
}

pub fn formatting_stays_out() {
    let ptx = kernels(Compute75);
    let formatter = ptx.lines().find(|line| line.contains(".func") && line.contains("4core3fmt"));
    assert_eq!(formatter, None, "core::fmt is in the PTX of kernels that do not print");
    assert!(!ptx.contains("vprintf"));
}

pub fn overflow_is_checked_where_asked() {
    assert_eq!(count(&kernels(Compute75), "overflow", "call"), 0, "release builds wrap");
    let checked = with("overflow", Compute75, |builder| {
        builder.build_args(&["--config", "profile.release.package.fixture-kernels.overflow-checks=true"])
    });
    assert!(count(&checked, "overflow", "call") >= 1);
    assert!(texts(&checked).iter().any(|text| text == "attempt to add with overflow"));
}
