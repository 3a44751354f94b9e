//! A table that is filled diagonal by diagonal: cells of one diagonal depend on the two before.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// The table by which two sequences are aligned: each cell is the best of its neighbours above, to the left and both, with a gap or
/// the score of the pair (Rodinia, "nw"). A launch fills the tiles of a diagonal from `before`, and keeps the others.
///
/// A warp goes through its tile by diagonals, too: lane x has column x, and is a step behind the lane before it, whose last cell it
/// gets by a shuffle.
#[kernel]
#[requires(before.rows() == table.rows(), before.cols() == table.cols())]
pub fn safe_align(
    block: Block<32>,
    diagonal: u32,
    gap: i32,
    scores: Matrix<i32>,
    before: Matrix<i32>,
    mut table: MatrixMut<i32, Tiles<32, 32>>,
) {
    let (row, col) = (block.y() * 32, block.x() * 32);
    if block.x() + block.y() != diagonal as usize {
        table.write(&block, |_, (y, x)| before.at(row + y, col + x));
        return;
    }
    // The cell above and to the left of (row, col): around the table there are gaps alone.
    let beside = |row: usize, col: usize| {
        if row == 0 || col == 0 { gap * (row + col) as i32 } else { before.get_or(row - 1, col - 1, 0) }
    };
    let mut last = block.each(|_| 0);
    let mut left_before = block.each(|_| 0);
    for step in 0..63 {
        let from_left = block.warps(|warp| warp.before(&last, 1));
        let left = block.each(|t| if t.x() == 0 { beside(row + step + 1, col) } else { from_left.of(t) });
        last.update(&block, |t, last| {
            let (y, x) = (step.wrapping_sub(t.x()), t.x());
            if y < 32 {
                let up = if y == 0 { beside(row, col + x + 1) } else { *last };
                let both = if x == 0 || y == 0 { beside(row + y, col + x) } else { left_before.of(t) };
                let pair = both + scores.get_or(row + y, col + x, 0);
                *last = pair.max(up + gap).max(left.of(t) + gap);
            }
        });
        table.write_some(&block, |t, (y, x)| (y + x == step).then(|| last.of(t)));
        left_before = left;
    }
}
