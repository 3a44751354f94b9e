//! The names that kernels use: `use blockwise::prelude::*;`.

pub use crate::{
    Block, ColumnOrder, ColumnOrderPadded, Counters, DeviceCopy, Dynamic, Linear, Matrix, MatrixMut,
    Mirrored, OneEach, Padded, Part, PerThread, Plain, Registers, Rows, Scratch, SliceMut, Strided, Swizzled,
    Thread, Tile, Tiles, Turned, Walk, Warp,
};
pub use cuda_std::{GpuFloat, kernel, unroll};
