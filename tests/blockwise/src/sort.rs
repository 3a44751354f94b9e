//! Sorting in shared memory.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// Sorts each part of 512 keys by a bitonic network: of each pair one thread is the owner.
#[kernel]
pub fn safe_sort_parts(
    block: Block<256>,
    #[shared] tile: Tile<u32, 1, 512>,
    keys: &[u32],
    mut sorted: SliceMut<u32, Part<512>>,
) {
    let first = 512 * block.x();
    let mut filled = tile.fill(&block, |_, (_, i)| keys.get(first + i).copied().unwrap_or(u32::MAX));
    for stage in 1..10 {
        for step in (0..stage).rev() {
            filled = block.exchange(filled, 1 << step, |_, i, (a, b)| {
                let ascending = (i >> stage) % 2 == 0;
                if (a > b) == ascending { (b, a) } else { (a, b) }
            });
        }
    }
    let shared = block.share(filled);
    sorted.write(&block, |_, i| shared.at(0, i - first));
}

/// A pass of a radix sort: the keys of each part of 256 with bit `bit` clear come first, in their order. Where a key goes is
/// computed, so it is added to a place that holds zero, which no other key is added to.
#[kernel]
pub fn safe_radix_pass(
    block: Block<256>,
    #[shared] mut scratch: Scratch<u32>,
    #[shared] places: Tile<u32, 1, 256>,
    bit: u32,
    keys: &[u32],
    mut split: SliceMut<u32, Part<256>>,
) {
    let first = 256 * block.x();
    let key = block.each(|t| keys.get(first + t.index()).copied().unwrap_or(u32::MAX));
    let clear = block.each(|t| 1 - (key.of(t) >> bit) % 2);
    let scan = block.scan(&mut scratch, &clear, 0, |a, b| a + b);
    let places = block.count(places.fill(&block, |_, _| 0));
    block.each(|t| {
        let cleared_before = scan.exclusive.of(t) as usize;
        let set_before = t.index() - cleared_before;
        let place = if clear.of(t) == 1 { cleared_before } else { scan.total as usize + set_before };
        places.add(t, (0, place), key.of(t));
    });
    let places = block.share(places);
    split.write(&block, |_, i| places.at(0, i - first));
}
