//! Random shapes: what holds at the awkward sizes of the other cases holds at all.

use host::demos::matmul::Variant;
use host::demos::transpose::Step;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use crate::{Case, matmul, records, transpose};

/// Enough to meet each remainder of a tile now and then; the seed is fixed, so that a failure stays one.
fn runner() -> TestRunner {
    TestRunner::new_with_rng(
        Config { cases: 24, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
}

fn failed(error: anyhow::Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

fn verdict<T: std::fmt::Debug>(result: Result<(), TestError<T>>) -> anyhow::Result<()> {
    result.map_err(|error| anyhow::anyhow!("{error}"))
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("random::matmul", |device| {
            let variants = Variant::all(16);
            let input = (0..variants.len(), 0usize..70, 0usize..70, 0usize..70, -2.0f32..2.0, -2.0f32..2.0);
            verdict(runner().run(&input, |(variant, m, n, k, alpha, beta)| {
                matmul::check(device, variants[variant], (m, n, k), alpha, beta).map_err(failed)
            }))
        }),
        Case::new("random::transpose", |device| {
            let input = (0..Step::ALL.len(), 0usize..150, 0usize..150);
            verdict(runner().run(&input, |(step, rows, cols)| {
                let step = Step::ALL[step];
                transpose::every_type(device, step, (rows, cols)).map_err(failed)
            }))
        }),
        Case::new("random::records", |device| {
            verdict(runner().run(&(0usize..3000, 0usize..9), |(n, between)| {
                records::check(device, n, n + between).map_err(failed)
            }))
        }),
        Case::new("random::transpose_chosen", |device| {
            // Half of the shapes in multiples of 16, which the vectorised kernels take for every size of element.
            let extent = || prop_oneof![0usize..400, (0usize..25).prop_map(|n| 16 * n)];
            verdict(runner().run(&(extent(), extent(), 0usize..17), |(rows, cols, begin)| {
                transpose::chosen(device, (rows, cols), begin).map_err(failed)
            }))
        }),
    ]
}
