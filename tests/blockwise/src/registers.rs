//! C = A · B in registers: a block has 128 × 128 elements of C, a thread 8 × 8 of them, and 16 bytes are moved by one access.
#![forbid(unsafe_code)]

use blockwise::Shared;
use blockwise::prelude::*;

/// Elements along k from row to row: A's tile is stored turned, with four unused elements a row, so that the 32 stores of a
/// warp meet in no bank.
type TileA<P = blockwise::Empty> = Tile<f32, 8, 128, Padded<4>, P>;
type TileB<P = blockwise::Empty> = Tile<f32, 8, 128, Plain, P>;
/// Twice four rows and columns for each of 16 × 16 threads.
type Sums = Registers<128, 128, 8, 8, 4>;

/// C = A · B, one step along k at a time.
#[kernel]
#[requires(a.rows() == c.rows(), a.cols() == b.rows(), b.cols() == c.cols())]
pub fn safe_matmul_registers(
    block: Block<16, 16>,
    #[shared] mut tile_a: TileA,
    #[shared] mut tile_b: TileB,
    a: Matrix<f32>,
    b: Matrix<f32>,
    mut c: MatrixMut<f32, Sums>,
) {
    let (row, col) = (block.y() * 128, block.x() * 128);
    let mut sums = block.each(|_| [[0.0; 8]; 8]);
    let (mut first, depth) = (0, a.cols());
    while first < depth {
        // Each thread asks for both of its fours before it stores either: fours are dealt in order.
        let fours = block.each(|t| {
            let i = t.index();
            (a.four_or(row + i / 2, first / 4 + i % 2, 0.0), b.four_or(first + i / 32, col / 4 + i % 32, 0.0))
        });
        let filled = (
            tile_a.fill_fours_down(&block, |t, _| fours.of(t).0),
            tile_b.fill_fours(&block, |t, _| fours.of(t).1),
        );
        let full = block.share(filled);
        multiply(&block, &mut sums, &full);
        (tile_a, tile_b) = block.reuse(full);
        first += 8;
    }
    c.write(&block, |t, (r, c)| sums.of(t)[r][c]);
}

/// The same with two stages: the copies of the next step run while this one is multiplied.
#[kernel]
#[requires(a.rows() == c.rows(), a.cols() == b.rows(), b.cols() == c.cols())]
pub fn safe_matmul_ahead(
    block: Block<16, 16>,
    #[shared] first_a: TileA,
    #[shared] first_b: TileB,
    #[shared] mut empty_a: TileA,
    #[shared] mut empty_b: TileB,
    a: Matrix<f32>,
    b: Matrix<f32>,
    mut c: MatrixMut<f32, Sums>,
) {
    let (row, col) = (block.y() * 128, block.x() * 128);
    let copy = |tile_a: TileA, tile_b: TileB, first: usize| {
        (
            tile_a.copy_down(&block, &a, |_, (y, x)| (row + x, first + y)),
            tile_b.copy_fours(&block, &b, |_, (y, four)| (first + y, col / 4 + four)),
        )
    };
    let mut sums = block.each(|_| [[0.0; 8]; 8]);
    let mut filling = block.commit(copy(first_a, first_b, 0));
    let (mut first, depth) = (0, a.cols());
    while first < depth {
        let (next, current) = block.commit_after(copy(empty_a, empty_b, first + 8), filling);
        let full = block.share(current);
        multiply(&block, &mut sums, &full);
        (empty_a, empty_b) = block.reuse(full);
        filling = next;
        first += 8;
    }
    c.write(&block, |t, (r, c)| sums.of(t)[r][c]);
}

/// Adds the products of a step: of each k eight elements of A and of B, by two accesses each.
#[inline(always)]
fn multiply(
    block: &Block<16, 16>,
    sums: &mut PerThread<[[f32; 8]; 8]>,
    (a, b): &(TileA<Shared>, TileB<Shared>),
) {
    sums.update(block, |t, sums| {
        for k in 0..8 {
            unroll!(full);
            let a = [a.four(k, t.y()), a.four(k, 16 + t.y())];
            let b = [b.four(k, t.x()), b.four(k, 16 + t.x())];
            for r in 0..8 {
                unroll!(full);
                for c in 0..8 {
                    unroll!(full);
                    sums[r][c] = GpuFloat::mul_add(a[r / 4][r % 4], b[c / 4][c % 4], sums[r][c]);
                }
            }
        }
    });
}
