//! The same product with its tiles stored column by column: what was a row of 32 banks becomes a column in few.
//!
//! Only the layout's name differs from [`tiled`](super::tiled). Lane (x, y) stores at word `x * EDGE + y`:
//! - Edge 32: the lanes of a warp share y, and their words are 32 apart: one bank, 32 wavefronts, storing and reading B.
//!   One unused word a column makes that 33, odd: no conflict.
//! - Edge 16: a warp spans two rows of the block, so two values of y. Words are 16 apart: two banks for each y, 8
//!   wavefronts. With 17, reading is clean (one row of B at a time), but storing is not: the two rows of lanes meet in
//!   bank 0 (words 0 and 15 · 17 + 1 = 256), 2 wavefronts. One column of padding is the cure for edge 32 only.

use cuda_std::prelude::*;
use tile::{ColumnOrder, ColumnOrderPadded, shared_tile};

use super::tiled::multiply;
use crate::gemm::Gemm;

listed! { matmul_column_16 matmul_column_16_padded matmul_column_32 matmul_column_32_padded }

macro_rules! products {
    ($($doc:literal $name:ident: $edge:literal, $layout:ty;)*) => {$(
        #[doc = $doc]
        ///
        /// # Safety
        #[doc = concat!("`a`, `b` and `c` hold m × k, k × n and m × n elements; blocks are ", $edge, " × ", $edge, ".")]
        #[kernel]
        #[block_dim($edge, $edge)]
        pub unsafe fn $name(p: Gemm, a: &[f32], b: &[f32], c: *mut f32) {
            let tile_a = shared_tile![f32; $edge, $edge; $layout];
            let tile_b = shared_tile![f32; $edge, $edge; $layout];
            // SAFETY: as the contract says.
            unsafe { multiply(p, p.operands(a, b), c, tile_a, tile_b) }
        }
    )*};
}
products! {
    "[`matmul_tiled_16`](fn@super::tiled::matmul_tiled_16) with tiles in column order: 8-way conflicts."
    matmul_column_16: 16, ColumnOrder;
    "[`matmul_column_16`](fn@matmul_column_16) with one unused element a column: 2-way conflicts are left in the stores."
    matmul_column_16_padded: 16, ColumnOrderPadded<1>;
    "[`matmul_tiled_32`](fn@super::tiled::matmul_tiled_32) with tiles in column order: 32-way conflicts."
    matmul_column_32: 32, ColumnOrder;
    "[`matmul_column_32`](fn@matmul_column_32) with one unused element a column: no conflict is left."
    matmul_column_32_padded: 32, ColumnOrderPadded<1>;
}
