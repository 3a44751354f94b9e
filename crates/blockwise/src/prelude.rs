//! What kernels use: `use blockwise::prelude::*;`.

pub use crate::{
    Block, ColumnOrder, ColumnOrderPadded, Counters, Dynamic, Matrix, MatrixMut, Mirrored, OneEach, Padded,
    Part, PerThread, Plain, Registers, Rows, Scratch, SliceMut, Strided, Swizzled, Thread, Tile, Tiles,
    Turned, Warp,
};
pub use cuda_std::{GpuFloat, kernel, unroll};
