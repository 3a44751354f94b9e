//! Products of matrices, and how their fragments are moved.

use super::access::{AddressOperand, SpaceOperand};
use super::registers::Slot;
use crate::matrix::mma::Mma;
use crate::matrix::sparse::Sparse;
use crate::matrix::wgmma::Wgmma;
use crate::matrix::wmma::{Fragment, Wmma};

/// Registers of D, A, B and C.
#[derive(Debug)]
pub(crate) struct MatrixOperands {
    pub d: Box<[Slot]>,
    pub a: Box<[Slot]>,
    pub b: Box<[Slot]>,
    pub c: Box<[Slot]>,
}

/// `mma.sync`
#[derive(Debug)]
pub(crate) struct WarpMultiply {
    pub form: Mma,
    pub operands: MatrixOperands,
}

/// `mma.sp`
#[derive(Debug)]
pub(crate) struct SparseMultiply {
    pub form: Sparse,
    pub operands: MatrixOperands,
    pub metadata: Slot,
    pub selector: u32,
}

/// `wmma.mma`
#[derive(Debug)]
pub(crate) struct FragmentMultiply {
    pub form: Wmma,
    pub operands: MatrixOperands,
}

/// Where `wgmma` takes A from.
#[derive(Debug)]
pub(crate) enum GroupSource {
    Registers(Box<[Slot]>),
    /// A descriptor.
    Shared(Slot),
}

/// `wgmma.mma_async`
#[derive(Debug)]
pub(crate) struct GroupMultiply {
    pub form: Wgmma,
    pub d: Box<[Slot]>,
    pub a: GroupSource,
    pub b: Slot,
    /// With `.sp`: which elements A has, and which lanes say so.
    pub metadata: Option<(Slot, u32)>,
    /// Whether D is added to: a predicate, and whether it is negated.
    pub accumulate: (Slot, bool),
}

/// What orders products and waits for them, for the lanes of a warp together: `wgmma.fence`, `wgmma.commit_group`,
/// `wgmma.wait_group`.
///
/// A product is its whole warpgroup's: it begins when all four warps are there, and who has waited for it may overwrite what
/// the other three read, as epilogues of CUTLASS do. So a fence waits for the other warps to come to it, and a wait for them
/// to issue their parts.
#[derive(Debug)]
pub(crate) enum Together {
    Fence,
    Commit,
    /// Groups that may be under way.
    Wait(u32),
}

/// `ldmatrix`, `stmatrix`: eight rows of 16 bytes a matrix, row r of matrix m at the address of lane 8m + r.
#[derive(Debug)]
pub(crate) struct MatrixAccess {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    /// A register a matrix: lane l has elements 2(l % 4) and the next of row l / 4.
    pub data: Box<[Slot]>,
    pub transposed: bool,
    pub store: bool,
}

/// `movmatrix`: the transpose of a matrix in registers.
#[derive(Debug)]
pub(crate) struct Transpose {
    pub source: Slot,
    pub target: Slot,
}

/// `wmma.load`, `wmma.store`
#[derive(Debug)]
pub(crate) struct FragmentAccess {
    pub fragment: Fragment,
    pub space: SpaceOperand,
    pub address: AddressOperand,
    /// Elements from line to line; `None`: lines follow each other.
    pub stride: Option<Slot>,
    pub data: Box<[Slot]>,
    pub store: bool,
}
