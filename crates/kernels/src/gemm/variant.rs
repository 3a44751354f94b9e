//! Variants: the implementations of products, and the requests that select one.

use warpsmith_launch::Limits;

use super::problem::Problem;
use super::{Gemm, Operands, Prepared};
use crate::Error;

/// An implementation of products.
#[derive(Debug)]
#[doc(alias = "algorithm")]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// Its description, in a few words.
    pub about: &'static str,
    /// Whether the dispatcher takes it by itself.
    pub automatic: Automatic,
    /// Whether its kernels are those of the CUDA cores, for f32, or of the tensor cores, for all other types.
    pub(super) f32: bool,
    /// Makes its schedule, or says why it does not take the product on such a device.
    pub(super) schedule: Scheduler,
}

/// Makes a schedule of a product, or says why the variant does not take it.
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

/// A caller's request for a plan; by default, the best one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request<'a> {
    /// The variant of this name.
    pub variant: Option<&'a str>,
    /// The number of parts of K.
    pub split_k: Option<u32>,
    /// Whether operands of f32 are packed to aligned rows first.
    pub packed: Option<bool>,
}

/// The division of K's steps among blocks.
#[doc(alias = "split-K")]
#[doc(alias = "stream-K")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Each tile is one block's, or one cluster's.
    Whole,
    /// Split-K: the number of parts of each tile's K, which another kernel adds.
    SplitK(u32),
    /// Stream-K: the steps of some tiles, one behind the other, are dealt out in equal lengths.
    StreamK {
        /// The number of these tiles.
        tiles: u32,
        /// Steps that each cluster takes of them.
        steps: u32,
    },
}

/// A variant's schedule for a product.
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

    /// The division of K.
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
