//! The interface of a suite.

use super::competitor::Kind;
use super::measure::{Bench, Comparison};
use crate::error::Error;
use crate::size::Size;
use warpsmith_kernels::gemm::{Input, Layout, Output};

/// A family of comparisons.
pub trait Suite: Sync {
    /// Its word on the command line and in JSON.
    fn name(&self) -> &'static str;

    /// Its comparison, in one line.
    fn about(&self) -> &'static str;

    /// The heading of its rows.
    fn title(&self) -> &'static str;

    /// The family that its kernels are of.
    fn family(&self) -> &'static str {
        self.name()
    }

    /// Whether it is measured when all are asked for.
    fn is_among_all(&self) -> bool {
        true
    }

    /// Its competitors.
    fn tasks(&self) -> &'static [Kind];

    /// Its rows, at these sizes or at its own.
    fn run(&self, bench: &Bench<'_>, sizes: &[Size], cases: &TensorCases) -> Result<Vec<Comparison>, Error>;
}

/// A suite, and of it the kernels of these names, or all if there are none.
pub struct Part {
    pub suite: &'static dyn Suite,
    pub kernels: Vec<&'static str>,
}

/// Which products are measured; where nothing is named, the default.
#[derive(Clone, Debug, Default)]
pub struct TensorCases {
    /// Types of A and B.
    pub inputs: Vec<Input>,
    /// How A and B are stored.
    pub layouts: Vec<Layout>,
    /// The type of C, where there is a choice.
    pub output: Option<Output>,
    /// The variant, if not the dispatcher's.
    pub variant: Option<String>,
}
