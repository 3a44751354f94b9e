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
//! | [`access`] | the loads, stores and copies themselves, as PTX |
//!
//! The kernels themselves are in [`base::product`](crate::base::product), with those that prepare and complete a product, and in
//! [`ampere::product`](crate::ampere::product), where copies are asynchronous.
//!
//! **Edges cost nothing in the loop.** Lines beyond m or n are not left out but repeat others, and their sums are never
//! stored. A K that is no multiple of the step is padded with zeros at its front, so that only
//! the first step of all is guarded.

pub mod access;
pub mod epilogue;
pub mod operand;
pub mod pipeline;
pub mod straight;
pub mod tile;
pub mod turned;

use tile::Tile;

#[cfg(feature = "host")]
use crate::choice::{Transposed, UseKernel};

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

/// A form of the product: the tile of C that a block computes, and what it asks of device and operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    pub m: usize,
    pub n: usize,
    pub threads: u32,
    pub shared_bytes: u32,
    /// Whether copies are asynchronous, which takes capability 8.0.
    pub asynchronous: bool,
    pub aligned: bool,
}

pub type Signature = fn(Product, *const f32, *const f32, *mut f32);

/// Uses the kernel of a form for operands that are stored so.
#[cfg(feature = "host")]
pub fn choose<R>(form: Form, transposed: Transposed, user: impl UseKernel<Signature, R>) -> Option<R> {
    if form.asynchronous {
        crate::ampere::product::choose(form, transposed, user)
    } else {
        crate::base::product::choose(form, transposed, user)
    }
}

/// Writes the kernels of each form of a level, one for each layout, and what the host chooses them by.
macro_rules! forms {
    ($(
        $name:ident $what:literal: $tile:ident, $threads:literal threads, $stages:ident, aligned $aligned:literal,
        $straight:ident $turned:ident, orders $nn:literal $nt:literal $tn:literal $tt:literal;
    )*) => { pastey::paste! {
        $(
            #[doc = concat!("A form of ", $what, ".")]
            pub const [<$name:upper>]: Form = Form {
                m: $tile::M,
                n: $tile::N,
                threads: $threads,
                shared_bytes: $tile::shared_bytes($stages),
                asynchronous: $stages == STAGES,
                aligned: $aligned,
            };
            forms! { @kernels $what: $tile, $threads, $stages, $aligned;
                "A · B": [<product_ $name _nn>] $turned $straight $nn;
                "A · Bᵀ": [<product_ $name _nt>] $turned $turned $nt;
                "Aᵀ · B": [<product_ $name _tn>] $straight $straight $tn;
                "Aᵀ · Bᵀ": [<product_ $name _tt>] $straight $turned $tt;
            }
        )*
        listed! { $([<product_ $name _nn>] [<product_ $name _nt>] [<product_ $name _tn>] [<product_ $name _tt>])* }

        /// Uses the kernel of a form for operands that are stored so, if it is of this level.
        #[cfg(feature = "host")]
        pub fn choose<R>(
            form: Form,
            transposed: $crate::choice::Transposed,
            user: impl $crate::choice::UseKernel<$crate::product::Signature, R>,
        ) -> Option<R> {
            Some(match (form, transposed) {
                $(
                    ([<$name:upper>], (false, false)) => user.with::<[<product_ $name _nn>]>(),
                    ([<$name:upper>], (false, true)) => user.with::<[<product_ $name _nt>]>(),
                    ([<$name:upper>], (true, false)) => user.with::<[<product_ $name _tn>]>(),
                    ([<$name:upper>], (true, true)) => user.with::<[<product_ $name _tt>]>(),
                )*
                _ => return None,
            })
        }
    } };
    (@kernels $what:literal: $tile:ident, $threads:literal, $stages:ident, $aligned:literal;
        $($product:literal: $name:ident $a:ident $b:ident $order:literal;)*
    ) => {$(
        #[doc = concat!($product, " in ", $what, ".")]
        ///
        /// # Safety
        /// `a`, `b` and `c` hold op(A), op(B) and C as `p` describes them; `large` and `middle` that are not `any` want
        /// all three and their leading dimensions aligned to 16 bytes, and the contiguous extent of each to be a multiple
        /// of 4. The grid has a block along x for each tile of C, and as many along y as K is split into; if that is more than
        /// one, `c` holds as many matrices of m × ldc elements, one after the other, all rows aligned to 16 bytes and padded
        /// to a multiple of 4.
        #[kernel]
        #[block_dim($threads)]
        pub unsafe fn $name(p: Product, a: *const f32, b: *const f32, c: *mut f32) {
            type A = $a<{ $tile::M }, { $tile::THREADS }, $aligned>;
            type B = $b<{ $tile::N }, { $tile::THREADS }, $aligned>;
            // SAFETY: as the contract says.
            unsafe { $tile::product::<A, B, $stages, $aligned, $order>(p, a, b, c) }
        }
    )*};
}
pub(crate) use forms;
