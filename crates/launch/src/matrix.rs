//! Matrices in device memory that know their extents.

use cust::memory::DeviceCopy;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;

/// A row-major matrix in device memory: what a kernel's `Matrix<T>` and `MatrixMut<T, …>` stand for.
///
/// [`Device::upload_matrix`] makes one, and [`Device::download`] copies its elements to the host, row by row.
pub struct DeviceMatrix<T: DeviceCopy> {
    elements: Buffer<T>,
    rows: u32,
    cols: u32,
}

impl<T: DeviceCopy> DeviceMatrix<T> {
    /// Takes the buffer's elements as a matrix, row by row.
    pub fn from_buffer(elements: Buffer<T>, rows: usize, cols: usize) -> Result<Self, Error> {
        let fits = rows.checked_mul(cols) == Some(elements.len());
        let (Ok(rows_32), Ok(cols_32), true) = (u32::try_from(rows), u32::try_from(cols), fits) else {
            return Err(Error::Extents { rows, cols, elements: elements.len() });
        };
        Ok(Self { elements, rows: rows_32, cols: cols_32 })
    }

    /// Its number of rows.
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Its number of columns.
    pub fn cols(&self) -> usize {
        self.cols as usize
    }

    /// Rows and columns as kernels have them.
    pub(crate) fn extents(&self) -> [u32; 2] {
        [self.rows, self.cols]
    }

    /// Its elements, row by row.
    pub fn elements(&self) -> &Buffer<T> {
        &self.elements
    }

    /// The buffer of its elements.
    pub fn into_buffer(self) -> Buffer<T> {
        self.elements
    }
}

impl<T: DeviceCopy> AsRef<Buffer<T>> for DeviceMatrix<T> {
    fn as_ref(&self) -> &Buffer<T> {
        &self.elements
    }
}

impl Device {
    /// Copies elements to the device as a matrix, row by row.
    pub fn upload_matrix<T: DeviceCopy>(
        &self,
        elements: &[T],
        rows: usize,
        cols: usize,
    ) -> Result<DeviceMatrix<T>, Error> {
        DeviceMatrix::from_buffer(self.upload(elements)?, rows, cols)
    }
}
