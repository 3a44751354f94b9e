//! Associative operations, as types.

use crate::real::Real;

/// An associative operation on what it makes of elements `T`.
///
/// A value has no padding and a multiple of 4 bytes: lanes exchange it word by word. Reductions combine values in an order of
/// their own, so there the operation is commutative, too.
pub trait Operation<T>: 'static {
    /// The combined value.
    type Value: Copy + 'static;

    /// The value that changes nothing.
    fn identity() -> Self::Value;

    /// The value of the element at `index`.
    fn value(element: T, index: u64) -> Self::Value;

    /// The value of two runs of elements, `first` before `second`.
    fn combine(first: Self::Value, second: Self::Value) -> Self::Value;
}

/// The sum: integers wrap, f16 and bf16 are added as f32.
#[derive(Clone, Copy, Debug)]
pub struct Sum;
/// The least element. NaN is passed over: of NaN alone, as of nothing, it is the identity.
#[derive(Clone, Copy, Debug)]
pub struct Min;
/// The greatest element. NaN is passed over: of NaN alone, as of nothing, it is the identity.
#[derive(Clone, Copy, Debug)]
pub struct Max;
/// The least element and its index, the first of equal ones. NaN is never found.
#[derive(Clone, Copy, Debug)]
pub struct ArgMin;
/// The greatest element and its index, the first of equal ones. NaN is never found.
#[derive(Clone, Copy, Debug)]
pub struct ArgMax;

/// An element and where it is; the index is `u64::MAX` if there is none.
///
/// The index is two words, so that elements of 4 bytes leave no padding.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found<T> {
    /// The element.
    pub value: T,
    index: [u32; 2],
}

// SAFETY: plain numbers.
#[cfg(feature = "host")]
unsafe impl<T: cust_core::DeviceCopy> cust_core::DeviceCopy for Found<T> {}

impl<T> Found<T> {
    /// An element at its index.
    #[inline(always)]
    pub const fn new(value: T, index: u64) -> Self {
        Self { value, index: [index as u32, (index >> 32) as u32] }
    }

    /// Where it is.
    #[inline(always)]
    pub const fn index(&self) -> u64 {
        self.index[0] as u64 | (self.index[1] as u64) << 32
    }
}

/// The better of two, the first of equal ones.
#[inline(always)]
fn better<T: PartialEq + Copy>(a: Found<T>, b: Found<T>, is_better: impl Fn(T, T) -> bool) -> Found<T> {
    // Without a branch: a block combines values twenty times.
    let takes_b = is_better(b.value, a.value) | ((a.value == b.value) & (b.index() < a.index()));
    let value = if takes_b { b.value } else { a.value };
    Found::new(value, if takes_b { b.index() } else { a.index() })
}

/// The operations of a type: its sum and its order, with what is above and below all.
macro_rules! operations {
    ($($element:ty as $value:ty: |$x:ident| $of:expr, $add:expr, $least:expr, $greatest:expr;)*) => {$(
        impl Operation<$element> for Sum {
            type Value = $value;

            #[inline(always)]
            fn identity() -> $value {
                Default::default()
            }
            #[inline(always)]
            fn value($x: $element, _: u64) -> $value {
                $of
            }
            #[inline(always)]
            fn combine(first: $value, second: $value) -> $value {
                $add(first, second)
            }
        }
        operations! { @extreme $element as $value: |$x| $of, Min min $greatest; }
        operations! { @extreme $element as $value: |$x| $of, Max max $least; }
        operations! { @arg $element as $value: |$x| $of, ArgMin < $greatest; }
        operations! { @arg $element as $value: |$x| $of, ArgMax > $least; }
    )*};
    (@extreme $element:ty as $value:ty: |$x:ident| $of:expr, $operation:ident $pick:ident $identity:expr;) => {
        impl Operation<$element> for $operation {
            type Value = $value;

            #[inline(always)]
            fn identity() -> $value {
                $identity
            }
            #[inline(always)]
            fn value($x: $element, _: u64) -> $value {
                $of
            }
            #[inline(always)]
            fn combine(first: $value, second: $value) -> $value {
                first.$pick(second)
            }
        }
    };
    (@arg $element:ty as $value:ty: |$x:ident| $of:expr, $operation:ident $better:tt $identity:expr;) => {
        impl Operation<$element> for $operation {
            type Value = Found<$value>;

            #[inline(always)]
            fn identity() -> Found<$value> {
                Found::new($identity, u64::MAX)
            }
            #[inline(always)]
            fn value($x: $element, index: u64) -> Found<$value> {
                Found::new($of, index)
            }
            #[inline(always)]
            fn combine(first: Found<$value>, second: Found<$value>) -> Found<$value> {
                better(first, second, |a, b| a $better b)
            }
        }
    };
}
operations! {
    u32 as u32: |x| x, u32::wrapping_add, u32::MIN, u32::MAX;
    i32 as i32: |x| x, i32::wrapping_add, i32::MIN, i32::MAX;
    u64 as u64: |x| x, u64::wrapping_add, u64::MIN, u64::MAX;
    i64 as i64: |x| x, i64::wrapping_add, i64::MIN, i64::MAX;
    f32 as f32: |x| x, core::ops::Add::add, f32::NEG_INFINITY, f32::INFINITY;
    f64 as f64: |x| x, core::ops::Add::add, f64::NEG_INFINITY, f64::INFINITY;
    half::f16 as f32: |x| Real::to_f32(x), core::ops::Add::add, f32::NEG_INFINITY, f32::INFINITY;
    half::bf16 as f32: |x| Real::to_f32(x), core::ops::Add::add, f32::NEG_INFINITY, f32::INFINITY;
}
