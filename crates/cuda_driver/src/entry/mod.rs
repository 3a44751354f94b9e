//! The driver's entry points: one list with name, version, signature and the file that implements it on the virtual
//! device.
//!
//! A line of the list reads
//!
//! ```text
//! cuMemAlloc_v2 @ 3020 => memory (dptr: Out<CUdeviceptr>, bytesize: usize);
//! ```
//!
//! It says that `crate::api::memory::cuMemAlloc_v2` implements `cuMemAlloc_v2`, which is `cuMemAlloc` for programs
//! written for CUDA 3.2 and later. The virtual device does not support entries with the file `unsupported`. Further words:
//!
//! - `graph` is `crate::graph`; `array`, `texture`, `link`, `virtual_memory`, `multicast` are files of `crate::foreign`,
//!   which a build may leave out.
//! - `/ cuStreamQuery_ptsz @ 7000`: a second symbol whose null stream is the calling thread's own.
//! - `as cuCtxDestroy_v2` at the end: another symbol's function serves this one; `as cuCtxSynchronize_v2 (0)`: with one
//!   more argument.
//! - `retired (…) as cuLaunchKernel`: CUDA itself has dropped it in favour of this successor. The virtual device does
//!   not support it, and names the successor.
//!
//! Each line generates the exported symbol, its forwarding to the real driver, and its row in [`all`].
//!
//! The list ends with CUDA 13.5, the version that the virtual device reports, and has every function of its `cuda.h`
//! (`cargo test -p cuda_driver --test header`).

pub mod contexts;
pub mod graphs;
pub mod interop;
pub mod legacy;
mod lookup;
pub mod memory;
pub mod modules;
pub mod streams;
#[cfg(all(test, feature = "foreign"))]
mod sweep;
pub mod textures;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::abi::{Answer, CUresult};
use crate::objects::call::say_once;
use crate::real::RealDriver;

/// One exported symbol.
pub struct EntryPoint {
    /// The symbol.
    pub name: &'static str,
    /// The CUDA version that introduced it, as 1000 times major plus 10 times minor; 0 if that is not published.
    pub since: i32,
    /// Its code.
    pub address: Address,
    /// Whether its null stream is the calling thread's own.
    pub per_thread: bool,
    /// Whether the virtual device supports it.
    pub served: bool,
}

/// The address of code, in a static table.
pub struct Address(pub *const c_void);

// SAFETY: code is only ever executed; the pointer is never written through.
unsafe impl Sync for Address {}

/// Every exported symbol.
pub fn all() -> impl Iterator<Item = &'static EntryPoint> {
    [
        contexts::ENTRIES,
        memory::ENTRIES,
        modules::ENTRIES,
        streams::ENTRIES,
        graphs::ENTRIES,
        textures::ENTRIES,
        interop::ENTRIES,
        legacy::ENTRIES,
    ]
    .into_iter()
    .flatten()
}

/// A symbol of the real driver, looked up on its first call.
pub(crate) struct Symbol {
    name: &'static str,
    address: AtomicPtr<c_void>,
}

impl Symbol {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, address: AtomicPtr::new(null_mut()) }
    }

    /// The address in the real driver; an old driver may not have it.
    pub(crate) fn resolve(&self, driver: &RealDriver) -> Answer<*mut c_void> {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return Ok(known);
        }
        match driver.symbol(self.name) {
            Some(address) => {
                self.address.store(address, Ordering::Relaxed);
                Ok(address)
            }
            None => {
                let name = self.name.trim_end_matches('\0');
                say_once(name, || format!("the installed NVIDIA driver has no `{name}`; a newer one may"));
                Err(CUresult::CALL_REQUIRES_NEWER_DRIVER)
            }
        }
    }
}

