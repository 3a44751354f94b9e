//! Coalescing and banks: rows are read, rows are written, and the turn happens in a tile whose columns lie in different banks.

use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// With `Plain` in place of `Padded<1>` a column of the tile is one bank, and each read of it takes 32 wavefronts.
    #[kernel]
    #[requires(from.rows() == to.cols(), from.cols() == to.rows())]
    pub fn transpose(
        block: Block<32, 8>,
        #[shared] tile: Tile<f32, 32, 32, Padded<1>>,
        from: Matrix<f32>,
        mut to: MatrixMut<f32, Mirrored<32, 32>>,
    ) {
        let (row, col) = (block.y() * 32, block.x() * 32);
        let filled = tile.fill(&block, |_, (y, x)| from.get_or(row + y, col + x, 0.0));
        let tile = block.share(filled);
        to.write(&block, |_, (y, x)| tile.at(x, y));
    }
}

fn main() -> warpsmith::Result<()> {
    let (rows, cols) = (100, 70);
    let elements: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
    let device = Device::from_environment()?;
    let from = device.upload_matrix(&elements, rows, cols)?;
    let mut to = device.upload_matrix(&vec![0.0f32; rows * cols], cols, rows)?;
    device.scope(|scope| scope.launch(kernels::transpose, (&from, &mut to)))?;
    let turned = device.download(&to)?;
    for (i, x) in turned.iter().enumerate() {
        assert_eq!(*x, elements[i % rows * cols + i / rows]);
    }
    println!("{rows} × {cols} became {cols} × {rows}: {:?} …", &turned[..3]);
    Ok(())
}
