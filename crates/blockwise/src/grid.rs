//! What the map of an output asks of the grid.

/// What an output asks of the blocks along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// So many: the output has no parts for more, or two blocks would have one part.
    Exactly(usize),
    /// Any number; so many are a good one.
    About(usize),
}

/// What an output asks of the grid, along x, y, z.
pub type Demand = [Axis; 3];

/// A line of blocks along x. Blocks that differ along y or z alone would own the same elements, so there are none.
pub(crate) const fn line(x: Axis) -> Demand {
    [x, Axis::Exactly(1), Axis::Exactly(1)]
}

/// How a slice of `len` elements is divided among blocks. This crate's maps are the only ones: a wrong one would be a race.
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

    /// The grid that it asks for, of blocks of so many threads.
    fn demand(len: usize, threads: usize) -> Demand;
}

/// How a matrix is divided among blocks. This crate's maps are the only ones: a wrong one would be a race.
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

    /// The grid that it asks for.
    fn demand(rows: usize, cols: usize) -> Demand;
}

/// A kernel without `unsafe`, as `#[kernel]` describes it to the host.
///
/// # Safety
/// Whatever arguments of its types a launch passes, it keeps to its own memory.
pub unsafe trait BlockwiseKernel: cuda_std::Kernel {
    /// What the PTX must say of the kernel, too; see [`agreement`](crate::agreement).
    const AGREED: &'static [u64];

    /// What `#[requires(…)]` says, a text for each relation.
    const RELATIONS: &'static [&'static str];

    /// What `#[requires(…)]` says and the extents of the launch's arguments break.
    fn broken(extents: &[crate::Extents]) -> Option<crate::Broken> {
        crate::requires::broken(Self::AGREED, Self::RELATIONS, extents)
    }
}
