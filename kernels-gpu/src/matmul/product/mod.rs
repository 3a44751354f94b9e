//! The fast f32 product: C = alpha · op(A) · op(B) + beta · C for any extents, leading dimensions, alignments and
//! transpositions.
//!
//! It is limited by the issue of instructions, not by memory: a quarter of a multiprocessor issues one instruction a
//! cycle, so every load, copy and addition takes the slot of a multiply-add. A kernel is put together from blocks:
//!
//! | file | block |
//! | --- | --- |
//! | [`operand`] | what a piece of A or B is, in global memory and in shared memory, there always as rows of equal k |
//! | [`straight`], [`turned`] | how it comes from the one to the other |
//! | [`tile`] | which elements of C a block, a warp and a thread compute, and the order of their multiply-adds |
//! | [`pipeline`] | the ring of stages that keeps loads three steps ahead of the arithmetic |
//! | [`epilogue`] | alpha, beta and the stores |
//! | [`parts`] | the sum over the parts of K, where K is split |
//! | [`pack`] | copies of operands that are not aligned |
//! | [`thin`] | products of so few rows or columns that they are limited by memory after all, without tiles |
//! | [`access`] | the loads, stores and copies themselves, as PTX |
//!
//! **Edges cost nothing in the loop.** Lines beyond m or n are not left out but repeat others, and their sums are never
//! stored. A K that is no multiple of the step is padded with zeros at its front, so that only
//! the first step of all is guarded.

pub mod access;
pub mod epilogue;
pub mod operand;
#[cfg(not(target_feature = "compute_80"))]
pub mod pack;
#[cfg(not(target_feature = "compute_80"))]
pub mod parts;
pub mod pipeline;
pub mod straight;
#[cfg(not(target_feature = "compute_80"))]
pub mod thin;
pub mod tile;
pub mod turned;

use tile::Tile;

/// Extents, leading dimensions and factors of a product of row-major matrices, passed to each kernel by value.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "host", derive(cust_core::DeviceCopy))]
pub struct Product {
    /// Rows of op(A) and C.
    pub m: u32,
    /// Columns of op(B) and C.
    pub n: u32,
    /// Columns of op(A), rows of op(B).
    pub k: u32,
    /// Elements from one row of A, as it is stored, to the next.
    pub lda: u32,
    /// Elements from one row of B, as it is stored, to the next.
    pub ldb: u32,
    /// Elements from one row of C to the next.
    pub ldc: u32,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of what C held before; C is not read if this is zero.
    pub beta: f32,
}

/// 128 × 256 elements of C for a block of 256 threads, 16 × 8 for a thread: the fewest loads for a multiply-add.
pub type Large = Tile<16, 8, 2, 4>;
/// 64 × 64 elements of C for a block of 128 threads, 8 × 4 for a thread: for a C that has few tiles.
pub type Small = Tile<8, 4, 2, 2>;
/// 64 × 128 elements of C for a block of 128 threads, 8 × 8 for a thread: nearly as few loads, and a quarter of the elements.
pub type Middle = Tile<8, 8, 2, 2>;
/// 128 × 32 elements of C for a block of 128 threads: for a C of few columns.
pub type Tall = Tile<8, 4, 4, 1>;
/// 32 × 128 elements of C for a block of 128 threads: for a C of few rows.
pub type Wide = Tile<8, 4, 1, 4>;

/// Stages of the ring where copies are asynchronous.
pub const STAGES: usize = 4;
/// Stages where a thread holds what it copies: one is read while the other is filled.
pub const STAGES_HELD: usize = 2;

/// Writes one kernel for each pair of operands.
macro_rules! kernels {
    ($tile:ident $threads:literal $stages:ident $vector:literal: $(
        $(#[$doc:meta])* $name:ident $a:ident $b:ident $order:literal;
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `a`, `b` and `c` hold op(A), op(B) and C as `p` describes them; `large` and `middle` that are not `any` want
        /// all three and their leading dimensions aligned to 16 bytes, and the contiguous extent of each to be a multiple
        /// of 4. The grid has a block along x for each tile of C, and as many along y as K is split into; if that is more than
        /// one, `c` holds as many matrices of m × ldc elements, one after the other, all rows aligned to 16 bytes and padded
        /// to a multiple of 4.
        #[kernel]
        #[block_dim($threads)]
        pub unsafe fn $name(
            p: Product,
            a: *const f32,
            b: *const f32,
            c: *mut f32,
        ) {
            type A = $a<{ $tile::M }, { $tile::THREADS }, $vector>;
            type B = $b<{ $tile::N }, { $tile::THREADS }, $vector>;
            // SAFETY: as the contract says.
            unsafe { $tile::product::<A, B, $stages, $vector, $order>(p, a, b, c) }
        }
    )*};
}

/// Large tiles, operands aligned to 16 bytes.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod large {
    use super::straight::Straight;
    use super::turned::Turned;
    use super::{Large, Product, STAGES};
    use cuda_std::prelude::*;

    kernels! {
        Large 256 STAGES true:
        /// A · B in large tiles.
        product_large_nn Turned Straight 1;
        /// A · Bᵀ in large tiles.
        product_large_nt Turned Turned 2;
        /// Aᵀ · B in large tiles.
        product_large_tn Straight Straight 3;
        /// Aᵀ · Bᵀ in large tiles.
        product_large_tt Straight Turned 4;
    }
}

