//! C = A · B in tiles: each element is loaded from global memory once a tile.

use blockwise::prelude::*;

/// Writes the product in tiles of one edge.
macro_rules! tiled {
    ($($name:ident $edge:literal;)*) => {$(
        /// C = A · B
        #[kernel]
        pub fn $name(
            block: Block<$edge, $edge>,
            #[shared] mut tile_a: Tile<f32, $edge, $edge>,
            #[shared] mut tile_b: Tile<f32, $edge, $edge>,
            a: Matrix<f32>,
            b: Matrix<f32>,
            mut c: MatrixMut<f32, Tiles<$edge, $edge>>,
        ) {
            let (row, col) = (block.y() * $edge, block.x() * $edge);
            let mut sum = block.each(|_| 0.0);
            for first in (0..a.cols()).step_by($edge) {
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
            }
            c.write(&block, |t, _| sum.of(t));
        }
    )*};
}
tiled! {
    safe_matmul_tiled_16 16;
    safe_matmul_tiled_32 32;
}
