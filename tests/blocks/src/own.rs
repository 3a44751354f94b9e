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

/// The composition of maps `x -> a x + b` of words: an operation that is not commutative.
pub struct Affine;

impl Operation<u32> for Affine {
    type Value = [u32; 2];

    fn identity() -> [u32; 2] {
        [1, 0]
    }
    fn value(element: u32, index: u64) -> [u32; 2] {
        [element | 1, element.wrapping_add(index as u32)]
    }
    fn combine(first: [u32; 2], second: [u32; 2]) -> [u32; 2] {
        let a = second[0].wrapping_mul(first[0]);
        [a, second[0].wrapping_mul(first[1]).wrapping_add(second[1])]
    }
}

kernels_gpu::scan! {
    /// The composition of all maps so far.
    maps_so_far: u32 as [u32; 2], by Affine;
}

/// Odd numbers.
pub struct Odd;

impl kernels_gpu::primitives::select::Predicate<u32> for Odd {
    fn holds(element: u32) -> bool {
        element % 2 == 1
    }
}

kernels_gpu::selection! {
    /// The odd numbers.
    odd_numbers: u32, by Odd;
}
