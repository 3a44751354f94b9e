//! Whether a device's result is right: compared with float64 on the CPU, never with another kernel.

mod exact;
mod product;

pub use exact::exact;
pub use product::{Product, WHOLE_LIMIT};

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether every compared number is within the tolerance.
    pub ok: bool,
    /// The largest difference.
    pub max_error: f64,
    /// The largest difference that is still right; 0 where bits must agree.
    pub tolerance: f64,
    /// What was compared, in words.
    pub how: String,
    /// The first wrong element, in words.
    pub wrong: Option<String>,
}
