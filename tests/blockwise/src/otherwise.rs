//! Kernels that host and device compile differently, by `cfg`: each would be another's memory, were it launched.
#![forbid(unsafe_code)]

use blockwise::prelude::*;

#[cfg(target_os = "cuda")]
type Sums = Part<8>;
#[cfg(not(target_os = "cuda"))]
type Sums = Part<4>;

/// The host's grid has parts of 4 elements, and the kernel's blocks would write 8.
#[kernel]
pub fn safe_other_map(block: Block<32>, mut sums: SliceMut<u32, Sums>) {
    sums.write(&block, |_, i| i as u32);
}

#[cfg(target_os = "cuda")]
type Threads = Block<64>;
#[cfg(not(target_os = "cuda"))]
type Threads = Block<32>;

/// The host's grid is of blocks of 32 threads.
#[kernel]
pub fn safe_other_block(block: Threads, mut out: SliceMut<u32>) {
    out.write(&block, |_, i| i as u32);
}

/// The host has tested nothing, and the kernel reads without a test.
#[cfg(target_os = "cuda")]
#[kernel]
#[requires(from.len() == to.len())]
pub fn safe_other_requirement(block: Block<32>, from: &[u32], mut to: SliceMut<u32>) {
    to.write(&block, |_, i| from[i]);
}

/// The same.
#[cfg(not(target_os = "cuda"))]
#[kernel]
pub fn safe_other_requirement(block: Block<32>, from: &[u32], mut to: SliceMut<u32>) {
    to.write(&block, |_, i| from[i]);
}

#[cfg(target_os = "cuda")]
type Letter = char;
#[cfg(not(target_os = "cuda"))]
type Letter = u32;

/// Not every number is a letter.
#[kernel]
pub fn safe_other_element(block: Block<32>, letters: &[Letter], mut out: SliceMut<Letter>) {
    out.write(&block, |_, i| letters[i % letters.len()]);
}

/// What the expansion of a kernel might take for Rust's own.
pub mod shadowed {
    use blockwise::prelude::*;

    /// An `unchecked_add` by which any slice is long enough.
    #[cfg(target_os = "cuda")]
    mod usize {
        #[allow(dead_code)]
        pub fn unchecked_add(_: core::primitive::usize, _: core::primitive::usize) -> core::primitive::usize {
            1 << 40
        }
    }

    /// Reads far behind the end, which must panic.
    #[kernel]
    #[requires(from.len() >= to.len() + beyond)]
    pub fn safe_reads_beyond(block: Block<32>, beyond: u32, from: &[u32], mut to: SliceMut<u32>) {
        to.write(&block, |_, i| from[i + (1 << 20)] + beyond);
    }

    /// Parameters by the names that the expansion has for the sides of a relation.
    #[kernel]
    #[requires(left.len() == right.len(), right.len() == left.len(), left.len() == to.len())]
    pub fn safe_left_and_right(block: Block<32>, left: &[u32], right: &[u32], mut to: SliceMut<u32>) {
        to.write(&block, |_, i| left[i] + right[i]);
    }
}
