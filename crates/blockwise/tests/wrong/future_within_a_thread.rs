//! Some threads poll a future that waits at a barrier.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Waker};

use blockwise::prelude::*;

#[kernel]
pub fn wrong(block: Block<256>) {
    block.each(|t| {
        let mut waits = pin!(async {
            block.each(|_| 0);
        });
        if t.x() < 7 {
            let _ = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    });
}

fn main() {}
