//! Matrices in device memory that know their extents.

use cust::memory::{DeviceBuffer, DeviceCopy};

use crate::error::{Doing, Error};

/// A row-major matrix in device memory: what a kernel's `Matrix<T>` and `MatrixMut<T, …>` stand for.
pub struct DeviceMatrix<T: DeviceCopy> {
    elements: DeviceBuffer<T>,
    rows: u32,
    cols: u32,
}

impl<T: DeviceCopy> DeviceMatrix<T> {
    /// Takes the buffer's elements as a matrix, row by row.
    pub fn from_buffer(elements: DeviceBuffer<T>, rows: usize, cols: usize) -> Result<Self, Error> {
        let fits = rows.checked_mul(cols) == Some(elements.len());
        let (Ok(rows_32), Ok(cols_32), true) = (u32::try_from(rows), u32::try_from(cols), fits) else {
            return Err(Error::Extents { rows, cols, elements: elements.len() });
        };
        Ok(Self { elements, rows: rows_32, cols: cols_32 })
    }

    /// Copies the host's elements to the device as a matrix, row by row.
    pub fn from_slice(elements: &[T], rows: usize, cols: usize) -> Result<Self, Error> {
        Self::from_buffer(
            DeviceBuffer::from_slice(elements).doing("copy a matrix to the device")?,
            rows,
            cols,
        )
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// How many columns it has.
    pub fn cols(&self) -> usize {
        self.cols as usize
    }

    /// Rows and columns as kernels have them.
    pub(crate) fn extents(&self) -> [u32; 2] {
        [self.rows, self.cols]
    }

    /// Its elements, row by row.
    pub fn elements(&self) -> &DeviceBuffer<T> {
        &self.elements
    }

    /// Its elements on the host, row by row.
    pub fn to_vec(&self) -> Result<Vec<T>, Error>
    where
        T: Default,
    {
        self.elements.as_host_vec().doing("copy a matrix to the host")
    }

    /// The buffer of its elements.
    pub fn into_buffer(self) -> DeviceBuffer<T> {
        self.elements
    }
}
