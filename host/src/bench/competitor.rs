//! Who is timed beside our kernels, and what for.

use super::call::Call;
use super::measure::Bench;
use super::pairs::Enqueue;
use crate::error::Error;
use warpsmith_kernels::gemm::{Operands, Problem};

/// A competitor that takes part if it is asked for and installed.
pub struct Candidate {
    /// Its word for `--against` and what that means; one without a word always takes part.
    pub word: Option<(&'static str, &'static str)>,
    pub does: Kind,
    /// Opens it. If something is missing, the bench leaves it out and says so by name.
    pub open: Open,
}

/// Opens a competitor; `None` if what it needs is missing.
type Open = fn(&Bench<'_>) -> Result<Option<Box<dyn Competitor>>, Error>;

/// A competitor, whose launches are timed beside ours.
pub trait Competitor {
    /// Its name in rows.
    fn name(&self) -> &'static str;

    fn does(&self) -> Kind;

    /// The version of its library.
    fn version(&self) -> Option<i32> {
        None
    }

    /// Whether its launches can be captured into a graph.
    fn is_captured(&self) -> bool {
        true
    }

    /// Its launches for a task of its kind; `None` if it has no way to do this one, which it leaves out of the bench by name.
    fn launches<'a>(&'a self, bench: &'a Bench<'_>, task: &Task<'a>) -> Result<Option<Enqueue<'a>>, Error>;
}

/// A competitor's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The same algorithm as a kernel of ours.
    Kernel,
    /// A copy within the device.
    Copy,
    /// A product of f32.
    Product,
    /// A product on tensor cores.
    TensorProduct,
}

/// The problem of both sides. Sets of buffers are taken in turn.
pub enum Task<'a> {
    /// A kernel of ours by name, shape and arguments: a twin has the same.
    Kernel {
        family: &'static str,
        /// The launch.
        call: &'a Call,
    },
    /// Copies `bytes` from the first address to the second.
    Copy {
        /// The addresses.
        buffers: Vec<(u64, u64)>,
        bytes: usize,
    },
    /// A product of f32, for each set of matrices.
    Product(Vec<F32Product>),
    /// A product on tensor cores.
    TensorProduct {
        /// The problem's name in rows.
        name: &'a str,
        problem: &'a Problem,
        /// The matrices.
        operands: &'a [Operands],
    },
}

impl Task<'_> {
    /// Who can do it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Kernel { .. } => Kind::Kernel,
            Self::Copy { .. } => Kind::Copy,
            Self::Product(_) => Kind::Product,
            Self::TensorProduct { .. } => Kind::TensorProduct,
        }
    }
}

/// A product `C = alpha · op(A) · op(B) + beta · C`: device addresses and leading dimensions of row-major matrices.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct F32Product {
    pub m: i32,
    pub n: i32,
    pub k: i32,
    pub alpha: f32,
    pub beta: f32,
    pub a: u64,
    pub lda: i32,
    pub a_transposed: bool,
    pub b: u64,
    pub ldb: i32,
    pub b_transposed: bool,
    pub c: u64,
    pub ldc: i32,
}
