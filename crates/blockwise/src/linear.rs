//! Linear maps: who owns an element is said by three constants, which are checked element by element where a kernel is compiled.

use crate::Thread;
use crate::fingerprint::word;
use crate::grid::{BlockCount, GridRequirement, MatrixMap, SliceMap, line};
use crate::output::Sealed;

/// Of a part of `R` × `C` elements, counted row by row, element `X` · x + `Y` · y + `K` · k is the one that thread (x, y) comes by
/// at its k-th turn; y counts on through z. A map for outputs, and for tiles by [`fill_by`](crate::Tile::fill_by).
///
/// | `Linear` of 1024 elements, for 256 threads | the four elements of thread x |
/// | --- | --- |
/// | `X` = 4, `K` = 1 | neighbours: 4x, 4x + 1, 4x + 2, 4x + 3 |
/// | `X` = 1, `K` = 256 | one of each quarter: x, x + 256, x + 512, x + 768 |
///
/// ```
/// # use blockwise::prelude::*;
/// /// Sums of each four neighbours so far: a thread has all four, and goes from one to the next.
/// #[kernel]
/// #[requires(x.len() == sums.len())]
/// pub fn sums_of_four(block: Block<256>, x: &[u32], mut sums: SliceMut<u32, Linear<1, 1024, 4, 0, 1>>) {
///     sums.write(&block, |_, i| x[i / 4 * 4..=i].iter().sum());
/// }
/// ```
/// Constants by which an element has two owners, or none, do not compile. Here each thread has three of its neighbour's:
///
/// ```compile_fail,E0080
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, mut to: SliceMut<u32, Linear<1, 1024, 1, 0, 1>>) {
/// to.write(&block, |_, i| i as u32);
/// # }
/// ```
pub struct Linear<const R: usize, const C: usize, const X: usize, const Y: usize, const K: usize>;

/// The constants of a linear map, in their order.
pub type Constants = [usize; 5];

/// The largest part: the check goes through all of its elements.
const MOST: usize = 1 << 16;

/// Refuses constants by which not every element has one owner among a block's threads.
pub const fn is_one_to_one([rows, cols, of_x, of_y, of_turn]: Constants, [w, h, d]: [u32; 3]) {
    let (len, [w, h]) = (rows * cols, [w as usize, h as usize * d as usize]);
    assert!(len > 0 && len <= MOST, "the part of a linear map has 1 to 65536 elements");
    assert!(
        len.is_multiple_of(w * h),
        "a linear map gives each thread of the block the same number of elements"
    );
    let mut owned = [0_u64; MOST / 64];
    let mut number = 0;
    while number < len {
        let (x, y, turn) = (number % w, number / w % h, number / (w * h));
        let element = of_x * x + of_y * y + of_turn * turn;
        assert!(element < len, "the constants of a linear map lead out of its part");
        let bit = 1 << (element % 64);
        assert!(owned[element / 64] & bit == 0, "the constants of a linear map give an element two owners");
        owned[element / 64] |= bit;
        number += 1;
    }
}

/// Calls `visit` with each element (row, column) that is this thread's own.
#[inline(always)]
pub(crate) fn elements<
    const R: usize,
    const C: usize,
    const X: usize,
    const Y: usize,
    const K: usize,
    const W: usize,
    const H: usize,
    const D: usize,
>(
    t: Thread<'_, W, H, D>,
    mut visit: impl FnMut(usize, usize),
) {
    // As many places as elements, each inside and none twice: each element has one owner.
    const { is_one_to_one([R, C, X, Y, K], [W as u32, H as u32, D as u32]) }
    let first = X * t.x() + Y * (t.y() + H * t.z());
    for turn in 0..R * C / (W * H * D) {
        let element = first + K * turn;
        visit(element / C, element % C);
    }
}

impl<const R: usize, const C: usize, const X: usize, const Y: usize, const K: usize> Sealed
    for Linear<R, C, X, Y, K>
{
}

impl<const R: usize, const C: usize, const X: usize, const Y: usize, const K: usize> SliceMap
    for Linear<R, C, X, Y, K>
{
    // What a thread owns of the block's part decides nothing on the host.
    const NUMBERS: [u64; 3] = [word("Linear"), R as u64, C as u64];
    const LINEAR: Option<Constants> = Some([R, C, X, Y, K]);

    fn grid_requirement(len: usize, _: usize) -> GridRequirement {
        line(BlockCount::Exactly(len.div_ceil(R * C)))
    }
}

impl<const R: usize, const C: usize, const X: usize, const Y: usize, const K: usize> MatrixMap
    for Linear<R, C, X, Y, K>
{
    const NUMBERS: [u64; 3] = [word("Linear"), R as u64, C as u64];
    const LINEAR: Option<Constants> = Some([R, C, X, Y, K]);

    fn grid_requirement(rows: usize, cols: usize) -> GridRequirement {
        [BlockCount::Exactly(cols.div_ceil(C)), BlockCount::Exactly(rows.div_ceil(R)), BlockCount::Exactly(1)]
    }
}

#[cfg(test)]
mod tests {
    use super::is_one_to_one;

    #[test]
    fn constants_that_give_each_element_one_owner_are_accepted() {
        is_one_to_one([1, 1024, 4, 0, 1], [256, 1, 1]);
        is_one_to_one([1, 1024, 1, 0, 256], [256, 1, 1]);
        is_one_to_one([32, 32, 1, 32, 256], [32, 8, 1]);
        // A thread down a column, four rows each.
        is_one_to_one([32, 32, 1, 128, 32], [32, 8, 1]);
        is_one_to_one([4, 6, 1, 6, 3], [3, 2, 2]);
    }

    #[test]
    fn others_are_refused() {
        for (constants, block, said) in [
            ([1, 1024, 1, 0, 1], [256, 1, 1], "two owners"),
            ([1, 1024, 4, 0, 0], [256, 1, 1], "two owners"),
            ([1, 1024, 5, 0, 1], [256, 1, 1], "lead out"),
            ([1, 1000, 4, 0, 1], [256, 1, 1], "the same number"),
            ([0, 32, 1, 0, 1], [32, 1, 1], "1 to 65536"),
            // Blocks that differ along z alone.
            ([1, 64, 1, 0, 32], [32, 1, 2], "two owners"),
        ] {
            let refused = std::panic::catch_unwind(|| is_one_to_one(constants, block)).unwrap_err();
            let refused = refused.downcast_ref::<&str>().unwrap();
            assert!(refused.contains(said), "{constants:?}: {refused}");
        }
    }
}
