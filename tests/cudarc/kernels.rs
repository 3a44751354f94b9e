//! Kernels that programs on cudarc launch.

/// Kernels of the test programs.
#[warpsmith::device]
pub mod kernels {
    use warpsmith::kernel::*;

    /// `to[i] = 2 * from[i]`.
    #[kernel]
    pub fn double(block: Block<256>, from: &[f32], mut to: SliceMut<f32>) {
        to.write(&block, |_, i| 2.0 * from[i]);
    }

    /// The sum of each row of `from`, in each of its places.
    #[kernel]
    #[requires(from.rows() == to.rows(), from.cols() == to.cols())]
    pub fn row_sums(block: Block<64>, from: Matrix<f32>, mut to: MatrixMut<f32, Rows>) {
        let sum = from.row(block.x()).iter().fold(0.0, |sum, x| sum + x);
        to.write(&block, |_, _| sum);
    }

    /// `to[i] += 1`.
    ///
    /// # Safety
    /// `to` has `len` elements.
    #[kernel]
    pub unsafe fn increment(to: *mut f32, len: u32) {
        let i = thread::index_1d();
        if i < len {
            // SAFETY: the caller's promise.
            unsafe { *to.add(i as usize) += 1.0 };
        }
    }
}
