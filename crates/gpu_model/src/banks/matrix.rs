//! A matrix in shared memory, with or without padding columns: where its columns lie in the banks.

use serde::Serialize;

use super::BankSystem;

/// A row-major matrix at the start of shared memory; each row is followed by `pad` unused elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Matrix {
    pub rows: u32,
    /// Columns in use.
    pub columns: u32,
    /// Elements between the end of one row and the start of the next.
    pub pad: u32,
    /// Bytes of an element.
    pub bytes: u32,
}

/// A matrix that cannot be laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// No rows or no columns.
    #[error("a matrix of {rows}×{columns} has no elements")]
    Empty {
        /// Rows asked for.
        rows: u32,
        /// Columns asked for.
        columns: u32,
    },
    /// More than any block's shared memory.
    #[error(
        "{rows}×({columns}+{pad}) elements of {bytes} bytes take {total} bytes; a block has {limit} at most"
    )]
    TooLarge {
        /// Rows asked for.
        rows: u32,
        /// Columns asked for.
        columns: u32,
        /// Padding asked for.
        pad: u32,
        /// Bytes of an element.
        bytes: u32,
        /// Bytes of the whole.
        total: u128,
        /// Shared memory of a block on any chip.
        limit: u32,
    },
}

impl Matrix {
    /// The most shared memory that a block of any chip can have.
    pub const LIMIT_BYTES: u32 = 232_448;

    /// Checks that the matrix exists and fits the shared memory of a block.
    pub fn new(rows: u32, columns: u32, pad: u32, bytes: u32) -> Result<Self, MatrixError> {
        if rows == 0 || columns == 0 || bytes == 0 {
            return Err(MatrixError::Empty { rows, columns });
        }
        let total = u128::from(rows) * (u128::from(columns) + u128::from(pad)) * u128::from(bytes);
        if total > u128::from(Self::LIMIT_BYTES) {
            return Err(MatrixError::TooLarge { rows, columns, pad, bytes, total, limit: Self::LIMIT_BYTES });
        }
        Ok(Self { rows, columns, pad, bytes })
    }

    /// Address of an element.
    pub const fn address(&self, row: u32, column: u32) -> u64 {
        (row as u64 * (self.columns as u64 + self.pad as u64) + column as u64) * self.bytes as u64
    }

    /// The bank in which each element begins, row by row.
    pub fn banks(&self, system: &BankSystem) -> Vec<Vec<u32>> {
        let bank =
            |row| (0..self.columns).map(move |column| system.bank(self.address(row, column))).collect();
        (0..self.rows).map(bank).collect()
    }

    /// Lane *i* takes element *i* of a row; lanes beyond it are inactive.
    pub fn row(&self, row: u32, lanes: u32) -> Vec<Option<u64>> {
        (0..lanes).map(|lane| (lane < self.columns).then(|| self.address(row, lane))).collect()
    }

    /// Lane *i* takes row *i* of a column; lanes beyond the last row are inactive.
    pub fn column(&self, column: u32, lanes: u32) -> Vec<Option<u64>> {
        (0..lanes).map(|lane| (lane < self.rows).then(|| self.address(lane, column))).collect()
    }

    /// A warp of a block as tall as the matrix, filling it down its columns: when a column is shorter than the warp,
    /// the lanes go on in the next one.
    pub fn down_the_columns(&self, lanes: u32) -> Vec<Option<u64>> {
        (0..lanes)
            .map(|lane| {
                let column = lane / self.rows;
                (column < self.columns).then(|| self.address(lane % self.rows, column))
            })
            .collect()
    }

    /// The same warp reading one column: lanes of the second column of threads want what those of the first want.
    pub fn one_column_repeated(&self, column: u32, lanes: u32) -> Vec<Option<u64>> {
        (0..lanes).map(|lane| Some(self.address(lane % self.rows, column))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Access, BankMap},
        *,
    };

    fn wavefronts(access: Access, addresses: &[Option<u64>]) -> u32 {
        BankMap::new(&BankSystem::MODERN, access, 4, addresses).cost.wavefronts
    }

    #[test]
    fn one_padding_column_clears_a_column_of_32() {
        let plain = Matrix::new(32, 32, 0, 4).unwrap();
        let padded = Matrix::new(32, 32, 1, 4).unwrap();
        assert_eq!(wavefronts(Access::Load, &plain.column(3, 32)), 32);
        assert_eq!(wavefronts(Access::Load, &padded.column(3, 32)), 1);
        assert_eq!(wavefronts(Access::Load, &plain.row(3, 32)), 1);
        assert_eq!(padded.banks(&BankSystem::MODERN)[1][0], 1);
    }

    /// Column-order tiles of the matmul demo: a 16×16 block's warp spans two columns, so padding leaves two passes.
    #[test]
    fn tiles_of_16_stay_two_way_when_padded() {
        let (plain, padded) = (Matrix::new(16, 16, 0, 4).unwrap(), Matrix::new(16, 16, 1, 4).unwrap());
        assert_eq!(wavefronts(Access::Store, &plain.down_the_columns(32)), 8);
        assert_eq!(wavefronts(Access::Store, &padded.down_the_columns(32)), 2);
        assert_eq!(wavefronts(Access::Load, &plain.one_column_repeated(5, 32)), 8);
        assert_eq!(wavefronts(Access::Load, &padded.one_column_repeated(5, 32)), 1);
        let (plain, padded) = (Matrix::new(32, 32, 0, 4).unwrap(), Matrix::new(32, 32, 1, 4).unwrap());
        assert_eq!(wavefronts(Access::Store, &plain.down_the_columns(32)), 32);
        assert_eq!(wavefronts(Access::Store, &padded.down_the_columns(32)), 1);
    }

    #[test]
    fn impossible_matrices_are_refused() {
        assert!(matches!(Matrix::new(0, 4, 0, 4), Err(MatrixError::Empty { .. })));
        assert!(matches!(Matrix::new(u32::MAX, u32::MAX, u32::MAX, 16), Err(MatrixError::TooLarge { .. })));
    }
}
