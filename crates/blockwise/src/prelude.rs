//! What kernels use: `use blockwise::prelude::*;`.

pub use crate::{
    Block, ColumnOrder, ColumnOrderPadded, Matrix, MatrixMut, Mirrored, OneEach, Padded, PerThread, Plain,
    Rows, SliceMut, Strided, Swizzled, Thread, Tile, Tiles,
};
pub use cuda_std::{GpuFloat, kernel};
