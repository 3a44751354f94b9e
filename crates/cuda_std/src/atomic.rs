//! Atomic floats, and CUDA's atomics with their scopes.
//!
//! `core::sync::atomic` works on the device, at system scope. This module adds what Rust's own atomics lack: floats,
//! and a choice of *scope*, the set of threads that an operation synchronises with.
//!
//! | type | scope | threads |
//! | --- | --- | --- |
//! | [`BlockAtomicF32`], [`BlockAtomicF64`] | block | of the same block |
//! | [`AtomicF32`], [`AtomicF64`] | device | of the same GPU |
//! | [`SystemAtomicF32`], [`SystemAtomicF64`] | system | of all GPUs, and of the host |
//!
//! Adding to an `f32` in global memory flushes subnormals, both inputs and results, to zero: the hardware instruction
//! does. In shared memory, and for `f64`, subnormals are kept.
//!
//! [`mid`] has the operations on raw pointers that take an [`Ordering`], [`intrinsics`] has one function per PTX
//! instruction.

pub mod intrinsics;
pub mod mid;

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;
use pastey::paste;

/// The strongest ordering that a failed compare-exchange may have next to `order` (a failure stores nothing).
#[cfg(not(target_os = "cuda"))]
fn failure_ordering(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

macro_rules! atomic_float {
    ($atomic:ident: $float:ident as $bits:ident, $width:literal bits, $align:literal bytes, $scope:ident, $threads:literal
        $(, $unsafe:ident: $safety:literal)?) => {
        #[doc = concat!("An `", stringify!($float), "` that ", $threads, " may change together.")]
        ///
        /// It has the size, alignment and representation of the float itself. Its operations work on the host too, as
        /// compare-exchange loops.
        #[repr(C, align($align))]
        #[derive(Debug, Default)]
        pub struct $atomic {
            value: UnsafeCell<$float>,
        }

        // SAFETY: the value is reached through atomic operations only, except by its owner.
        unsafe impl Sync for $atomic {}

        impl $atomic {
            /// An atomic that holds `value`.
            pub const fn new(value: $float) -> Self {
                Self { value: UnsafeCell::new(value) }
            }

            /// The value, taken out of the atomic.
            pub fn into_inner(self) -> $float {
                self.value.into_inner()
            }

            #[cfg(not(target_os = "cuda"))]
            fn host(&self) -> &paste!(core::sync::atomic::[<Atomic $bits:upper>]) {
                // SAFETY: the cell is valid, aligned and as wide as the integer, and only reached through it.
                unsafe { <paste!(core::sync::atomic::[<Atomic $bits:upper>])>::from_ptr(self.value.get().cast()) }
            }

            #[cfg(not(target_os = "cuda"))]
            fn update(&self, order: Ordering, new: impl Fn($float) -> $float) -> $float {
                let old = self.host().fetch_update(order, failure_ordering(order), |bits| {
                    Some(new($float::from_bits(bits)).to_bits())
                });
                match old {
                    Ok(bits) | Err(bits) => $float::from_bits(bits),
                }
            }

            paste! {
                /// Loads the value.
                ///
                /// # Panics
                ///
                /// If `order` is `Release` or `AcqRel`, which are not valid for a load.
                $(
                    ///
                    /// # Safety
                    ///
                    #[doc = $safety]
                )?
                #[inline(always)]
                #[track_caller]
                pub $($unsafe)? fn load(&self, order: Ordering) -> $float {
                    #[cfg(target_os = "cuda")]
                    // SAFETY: the cell is valid and aligned.
                    return $float::from_bits(unsafe {
                        mid::[<atomic_load_ $width _ $scope>](self.value.get().cast(), order)
                    });
                    #[cfg(not(target_os = "cuda"))]
                    return $float::from_bits(self.host().load(order));
                }

                /// Stores a value.
                ///
                /// # Panics
                ///
                /// If `order` is `Acquire` or `AcqRel`, which are not valid for a store.
                $(
                    ///
                    /// # Safety
                    ///
                    #[doc = $safety]
                )?
                #[inline(always)]
                #[track_caller]
                pub $($unsafe)? fn store(&self, value: $float, order: Ordering) {
                    #[cfg(target_os = "cuda")]
                    // SAFETY: the cell is valid and aligned.
                    unsafe {
                        mid::[<atomic_store_ $width _ $scope>](self.value.get().cast(), order, value.to_bits())
                    }
                    #[cfg(not(target_os = "cuda"))]
                    self.host().store(value.to_bits(), order)
                }
            }

            atomic_float!(@fetch $float $scope ($($unsafe: $safety)?)
                add "Adds to the value" |old, value| old + value;
                sub "Subtracts from the value" |old, value| old - value;
                and "Bitwise and of the value's bits" |old, value| $float::from_bits(old.to_bits() & value.to_bits());
                or "Bitwise or of the value's bits" |old, value| $float::from_bits(old.to_bits() | value.to_bits());
                xor "Bitwise exclusive or of the value's bits"
                    |old, value| $float::from_bits(old.to_bits() ^ value.to_bits());
            );
        }
    };
    (@fetch $float:ident $scope:ident $safety:tt $($op:ident $doc:literal |$old:ident, $value:ident| $new:expr;)*) => {
        $(atomic_float!(@one $float $scope $safety $op $doc $old $value $new);)*
    };
    (@one $float:ident $scope:ident ($($unsafe:ident: $safety:literal)?) $op:ident $doc:literal $old:ident $value:ident
        $new:expr) => {
        paste! {
            #[doc = concat!($doc, " and returns the previous value.")]
            $(
                ///
                /// # Safety
                ///
                #[doc = $safety]
            )?
            #[inline(always)]
            pub $($unsafe)? fn [<fetch_ $op>](&self, $value: $float, order: Ordering) -> $float {
                #[cfg(target_os = "cuda")]
                // SAFETY: the cell is valid and aligned.
                return unsafe { mid::[<atomic_fetch_ $op _ $float _ $scope>](self.value.get(), order, $value) };
                #[cfg(not(target_os = "cuda"))]
                return self.update(order, |$old| $new);
            }
        }
    };
}

atomic_float!(AtomicF32: f32 as u32, 32 bits, 4 bytes, device, "the threads of one GPU");
atomic_float!(AtomicF64: f64 as u64, 64 bits, 8 bytes, device, "the threads of one GPU");
atomic_float!(BlockAtomicF32: f32 as u32, 32 bits, 4 bytes, block, "the threads of one block",
    unsafe: "All threads that use the atomic at the same time must be in one block.");
atomic_float!(BlockAtomicF64: f64 as u64, 64 bits, 8 bytes, block, "the threads of one block",
    unsafe: "All threads that use the atomic at the same time must be in one block.");
atomic_float!(SystemAtomicF32: f32 as u32, 32 bits, 4 bytes, system, "the threads of all GPUs and of the host");
atomic_float!(SystemAtomicF64: f64 as u64, 64 bits, 8 bytes, system, "the threads of all GPUs and of the host");

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    #[test]
    fn operations_return_the_value_before() {
        let x = AtomicF32::new(1.5);
        core::assert_eq!(x.fetch_add(2.0, AcqRel), 1.5);
        core::assert_eq!(x.fetch_sub(0.5, Release), 3.5);
        core::assert_eq!(x.load(Acquire), 3.0);
        x.store(-1.0, SeqCst);
        core::assert_eq!(x.fetch_and(f32::from_bits(0x7fff_ffff), SeqCst), -1.0);
        core::assert_eq!(x.fetch_or(-0.0, Relaxed), 1.0);
        core::assert_eq!(x.fetch_xor(-0.0, Acquire), -1.0);
        core::assert_eq!(x.into_inner(), 1.0);
    }

    #[test]
    fn sums_of_many_threads_lose_nothing() {
        let sum = SystemAtomicF64::new(0.0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..1000).for_each(|i| {
                        let _ = sum.fetch_add(f64::from(i), Relaxed);
                    })
                });
            }
        });
        core::assert_eq!(sum.load(Relaxed), 4.0 * 999.0 * 500.0);
    }

    #[test]
    fn layout_is_the_floats() {
        core::assert_eq!((size_of::<BlockAtomicF32>(), align_of::<BlockAtomicF32>()), (4, 4));
        core::assert_eq!((size_of::<BlockAtomicF64>(), align_of::<BlockAtomicF64>()), (8, 8));
    }
}
