//! The request for a product of dense f32 matrices: the argument of all kernels up to the [fast one](crate::product).

use tile::{View, ViewMut};

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
    #[inline(always)]
    pub unsafe fn operands<'a>(&self, a: &'a [f32], b: &'a [f32]) -> (View<'a, f32>, View<'a, f32>) {
        let (m, n, k) = (self.m as usize, self.n as usize, self.k as usize);
        // SAFETY: the caller's promise.
        unsafe { (View::new(a, m, k), View::new(b, k, n)) }
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
