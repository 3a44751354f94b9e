//! A tile with a rim: each thread reads its neighbours' elements.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// The mean of each element and its four neighbours; what is outside counts as zero.
    #[kernel]
    #[requires(from.rows() == to.rows(), from.cols() == to.cols())]
    pub fn smooth(
        block: Block<16, 16>,
        #[shared] tile: Tile<f32, 18, 18>,
        from: Matrix<f32>,
        mut to: MatrixMut<f32, Tiles<16, 16>>,
    ) {
        let (row, col) = (block.y() * 16, block.x() * 16);
        // Before row or column 0 there is the largest number, which is outside, too.
        let filled = tile
            .fill(&block, |_, (y, x)| from.get_or((row + y).wrapping_sub(1), (col + x).wrapping_sub(1), 0.0));
        let tile = block.share(filled);
        to.write(&block, |_, (y, x)| {
            let beside =
                tile.at(y, x + 1) + tile.at(y + 2, x + 1) + tile.at(y + 1, x) + tile.at(y + 1, x + 2);
            (tile.at(y + 1, x + 1) + beside) / 5.0
        });
    }
}

fn main() -> warpsmith::Result<()> {
    let (rows, cols) = (40, 50);
    let elements: Vec<f32> = (0..rows * cols).map(|i| (i % 13) as f32).collect();
    let device = Device::from_environment()?;
    let from = device.upload_matrix(&elements, rows, cols)?;
    let mut to = device.upload_matrix(&vec![0.0f32; rows * cols], rows, cols)?;
    device.scope(|scope| scope.launch(kernels::smooth, (&from, &mut to)))?;
    let smooth = device.download(&to)?;
    let at = |row: usize, col: usize| {
        if row < rows && col < cols { elements[row * cols + col] } else { 0.0 }
    };
    for (i, mean) in smooth.iter().enumerate() {
        let (row, col) = (i / cols, i % cols);
        let rim =
            at(row.wrapping_sub(1), col) + at(row + 1, col) + at(row, col.wrapping_sub(1)) + at(row, col + 1);
        assert!((mean - (at(row, col) + rim) / 5.0).abs() < 1e-5);
    }
    println!("{:?} …", &smooth[..3]);
    Ok(())
}