/// Generates exported functions and their table from lines as described in the [module](self).
macro_rules! entry_points {
    ($(
        $name:ident @ $since:literal $(/ $variant:ident @ $variant_since:literal)?
            => $file:ident $args:tt $(as $other:ident $(($more:expr))?)?;
    )*) => {
        pub(super) static ENTRIES: &[$crate::entry::EntryPoint] = &[
            $(
                $crate::entry::entry_points!(@row $name, $since, false, $file),
                $($crate::entry::entry_points!(@row $variant, $variant_since, true, $file),)?
            )*
        ];
        #[cfg(all(test, feature = "foreign"))]
        pub(super) static PROBES: &[$crate::entry::sweep::Probe] = &[
            $($crate::entry::sweep::Probe {
                name: stringify!($name),
                call: |drawn| $crate::entry::entry_points!(@probe drawn, $name, $args),
            },)*
        ];
        $($crate::entry::entry_points! {
            @export [$name, false $(; $variant, true)?], $args, $file, [$($other)? $name], [$($($more)?)?]
        })*
    };

    (@row $symbol:ident, $since:literal, $per_thread:literal, $file:ident) => {
        $crate::entry::EntryPoint {
            name: stringify!($symbol),
            since: $since,
            address: $crate::entry::Address($symbol as *const std::ffi::c_void),
            per_thread: $per_thread,
            served: $crate::entry::entry_points!(@served $file),
        }
    };
    (@probe $drawn:ident, $name:ident, ($($arg:ident: $type:ty),* $(,)?)) => {{
        let _ = &$drawn;
        // SAFETY: the arguments are null, or pointers to memory that is large enough for the other arguments.
        unsafe { $name($(<$type as $crate::entry::sweep::Argument>::draw($drawn)),*) }
    }};
    (@served unsupported) => { false };
    (@served retired) => { false };
    (@served $file:ident) => { true };

    (@export [$symbol:ident, $per_thread:literal; $($variant:tt)*], $args:tt, $file:ident, $names:tt, $more:tt) => {
        $crate::entry::entry_points!(@export [$symbol, $per_thread], $args, $file, $names, $more);
        $crate::entry::entry_points!(@export [$($variant)*], $args, $file, $names, $more);
    };
    (@export
        [$symbol:ident, $per_thread:literal], ($($arg:ident: $type:ty),* $(,)?), $file:ident,
        [$name:ident $($rest:ident)?], [$($more:expr)?]
    ) => {
        #[doc = concat!("`", stringify!($symbol), "` of the CUDA driver API.")]
        ///
        /// # Safety
        /// As the driver API's manual requires: pointers are null or valid for what the call does with them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol($($arg: $type),*) -> $crate::abi::CUresult {
            static REAL: $crate::entry::Symbol = $crate::entry::Symbol::new(concat!(stringify!($symbol), "\0"));
            match $crate::choice::taken_or_code() {
                Ok($crate::choice::Taken::Gpu(driver)) => match REAL.resolve(driver) {
                    // SAFETY: the real driver's function of this name has this signature, and the caller vouches
                    // for the arguments.
                    Ok(address) => unsafe {
                        let forward = std::mem::transmute::<
                            *mut std::ffi::c_void,
                            unsafe extern "C" fn($($type),*) -> $crate::abi::CUresult,
                        >(address);
                        forward($($arg),*)
                    },
                    Err(code) => code,
                },
                Ok($crate::choice::Taken::Virtual(_)) => {
                    $crate::entry::entry_points!(
                        @serve $symbol, $per_thread, $name, ($($arg,)* $($more)?), $file
                    )
                }
                Err(code) => $crate::entry::entry_points!(@failed code, $symbol, $name, ($($arg),*), $file),
            }
        }
    };

    // The names of errors are available even without any device.
    (@failed $code:ident, $symbol:ident, $name:ident, $args:tt, errors) => {{
        let _ = $code;
        $crate::entry::entry_points!(@serve $symbol, false, $name, $args, errors)
    }};
    (@failed $code:ident, $symbol:ident, $name:ident, $args:tt, lookup) => {{
        let _ = $code;
        $crate::entry::entry_points!(@serve $symbol, false, $name, $args, lookup)
    }};
    (@failed $code:ident, $symbol:ident, $name:ident, ($($arg:ident),*), $file:ident) => {{
        let _ = ($($arg,)*);
        $code
    }};

    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),* $(,)?), unsupported) => {{
        let _ = ($($arg,)*);
        $crate::abi::CUresult::from($crate::objects::call::unsupported(stringify!($symbol)))
    }};
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),* $(,)?), retired) => {{
        let _ = ($($arg,)*);
        $crate::abi::CUresult::from($crate::objects::call::retired(stringify!($symbol), stringify!($name)))
    }};
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),* $(,)?), errors) => {
        $crate::objects::call::serve_anywhere(stringify!($symbol), || $crate::api::errors::$name($($arg),*))
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),* $(,)?), lookup) => {
        $crate::objects::call::serve_anywhere(stringify!($symbol), || $crate::entry::lookup::$name($($arg),*))
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, graph) => {
        $crate::entry::entry_points!(@call $symbol, $per_thread, [$crate::graph::$name], $args)
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, array) => {
        $crate::entry::entry_points!(@foreign $symbol, $per_thread, $name, $args, array)
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, texture) => {
        $crate::entry::entry_points!(@foreign $symbol, $per_thread, $name, $args, texture)
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, link) => {
        $crate::entry::entry_points!(@foreign $symbol, $per_thread, $name, $args, link)
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, virtual_memory) => {
        $crate::entry::entry_points!(@foreign $symbol, $per_thread, $name, $args, virtual_memory)
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, multicast) => {
        $crate::entry::entry_points!(@foreign $symbol, $per_thread, $name, $args, multicast)
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, $file:ident) => {
        $crate::entry::entry_points!(@call $symbol, $per_thread, [$crate::api::$file::$name], $args)
    };

    (@foreign $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),* $(,)?), $file:ident) => {{
        #[cfg(feature = "foreign")]
        let answer = $crate::entry::entry_points!(
            @call $symbol, $per_thread, [$crate::foreign::$file::$name], ($($arg),*)
        );
        #[cfg(not(feature = "foreign"))]
        let answer = {
            let _ = ($($arg,)*);
            $crate::abi::CUresult::from($crate::objects::call::left_out(stringify!($symbol)))
        };
        answer
    }};
    (@call $symbol:ident, $per_thread:literal, [$($path:tt)*], ($($arg:expr),* $(,)?)) => {
        $crate::objects::call::serve(stringify!($symbol), $per_thread, || $($path)*($($arg),*))
    };
}
pub(crate) use entry_points;
