//! C = alpha · A · B + beta · C on Hopper's tensor cores: f16 and bf16 with A and B stored either way, tf32 and s8 with
//! both along k. Lines of all matrices begin at multiples of 16 bytes, and C's rows have a multiple of 16 bytes.
//!
//! | file | what it is |
//! | --- | --- |
//! | [`first`] | a short product to begin with |
//! | [`product`] | the product: who does what, and in which order |
//! | [`block`] | a block's tile, its shared memory, its place in its cluster |
//! | [`work`] | which cluster computes which steps of which tile |
//! | [`parts`] | sums that a block leaves for another |
//! | [`epilogue`] | from the sums in registers to C |
//! | [`transpose`] | the fast transposes, with what Hopper adds |
//! | `ladder` | the steps towards it, with the feature of that name |

pub mod block;
pub mod epilogue;
pub mod first;
#[cfg(feature = "ladder")]
pub mod ladder;
pub mod parts;
pub mod product;
pub mod transpose;
pub mod work;

/// A product's extents and factors, passed to each kernel by value; where the matrices lie is in the tensor maps.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct HopperGemm {
    pub m: u32,
    pub n: u32,
    /// Columns of A, rows of B; at least 1.
    pub k: u32,
    /// Factor of the product; a whole number if the sums are integers.
    pub alpha: f32,
    /// Factor of what C held before, likewise; C is not read if this is zero.
    pub beta: f32,
    /// Not zero if C's elements are the 32-bit sums, zero if they are of the operands' 16-bit type.
    pub wide: u32,
    /// Rows of tiles that run together.
    pub group: u32,
    /// Bytes that a stage has less than its room, because A or B has fewer lines than a panel.
    pub short: u32,
}

impl HopperGemm {
    /// The tiles of `rows` × `cols` elements of C.
    #[inline(always)]
    fn raster(self, rows: u32, cols: u32) -> tile::Raster {
        tile::Raster { down: self.m.div_ceil(rows), across: self.n.div_ceil(cols), group: self.group }
    }
}
