//! Tiling: each element of two matrices is loaded from global memory once a tile of their product, not once an element.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// C = A · B. Without `reuse` slow threads could still read a tile that fast ones fill again, and it would not compile.
    #[kernel]
    #[requires(a.rows() == c.rows(), a.cols() == b.rows(), b.cols() == c.cols())]
    pub fn product(
        block: Block<16, 16>,
        #[shared] mut tile_a: Tile<f32, 16, 16>,
        #[shared] mut tile_b: Tile<f32, 16, 16>,
        a: Matrix<f32>,
        b: Matrix<f32>,
        mut c: MatrixMut<f32, Tiles<16, 16>>,
    ) {
        let (row, col) = (block.y() * 16, block.x() * 16);
        let mut sum = block.each(|_| 0.0);
        for first in (0..a.cols()).step_by(16) {
            let filled = (
                tile_a.fill(&block, |_, (y, x)| a.get_or(row + y, first + x, 0.0)),
                tile_b.fill(&block, |_, (y, x)| b.get_or(first + y, col + x, 0.0)),
            );
            let shared = block.share(filled);
            let (a, b) = &shared;
            sum.update(&block, |t, sum| {
                for i in 0..16 {
                    *sum += a.at(t.y(), i) * b.at(i, t.x());
                }
            });
            (tile_a, tile_b) = block.reuse(shared);
        }
        c.write(&block, |t, _| sum.of(t));
    }
}

fn main() -> warpsmith::Result<()> {
    let (m, n, k) = (50, 40, 30);
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32).collect();
    let device = Device::from_environment()?;
    let (on_a, on_b) = (device.upload_matrix(&a, m, k)?, device.upload_matrix(&b, k, n)?);
    let mut on_c = device.upload_matrix(&vec![0.0f32; m * n], m, n)?;
    device.scope(|scope| scope.launch(kernels::product, (&on_a, &on_b, &mut on_c)))?;
    let c = device.download(&on_c)?;
    for (i, element) in c.iter().enumerate() {
        assert_eq!(*element, (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum::<f32>());
    }
    println!("{m} × {k} times {k} × {n}: {:?} …", &c[..3]);
    Ok(())
}
