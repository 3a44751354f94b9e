//! The macro with which this crate and `blockwise` declare LLVM's NVPTX intrinsics.

/// Declares functions that are a single LLVM intrinsic on the device and panic on the host.
///
/// ```ignore
/// intrinsics! {
///     /// The lane.
///     pub(crate) fn lane_id() -> u32 = "llvm:llvm.nvvm.read.ptx.sreg.laneid";
/// }
/// ```
/// All are `unsafe fn`; the wrappers that users see say when a call is sound.
#[doc(hidden)]
#[macro_export]
macro_rules! __intrinsics {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $link:literal;)*) => {$(
        $(#[$meta])*
        #[inline(always)]
        #[allow(clippy::missing_safety_doc, unused_variables, dead_code)]
        $vis unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_os = "cuda")]
            {
                unsafe extern "Rust" {
                    #[link_name = $link]
                    fn intrinsic($($arg: $ty),*) $(-> $ret)?;
                }
                // SAFETY: the caller's promise is the intrinsic's own.
                unsafe { intrinsic($($arg),*) }
            }
            #[cfg(not(target_os = "cuda"))]
            // SAFETY: it panics.
            unsafe { $crate::__device::only_on_the_gpu(stringify!($name)) }
        }
    )*};
}
pub(crate) use __intrinsics as intrinsics;
