//! libdevice's functions under their own names without the `__nv_` prefix, as upstream has them.
//!
//! Unsigned arguments and results are signed here too, and an `f16` is its bits in an `i16`; both are upstream's
//! choice. All are `unsafe` to call, for the same reason, though only those that take pointers have requirements.
//!
//! There is no libdevice behind them: each is Rust (or one PTX instruction), works on the host as well, and is exported
//! to the device build under its full name (`__nv_sinf`). Error bounds are in ulp of the result: the worst found over
//! the inputs described in `docs/math-accuracy.md`.

/// Defines functions of libdevice: `fn NAME(ARGUMENTS) -> RESULT = EXPRESSION;`, as `unsafe fn NAME` here and as the
/// symbol `__nv_NAME` on the device.
macro_rules! libdevice {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $value:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// Pointers must be valid for writes (for reads, in the case of a norm's array).
            #[inline]
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                $value
            }
        )*

        /// The symbols to which `cuda_builder` redirects calls: from the crate `libm`, from LLVM's own math intrinsics,
        /// and from device code that declares libdevice's functions itself.
        #[cfg(target_os = "cuda")]
        mod symbols {
            $(pastey::paste! {
                #[unsafe(no_mangle)]
                unsafe extern "C" fn [<__nv_ $name>]($($argument: $type),*) $(-> $result)? {
                    // SAFETY: the caller's promise is the function's own.
                    unsafe { super::$name($($argument),*) }
                }
            })*
        }
    };
}

/// One instruction of one to three operands: its text, the type of the operands, that of the result.
#[cfg(target_os = "cuda")]
macro_rules! instruction {
    ($text:literal $from:ident $to:ident, $x:expr) => {{
        let result: $to;
        // SAFETY: arithmetic has no precondition.
        unsafe {
            crate::__blockwise_ptx!(concat!($text, " {result}, {x};"), result = out($to) result, x = in($from) $x;
                options(pure, nomem))
        }
        result
    }};
    ($text:literal $from:ident $to:ident, $x:expr, $y:expr) => {{
        let result: $to;
        // SAFETY: as above.
        unsafe {
            crate::__blockwise_ptx!(concat!($text, " {result}, {x}, {y};"), result = out($to) result, x = in($from) $x,
                y = in($from) $y; options(pure, nomem))
        }
        result
    }};
    ($text:literal $from:ident $to:ident, $x:expr, $y:expr, $z:expr) => {{
        let result: $to;
        // SAFETY: as above.
        unsafe {
            crate::__blockwise_ptx!(concat!($text, " {result}, {x}, {y}, {z};"), result = out($to) result, x = in($from) $x,
                y = in($from) $y, z = in($from) $z; options(pure, nomem))
        }
        result
    }};
}

mod convert;
pub(crate) mod exact;
mod fast;
mod float;
mod integer;
mod rounding;
mod special;

pub use convert::*;
pub use exact::*;
pub use fast::*;
pub use float::*;
pub use integer::*;
pub use rounding::*;
pub use special::*;
