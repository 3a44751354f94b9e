//! Barriers where Rust has more than loops: in futures, in iterators, in what is dropped, in functions that call themselves. All of
//! it stands at the level of the block, so it is right.
#![forbid(unsafe_code)]

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use blockwise::prelude::*;

type Part256 = Tile<u32, 1, 256>;

/// Ready when it is asked for the second time.
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if core::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Each part of 256 turned around, by a future that is interrupted in each phase.
#[kernel]
pub fn safe_future(block: Block<256>, #[shared] tile: Part256, from: &[u32], mut to: SliceMut<u32>) {
    let first = 256 * block.x();
    let mut work = pin!(async {
        let filled = tile.fill(&block, |_, (_, i)| from.get(first + i).copied().unwrap_or(0));
        Later(false).await;
        let shared = block.share(filled);
        Later(false).await;
        block.each(|t| shared.at(0, 255 - t.x()))
    });
    let mut context = Context::from_waker(Waker::noop());
    let turned = loop {
        if let Poll::Ready(turned) = work.as_mut().poll(&mut context) {
            break turned;
        }
    };
    to.write(&block, |t, _| turned.of(t));
}

/// Each value goes to its neighbour at each step, through a tile.
struct Steps<'a> {
    block: &'a Block<256>,
    tile: Option<Part256>,
    own: PerThread<u32>,
}

impl Iterator for Steps<'_> {
    type Item = PerThread<u32>;

    fn next(&mut self) -> Option<PerThread<u32>> {
        let (block, own) = (self.block, self.own);
        let shared = block.share(self.tile.take()?.fill(block, |t, _| own.of(t)));
        self.own = block.each(|t| shared.at(0, (t.x() + 1) % 256));
        self.tile = Some(block.reuse(shared));
        Some(self.own)
    }
}

/// The sum of each element's next `steps` neighbours, around the end of its part.
#[kernel]
pub fn safe_steps(
    block: Block<256>,
    #[shared] tile: Part256,
    steps: u32,
    from: &[u32],
    mut to: SliceMut<u32>,
) {
    let first = 256 * block.x();
    let own = block.each(|t| from.get(first + t.x()).copied().unwrap_or(0));
    let mut sum = block.each(|_| 0);
    for next in (Steps { block: &block, tile: Some(tile), own }).take(steps as usize) {
        sum.update(&block, |t, sum| *sum += next.of(t));
    }
    to.write(&block, |t, _| sum.of(t));
}

/// Moves each value by 2 to the power of each level.
fn moved(block: &Block<256>, tile: Part256, own: PerThread<u32>, levels: u32) -> (Part256, PerThread<u32>) {
    if levels == 0 {
        return (tile, own);
    }
    let shared = block.share(tile.fill(block, |t, _| own.of(t)));
    let next = block.each(|t| shared.at(0, (t.x() + (1 << (levels % 8))) % 256));
    moved(block, block.reuse(shared), next, levels - 1)
}

/// Elements from 2 + 4 + … + 2^levels places further, around the end of their part.
#[kernel]
pub fn safe_recursion(
    block: Block<256>,
    #[shared] tile: Part256,
    levels: u32,
    from: &[u32],
    mut to: SliceMut<u32>,
) {
    let first = 256 * block.x();
    let own = block.each(|t| from.get(first + t.x()).copied().unwrap_or(0));
    let (_, own) = moved(&block, tile, own, levels);
    to.write(&block, |t, _| own.of(t));
}

/// Adds the sum of the block to its counter when it goes.
struct AddsAtTheEnd<'a> {
    block: &'a Block<256>,
    scratch: Scratch<u32>,
    own: PerThread<u32>,
    sums: SliceMut<u32, Part<1>>,
}

impl Drop for AddsAtTheEnd<'_> {
    fn drop(&mut self) {
        let sum = self.block.reduce(&mut self.scratch, &self.own, |a, b| a + b);
        self.sums.write(self.block, |_, _| sum);
    }
}

/// The sums of parts of 256, written on the way out: by a return in the midst where the first element is odd.
#[kernel]
pub fn safe_drop(
    block: Block<256>,
    #[shared] scratch: Scratch<u32>,
    from: &[u32],
    sums: SliceMut<u32, Part<1>>,
) {
    let first = 256 * block.x();
    let own = block.each(|t| from.get(first + t.x()).copied().unwrap_or(0));
    let mut at_the_end = AddsAtTheEnd { block: &block, scratch, own, sums };
    if from[first] % 2 == 1 {
        return;
    }
    at_the_end.own = block.each(|t| 2 * own.of(t));
}
