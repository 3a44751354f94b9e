//! The demos: allocate, launch, check, and say what the numbers show.

pub mod banks;
pub mod coalescing;
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

use crate::error::Error;
use crate::size::Size;

pub use row::{Row, Work};
pub use stage::Stage;
pub use target::{Fill, Target};

/// A demo: kernels that show one thing. Every result is checked, and every row says what it shows.
pub trait Demo: Sync {
    /// Its word on the command line, and the family of its kernels.
    fn name(&self) -> &'static str;

    /// The heading of its rows.
    fn title(&self) -> &'static str;

    /// Whether it is shown when all are asked for.
    fn is_among_all(&self) -> bool {
        true
    }

    /// Whether it knows sizes of this form.
    fn takes(&self, size: Size) -> bool {
        matches!(size, Size::One(_))
    }

    /// A size of one extent that the virtual GPU runs in well under a second.
    fn measured_at(&self) -> usize {
        256
    }

    /// Its rows.
    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error>;

    /// The rows as text.
    fn text(&self, rows: &[Row]) -> String {
        row::text(rows)
    }
}

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
    // `warpsmith new` writes above this line.
];

/// The demo of that name.
pub fn find(name: &str) -> Option<&'static dyn Demo> {
    ALL.iter().copied().find(|demo| demo.name() == name)
}
