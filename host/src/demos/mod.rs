//! The demos: allocate, launch, check, and say what the numbers show.

pub mod banks;
pub mod coalescing;
mod demo;
pub mod devices;
pub mod first;
pub mod forecast;
pub mod latency;
pub mod matmul;
pub mod row;
pub mod spaces;
mod stage;
pub mod target;
pub mod tensor;
pub mod transpose;
// `warpsmith new` writes above this line.

pub use demo::Demo;
pub use row::{Link, Row, Workload};
pub use stage::{Stage, Stopwatch};
pub use target::{Fill, Target};

/// The demos, in the order in which they are shown.
pub const ALL: &[&dyn Demo] = &[
    &matmul::MatmulDemo,
    &tensor::TensorDemo,
    &transpose::TransposeDemo,
    &coalescing::CoalescingDemo,
    &banks::BanksDemo,
    &spaces::SpacesDemo,
    &latency::LatencyDemo,
    &first::FirstDemo,
    &devices::DevicesDemo,
    // `warpsmith new` writes above this line.
];

pub fn find(name: &str) -> Option<&'static dyn Demo> {
    ALL.iter().copied().find(|demo| demo.name() == name)
}
