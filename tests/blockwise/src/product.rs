//! C = A · B in tiles: each element is loaded from global memory once a tile.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// C = A · B, one multiply-add for two loads from global memory.
#[kernel]
#[requires(a.rows() == c.rows(), a.cols() == b.rows(), b.cols() == c.cols())]
pub fn safe_matmul_naive(
    block: Block<16, 16>,
    a: Matrix<f32>,
    b: Matrix<f32>,
    mut c: MatrixMut<f32, Tiles<16, 16>>,
) {
    let (row, col) = (block.y() * 16, block.x() * 16);
    c.write(&block, |_, (y, x)| {
        let mut sum = 0.0;
        for i in 0..a.cols() {
            // LLVM would take eight, and seven more registers.
            unroll!(4);
            sum += a.at(row + y, i) * b.at(i, col + x);
        }
        sum
    });
}

/// Writes the product in tiles of one edge and layout.
macro_rules! tiled {
    ($($(#[$doc:meta])* $name:ident $edge:literal $layout:ty;)*) => {$(
        $(#[$doc])*
        #[kernel]
        pub fn $name(
            block: Block<$edge, $edge>,
            #[shared] mut tile_a: Tile<f32, $edge, $edge, $layout>,
            #[shared] mut tile_b: Tile<f32, $edge, $edge, $layout>,
            a: Matrix<f32>,
            b: Matrix<f32>,
            mut c: MatrixMut<f32, Tiles<$edge, $edge>>,
        ) {
            let (row, col) = (block.y() * $edge, block.x() * $edge);
            let mut sum = block.each(|_| 0.0);
            let (mut first, depth) = (0, a.cols());
            while first < depth {
                let filled = (
                    tile_a.fill(&block, |_, (y, x)| a.get_or(row + y, first + x, 0.0)),
                    tile_b.fill(&block, |_, (y, x)| b.get_or(first + y, col + x, 0.0)),
                );
                let shared = block.share(filled);
                let (a, b) = &shared;
                sum.update(&block, |t, sum| {
                    for i in 0..$edge {
                        *sum += a.at(t.y(), i) * b.at(i, t.x());
                    }
                });
                (tile_a, tile_b) = block.reuse(shared);
                first += $edge;
            }
            c.write(&block, |t, _| sum.of(t));
        }
    )*};
}
tiled! {
    /// C = A · B in tiles of 16 × 16.
    safe_matmul_tiled_16 16 Plain;
    /// C = A · B in tiles of 32 × 32.
    safe_matmul_tiled_32 32 Plain;
    /// C = A · B in tiles that lie column by column: lanes of a row meet in banks.
    safe_matmul_column_order_16 16 ColumnOrder;
    /// The same, with an unused element after each column.
    safe_matmul_column_order_padded_16 16 ColumnOrderPadded<1>;
}

/// C = A · B in tiles that are as deep as the launch chooses: 16 rows of A and 16 columns of B.
#[kernel]
#[requires(a.rows() == c.rows(), a.cols() == b.rows(), b.cols() == c.cols(), 0 < depth)]
pub fn safe_matmul_dynamic(
    block: Block<16, 16>,
    #[shared] memory: Dynamic<f32>,
    depth: u32,
    a: Matrix<f32>,
    b: Matrix<f32>,
    mut c: MatrixMut<f32, Tiles<16, 16>>,
) {
    let (row, col, depth) = (block.y() * 16, block.x() * 16, depth as usize);
    let (mut tile_a, rest) = memory.tile(16, depth);
    let (mut tile_b, _) = rest.tile(depth, 16);
    let mut sum = block.each(|_| 0.0);
    let mut first = 0;
    while first < a.cols() {
        let filled = tile_a.fill_both(
            tile_b,
            &block,
            |_, (y, x)| a.get_or(row + y, first + x, 0.0),
            |_, (y, x)| b.get_or(first + y, col + x, 0.0),
        );
        let shared = block.share(filled);
        let (from_a, from_b) = &shared;
        sum.update(&block, |t, sum| {
            from_a.along(t.y()).zip(from_b.down(t.x())).for_each(|(a, b)| *sum += a * b);
        });
        (tile_a, tile_b) = block.reuse(shared);
        first += depth;
    }
    c.write(&block, |t, _| sum.of(t));
}
