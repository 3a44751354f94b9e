//! The suites.

mod coalescing;
mod copy;
mod devices;
#[cfg(feature = "ladder")]
mod ladder;
mod matmul;
mod product;
mod tensor;
mod transpose;

use super::suite::Suite;

/// The suites, in the order in which they run.
pub const SUITES: &[&dyn Suite] = &[
    &copy::CopySuite,
    &transpose::TransposeSuite,
    &coalescing::CoalescingSuite,
    &matmul::MatmulSuite,
    &tensor::TensorSuite,
    &devices::DevicesSuite,
    #[cfg(feature = "ladder")]
    &ladder::LadderSuite,
];
