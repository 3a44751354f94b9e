//! Barriers, shuffles, and inline PTX.

use crate::compile::{count, function, kernels};
use cuda_builder::NvvmArch::Compute75;

pub fn barriers_are_neither_copied_nor_merged() {
    let ptx = kernels(Compute75);
    for (kernel, barriers) in [
        ("one_barrier_between_equal_conditions", 1),
        ("one_barrier_between_option_and_match", 1),
        ("two_barriers_in_equal_arms", 2),
        ("one_barrier_in_a_loop", 1),
    ] {
        assert_eq!(count(&ptx, kernel, "bar.sync"), barriers, "{:#?}", function(&ptx, kernel));
    }
}

pub fn shuffles_stay_before_branches() {
    let ptx = kernels(Compute75);
    let lines = function(&ptx, "shuffle_before_if");
    let shuffle = lines.iter().position(|line| line.contains("shfl.sync.bfly")).expect("a shuffle");
    let branch = lines.iter().position(|line| line.starts_with('@'));
    assert!(branch.is_none_or(|branch| shuffle < branch), "{lines:#?}");
}

pub fn inline_ptx_is_written_out() {
    let ptx = kernels(Compute75);
    let lines = function(&ptx, "inline_ptx_operands");
    let block = lines.iter().find(|line| line.starts_with("{ .reg .b32 t;")).expect("the block");
    assert!(block.contains(", -5; }"), "a constant stands in the text: {block}");
    assert!(
        lines.iter().any(|line| line.ends_with("// $1 is not an operand")),
        "a dollar is a dollar: {lines:#?}"
    );
    assert_eq!(
        count(&ptx, "inline_ptx_operands", "ld.local") + count(&ptx, "inline_ptx_operands", "st.local"),
        0
    );
}

pub fn inline_ptx_effects_stay() {
    let ptx = kernels(Compute75);
    let lines = function(&ptx, "inline_ptx_effects");
    let at = |text: &str| {
        lines.iter().position(|line| line.starts_with(text)).unwrap_or_else(|| panic!("{text}: {lines:#?}"))
    };
    let stores: Vec<usize> =
        lines.iter().enumerate().filter(|(_, l)| l.starts_with("st.global")).map(|(i, _)| i).collect();
    assert!(
        matches!(stores[..], [before, after] if before < at("pmevent 3;") && at("pmevent 3;") < after),
        "{lines:#?}"
    );
}
