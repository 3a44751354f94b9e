//! The driver's entry points: one list with name, version, signature and who serves it on the virtual device.
//!
//! A line of the list reads
//!
//! ```text
//! cuMemAlloc_v2 @ 3020 => memory (dptr: Out<CUdeviceptr>, bytesize: usize);
//! ```
//!
//! "`cuMemAlloc_v2`, `cuMemAlloc` to programs written for CUDA 3.2 and later, is served by
//! `crate::device::memory::cuMemAlloc_v2`". What `nobody` serves the virtual device does not support. Further words:
//!
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
pub mod memory;
pub mod modules;
pub mod streams;
#[cfg(test)]
mod sweep;
pub mod textures;

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::AssertUnwindSafe;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::abi::{Answer, CUresult};
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

/// The answer of the virtual device for what it does not serve.
pub(crate) fn unsupported(name: &'static str) -> Answer {
    say_once(name, || format!("`{name}` is not supported by the virtual GPU"));
    Err(CUresult::NOT_SUPPORTED)
}

/// The same for what CUDA itself has retired.
pub(crate) fn retired(name: &'static str, successor: &str) -> Answer {
    say_once(name, || {
        format!("`{name}` is retired by CUDA and not supported by the virtual GPU: use `{successor}`")
    });
    Err(CUresult::NOT_SUPPORTED)
}

fn say_once(name: &'static str, text: impl FnOnce() -> String) {
    static SAID: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&name) {
        said.push(name);
        eprintln!("warpsmith: {}", text());
    }
}

thread_local! {
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether the call under way has the thread's own stream for its null stream.
pub(crate) fn null_stream_is_per_thread() -> bool {
    PER_THREAD.get()
}

/// Runs the virtual device's side of a call. A panic there is a bug of ours; it must not cross into C.
pub(crate) fn serve(name: &'static str, per_thread: bool, call: impl FnOnce() -> Answer) -> CUresult {
    let before = PER_THREAD.replace(per_thread);
    let answer = std::panic::catch_unwind(AssertUnwindSafe(call));
    PER_THREAD.set(before);
    match answer {
        Ok(answer) => answer.into(),
        Err(_) => {
            eprintln!("warpsmith: the virtual GPU failed inside `{name}`; this is a bug in Warpsmith");
            CUresult::UNKNOWN
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
        #[cfg(test)]
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
    (@failed $code:ident, $symbol:ident, $name:ident, ($($arg:ident),*), errors) => {{
        let _ = $code;
        $crate::entry::serve(stringify!($symbol), false, || $crate::device::errors::$name($($arg),*))
    }};
    (@failed $code:ident, $symbol:ident, $name:ident, ($($arg:ident),*), $room:ident) => {{
        let _ = ($($arg,)*);
        $code
    }};

    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), nobody) => {{
        let _ = ($($arg,)*);
        $crate::abi::CUresult::from($crate::entry::unsupported(stringify!($symbol)))
    }};
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), retired) => {{
        let _ = ($($arg,)*);
        $crate::abi::CUresult::from($crate::entry::retired(stringify!($symbol), stringify!($name)))
    }};
    (@serve $symbol:ident, $per_thread:literal, $name:ident, ($($arg:ident),*), $room:ident) => {
        $crate::entry::serve(stringify!($symbol), $per_thread, || $crate::device::$room::$name($($arg),*))
    };
}
pub(crate) use entry_points;
