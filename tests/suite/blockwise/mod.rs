//! Kernels without `unsafe`, at sizes that divide nothing.
#![forbid(unsafe_code)]

mod generic;
mod graphs;
mod levels;
mod linear;
mod lines;
mod matrices;
mod public;
mod refused;
mod suites;
mod unusual;

use warpsmith_launch::{Level, Levels};

use crate::Case;

const LENGTHS: [usize; 6] = [1, 31, 33, 255, 257, 1000];

/// From 8.0 on copies are asynchronous.
static OLDEST: Levels =
    Levels::new(&[Level::new(include_str!(concat!(env!("OUT_DIR"), "/blockwise_75.ptx")))]);
static LEVELS: Levels = Levels::new(&[
    Level::new(include_str!(concat!(env!("OUT_DIR"), "/blockwise_75.ptx"))),
    Level::new(include_str!(concat!(env!("OUT_DIR"), "/blockwise_80.ptx"))),
]);

pub fn levels() -> &'static Levels {
    &LEVELS
}

/// The kernels for the oldest level alone.
fn oldest() -> &'static Levels {
    &OLDEST
}

/// Small whole numbers, whose sums of products are exact.
fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7 + seed * 13 + i / 5) % 17) as f32 - 8.0).collect()
}

macro_rules! cases {
    ($($module:ident: $($case:ident)*;)*) => {
        vec![$($(Case::new(concat!("blockwise::", stringify!($module), "::", stringify!($case)), |device| {
            $module::$case(device);
            Ok(())
        })),*),*]
    };
}

/// The cases.
pub fn cases() -> Vec<Case> {
    cases! {
        levels:
            rows_are_transformed
            parts_are_turned_into_wavelets_and_walsh_functions
            trees_price_options
            sequences_are_aligned
            brightness_flows_and_matrices_are_divided;
        generic:
            columns_of_each_type_operation_and_edge_are_folded
            lists_of_pairs_and_negative_constants_make_instances;
        graphs:
            chains_are_replayed_with_other_buffers
            matrices_are_arguments_of_graphs
            values_that_a_kernel_requires_something_of_are_compared_at_each_launch;
        linear:
            neighbours_are_summed
            columns_of_threads_turn
            conflicts_are_known_before_a_kernel_runs;
        lines:
            vectors_are_added
            windows_are_as_long_as_the_launch_says
            blocks_add_up_what_strides_of_the_grid_find
            scans_are_right_at_any_length
            histograms_count_every_byte
            parts_are_sorted
            points_are_taken_apart_and_put_together
            patterns_of_access_move_what_they_should;
        matrices:
            tiles_of_16_multiply
            tiles_of_32_multiply
            columns_multiply
            padded_columns_multiply
            single_elements_multiply
            registers_multiply
            rings_multiply
            rings_multiply_without_asynchronous_copies
            tiles_as_deep_as_the_launch_says_multiply
            single_elements_turn
            plain_tiles_turn
            padded_tiles_turn
            swizzled_tiles_turn
            rows_are_normalised
            rows_are_multiplied_by_a_vector
            stencils_see_zero_beyond_the_edges
            attention_is_one_pass;
        public:
            lines_are_reduced_and_stepped
            counters_collect
            matrices_are_convolved_reduced_and_shortened;
        refused:
            outputs_that_ask_for_different_grids_are_refused
            a_chosen_grid_is_compared_with_the_outputs
            a_grid_that_nothing_decides_must_be_chosen
            elements_that_make_no_matrix_are_refused
            extents_that_a_kernel_requires_are_compared_before_it_runs
            numbers_that_a_kernel_requires_something_of_are_compared_before_it_runs
            a_kernel_that_host_and_device_compile_differently_is_refused
            a_kernel_of_the_same_name_and_parameters_from_elsewhere_is_refused
            names_beside_a_kernel_do_not_change_what_it_takes_for_granted
            constants_of_any_name_are_the_kernels_own
            types_by_rusts_own_names_are_the_kernels_own
            what_is_empty_lies_somewhere
            ptx_that_does_not_say_what_the_kernel_is_is_refused
            more_blocks_than_the_device_admits_are_refused;
        suites:
            heat_spreads_and_columns_are_eliminated
            layers_and_sparse_matrices_multiply
            options_are_priced
            sorted_lists_are_merged;
        unusual:
            futures_wait_for_all
            iterators_wait_for_all
            functions_that_call_themselves_wait_for_all
            what_is_dropped_waits_for_all;
    }
}
