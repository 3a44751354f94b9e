//! Address spaces, widths, and what stays in registers.

use crate::compile::{count, function, kernels};
use cuda_builder::NvvmArch::Compute75;

pub fn slices_are_read_through_the_read_only_cache() {
    let ptx = kernels(Compute75);
    assert_eq!(count(&ptx, "reads_only", "ld.global.nc.b32"), 1);
}

pub fn vectors_are_moved_whole() {
    let ptx = kernels(Compute75);
    assert_eq!(count(&ptx, "vectors", "ld.global.v4.b32"), 1);
    assert_eq!(count(&ptx, "vectors", "st.global.v4.b32"), 1);
}

pub fn shared_memory_is_not_generic() {
    let ptx = kernels(Compute75);
    for kernel in ["through_methods", "shared_static", "dynamic"] {
        let generic = count(&ptx, kernel, "ld.b") + count(&ptx, kernel, "st.b") + count(&ptx, kernel, "ld.f");
        assert_eq!(generic, 0, "{:#?}", function(&ptx, kernel));
        assert!(count(&ptx, kernel, "ld.shared") > 0 && count(&ptx, kernel, "st.shared") > 0);
    }
    // Two buffers of the same size are two.
    let arrays = function(&ptx, "through_methods")
        .into_iter()
        .filter(|line| line.starts_with(".shared .align 16"))
        .count();
    assert_eq!(arrays, 2);
}

pub fn statics_are_placed() {
    let ptx = kernels(Compute75);
    assert!(ptx.contains(".extern .shared .align 128 .b8 _Zcuda_std_dyn_shared[]"));
    assert!(
        ptx.lines().any(|line| line.starts_with(".visible .const .align 4 .b8 WEIGHTS[32]")),
        "named and settable"
    );
    assert_eq!(count(&ptx, "constants", "ld.const"), 1);
    assert!(ptx.contains(".visible .global .align 4 .b8 STEP[4] = {3};"), "the host finds it by its name");
    assert_eq!(count(&ptx, "variables", "ld.global"), 2, "the host may have written another value");
    assert_eq!(count(&ptx, "plain_static", "ld.global.nc"), 1);
}

pub fn accumulators_are_registers() {
    let ptx = kernels(Compute75);
    assert_eq!(count(&ptx, "accumulators", ".local"), 0);
}

pub fn arrays_are_registers_where_loops_walk_through_them() {
    let ptx = kernels(Compute75);
    let lines = function(&ptx, "distances_by_value");
    assert_eq!(count(&ptx, "distances_by_value", ".local"), 0, "{lines:#?}");
    assert_eq!(
        count(&ptx, "distances_by_value", "shfl.sync.bfly"),
        2,
        "unrolled, and not copied: {lines:#?}"
    );
    assert_eq!(count(&ptx, "distances_by_value", "bar.sync"), 1);
    // Nobody knows how far this one is walked.
    assert!(count(&ptx, "digits_of_a_number", "st.local") >= 1);
}

pub fn copies_are_wide() {
    let ptx = kernels(Compute75);
    for kernel in ["copy_aligned", "copy_words", "copy_small", "fill"] {
        let bytes = count(&ptx, kernel, "ld.global.b8") + count(&ptx, kernel, "st.global.b8");
        assert_eq!(bytes, 0, "a byte loop in {:#?}", function(&ptx, kernel));
    }
    assert!(count(&ptx, "copy_aligned", "ld.global.v4.b32") >= 1);
    assert!(count(&ptx, "copy_words", "ld.global.v4.b32") >= 1, "wide where the addresses turn out aligned");
    assert_eq!(count(&ptx, "copy_small", "ld.global.b32"), 24, "small ones are written out");
    assert!(count(&ptx, "move_bytes", "ld.global.v4.b32") >= 2, "forwards and backwards");
}

pub fn the_source_controls_unrolling() {
    let ptx = kernels(Compute75);
    // Four in the loop, and the rest one by one.
    assert_eq!(count(&ptx, "unrolled_four_times", "ld.global.nc.b32"), 5);
    assert_eq!(count(&ptx, "never_unrolled", "ld.global.b32"), 1);
    assert_eq!(count(&ptx, "fully_unrolled", "ld.global.b32"), 700);
}
