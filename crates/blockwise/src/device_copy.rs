//! Values that a launch copies to the device, which host and device know alike.

use core::marker::PhantomData;
use core::mem::offset_of;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8, NonZeroU16,
    NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Wrapping,
};

use cuda_std::__device::{bf16, f16};

use crate::__device::{Parameter, Passing, passing, value};
use crate::Element;
use crate::digest::Digest;
use crate::fingerprint::{OF_PARAMETER, word};

pub use cuda_std_macros::DeviceCopy;

/// Values that a launch copies to the device: numbers, and structs, enums, arrays and tuples of them.
///
/// A type of your own derives it. The fields are compared when a kernel is launched: a struct that `cfg` makes another one on the
/// device is refused. On the host the derive implements `cust`'s `DeviceCopy`, too, by which buffers take the type.
///
/// ```
/// # use blockwise::prelude::*;
/// #[derive(Clone, Copy, DeviceCopy)]
/// pub struct Range {
///     first: u32,
///     len: u32,
/// }
///
/// /// The length of each range that is not beyond a limit.
/// #[kernel]
/// #[requires(ranges.len() == lengths.len())]
/// pub fn lengths(block: Block<256>, limit: Range, ranges: &[Range], mut lengths: SliceMut<u32>) {
///     lengths.write(&block, |_, i| ranges[i].len.min(limit.len));
/// }
/// ```
/// An address of the host means nothing on the device, nor does one that a kernel is given of nowhere:
///
/// ```compile_fail,E0277
/// # use blockwise::prelude::*;
/// # #[kernel]
/// # pub fn wrong(block: Block<256>, x: &[&'static u32], mut to: SliceMut<u32>) {
/// to.write(&block, |_, i| *x[i]);
/// # }
/// ```
///
/// # Safety
/// The type holds no reference, and two types of the same [`CONTENT`](Self::CONTENT) and the same size have the same bits for the
/// same values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not copied to the device",
    label = "not copied to the device",
    note = "a struct or enum of your own derives `Clone, Copy, DeviceCopy`; addresses of the host mean nothing on the device"
)]
pub unsafe trait DeviceCopy: Element {
    /// The meaning of its bits.
    const CONTENT: Content;
}

/// The meaning of the bits of a type, for host and device to compare: its name, and the names, places and contents of its parts.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// The name of a primitive type, or 0.
    name: u64,
    size: usize,
    align: usize,
    digest: Digest,
}

impl Content {
    /// Of a type by this name, of which no part is known yet.
    pub const fn of<T>(name: &str) -> Self {
        Self { name: 0, size: size_of::<T>(), align: align_of::<T>(), digest: Digest::new().text(name) }
    }

    const fn primitive<T>(name: &str) -> Self {
        Self { name: word(name), ..Self::of::<T>(name) }
    }

    /// With a part more: its name, where it begins, and its content.
    pub const fn part(self, name: &str, place: usize, content: Self) -> Self {
        let [first, second] = content.digest.halves();
        let digest = self.digest.text(name).number(place as u64);
        let digest = digest.number(content.size as u64).number(content.align as u64);
        Self { digest: digest.number(first).number(second), ..self }
    }

    /// With a variant more, of an enum.
    pub const fn variant(self, name: &str, discriminant: u64) -> Self {
        Self { digest: self.digest.text("variant").text(name).number(discriminant), ..self }
    }

    /// Of a parameter of this kind and map, whose elements they are.
    pub(crate) const fn parameter(self, kind: &str, [map, a, b]: [u64; 3]) -> [u64; OF_PARAMETER] {
        let [first, second] = self.digest.halves();
        [word(kind), map, a, b, self.name, self.size as u64, self.align as u64, first, second]
    }
}

macro_rules! plain {
    ($(impl[$($generics:tt)*] $ty:ty: $content:expr;)*) => {$(
        // SAFETY: no reference; all parts are in the content.
        unsafe impl<$($generics)*> DeviceCopy for $ty {
            const CONTENT: Content = $content;
        }
        // SAFETY: a value is its own.
        unsafe impl<$($generics)*> Parameter for $ty {
            type Memory = ();
            type Value = Self;
            const MEMORY: Passing = passing!(());
            const VALUE: Passing = passing!(Self);
            const FINGERPRINT: [u64; OF_PARAMETER] = value::<Self>();
            #[inline(always)]
            unsafe fn make((): (), value: &Self) -> Self {
                *value
            }
        }
    )*};
}

macro_rules! primitives {
    ($($ty:ident)*) => {
        plain! { $(impl[] $ty: Content::primitive::<Self>(stringify!($ty));)* }
    };
}
primitives! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char f16 bf16 }

macro_rules! named {
    ($($ty:ident)*) => {
        plain! { $(impl[] $ty: Content::of::<Self>(stringify!($ty));)* }
    };
}
named! {
    NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize
    NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize
}

plain! {
    impl[] (): Content::of::<Self>("()");
    impl[T: Send + Sync + ?Sized + 'static] PhantomData<T>: Content::of::<Self>("PhantomData");
    impl[T: DeviceCopy] Wrapping<T>: Content::of::<Self>("Wrapping").part("0", 0, T::CONTENT);
    impl[T: DeviceCopy, const N: usize] [T; N]: Content::of::<Self>("array").part("0", N, T::CONTENT);
    impl[T: DeviceCopy] Option<T>: Content::of::<Self>("Option").part("0", 0, T::CONTENT);
    impl[T: DeviceCopy, E: DeviceCopy] Result<T, E>:
        Content::of::<Self>("Result").part("0", 0, T::CONTENT).part("1", 0, E::CONTENT);
}

macro_rules! tuples {
    ($($($part:ident $number:tt),*;)*) => {
        plain! {$(
            impl[$($part: DeviceCopy),*] ($($part,)*):
                Content::of::<Self>("tuple")$(.part("", offset_of!(Self, $number), $part::CONTENT))*;
        )*}
    };
}
tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}
