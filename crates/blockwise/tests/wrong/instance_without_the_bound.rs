//! An instance that lacks what the kernel asks for.

use blockwise::prelude::*;

pub trait Combine {
    fn combine(a: f32, b: f32) -> f32;
}
pub struct Add;
impl Combine for Add {
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
}
pub struct Larger;

#[kernel(OP = [Add, Larger])]
pub fn wrong<OP: Combine>(block: Block<256>, x: &[f32], mut y: SliceMut<f32>) {
    y.write(&block, |_, i| OP::combine(x[i], 1.0));
}

fn main() {}
