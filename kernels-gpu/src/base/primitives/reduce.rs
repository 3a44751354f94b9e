//! Sums, extremes and where they are.

use cuda_std::prelude::*;

#[cfg(feature = "host")]
use crate::primitives::operation::Operation;
use crate::primitives::operation::{ArgMax, ArgMin, Found, Max, Min, Sum};

/// An operation that there is a kernel of.
///
/// # Safety
/// The kernel is one of [`reduction!`](crate::reduction) by this operation, compiled with this crate.
#[cfg(feature = "host")]
pub unsafe trait Reduced<O: Operation<Self>>: Copy + 'static {
    /// The kernel.
    type Kernel: cuda_std::Kernel<Signature = crate::primitives::reduce::Signature<Self, O::Value>> + 'static;
}

macro_rules! kernels {
    ($($element:ty, $suffix:ident as $value:ty;)*) => { pastey::paste! {
        $( kernels! { @one $element, $suffix:
            [<reduce_sum_ $suffix>] $value, Sum;
            [<reduce_min_ $suffix>] $value, Min;
            [<reduce_max_ $suffix>] $value, Max;
            [<reduce_arg_min_ $suffix>] Found<$value>, ArgMin;
            [<reduce_arg_max_ $suffix>] Found<$value>, ArgMax;
        } )*
        listed! { $(
            [<reduce_sum_ $suffix>] [<reduce_min_ $suffix>] [<reduce_max_ $suffix>] [<reduce_arg_min_ $suffix>]
            [<reduce_arg_max_ $suffix>]
        )* }
    } };
    (@one $element:ty, $suffix:ident: $($name:ident $value:ty, $operation:ident;)*) => {$(
        crate::reduction! {
            #[doc = concat!("`", stringify!($operation), "` of all elements: one launch, whatever their number.")]
            $name: $element as $value, by $operation;
        }
        // SAFETY: the kernel above.
        #[cfg(feature = "host")]
        unsafe impl Reduced<$operation> for $element {
            type Kernel = $name;
        }
    )*};
}
kernels! {
    u32, u32 as u32;
    i32, i32 as i32;
    u64, u64 as u64;
    i64, i64 as i64;
    f32, f32 as f32;
    f64, f64 as f64;
    half::f16, f16 as f32;
    half::bf16, bf16 as f32;
}
