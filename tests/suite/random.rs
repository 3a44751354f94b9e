//! Random shapes: what holds at the awkward sizes of the other cases holds at all.

use host::demos::matmul::Variant;
use host::demos::transpose::Step;
use host::half::F16;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use crate::{Case, matmul, transpose};

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
                transpose::check(device, step, (rows, cols), |x| x).map_err(failed)?;
                transpose::check(device, step, (rows, cols), |x| F16(half::f16::from_f32(x))).map_err(failed)
            }))
        }),
    ]
}
