//! An instance that its kernel does not list.

use blockwise::prelude::*;

#[kernel(T = [f32, u32], EDGE = [16, 32])]
pub fn copy<T: DeviceCopy, const EDGE: usize>(block: Block<EDGE>, x: &[T], mut y: SliceMut<T>) {
    y.write(&block, |_, i| x[i]);
}

fn main() {
    let _ = copy::<f32, 16>;
    let _ = copy::<f64, 16>;
    let _ = <copy<u32, 64> as cuda_std::Kernel>::NAME;
}
