//! `warpsmith demo`: runs the demos and prints their tables.

use clap::ValueEnum;

use crate::cli::{Context, Outcome, Output};
use crate::size::Size;

/// Arguments of `demo`.
#[derive(clap::Args, Debug, Default)]
pub struct Demo {
    /// Which demo
    #[arg(value_enum, default_value_t)]
    which: Which,

    /// Problem size: N, MxN or MxNxK
    #[arg(long, allow_hyphen_values = true)]
    size: Option<Size>,

    #[command(flatten)]
    output: Output,
}

/// The demos.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Matrix multiplication: naive, tiled, dynamic shared memory, column order
    Matmul,
    /// Matrix transpose: naive, shared tile, padded, swizzled
    Transpose,
    /// Global memory: alignment, stride, scatter, width, structs
    Coalescing,
    /// Shared memory: strides, widths, broadcast, columns
    Banks,
    /// Where coefficients live: registers, local, shared, global, constant
    Spaces,
    /// Latency and how it is hidden
    Latency,
    /// All of them
    #[default]
    All,
}

impl Demo {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        anyhow::bail!("`demo` is not part of this build")
    }
}
