//! Element types and reductions.

use bytemuck::Pod;
use cust::memory::DeviceCopy;
use warpsmith_launch::{Bf16, F16};

/// The element type of a call, with NCCL's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Type {
    /// Signed, 8 bits.
    I8 = 0,
    /// Bytes.
    U8 = 1,
    /// Signed, 32 bits.
    I32 = 2,
    /// Unsigned, 32 bits.
    U32 = 3,
    /// Signed, 64 bits.
    I64 = 4,
    /// Unsigned, 64 bits.
    U64 = 5,
    /// binary16
    F16 = 6,
    /// binary32
    F32 = 7,
    /// binary64
    F64 = 8,
    /// bfloat16
    Bf16 = 9,
}

impl Type {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An element of the buffers that ranks exchange.
///
/// Calls move as many bytes as its type says, because this trait says that they may: it is sealed.
///
/// ```compile_fail,E0277
/// use warpsmith_collectives::{Element, Type};
///
/// #[derive(Clone, Copy)]
/// struct Byte(u8);
/// unsafe impl cust::memory::DeviceCopy for Byte {}
/// impl Element for Byte {
///     const TYPE: Type = Type::F32; // four bytes where one is
/// }
/// ```
pub trait Element: DeviceCopy + sealed::Sealed {
    /// Its type.
    const TYPE: Type;
}

macro_rules! elements {
    ($($element:ty: $kind:ident,)*) => {$(
        impl sealed::Sealed for $element {}
        impl Element for $element {
            const TYPE: Type = Type::$kind;
        }
    )*};
}
elements! {
    i8: I8, u8: U8, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64, F16: F16, Bf16: Bf16,
}

/// The operation that combines the elements of all ranks, with NCCL's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Reduction {
    /// Added.
    Sum = 0,
    /// Multiplied.
    Product = 1,
    /// The largest.
    Max = 2,
    /// The smallest.
    Min = 3,
}

impl Reduction {
    /// Combines elements pairwise: `into` and `other` are contiguous elements of the type.
    pub(crate) fn combine(self, element: Type, into: &mut [u8], other: &[u8]) {
        macro_rules! combine {
            ($($kind:ident: $element:ty, $add:expr, $multiply:expr;)*) => {
                match element {$(
                    Type::$kind => pairs::<$element>(into, other, match self {
                        Self::Sum => $add,
                        Self::Product => $multiply,
                        Self::Max => |a, b| if b > a { b } else { a },
                        Self::Min => |a, b| if b < a { b } else { a },
                    }),
                )*}
            };
        }
        combine! {
            I8: i8, i8::wrapping_add, i8::wrapping_mul;
            U8: u8, u8::wrapping_add, u8::wrapping_mul;
            I32: i32, i32::wrapping_add, i32::wrapping_mul;
            U32: u32, u32::wrapping_add, u32::wrapping_mul;
            I64: i64, i64::wrapping_add, i64::wrapping_mul;
            U64: u64, u64::wrapping_add, u64::wrapping_mul;
            F16: half::f16, |a, b| a + b, |a, b| a * b;
            F32: f32, |a, b| a + b, |a, b| a * b;
            F64: f64, |a, b| a + b, |a, b| a * b;
            Bf16: half::bf16, |a, b| a + b, |a, b| a * b;
        }
    }
}

fn pairs<T: Pod>(into: &mut [u8], other: &[u8], one: fn(T, T) -> T) {
    let size = size_of::<T>();
    for (into, other) in into.chunks_exact_mut(size).zip(other.chunks_exact(size)) {
        let sum = one(bytemuck::pod_read_unaligned(into), bytemuck::pod_read_unaligned(other));
        into.copy_from_slice(bytemuck::bytes_of(&sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<T: Pod + Element>(how: Reduction, a: &[T], b: &[T]) -> Vec<T> {
        let mut into = bytemuck::cast_slice::<T, u8>(a).to_vec();
        how.combine(T::TYPE, &mut into, bytemuck::cast_slice(b));
        into.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }

    #[test]
    fn pairs_are_combined_as_their_type_asks() {
        assert_eq!(combined(Reduction::Sum, &[1.5f32, -2.0], &[0.25, 2.0]), [1.75, 0.0]);
        assert_eq!(combined(Reduction::Sum, &[250u8], &[10]), [4]);
        assert_eq!(combined(Reduction::Product, &[-3i64, 7], &[5, 0]), [-15, 0]);
        assert_eq!(combined(Reduction::Max, &[1i8, -5], &[-1, 4]), [1, 4]);
        assert_eq!(combined(Reduction::Min, &[1.0f64, -5.0], &[-1.0, 4.0]), [-1.0, -5.0]);
    }
}
