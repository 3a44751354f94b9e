//! Primitives by operations that the library does not have.

use cuda_std::prelude::*;
use kernels_gpu::primitives::operation::Operation;

/// The product modulo 65,521.
pub struct Product;

impl Operation<u32> for Product {
    type Value = u32;

    fn identity() -> u32 {
        1
    }
    fn value(element: u32, _: u64) -> u32 {
        element % 65_521
    }
    fn combine(first: u32, second: u32) -> u32 {
        (u64::from(first) * u64::from(second) % 65_521) as u32
    }
}

kernels_gpu::reduction! {
    /// The product of all numbers modulo 65,521.
    product_of_all: u32 as u32, by Product;
}
