//! What a way to compute products is, and what may be asked of it.

use warpsmith_launch::Limits;

use super::problem::Problem;
use super::{Gemm, Operands, Prepared};
use crate::Error;

/// A way to compute products.
#[derive(Debug)]
#[doc(alias = "algorithm")]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Whether the dispatcher takes it by itself.
    pub automatic: Automatic,
    /// Whether its kernels are those of the CUDA cores, for f32, or of the tensor cores, for all other types.
    pub(super) f32: bool,
    /// How it deals the product out, or why it does not take it on such a device.
    pub(super) schedule: Scheduler,
}

/// Deals a product out, or says why it does not take it.
type Scheduler = fn(&Limits, &Problem, &Operands, &Request<'_>) -> Result<Box<dyn Schedule>, String>;

/// Whether the dispatcher takes a variant that is not named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Automatic {
    /// Never: it is a step on the way to a fast kernel, or one of several plans.
    Never,
    /// Wherever it can.
    Always,
    /// For products of at least as many operations as the chip's table says: the copies before it cost smaller
    /// ones too much.
    WhereCopiesPay,
}

/// What the caller wants of a plan; by default, whatever is best.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request<'a> {
    /// The variant of this name.
    pub variant: Option<&'a str>,
    /// K in so many parts.
    pub split_k: Option<u32>,
    /// Whether operands of f32 are packed to aligned rows first.
    pub packed: Option<bool>,
}

/// How the steps of K of C's tiles are shared out.
#[doc(alias = "split-K")]
#[doc(alias = "stream-K")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Each tile is one block's, or one cluster's.
    Whole,
    /// Split-K: each tile's K is in so many parts, which another kernel adds.
    SplitK(u32),
    /// Stream-K: the steps of so many tiles, one behind the other, are dealt out in equal lengths.
    StreamK {
        /// How many tiles.
        tiles: u32,
        /// Steps that each cluster takes of them.
        steps: u32,
    },
}

/// How a variant deals a product out.
pub(super) trait Schedule: std::fmt::Debug {
    /// The kernel that multiplies.
    fn kernel(&self) -> &'static str;

    /// Whether the kernel of that name is one of its launches.
    fn launches(&self, kernel: &str) -> bool {
        kernel == self.kernel()
    }

    /// How, in words, where there is a choice.
    fn words(&self) -> Option<String> {
        None
    }

    /// How K is shared out.
    fn split(&self) -> Split {
        Split::Whole
    }

    /// Whether operands are packed first.
    fn packs(&self) -> bool {
        false
    }

    /// Whether operands are transposed first.
    fn transposes(&self) -> bool {
        false
    }

    /// Makes launches ready. The matrices lie at `operands` for as long as those are used.
    fn prepare<'d>(
        &self,
        gemm: &Gemm<'d>,
        problem: &Problem,
        operands: &Operands,
    ) -> Result<Prepared<'d>, Error>;
}