/// Small tiles, any alignment, on every device: no asynchronous copies.
#[cfg(not(target_feature = "compute_80"))]
pub mod portable {
    use super::straight::StraightHeld;
    use super::turned::Turned;
    use super::{Product, STAGES_HELD, Small};
    use cuda_std::prelude::*;

    kernels! {
        Small 128 STAGES_HELD false:
        /// A · B in small tiles, any alignment, on any device.
        product_portable_nn Turned StraightHeld 0;
        /// A · Bᵀ in small tiles, any alignment, on any device.
        product_portable_nt Turned Turned 0;
        /// Aᵀ · B in small tiles, any alignment, on any device.
        product_portable_tn StraightHeld StraightHeld 0;
        /// Aᵀ · Bᵀ in small tiles, any alignment, on any device.
        product_portable_tt StraightHeld Turned 0;
    }
}

/// Middle tiles, operands aligned to 16 bytes.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod middle {
    use super::straight::Straight;
    use super::turned::TurnedCopied;
    use super::{Middle, Product, STAGES};
    use cuda_std::prelude::*;

    kernels! {
        Middle 128 STAGES true:
        /// A · B in middle tiles.
        product_middle_nn TurnedCopied Straight 0;
        /// A · Bᵀ in middle tiles.
        product_middle_nt TurnedCopied TurnedCopied 0;
        /// Aᵀ · B in middle tiles.
        product_middle_tn Straight Straight 0;
        /// Aᵀ · Bᵀ in middle tiles.
        product_middle_tt Straight TurnedCopied 0;
    }
}

/// Middle tiles, any alignment.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod middle_any {
    use super::straight::Straight;
    use super::turned::TurnedCopied;
    use super::{Middle, Product, STAGES};
    use cuda_std::prelude::*;

    kernels! {
        Middle 128 STAGES false:
        /// A · B in middle tiles, any alignment.
        product_middle_any_nn TurnedCopied Straight 0;
        /// A · Bᵀ in middle tiles, any alignment.
        product_middle_any_nt TurnedCopied TurnedCopied 0;
        /// Aᵀ · B in middle tiles, any alignment.
        product_middle_any_tn Straight Straight 0;
        /// Aᵀ · Bᵀ in middle tiles, any alignment.
        product_middle_any_tt Straight TurnedCopied 0;
    }
}

/// Small tiles, any alignment.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod small {
    use super::straight::Straight;
    use super::turned::TurnedCopied;
    use super::{Product, STAGES, Small};
    use cuda_std::prelude::*;

    kernels! {
        Small 128 STAGES false:
        /// A · B in small tiles, any alignment.
        product_small_nn TurnedCopied Straight 0;
        /// A · Bᵀ in small tiles, any alignment.
        product_small_nt TurnedCopied TurnedCopied 0;
        /// Aᵀ · B in small tiles, any alignment.
        product_small_tn Straight Straight 0;
        /// Aᵀ · Bᵀ in small tiles, any alignment.
        product_small_tt Straight TurnedCopied 0;
    }
}

/// Tall tiles, any alignment.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod tall {
    use super::straight::Straight;
    use super::turned::TurnedCopied;
    use super::{Product, STAGES, Tall};
    use cuda_std::prelude::*;

    kernels! {
        Tall 128 STAGES false:
        /// A · B in tall tiles, any alignment.
        product_tall_nn TurnedCopied Straight 0;
        /// A · Bᵀ in tall tiles, any alignment.
        product_tall_nt TurnedCopied TurnedCopied 0;
        /// Aᵀ · B in tall tiles, any alignment.
        product_tall_tn Straight Straight 0;
        /// Aᵀ · Bᵀ in tall tiles, any alignment.
        product_tall_tt Straight TurnedCopied 0;
    }
}

/// Wide tiles, any alignment.
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_80"))]
pub mod wide {
    use super::straight::Straight;
    use super::turned::TurnedCopied;
    use super::{Product, STAGES, Wide};
    use cuda_std::prelude::*;

    kernels! {
        Wide 128 STAGES false:
        /// A · B in wide tiles, any alignment.
        product_wide_nn TurnedCopied Straight 0;
        /// A · Bᵀ in wide tiles, any alignment.
        product_wide_nt TurnedCopied TurnedCopied 0;
        /// Aᵀ · B in wide tiles, any alignment.
        product_wide_tn Straight Straight 0;
        /// Aᵀ · Bᵀ in wide tiles, any alignment.
        product_wide_tt Straight TurnedCopied 0;
    }
}
