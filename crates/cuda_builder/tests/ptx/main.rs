//! What the builder promises, seen in the PTX of real crates.
//!
//! Without ptxas (`WARPSMITH_PTXAS`, or on the path) its tests are reported as ignored, by name;
//! `WARPSMITH_REQUIRE=ptxas` makes them fail instead.

mod assembler;
mod atomics;
mod blockwise;
mod compile;
mod failures;
mod libraries;
mod memory;
mod options;
mod panics;
mod parameters;
mod parts;
mod surroundings;
mod synchronisation;
mod upstream;

use libtest_mimic::{Arguments, Trial};

/// Names tests after their functions.
macro_rules! trials {
    ($($module:ident: $($name:ident),* $(,)?;)*) => {
        vec![$($(Trial::test(concat!(stringify!($module), "::", stringify!($name)), || {
            $module::$name();
            Ok(())
        }),)*)*]
    };
}

fn main() {
    if surroundings::build_if_asked() {
        return;
    }
    // Builds in folders of their own first: the others wait for each other.
    let mut tests = trials! {
        parts: what_is_kept_gives_the_bits_of_a_build_from_nothing;
        surroundings: cargo_commands_do_not_reach_the_device_build;
        parameters: scalars_are_scalars, slices_are_two, types_go_by_value_with_their_layout, nothing_vanishes,
            aliases_are_seen_through, dynamic_indices_stay_in_parameter_space, launch_bounds_become_directives,
            visible_functions_stay;
        panics: every_kind_keeps_its_check, texts_and_values_are_written, threads_never_run_on, formatting_stays_out,
            overflow_is_checked_where_asked;
        atomics: ordering_and_scope_are_kept, narrow_ones_are_fenced_loops, shared_ones_name_their_space, bytes_have_their_words_to_themselves,
            local_ones_are_plain,
            older_devices_get_fences;
        memory: slices_are_read_through_the_read_only_cache, vectors_are_moved_whole, shared_memory_is_not_generic,
            statics_are_placed, accumulators_are_registers,
            arrays_are_registers_where_loops_walk_through_them, copies_are_wide, the_source_controls_unrolling;
        blockwise: what_asks_nothing_is_accepted, each_use_is_refused, unoptimised_crates_are_refused_the_same,
            compiled_libraries_are_refused, floats_have_one_value, fast_floats_have_one_value;
        synchronisation: barriers_are_neither_copied_nor_merged, shuffles_stay_before_branches, inline_ptx_is_written_out,
            inline_ptx_effects_stay;
        libraries: core_and_alloc_link_on_demand, copies_do_not_multiply, mathematics_is_the_devices_own, lines_have_their_callers;
        options: fma_contraction, fast_division_and_square_root, flush_to_zero, line_info, optimisation, other_outputs,
            constant_statics, override_libm, gates, optix, build_args, debug_profile,
            tested_bounds_cost_nothing_in_release;
        surroundings: variables_do_not_reach_the_device_build, paths_with_blanks_and_letters_of_all_kinds,
            configuration_files_do_not_reach_the_device_build, source_trees_stay_as_they_are;
        parts: statics_are_one_memory, functions_are_found_by_their_callers, edits_are_seen_and_nothing_else_changes;
        upstream: generation_a_compiles_unchanged, generation_b_compiles_unchanged, whichever_glam_is_one,
            two_glams_are_told_how_to_be_one;
        failures: missing_crate, rust_errors, what_only_upstreams_compiler_takes, libraries_with_std, undefined_symbols, instructions_of_newer_devices, kernels_of_one_name, statics_named_like_marks, host_assembly, host_intrinsics, shared_memory,
            constant_memory, constant_memory_that_folds_away, local_memory, blocks, failed_builds_are_repeated, what_is_not_done_is_told;
    };
    tests.extend(assembler::trials());
    tests.push(
        Trial::test(
            "surroundings::source_trees_may_be_read_only",
            surroundings::source_trees_may_be_read_only,
        )
        .with_ignored_flag(!surroundings::can_mount()),
    );
    #[cfg(unix)]
    tests.extend(trials! { surroundings: the_cargo_home_does_not_reach_the_device_build; });
    let mut arguments = Arguments::from_args();
    // Most of a test's time is a build, and builds in one folder wait for each other.
    let waiting = || 2 * std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert_with(waiting);
    libtest_mimic::run(&arguments, tests).exit();
}
