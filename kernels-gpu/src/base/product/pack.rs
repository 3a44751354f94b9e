//! Operands that are not aligned to 16 bytes, copied so that they are: the large tiles then load whole vectors.
//!
//! Loading single elements costs the product 10 to 25 % of its time and more where B is transposed; a copy costs 4 % at 2048³
//! and less the longer each element is used.

use cuda_std::prelude::*;

use tile::Four;

listed! { product_pack }

pub const BLOCK: u32 = 256;

/// A matrix as it lies, and the room for its copy: rows one after the other, in extents that are multiples of 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct Packing {
    pub rows: u32,
    pub cols: u32,
    /// Elements from one row to the next.
    pub ld: u32,
    pub to_rows: u32,
    /// Columns of the copy, a multiple of 4.
    pub to_cols: u32,
}

/// Copies A and then B, with zeros where they end before their copies. Four columns a thread.
///
/// # Safety
/// The matrices are as described; `to` has room for both copies, one after the other, and is aligned to 16 bytes. The grid
/// has, along x, a thread for each four columns of each row of either copy, and two blocks along y. A copy has less than 2³²
/// such fours.
#[kernel]
#[block_dim(256)]
pub unsafe fn product_pack(a: Packing, b: Packing, from_a: *const f32, from_b: *const f32, to: *mut f32) {
    let second = thread::block_idx_y() == 1;
    let (p, from) = if second { (b, from_b) } else { (a, from_a) };
    let to = if second { to.wrapping_add(a.to_rows as usize * a.to_cols as usize) } else { to };
    let across = (p.to_cols / 4).max(1);
    let at = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
    let (row, col) = (at / across, at % across * 4);
    if row >= p.to_rows {
        return;
    }
    let mut four = [0.0; 4];
    for l in 0..4 {
        cuda_std::unroll!(full);
        if row < p.rows && col + (l as u32) < p.cols {
            // SAFETY: the matrix has the element.
            four[l] = unsafe { *from.wrapping_add(row as usize * p.ld as usize + col as usize + l) };
        }
    }
    // SAFETY: the copy has these four, and they are this thread's.
    unsafe { *to.cast::<Four<f32>>().wrapping_add(at as usize) = Four(four) };
}
