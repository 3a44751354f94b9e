//! Generic kernels: one body for several types, tiles and operations. The attribute lists what is compiled.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// An operation without data: the unit types that implement it are listed as types are.
    pub trait Combine<T> {
        fn combine(a: T, b: T) -> T;
    }
    pub struct Add;
    pub struct Larger;
    impl<T: core::ops::Add<Output = T>> Combine<T> for Add {
        fn combine(a: T, b: T) -> T {
            a + b
        }
    }
    impl<T: PartialOrd> Combine<T> for Larger {
        fn combine(a: T, b: T) -> T {
            if a < b { b } else { a }
        }
    }

    /// Combines the rows of each tile of `EDGE` by `EDGE` elements into one.
    #[kernel(T = [f32, u64], OP = [Add, Larger], EDGE = [16, 32])]
    pub fn columns<T: DeviceCopy, OP: Combine<T>, const EDGE: usize>(
        block: Block<EDGE>,
        #[shared] tile: Tile<T, EDGE, EDGE>,
        x: &[T],
        mut y: SliceMut<T>,
    ) {
        let first = block.x() * EDGE * EDGE;
        let filled = tile.fill(&block, |_, (row, col)| x[first + row * EDGE + col]);
        let rows = block.share(filled);
        y.write(&block, |t, _| {
            (1..EDGE).fold(rows.at(0, t.x()), |y, row| OP::combine(y, rows.at(row, t.x())))
        });
    }
}

fn main() -> warpsmith::Result<()> {
    use kernels::{Add, Larger, columns};
    let device = Device::from_environment()?;
    let x: Vec<f32> = (0..2048).map(|i| (i % 100) as f32).collect();
    let on_x = device.upload(&x)?;
    let (mut sums, mut largest) = (device.zeroed::<f32>(128)?, device.zeroed::<f32>(64)?);
    device.scope(|scope| {
        scope.launch(columns::<f32, Add, 16>, (&on_x, &mut sums))?;
        scope.launch(columns::<f32, Larger, 32>, (&on_x, &mut largest))
    })?;
    let (sums, largest) = (device.download(&sums)?, device.download(&largest)?);
    assert_eq!(sums[1], (0..16).map(|row| x[row * 16 + 1]).sum::<f32>());
    assert_eq!(largest[1], (0..32).map(|row| x[row * 32 + 1]).fold(0.0, f32::max));
    println!("{:?} … {:?} …", &sums[..3], &largest[..3]);
    Ok(())
}
