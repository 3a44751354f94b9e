//! The owner of each element of a tile: one thread.

use crate::Thread;

/// Calls `visit` with each element (row, column) of a `ROWS` × `COLS` tile that is this thread's own: or with each `V`
/// neighbours of a row, of which there are `COLS` / `V`.
///
/// Where the block is as wide as the tile, a thread stays in its column. Else elements are dealt in order. Both ways are
/// one-to-one: element (r, c) belongs to thread (c, r mod `H`), or to thread (r · `COLS` + c) mod the number of threads.
#[inline(always)]
pub(crate) fn elements<
    const ROWS: usize,
    const COLS: usize,
    const V: usize,
    const W: usize,
    const H: usize,
    const D: usize,
>(
    t: Thread<'_, W, H, D>,
    mut visit: impl FnMut(usize, usize),
) {
    const { assert!(COLS.is_multiple_of(V), "rows are whole groups of neighbours") }
    if COLS / V == W && D == 1 && ROWS.is_multiple_of(H) {
        for part in 0..ROWS / H {
            visit(part * H + t.y(), t.x());
        }
    } else if (ROWS * COLS / V).is_multiple_of(W * H * D) {
        for part in 0..ROWS * COLS / V / (W * H * D) {
            let i = part * (W * H * D) + t.index();
            visit(i / (COLS / V), i % (COLS / V));
        }
    } else {
        let mut i = t.index();
        while i < ROWS * COLS / V {
            visit(i / (COLS / V), i % (COLS / V));
            i += W * H * D;
        }
    }
}
