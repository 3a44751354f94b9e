//! Matrix products, and how their fragments are moved.

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

/// Where `wgmma` reads A from.
#[derive(Debug)]
pub(crate) enum GroupSource {
    Registers(Box<[Slot]>),
    /// Descriptor.
    Shared(Slot),
}

/// `wgmma.mma_async`
#[derive(Debug)]
pub(crate) struct GroupMultiply {
    pub form: Wgmma,
    pub d: Box<[Slot]>,
    pub a: GroupSource,
    pub b: Slot,
    /// For `.sp`: which elements of A are present, and which lanes hold that metadata.
    pub metadata: Option<(Slot, u32)>,
    /// Whether to add to D: a predicate, and whether it is negated.
    pub accumulate: (Slot, bool),
}

/// Orders products and waits for them, for all lanes of a warp: `wgmma.fence`, `wgmma.commit_group`,
/// `wgmma.wait_group`.
///
/// A product belongs to its whole warpgroup: it begins when all four warps are there, and once a warp has waited for
/// it, that warp may overwrite what the other three read, as CUTLASS epilogues do. So a fence waits for the other warps
/// to reach it, and a wait for them to issue their parts.
#[derive(Debug)]
pub(crate) enum Together {
    Fence,
    Commit,
    /// How many groups may still be in flight.
    Wait(u32),
}

/// `ldmatrix`, `stmatrix`: each matrix is eight rows of 16 bytes; row r of matrix m is at the address in lane 8m + r.
#[derive(Debug)]
pub(crate) struct MatrixAccess {
    pub space: SpaceOperand,
    pub address: AddressOperand,
    /// One register per matrix: lane l has elements 2(l % 4) and the next of row l / 4.
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
    /// Elements between the starts of consecutive lines; `None` if they are contiguous.
    pub stride: Option<Slot>,
    pub data: Box<[Slot]>,
    pub store: bool,
}
