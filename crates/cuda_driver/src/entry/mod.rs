//! The driver's entry points: one list with name, version, signature and who serves it on the virtual device.
//!
//! A line of the list reads
//!
//! ```text
//! cuMemAlloc_v2 @ 3020 => memory (dptr: Out<CUdeviceptr>, bytesize: usize);
//! ```
//!
//! "`cuMemAlloc_v2`, `cuMemAlloc` to programs written for CUDA 3.2 and later, is served by
//! `crate::api::memory::cuMemAlloc_v2`". What `nobody` serves the virtual device does not support. Further words:
//!
//! - `graph`, `array`, `texture`, `link`, `virtual_memory`, `multicast` are files of `crate::foreign`, which a build may
//!   leave out.
//! - `/ cuStreamQuery_ptsz @ 7000`: a second symbol whose null stream is the calling thread's own.
//! - `as cuCtxDestroy_v2` at the end: another symbol's function serves this one.
//! - `retired (…) as cuLaunchKernel`: CUDA itself has given it up, and this is its successor. The virtual device does not
//!   support it, and says what to call instead.
//!
//! From each line come the exported symbol, its forwarding to the real driver, and its row in [`all`].
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
    /// The CUDA version that brought it, as 1000 times major plus 10 times minor; 0 where that is not published.
    pub since: i32,
    /// Its code.
    pub address: Address,
    /// Whether its null stream is the calling thread's own.
    pub per_thread: bool,
    /// Whether the virtual device serves it.
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

/// A symbol of the real driver, looked up at its first call.
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

/// Makes exported functions and their table from lines as the [module](self) describes.
macro_rules! entry_points {
    ($(
        $name:ident @ $since:literal $(/ $variant:ident @ $variant_since:literal)?
            => $room:ident $args:tt $(as $other:ident)?;
    )*) => {
        pub(super) static ENTRIES: &[$crate::entry::EntryPoint] = &[
            $(
                $crate::entry::entry_points!(@row $name, $since, false, $room),
                $($crate::entry::entry_points!(@row $variant, $variant_since, true, $room),)?
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
            @export [$name, false $(; $variant, true)?], $args, $room, [$($other)? $name]
        })*
    };

    (@row $symbol:ident, $since:literal, $per_thread:literal, $room:ident) => {
        $crate::entry::EntryPoint {
            name: stringify!($symbol),
            since: $since,
            address: $crate::entry::Address($symbol as *const std::ffi::c_void),
            per_thread: $per_thread,
            served: $crate::entry::entry_points!(@served $room),
        }
    };
    (@probe $drawn:ident, $name:ident, ($($arg:ident: $type:ty),* $(,)?)) => {{
        let _ = &$drawn;
        // SAFETY: the arguments are null, or places that are large enough for what their companions ask for.
        unsafe { $name($(<$type as $crate::entry::sweep::Argument>::draw($drawn)),*) }
    }};
    (@served nobody) => { false };
    (@served retired) => { false };
    (@served $room:ident) => { true };

    (@export [$symbol:ident, $per_thread:literal; $($variant:tt)*], $args:tt, $room:ident, $names:tt) => {
        $crate::entry::entry_points!(@export [$symbol, $per_thread], $args, $room, $names);
        $crate::entry::entry_points!(@export [$($variant)*], $args, $room, $names);
    };
    (@export
        [$symbol:ident, $per_thread:literal], ($($arg:ident: $type:ty),* $(,)?), $room:ident,
        [$name:ident $($rest:ident)?]
    ) => {
        #[doc = concat!("`", stringify!($symbol), "` of the CUDA driver API.")]
        ///
        /// # Safety
        /// As the driver API's manual asks: pointers are null or valid for what the call does with them.
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
                    $crate::entry::entry_points!(@serve $symbol, $per_thread, $name, ($($arg),*), $room)
                }
                Err(code) => $crate::entry::entry_points!(@failed code, $symbol, $name, ($($arg),*), $room),
            }
        }
    };

    // Without any device the names of errors can still be told.
    (@failed $code:ident, $symbol:ident, $name:ident, $args:tt, errors) => {{
        let _ = $code;
        $crate::entry::entry_points!(@serve $symbol, false, $name, $args, errors)
    }};
    (@failed $code:ident, $symbol:ident, $name:ident, $args:tt, lookup) => {{
        let _ = $code;
        $crate::entry::entry_points!(@serve $symbol, false, $name, $args, lookup)
    }};
    (@failed $code:ident, $symbol:ident, $name:ident, ($($arg:ident),*), $room:ident) => {{
        let _ = ($($arg,)*);
        $code
    }};

    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), nobody) => {{
        let _ = ($($arg,)*);
        $crate::abi::CUresult::from($crate::objects::call::unsupported(stringify!($symbol)))
    }};
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), retired) => {{
        let _ = ($($arg,)*);
        $crate::abi::CUresult::from($crate::objects::call::retired(stringify!($symbol), stringify!($name)))
    }};
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), errors) => {
        $crate::objects::call::serve_anywhere(stringify!($symbol), || $crate::api::errors::$name($($arg),*))
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), lookup) => {
        $crate::objects::call::serve_anywhere(stringify!($symbol), || $crate::entry::lookup::$name($($arg),*))
    };
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, graph) => {
        $crate::entry::entry_points!(@foreign $symbol, $per_thread, $name, $args, graph)
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
    (@serve $symbol:ident, $per_thread:literal, $name:ident, $args:tt, $room:ident) => {
        $crate::entry::entry_points!(@call $symbol, $per_thread, [$crate::api::$room::$name], $args)
    };

    (@foreign $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), $room:ident) => {{
        #[cfg(feature = "foreign")]
        let answer = $crate::entry::entry_points!(
            @call $symbol, $per_thread, [$crate::foreign::$room::$name], ($($arg),*)
        );
        #[cfg(not(feature = "foreign"))]
        let answer = {
            let _ = ($($arg,)*);
            $crate::abi::CUresult::from($crate::objects::call::left_out(stringify!($symbol)))
        };
        answer
    }};
    (@call $symbol:ident, $per_thread:literal, [$($path:tt)*], ($($arg:ident),*)) => {
        $crate::objects::call::serve(stringify!($symbol), $per_thread, || $($path)*($($arg),*))
    };
}
pub(crate) use entry_points;
