//! Matrices in device memory that know their extents.

use cust::memory::DeviceCopy;

use crate::buffer::Buffer;
use crate::buffer_slice::{BufferSlice, BufferSliceMut};
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
        let [rows, cols] = extents(elements.len(), rows, cols)?;
        Ok(Self { elements, rows, cols })
    }

    /// Its number of rows.
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Its number of columns.
    pub fn cols(&self) -> usize {
        self.cols as usize
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

/// Rows and columns as kernels have them, if the elements make such a matrix.
fn extents(elements: usize, rows: usize, cols: usize) -> Result<[u32; 2], Error> {
    let fits = rows.checked_mul(cols) == Some(elements);
    match (u32::try_from(rows), u32::try_from(cols), fits) {
        (Ok(rows), Ok(cols), true) => Ok([rows, cols]),
        _ => Err(Error::Extents { rows, cols, elements }),
    }
}

/// Elements of a slice as a row-major matrix, which launches may read: a kernel's `Matrix<T>`.
#[derive(Clone, Copy)]
pub struct MatrixSlice<'b, T: DeviceCopy> {
    elements: BufferSlice<'b, T>,
    extents: [u32; 2],
}

/// Elements of a slice as a row-major matrix, which launches may write: a kernel's `MatrixMut<T, …>`.
pub struct MatrixSliceMut<'b, T: DeviceCopy> {
    elements: BufferSliceMut<'b, T>,
    extents: [u32; 2],
}

impl<'b, T: DeviceCopy> BufferSlice<'b, T> {
    /// Takes the elements as a matrix, row by row.
    pub fn as_matrix(self, rows: usize, cols: usize) -> Result<MatrixSlice<'b, T>, Error> {
        Ok(MatrixSlice { extents: extents(self.len(), rows, cols)?, elements: self })
    }
}

impl<'b, T: DeviceCopy> BufferSliceMut<'b, T> {
    /// Takes the elements as a matrix, row by row.
    pub fn into_matrix(self, rows: usize, cols: usize) -> Result<MatrixSliceMut<'b, T>, Error> {
        Ok(MatrixSliceMut { extents: extents(self.len(), rows, cols)?, elements: self })
    }
}

impl<'b, T: DeviceCopy> From<&'b DeviceMatrix<T>> for MatrixSlice<'b, T> {
    fn from(matrix: &'b DeviceMatrix<T>) -> Self {
        Self { extents: matrix.sides(), elements: (&matrix.elements).into() }
    }
}

impl<'b, T: DeviceCopy> From<&'b mut DeviceMatrix<T>> for MatrixSliceMut<'b, T> {
    fn from(matrix: &'b mut DeviceMatrix<T>) -> Self {
        Self { extents: matrix.sides(), elements: (&mut matrix.elements).into() }
    }
}

impl<T: DeviceCopy> MatrixSliceMut<'_, T> {
    /// The number of its device.
    pub(crate) fn device(&self) -> usize {
        self.elements.device()
    }

    /// The same matrix, for a shorter borrow.
    pub fn reborrow(&mut self) -> MatrixSliceMut<'_, T> {
        MatrixSliceMut { extents: self.extents, elements: self.elements.reborrow() }
    }
}

/// A matrix as kernels are passed it.
pub(crate) trait Stored {
    /// The address of its first element.
    fn address(&self) -> u64;
    /// Rows and columns.
    fn sides(&self) -> [u32; 2];
}

impl<T: DeviceCopy> Stored for DeviceMatrix<T> {
    fn address(&self) -> u64 {
        self.elements.as_device_ptr().as_raw()
    }

    fn sides(&self) -> [u32; 2] {
        [self.rows, self.cols]
    }
}

macro_rules! stored {
    ($($matrix:ident)*) => {$(
        impl<T: DeviceCopy> Stored for $matrix<'_, T> {
            fn address(&self) -> u64 {
                self.elements.as_device_ptr().as_raw()
            }

            fn sides(&self) -> [u32; 2] {
                self.extents
            }
        }
    )*};
}
stored!(MatrixSlice MatrixSliceMut);
