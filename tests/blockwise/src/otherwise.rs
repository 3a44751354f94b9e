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

#[cfg(target_os = "cuda")]
type Quad = [bool; 4];
#[cfg(not(target_os = "cuda"))]
type Quad = [u8; 4];

/// Not every byte is a truth value.
#[kernel]
pub fn safe_other_array(block: Block<32>, quads: &[Quad], mut out: SliceMut<u32>) {
    out.write(&block, |_, i| quads[i % quads.len()].map(u32::from).iter().sum());
}

/// A number and a truth value; on the device the other way round.
#[cfg(target_os = "cuda")]
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Marked {
    pub is_marked: bool,
    pub number: u8,
}

/// A number and a truth value; on the device the other way round.
#[cfg(not(target_os = "cuda"))]
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Marked {
    pub number: u8,
    pub is_marked: bool,
}

/// The fields of a struct that is passed by value.
#[kernel]
pub fn safe_other_struct(block: Block<32>, marked: Marked, mut out: SliceMut<u32>) {
    out.write(&block, |_, _| u32::from(marked.number) * u32::from(marked.is_marked));
}

#[cfg(target_os = "cuda")]
const LIMIT: usize = 32;
#[cfg(not(target_os = "cuda"))]
const LIMIT: usize = 64;

/// The host's limit is above the kernel's.
#[kernel]
#[requires(from.len() == LIMIT)]
pub fn safe_other_constant(block: Block<32>, from: &[u32], mut to: SliceMut<u32>) {
    to.write(&block, |_, i| from[i % LIMIT]);
}

/// Where a slice lies: never at zero, or `Some(slice)` would be none.
#[kernel]
pub fn safe_place(block: Block<32>, slice: &[u64], mut to: SliceMut<u32>) {
    to.write(&block, |_, _| slice.as_ptr().addr() as u32);
}

/// Names that the expansion of a kernel might take for Rust's own.
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

    /// A name for any extents, by which a test for a pattern would not hold.
    #[allow(dead_code, non_upper_case_globals)]
    const _parameter1: blockwise::Extents = blockwise::Extents::line(7);

    /// A parameter without a name beside one that something is required of.
    #[kernel]
    #[requires(from.len() == to.len())]
    pub fn safe_pair_and_slice(block: Block<32>, (a, b): (u32, u32), from: &[u32], mut to: SliceMut<u32>) {
        to.write(&block, |_, i| from[i] + a + b);
    }
}

/// Constants and types by names that an expansion might have for its own.
pub mod hygiene {
    use blockwise::prelude::*;

    const BLOCK: usize = 64;
    const PARAMETERS: usize = 2;
    const LAYOUT: usize = 32;
    const ARRAY: usize = LAYOUT * PARAMETERS;

    /// A constant named `BLOCK`, as most write it.
    #[kernel]
    #[requires(from.len() <= BLOCK + LAYOUT, from.len() == to.len())]
    pub fn safe_constants(
        block: Block<BLOCK>,
        #[shared] tile: Tile<u32, 1, ARRAY>,
        from: &[u32],
        mut to: SliceMut<u32, Part<ARRAY>>,
    ) {
        let first = block.x() * ARRAY;
        let tile = block.share(tile.fill(&block, |_, (_, i)| from.get(first + i).copied().unwrap_or(0)));
        to.write(&block, |_, i| tile.at(0, ARRAY - 1 - (i - first)));
    }

    /// Names of the expansion's own in former times, for sizes, and kernels by such names.
    pub mod former {
        use blockwise::prelude::*;

        macro_rules! kernels {
            ($($name:ident: $kernel:ident;)*) => {$(
                #[allow(dead_code, non_upper_case_globals)]
                const $name: usize = 32;

                /// A block of a constant's size.
                #[kernel]
                pub fn $kernel(block: Block<$name>, mut to: SliceMut<u32, Part<$name>>) {
                    to.write(&block, |_, i| i as u32 + $name as u32);
                }
            )*};
        }
        kernels! {
            suits: safe_suits;
            FINGERPRINT: safe_fingerprint;
            NAMES: safe_names;
            BOUNDS: safe_bounds;
            BLOCKWISE: safe_blockwise;
            linear: safe_linear;
            extents: safe_extents;
            p0: safe_p0;
            p1: safe_p1;
            value: safe_value;
            left: safe_left;
            right: safe_right;
            shared_array: safe_shared_array;
            __entry: safe_entry;
        }
    }

    /// Types by the names of Rust's own.
    pub mod types {
        #![allow(non_camel_case_types, dead_code, unused_macros)]

        use ::blockwise::{Block, SliceMut, kernel};

        type u32 = ::core::primitive::u8;
        type u64 = ::core::primitive::f32;
        type usize = ();
        type str = ();
        type f32 = ::core::primitive::u32;
        struct Option;
        struct Some;
        struct None;
        struct Default;
        mod core {}
        mod std {}
        mod blockwise {}
        macro_rules! concat {
            () => {};
        }
        macro_rules! assert {
            () => {};
        }

        /// The sum of a byte, an eighth of it, and a number, all by other names.
        #[kernel]
        pub fn safe_other_names(block: Block<32>, byte: u32, number: f32, mut to: SliceMut<f32>) {
            to.write(&block, |_, i| i as f32 + byte as f32 + number);
        }
    }
}
