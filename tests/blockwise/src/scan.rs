//! Sums of all elements before each one, of any length: a block scans its part, the parts' totals are scanned in turn, and each
//! part adds what came before it.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// Inclusive and exclusive sums of each part of 256, and the totals of the parts.
#[kernel]
pub fn safe_scan_parts(
    block: Block<256>,
    #[shared] mut scratch: Scratch<u32>,
    x: &[u32],
    mut inclusive: SliceMut<u32, Part<256>>,
    mut exclusive: SliceMut<u32, Part<256>>,
    mut totals: SliceMut<u32, Part<1>>,
) {
    let first = 256 * block.x();
    let values = block.each(|t| x.get(first + t.index()).copied().unwrap_or(0));
    let scan = block.scan(&mut scratch, &values, 0, |a, b| a + b);
    inclusive.write(&block, |t, _| scan.inclusive.of(t));
    exclusive.write(&block, |t, _| scan.exclusive.of(t));
    totals.write(&block, |_, _| scan.total);
}

/// Adds to each part what its place in `before` says.
#[kernel]
pub fn safe_add_before(block: Block<256>, before: &[u32], mut x: SliceMut<u32, Part<256>>) {
    let before = before[block.x()];
    x.update(&block, |_, _, x| x + before);
}
