//! Expansions of the macros. Not for users.

use crate::kernel::ParamKind;
use core::marker::PhantomData;

pub use crate::{__describe as describe, __parameter as parameter, __passing as passing};
pub use half::{bf16, f16};

/// Stands in on the host for an instruction that only the device has.
///
/// # Safety
/// None; it is `unsafe` so that calls need the same `unsafe` block as in the device build.
#[cold]
#[track_caller]
pub unsafe fn only_on_the_gpu<T>(what: &str) -> T {
    panic!("{what} runs only on the GPU")
}

/// Makes every `ptx!` require an `unsafe` block, whatever its operands.
///
/// # Safety
/// The caller is responsible for what the PTX does.
#[inline(always)]
pub const unsafe fn unsafe_inline_ptx() {}

/// Finds a parameter's kind from its type, through aliases: an inherent constant hides the trait's.
pub struct Probe<T>(PhantomData<T>);

/// The kind of every type without an inherent `KIND`.
pub trait Otherwise {
    /// Passed by value as bytes.
    const KIND: ParamKind = ParamKind::Bytes;
    /// The LLVM type is an array of bytes.
    const CODE: u64 = 0;
}
impl<T> Otherwise for Probe<T> {}

macro_rules! kinds {
    ($kind:ident = $code:literal: $($ty:ty),*) => {$(
        impl Probe<$ty> {
            pub const KIND: ParamKind = ParamKind::$kind;
            /// The LLVM type, as a number that the lowering knows.
            pub const CODE: u64 = $code;
        }
    )*};
}
kinds!(Scalar = 1: u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, char);
kinds!(Scalar = 2: bool);
kinds!(Scalar = 3: f32);
kinds!(Scalar = 4: f64);

macro_rules! pointer_kinds {
    ($kind:ident = $code:literal: $($ty:ty),*) => {$(
        impl<T> Probe<$ty> {
            pub const KIND: ParamKind = ParamKind::$kind;
            /// The LLVM type, as a number that the lowering knows.
            pub const CODE: u64 = $code;
        }
    )*};
}
pointer_kinds!(Pointer = 5: *const T, *mut T, &T);
pointer_kinds!(Slice = 6: &[T]);

/// The passing of a parameter: its kind, and its LLVM type as a number that the lowering knows.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// The kind for the host.
    pub kind: ParamKind,
    /// The type for the lowering.
    pub code: u64,
}

/// The [`Passing`] of a type.
#[doc(hidden)]
#[macro_export]
macro_rules! __passing {
    ($ty:ty) => {{
        #[allow(unused_imports)]
        use $crate::__device::Otherwise as _;
        $crate::__device::Passing {
            kind: $crate::__device::Probe::<$ty>::KIND,
            code: $crate::__device::Probe::<$ty>::CODE,
        }
    }};
}

/// Size, alignment, LLVM type and "the entry takes a reference" for one parameter, for the lowering.
#[doc(hidden)]
#[macro_export]
macro_rules! __describe {
    ($ty:ty, $by_reference:literal, $passing:expr) => {
        [
            ::core::mem::size_of::<$ty>() as ::core::primitive::u64,
            ::core::mem::align_of::<$ty>() as ::core::primitive::u64,
            $passing.code,
            $by_reference as ::core::primitive::u64,
        ]
    };
}

/// One parameter's `ParamLayout`.
#[doc(hidden)]
#[macro_export]
macro_rules! __parameter {
    ($name:literal, $text:literal, $ty:ty, $passing:expr) => {
        $crate::ParamLayout {
            name: $name,
            rust_type: $text,
            kind: $passing.kind,
            size: ::core::mem::size_of::<$ty>(),
            align: ::core::mem::align_of::<$ty>(),
        }
    };
}
