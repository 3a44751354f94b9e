//! C = alpha · A · B + beta · C for row-major f32 matrices of any shape: A is m × k, B is k × n, C is m × n.
//!
//! | file | what it shows |
//! | --- | --- |
//! | [`naive`] | one multiply-add for two loads from global memory |
//! | [`tiled`] | the same work, each element loaded once a tile: 1/16 or 1/32 of the traffic |
//! | [`dynamic`] | tiles in dynamic shared memory, their edge chosen at launch |
//! | [`column_order`] | tiles stored column by column: the same arithmetic, slowed by bank conflicts |

#[cfg(not(target_feature = "compute_80"))]
pub mod column_order;
#[cfg(not(target_feature = "compute_80"))]
pub mod dynamic;
#[cfg(feature = "ladder")]
pub mod ladder;
#[cfg(not(target_feature = "compute_80"))]
pub mod naive;
pub mod product;
#[cfg(not(target_feature = "compute_80"))]
pub mod tiled;

use tile::ViewMut;

/// Extents and factors of a product, passed to each kernel by value.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct Gemm {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of what C held before; C is not read if this is zero.
    pub beta: f32,
}

impl Gemm {
    /// A · B itself.
    pub fn product(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k, alpha: 1.0, beta: 0.0 }
    }

    /// A and B as matrices.
    ///
    /// # Safety
    /// The slices hold m × k and k × n elements.
    #[cfg(not(target_feature = "compute_80"))]
    #[inline(always)]
    unsafe fn operands<'a>(&self, a: &'a [f32], b: &'a [f32]) -> (tile::View<'a, f32>, tile::View<'a, f32>) {
        let (m, n, k) = (self.m as usize, self.n as usize, self.k as usize);
        // SAFETY: the caller's promise.
        unsafe { (tile::View::new(a, m, k), tile::View::new(b, k, n)) }
    }

    /// Writes one element of C from its sum of products, if C has that element.
    ///
    /// # Safety
    /// C holds m × n elements, and no other thread touches this one.
    #[inline(always)]
    pub unsafe fn store(&self, c: *mut f32, row: usize, col: usize, sum: f32) {
        // SAFETY: the kernels' contract gives C m × n elements, and one thread computes each.
        unsafe {
            let c = ViewMut::new(c, self.m as usize, self.n as usize);
            if c.contains(row, col) {
                let before = if self.beta == 0.0 { 0.0 } else { self.beta * c.read(row, col) };
                c.set(row, col, self.alpha * sum + before);
            }
        }
    }
}
