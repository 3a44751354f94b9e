//! What host and device must have compiled alike, as numbers: the block, what each parameter is, and what is required of their
//! extents.
//!
//! A safe launch computes the grid from the host's types and tests the host's relations, and the kernel trusts its own. One source
//! may give two kernels, by `cfg`, and PTX may have a kernel of the same name from elsewhere. So the device build writes its
//! numbers beside the entry, and the launch compares them with the host's.
//!
//! The numbers are three of the block's shape, how many parameters there are, [`OF_PARAMETER`] for each, and
//! [`OF_RELATION`] for each relation.

use core::marker::PhantomData;

/// How many numbers say what a parameter is: its kind, its map's name and two constants, and the name, size and alignment of its
/// elements.
pub const OF_PARAMETER: usize = 7;

/// How many numbers a relation is: the operator, and for each of a side's two terms what it asks of which parameter, or that it is a
/// number, and which, or that there is none.
pub const OF_RELATION: usize = 9;

/// Up to eight letters as a number.
pub const fn word(text: &str) -> u64 {
    assert!(text.len() <= 8, "a word has up to eight letters");
    let (mut word, mut at) = (0, text.len());
    while at > 0 {
        at -= 1;
        word = word << 8 | text.as_bytes()[at] as u64;
    }
    word
}

/// What an output without a map, and what is no output, has instead of one.
pub(crate) const NO_MAP: [u64; 3] = [0; 3];

/// The kind of a parameter, and its map.
pub(crate) const fn parameter(kind: &str, [map, a, b]: [u64; 3]) -> [u64; 4] {
    [word(kind), map, a, b]
}

/// Tells a primitive type by its name, through aliases: an inherent constant hides the trait's.
#[doc(hidden)]
pub struct Probe<T>(PhantomData<T>);

/// The name of every type without an inherent `NAME`: none.
#[doc(hidden)]
pub trait Unnamed {
    /// None.
    const NAME: u64 = 0;
}
impl<T> Unnamed for Probe<T> {}

macro_rules! names {
    ($($ty:ident)*) => {$(
        impl Probe<$ty> {
            /// The type's name.
            pub const NAME: u64 = word(stringify!($ty));
        }
    )*};
}
names! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char }

impl<T> Probe<&'static [T]> {
    /// A slice behind an alias hides its elements.
    pub const NAME: u64 = panic!("a slice is written as one: `&[T]`, not by another name");
}

/// A parameter's numbers, of its type and of its elements' type.
#[doc(hidden)]
#[macro_export]
macro_rules! __agreed {
    ($parameter:expr, $element:ty) => {{
        #[allow(unused_imports)]
        use $crate::__device::Unnamed as _;
        let [kind, map, a, b]: [u64; 4] = $parameter;
        [
            kind,
            map,
            a,
            b,
            $crate::__device::Probe::<$element>::NAME,
            ::core::mem::size_of::<$element>() as u64,
            ::core::mem::align_of::<$element>() as u64,
        ]
    }};
}
