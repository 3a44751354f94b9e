//! The block behind a trait object.

use blockwise::prelude::*;

trait Waits {
    fn waits(&self);
}
impl Waits for Block<16, 16> {
    fn waits(&self) {
        self.each(|_| 0);
    }
}

#[kernel]
pub fn wrong(block: Block<16, 16>) {
    let hidden: &dyn Waits = &block;
    block.each(|_| hidden.waits());
}

fn main() {}
