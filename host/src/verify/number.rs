//! Values of elements, and random ones.

use bytemuck::AnyBitPattern;
use cust::memory::DeviceCopy;
use warpsmith_kernels::gemm::{InputElement, OutputElement};
use warpsmith_launch::{Bf16, F16};

use crate::data::Random;

/// An element of A or B on tensor cores.
pub trait TensorInput: InputElement + DeviceCopy + Default + Send + Sync {
    /// Its value, as the tensor core reads it.
    fn value(self) -> f64;

    /// The nearest element.
    fn of(value: f64) -> Self;

    /// A random element: of integers any, of others one in [-1, 1).
    fn random(random: &mut Random) -> Self;
}

/// An element of C.
pub trait TensorOutput: OutputElement + DeviceCopy + AnyBitPattern + Default + Sync {
    /// The largest relative error of rounding to this type; 0 where sums are exact.
    const ROUNDING: f64;

    fn value(self) -> f64;

    /// The nearest element; integers wrap.
    fn of(value: f64) -> Self;
}

macro_rules! inputs {
    ($($element:ty: |$x:ident| $value:expr, |$v:ident| $of:expr, |$random:ident| $made:expr;)*) => {$(
        impl TensorInput for $element {
            fn value(self) -> f64 {
                let $x = self;
                $value
            }

            fn of($v: f64) -> Self {
                $of
            }

            fn random($random: &mut Random) -> Self {
                $made
            }
        }
    )*};
}
inputs! {
    F16: |x| x.0.to_f64(), |v| Self(half::f16::from_f64(v)), |random| Self(half::f16::from_f32(random.unit()));
    Bf16: |x| x.0.to_f64(), |v| Self(half::bf16::from_f64(v)), |random| Self(half::bf16::from_f32(random.unit()));
    f32: |x| f64::from(f32::from_bits(x.to_bits() & 0xffff_e000)), |v| v as f32, |random| random.unit();
    i8: |x| f64::from(x), |v| v as i8, |random| random.bits() as i8;
}

macro_rules! outputs {
    ($($element:ty: $rounding:expr, |$x:ident| $value:expr, |$v:ident| $of:expr;)*) => {$(
        impl TensorOutput for $element {
            const ROUNDING: f64 = $rounding;

            fn value(self) -> f64 {
                let $x = self;
                $value
            }

            fn of($v: f64) -> Self {
                $of
            }
        }
    )*};
}
// Half a unit in the last place: 11, 8 and 24 bits of precision.
outputs! {
    F16: 1.0 / 2048.0, |x| x.0.to_f64(), |v| Self(half::f16::from_f64(v));
    Bf16: 1.0 / 256.0, |x| x.0.to_f64(), |v| Self(half::bf16::from_f64(v));
    f32: 1.0 / 16_777_216.0, |x| f64::from(x), |v| v as f32;
    i32: 0.0, |x| f64::from(x), |v| v as i64 as i32;
}

#[cfg(test)]
mod tests {
    use super::TensorInput;

    #[test]
    fn tf32_is_read_without_its_last_bits() {
        assert_eq!(TensorInput::value(1.0f32 + f32::EPSILON), 1.0);
        assert_eq!(TensorInput::value(1.0f32 + 1.0 / 1024.0), 1.0 + 1.0 / 1024.0);
    }
}
