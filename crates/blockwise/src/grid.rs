//! Requirements of outputs' maps on the grid.

/// The number of blocks along one axis that an output requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCount {
    /// This number: the output has no parts for more, or two blocks would have one part.
    Exactly(usize),
    /// Any number; this is a good one.
    Suggested(usize),
}

/// The grid that an output requires, along x, y, z.
pub type GridRequirement = [BlockCount; 3];

/// A line of blocks along x. Blocks that differ along y or z alone would own the same elements, so there are none.
pub(crate) const fn line(x: BlockCount) -> GridRequirement {
    [x, BlockCount::Exactly(1), BlockCount::Exactly(1)]
}

/// A map that divides a slice among blocks. Sealed: a wrong one would be a race.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a map by which a slice is divided",
    label = "its last type is not a map",
    note = "a `SliceMut` has `OneEach`, `Strided`, `Part<N>` or `Linear<1, N, X, Y, K>`"
)]
pub trait SliceMap: crate::output::Sealed {
    /// Its name and its constants: another map has others.
    const NUMBERS: [u64; 3];

    /// The constants of a linear map.
    #[doc(hidden)]
    const LINEAR: Option<[usize; 5]> = None;

    /// The grid that it requires, of blocks of `threads` threads.
    fn grid_requirement(len: usize, threads: usize) -> GridRequirement;
}

/// A map that divides a matrix among blocks. Sealed: a wrong one would be a race.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a map by which a matrix is divided",
    label = "its last type is not a map",
    note = "a `MatrixMut` has `Tiles<R, C>`, `Mirrored<R, C>`, `Turned<R, C>`, `Rows`, `Registers<…>` or `Linear<R, C, X, Y, K>`"
)]
pub trait MatrixMap: crate::output::Sealed {
    /// Its name and its constants: another map has others.
    const NUMBERS: [u64; 3];

    /// The constants of a linear map.
    #[doc(hidden)]
    const LINEAR: Option<[usize; 5]> = None;

    /// The grid that it requires.
    fn grid_requirement(rows: usize, cols: usize) -> GridRequirement;
}

/// A kernel without `unsafe`, as `#[kernel]` describes it to the host.
///
/// # Safety
/// Whatever arguments of its types a launch passes, it keeps to its own memory.
pub unsafe trait BlockwiseKernel: cuda_std::Kernel {
    /// The numbers that the PTX must repeat; see [`fingerprint`](crate::fingerprint).
    const FINGERPRINT: &'static [u64];

    /// The text of each relation of `#[requires(…)]`.
    const RELATIONS: &'static [&'static str];

    /// The first relation of `#[requires(…)]` that the extents of a launch's arguments do not satisfy.
    fn unmet_requirement(extents: &[crate::Extents]) -> Option<crate::UnmetRequirement> {
        crate::requires::unmet_requirement(Self::FINGERPRINT, Self::RELATIONS, extents)
    }
}
