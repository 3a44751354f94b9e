//! The kernels of [`rows`](crate::rows), for every device.

use cuda_std::prelude::*;
use cuda_std::shared_array;

#[cfg(feature = "host")]
use crate::choice::UseKernel;
#[cfg(feature = "host")]
use crate::real::Real;
use crate::rows::norm::{Norm, norm};
use crate::rows::per_access;
use crate::rows::softmax::softmax;
#[cfg(feature = "host")]
use crate::rows::{norm, softmax};

/// Whose a row is, and whether it is kept; see [`rows`](crate::rows).
#[cfg(feature = "host")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A warp's, kept.
    Warp,
    /// A block's, kept.
    Block,
    /// A large block's, kept.
    Large,
    /// A block's, read again.
    Again,
    /// A warp's, kept, moved element by element.
    WarpAny,
    /// A block's, read again, element by element.
    AgainAny,
}

/// The kernels for rows of a type, by form.
///
/// # Safety
/// The kernels are this file's, and the forms are as they were compiled.
#[cfg(feature = "host")]
pub unsafe trait Family: Real {
    /// The forms, the best one first: whether rows are aligned to 16 bytes, the threads of a row, the accesses that each keeps.
    const FORMS: &'static [(Form, bool, usize, usize)];

    /// Calls `user` with a softmax.
    fn softmax<R>(form: Form, user: impl UseKernel<softmax::Signature<Self>, R>) -> R;
    /// Calls `user` with a norm.
    fn norm<R>(form: Form, user: impl UseKernel<norm::Signature<Self>, R>) -> R;
}

macro_rules! kernels {
    ($($element:ty, $suffix:ident, $few:literal, $large:literal;)*) => { pastey::paste! {
        $( kernels! { @element $element:
            Warp true, 256, 32, $few, [<softmax_warp_ $suffix>] [<norm_warp_ $suffix>];
            Block true, 256, 256, $few, [<softmax_block_ $suffix>] [<norm_block_ $suffix>];
            Large true, $large, $large, 8, [<softmax_large_ $suffix>] [<norm_large_ $suffix>];
            Again true, 512, 512, 0, [<softmax_again_ $suffix>] [<norm_again_ $suffix>];
            WarpAny false, 256, 32, 8, [<softmax_warp_any_ $suffix>] [<norm_warp_any_ $suffix>];
            AgainAny false, 512, 512, 0, [<softmax_again_any_ $suffix>] [<norm_again_any_ $suffix>];
        } )*
        listed! { $(
            [<softmax_warp_ $suffix>] [<softmax_block_ $suffix>] [<softmax_large_ $suffix>] [<softmax_again_ $suffix>]
            [<softmax_warp_any_ $suffix>] [<softmax_again_any_ $suffix>]
            [<norm_warp_ $suffix>] [<norm_block_ $suffix>] [<norm_large_ $suffix>] [<norm_again_ $suffix>]
            [<norm_warp_any_ $suffix>] [<norm_again_any_ $suffix>]
        )* }
    } };
    (@element $element:ty: $($form:ident $aligned:literal, $block:literal, $threads:literal, $kept:literal, $softmax:ident $norm:ident;)*) => {
        $(
            #[doc = concat!("Softmax of rows of `", stringify!($element), "`, ", $threads, " threads a row.")]
            ///
            /// # Safety
            /// `from` and `to` hold rows × cols elements, each row as aligned as the kernel's accesses and no longer than its threads
            /// keep; the grid has the threads for each row.
            #[kernel]
            #[block_dim($block)]
            pub unsafe fn $softmax(rows: u32, cols: u32, is_logarithm: u32, from: *const $element, to: *mut $element) {
                let of_warps = shared_array![f32; 2 * $threads / 32];
                // SAFETY: as the contract says.
                unsafe {
                    softmax::<$element, { per_access::<$element>($aligned) }, $threads, $kept>(
                        (rows, cols), is_logarithm, from, to, of_warps)
                }
            }

            #[doc = concat!("The norm of rows of `", stringify!($element), "`, ", $threads, " threads a row.")]
            ///
            /// # Safety
            /// As of the softmax of this name; lines have a row's length and alignment; with a residual there is room for the sum.
            #[kernel]
            #[block_dim($block)]
            pub unsafe fn $norm(
                p: Norm,
                from: *const $element,
                residual: *const $element,
                sum: *mut $element,
                weight: *const $element,
                bias: *const $element,
                to: *mut $element,
            ) {
                let of_warps = shared_array![f32; 2 * $threads / 32];
                // SAFETY: as the contract says.
                unsafe {
                    norm::<$element, { per_access::<$element>($aligned) }, $threads, $kept>(
                        p, from, residual, sum, weight, bias, to, of_warps)
                }
            }
        )*
        // SAFETY: the kernels above, each with its own form.
        #[cfg(feature = "host")]
        unsafe impl Family for $element {
            const FORMS: &'static [(Form, bool, usize, usize)] = &[$((Form::$form, $aligned, $threads, $kept)),*];

            fn softmax<R>(form: Form, user: impl UseKernel<softmax::Signature<Self>, R>) -> R {
                match form {
                    $(Form::$form => user.with::<$softmax>(),)*
                }
            }
            fn norm<R>(form: Form, user: impl UseKernel<norm::Signature<Self>, R>) -> R {
                match form {
                    $(Form::$form => user.with::<$norm>(),)*
                }
            }
        }
    };
}
kernels! {
    f32, f32, 8, 1024;
    half::f16, f16, 4, 512;
    half::bf16, bf16, 4, 512;
}
