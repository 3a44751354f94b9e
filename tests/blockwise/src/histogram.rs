//! Counts of bytes: many threads add to one place.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

/// Straight to global memory.
#[kernel]
#[requires(counts.len() >= 256)]
pub fn safe_histogram_global(block: Block<256>, bytes: &[u8], counts: Counters<u32>) {
    let (first, stride) = (256 * block.x(), 256 * block.grid()[0]);
    block.each(|t| {
        let mut i = first + t.index();
        while i < bytes.len() {
            counts.add(t, bytes[i] as usize, 1);
            i += stride;
        }
    });
}

/// Each block counts in shared memory, and adds its counts to global memory once.
#[kernel]
#[requires(counts.len() >= 256)]
pub fn safe_histogram_shared(
    block: Block<256>,
    #[shared] own: Tile<u32, 1, 256>,
    bytes: &[u8],
    counts: Counters<u32>,
) {
    let own = block.count(own.fill(&block, |_, _| 0));
    let (first, stride) = (256 * block.x(), 256 * block.grid()[0]);
    block.each(|t| {
        let mut i = first + t.index();
        while i < bytes.len() {
            own.add(t, (0, bytes[i] as usize), 1);
            i += stride;
        }
    });
    let own = block.share(own);
    block.each(|t| counts.add(t, t.index(), own.at(0, t.index())));
}
