//! Device standard library for kernels in Rust, with the names and signatures of upstream Rust-CUDA.
//!
//! A kernel crate depends on it and is compiled twice: by `cuda_builder` for the GPU, where
//! `cfg(target_os = "cuda")` holds, and as an ordinary crate for the host, where functions that need the GPU panic.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
extern crate self as cuda_std;
#[cfg(not(target_os = "cuda"))]
extern crate std;

#[doc(hidden)]
#[path = "device.rs"]
pub mod __device;
pub mod async_copy;
pub mod atomic;
pub mod cfg;
pub mod float;
mod float_ext;
mod intrinsic;
pub mod intrinsics;
pub mod io;
pub mod kernel;
mod math;
pub mod mem;
pub mod misc;
mod panic;
pub mod prelude;
pub mod ptr;
pub mod shared;
#[cfg(any(test, target_os = "cuda"))]
mod text;
pub mod thread;
pub mod warp;
mod wide;

pub use cuda_std_macros::*;
pub use float::GpuFloat;
pub use float_ext::FloatExt;
#[cfg(feature = "glam")]
pub use glam;
pub use half::{self, bf16, f16};
pub use kernel::{Description, EmbeddedPtx, Kernel, LaunchBounds, ParamKind, ParamLayout, PtxParam, Takes};
#[cfg(feature = "vek")]
pub use vek;

/// Inline PTX, in the style of `asm!`. A call needs an `unsafe` block.
///
/// ```
/// /// `a * b + 3`
/// fn mad(a: u32, b: u32) -> u32 {
///     let d: u32;
///     unsafe {
///         cuda_std::ptx!("mad.lo.u32 {d}, {a}, {b}, {n};",
///             d = out(u32) d, a = in(u32) a, b = in(u32) b, n = imm(3);
///             options(pure, nomem));
///     }
///     d
/// }
/// ```
///
/// - Operands are `in(TYPE) value`, `out(TYPE) place`, `inout(TYPE) place` and `imm(constant)`, named or in order
///   (`{}`, `{0}`). A constant may depend on const generics; its value stands in the PTX text.
/// - Types are `u16 i16 f16 bf16 u32 i32 f32 u64 i64 f64` and `ptr`, a 64-bit generic address.
/// - Several texts are joined by newlines; braces are doubled to mean themselves: `"{{ .reg .pred p; … }}"`.
///   Text may be made with `concat!`.
/// - An array is one operand for each element, and its name stands for all of them:
///   `"wgmma… {{{sums}}}, …"` with `sums = inout([f32; 32]) sums`.
/// - `pure`: no effect but the results, so it may be dropped, merged and moved. `nomem`: reads and writes no memory.
///   `convergent`: must not be moved into or out of divergent control flow; say it for barriers, shuffles, and all that is
///   `.sync` or `.aligned`.
///
/// Mistakes are compile errors, on the host too:
///
/// ```compile_fail
/// # let (d, a) = (0_u32, 1_u32);
/// unsafe { cuda_std::ptx!("add.u32 {d}, {a}, {b};", d = out(u32) d, a = in(u32) a) }; // no operand is named `b`
/// ```
/// ```compile_fail
/// # let a = 1_u32;
/// unsafe { cuda_std::ptx!("bar.sync 0;", a = in(u32) a) }; // the operand is not used
/// ```
/// ```compile_fail
/// # let a = 1_u32;
/// unsafe { cuda_std::ptx!("prefetch.global.L2 [{a}];", a = in(String) a) }; // not a type of PTX
/// ```
/// ```compile_fail
/// # let a = 1.0_f32;
/// unsafe { cuda_std::ptx!("st.u32 [0], {a};", a = in(u32) a) }; // an f32 is not a u32
/// ```
/// ```compile_fail
/// cuda_std::ptx!("bar.sync 0;"); // needs `unsafe`
/// ```
#[macro_export]
macro_rules! ptx {
    ($($tokens:tt)*) => { $crate::__ptx!(($crate) $($tokens)*) };
}

/// [`ptx!`] for code that kernels without `unsafe` may use: mathematics, and the crates whose types keep such kernels
/// sound. `cuda_builder` rejects all other inline PTX in such kernels.
#[doc(hidden)]
#[macro_export]
macro_rules! __blockwise_ptx {
    ($($tokens:tt)*) => { $crate::__ptx!(($crate) @ $($tokens)*) };
}

/// Sets how often to unroll the enclosing loop: a number, `full`, or `none`.
///
/// Without it the compiler decides, much as nvcc does. The innermost loop around it is meant; for a loop by closure
/// (`for_each`) it has no effect.
///
/// ```
/// fn sum(values: &[f32]) -> f32 {
///     let mut sum = 0.0;
///     for value in values {
///         cuda_std::unroll!(4);
///         sum += value;
///     }
///     sum
/// }
/// assert_eq!(sum(&[1.0, 2.0]), 3.0);
/// ```
#[macro_export]
macro_rules! unroll {
    (full) => {
        $crate::__unroll!("full")
    };
    (none) => {
        $crate::__unroll!("none")
    };
    ($count:literal) => {
        $crate::__unroll!($count)
    };
}

/// The marker that `unroll!` leaves for the builder.
#[doc(hidden)]
#[macro_export]
macro_rules! __unroll {
    ($how:literal) => {{
        #[cfg(target_os = "cuda")]
        {
            $crate::__unroll_mark!($how);
        }
    }};
}

/// The page's examples are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/porting.md")]
struct Porting;

#[cfg(all(target_os = "cuda", not(doc)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
