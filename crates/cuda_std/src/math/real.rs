//! `f32` and `f64` as the algorithms see them: the operations that are one instruction, and constants.

use core::ops::{Add, Div, Mul, Neg, Sub};

/// The operations that hardware rounds once, and the format's parameters.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// Bits of the fraction: 23 or 52.
    const FRACTION: i32;
    /// The exponent of one, as stored: 127 or 1023.
    const BIAS: i32;
    /// All bits but the sign.
    const MAGNITUDE: u64;

    const ZERO: Self;
    const ONE: Self;
    const TWO: Self;
    const HALF: Self;
    const INFINITY: Self;
    const NAN: Self;

    /// Constants, each as the nearest float and the float nearest to the remainder.
    const LN2: [Self; 2];
    const LOG2_E: [Self; 2];
    const LOG10_E: [Self; 2];
    const LN10: [Self; 2];
    const LOG10_2: [Self; 2];
    const LOG2_10: Self;
    const PI: [Self; 2];
    const THIRD: [Self; 2];
    /// π/2 in three floats.
    const PI_2: [Self; 3];
    const FRAC_2_PI: Self;
    const SQRT_2_2: Self;
    /// tan(3π/8) = 1 + √2.
    const TAN_3PI_8: Self;
    /// 2^(-1/3) and 2^(-2/3).
    const RCBRT_POWERS: [Self; 2];
    /// Below this `tanh` is a polynomial.
    const TANH_SMALL: Self;

    /// Below the first e^x is zero, above the second e^x / 2 is infinite.
    const EXP_RANGE: [Self; 2];
    /// Above this |x| the reduction by π/2 in three floats is no longer exact enough.
    const TRIG_LARGE: Self;

    fn from_i32(n: i32) -> Self;
    /// Towards zero, saturating; unspecified for NaN.
    fn to_i32(self) -> i32;
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;

    fn fma(self, b: Self, c: Self) -> Self;
    /// A product that is never fused with an addition: error-free transformations rely on it.
    fn times(self, b: Self) -> Self;
    fn root(self) -> Self;
    /// 1 / x to 1 ulp, for x and results well within the range: one instruction for `f32` on the device.
    fn near_reciprocal(self) -> Self;
    /// 1 / x, correctly rounded, for x and results well within the range.
    fn inverse(self) -> Self;
    /// √x, correctly rounded, for x that is zero or well within the range.
    fn inner_root(self) -> Self;
    /// To the nearest integer, ties to even.
    fn nearest(self) -> Self;
    fn round_down(self) -> Self;
    fn round_up(self) -> Self;
    fn round_to_zero(self) -> Self;
    fn magnitude(self) -> Self;
    fn with_sign(self, sign: Self) -> Self;

    /// x - k·π/2 = hi + lo and k modulo 4, for finite |x| of [`TRIG_LARGE`](Self::TRIG_LARGE) and more.
    fn reduce_large(self) -> (i32, super::dd::Dd<Self>);

    fn exp_tail(r: Self) -> Self;
    fn atanh_tail(z: Self) -> Self;
    fn sin_tail(z: Self) -> Self;
    fn cos_tail(z: Self) -> Self;
    fn asin_tail(z: Self) -> Self;
    fn atan_tail(z: Self) -> Self;
    fn sinh_tail(z: Self) -> Self;
    fn tanh_tail(z: Self) -> Self;
    fn rcbrt_start(m: Self) -> Self;

    #[inline(always)]
    #[expect(clippy::eq_op, reason = "a NaN is what differs from itself")]
    fn is_nan(self) -> bool {
        self != self
    }

    #[inline(always)]
    fn is_finite(self) -> bool {
        self.magnitude() < Self::INFINITY
    }

    #[inline(always)]
    fn is_negative(self) -> bool {
        self.bits() > Self::MAGNITUDE
    }

    /// 2^k for a normal result.
    #[inline(always)]
    fn power_of_two(k: i32) -> Self {
        Self::of_bits(((k + Self::BIAS) as u64) << Self::FRACTION)
    }

    /// The exponent as stored; 0 for zero and subnormals.
    #[inline(always)]
    fn stored_exponent(self) -> i32 {
        ((self.bits() & Self::MAGNITUDE) >> Self::FRACTION) as i32
    }

    /// self · 2^k, rounded once, for a normal `self` near one and |k| up to twice the exponent range.
    #[inline(always)]
    fn scaled(self, k: i32) -> Self {
        let half = k >> 1;
        self * Self::power_of_two(half) * Self::power_of_two(k - half)
    }

    /// `if_true` or `if_false`; both have been computed, so that a warp need not diverge.
    #[inline(always)]
    fn select(condition: bool, if_true: Self, if_false: Self) -> Self {
        if condition { if_true } else { if_false }
    }
}

/// c0 + x·(c1 + x·(c2 + …)), each step one fused multiply-add.
macro_rules! polynomial {
    ($x:expr; $c:expr) => { $c };
    ($x:expr; $c:expr, $($rest:expr),+ $(,)?) => {
        $crate::math::real::Real::fma(polynomial!($x; $($rest),+), $x, $c)
    };
}
pub(crate) use polynomial;

#[cfg(target_os = "cuda")]
mod machine {
    crate::intrinsic::intrinsics! {
        pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 = "llvm:llvm.fma.f32";
        pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 = "llvm:llvm.fma.f64";
        pub fn mul_rn_f32(a: f32, b: f32) -> f32 = "llvm:llvm.nvvm.mul.rn.f";
        pub fn mul_rn_f64(a: f64, b: f64) -> f64 = "llvm:llvm.nvvm.mul.rn.d";
        pub fn sqrt_f32(x: f32) -> f32 = "llvm:llvm.sqrt.f32";
        pub fn sqrt_f64(x: f64) -> f64 = "llvm:llvm.sqrt.f64";
        pub fn rint_f32(x: f32) -> f32 = "llvm:llvm.rint.f32";
        pub fn rint_f64(x: f64) -> f64 = "llvm:llvm.rint.f64";
        pub fn floor_f32(x: f32) -> f32 = "llvm:llvm.floor.f32";
        pub fn floor_f64(x: f64) -> f64 = "llvm:llvm.floor.f64";
        pub fn ceil_f32(x: f32) -> f32 = "llvm:llvm.ceil.f32";
        pub fn ceil_f64(x: f64) -> f64 = "llvm:llvm.ceil.f64";
        pub fn trunc_f32(x: f32) -> f32 = "llvm:llvm.trunc.f32";
        pub fn trunc_f64(x: f64) -> f64 = "llvm:llvm.trunc.f64";
    }
}

/// A saturating cast is one PTX instruction, but seven as LLVM writes it.
mod to_i32 {
    macro_rules! cast {
        ($float:ident, $text:literal) => {
            #[inline(always)]
            pub fn $float(x: $float) -> i32 {
                #[cfg(target_os = "cuda")]
                {
                    let result: i32;
                    // SAFETY: arithmetic has no precondition.
                    unsafe {
                        crate::__blockwise_ptx!($text, result = out(i32) result, x = in($float) x; options(pure, nomem))
                    }
                    result
                }
                #[cfg(not(target_os = "cuda"))]
                {
                    x as i32
                }
            }
        };
    }
    cast!(f32, "cvt.rzi.s32.f32 {result}, {x};");
    cast!(f64, "cvt.rzi.s32.f64 {result}, {x};");
}

/// An approximation by the special function unit.
#[cfg(target_os = "cuda")]
macro_rules! approximation {
    ($name:ident, $float:ident, $text:literal) => {
        #[inline(always)]
        fn $name(x: $float) -> $float {
            let result: $float;
            // SAFETY: arithmetic has no precondition.
            unsafe {
                crate::__blockwise_ptx!($text, result = out($float) result, x = in($float) x; options(pure, nomem))
            }
            result
        }
    };
}

pub(super) mod reciprocal {
    #[cfg(target_os = "cuda")]
    approximation!(approximate, f32, "rcp.approx.ftz.f32 {result}, {x};");
    #[cfg(target_os = "cuda")]
    approximation!(approximate_upper_half, f64, "rcp.approx.ftz.f64 {result}, {x};");

    #[inline(always)]
    pub fn f32(x: f32) -> f32 {
        #[cfg(target_os = "cuda")]
        {
            approximate(x)
        }
        #[cfg(test)]
        {
            f32::from_bits((1.0 / x).to_bits().wrapping_add_signed(nudge::get()))
        }
        #[cfg(not(any(test, target_os = "cuda")))]
        {
            1.0 / x
        }
    }

    /// Perturbs approximations by a few last places, like a device with different bits.
    #[cfg(test)]
    pub mod nudge {
        std::thread_local! {
            static PLACES: std::cell::Cell<i32> = const { std::cell::Cell::new(0) };
        }

        pub fn get() -> i32 {
            PLACES.get()
        }

        pub fn set(places: i32) {
            PLACES.set(places);
        }
    }

    #[inline(always)]
    pub fn f64(x: f64) -> f64 {
        rounded::f64(x)
    }

    /// `rcp.rn` for such numbers, without its slow path for the others.
    pub mod rounded {
        #[inline(always)]
        pub fn f32(x: f32) -> f32 {
            #[cfg(target_os = "cuda")]
            {
                use crate::math::real::Real;
                let start = super::approximate(x);
                Real::fma(start, (-x).fma(start, 1.0), start)
            }
            #[cfg(not(target_os = "cuda"))]
            {
                1.0 / x
            }
        }

        #[inline(always)]
        pub fn f64(x: f64) -> f64 {
            #[cfg(target_os = "cuda")]
            {
                use crate::math::real::Real;
                // 20 bits, then three times as many, then all.
                let start = super::approximate_upper_half(x);
                let error = (-x).fma(start, 1.0);
                let near = error.fma(error, error).fma(start, start);
                near.fma((-x).fma(near, 1.0), near)
            }
            #[cfg(not(target_os = "cuda"))]
            {
                1.0 / x
            }
        }
    }
}

/// `sqrt.rn` for such numbers, without its slow path for the others.
mod inner_root {
    use super::Real;

    #[cfg(target_os = "cuda")]
    approximation!(inverse_root, f32, "rsqrt.approx.ftz.f32 {result}, {x};");

    #[inline(always)]
    pub fn f32(x: f32) -> f32 {
        #[cfg(target_os = "cuda")]
        {
            // Not infinite, so that zero has a root.
            let inverse = inverse_root(x).min(f32::MAX);
            let root = x * inverse;
            (-root).fma(root, x).fma(0.5 * inverse, root)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            x.root()
        }
    }

    #[cfg(target_os = "cuda")]
    approximation!(inverse_root_upper_half, f64, "rsqrt.approx.ftz.f64 {result}, {x};");

    #[inline(always)]
    pub fn f64(x: f64) -> f64 {
        #[cfg(target_os = "cuda")]
        {
            let start = inverse_root_upper_half(x);
            let error = (-x).fma(start * start, 1.0);
            let inverse = error.fma(0.375, 0.5).fma(error * start, start);
            let root = x * inverse;
            let root = (-root).fma(root, x).fma(0.5 * inverse, root);
            f64::select(x == 0.0, x, root)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            x.root()
        }
    }
}

/// One instruction on the device, `std`'s method on the host.
macro_rules! machine {
    ($($name:ident = $device:ident | $host:ident;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            #[cfg(target_os = "cuda")]
            // SAFETY: arithmetic has no precondition.
            return unsafe { machine::$device(self) };
            #[cfg(not(target_os = "cuda"))]
            return self.$host();
        }
    )*};
}

macro_rules! real {
    ($float:ident $bits:ident, $tails:ident, $reduce_large:path,
        { $($constant:ident: $constant_type:ty = $value:expr;)* }
        { $($machine:tt)* }) => {
        impl Real for $float {
            const FRACTION: i32 = $float::MANTISSA_DIGITS as i32 - 1;
            const BIAS: i32 = $float::MAX_EXP - 1;
            const MAGNITUDE: u64 = ($bits::MAX >> 1) as u64;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const TWO: Self = 2.0;
            const HALF: Self = 0.5;
            const INFINITY: Self = $float::INFINITY;
            const NAN: Self = $float::NAN;
            $(const $constant: $constant_type = $value;)*

            #[inline(always)]
            fn from_i32(n: i32) -> Self {
                n as $float
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                to_i32::$float(self)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits() as u64
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $float::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn with_sign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                #[cfg(target_os = "cuda")]
                // SAFETY: arithmetic has no precondition.
                return unsafe { real!(@fma $float)(self, b, c) };
                #[cfg(not(target_os = "cuda"))]
                return self.mul_add(b, c);
            }
            #[inline(always)]
            fn times(self, b: Self) -> Self {
                #[cfg(target_os = "cuda")]
                // SAFETY: arithmetic has no precondition.
                return unsafe { real!(@mul $float)(self, b) };
                #[cfg(not(target_os = "cuda"))]
                return self * b;
            }
            #[inline(always)]
            fn near_reciprocal(self) -> Self {
                reciprocal::$float(self)
            }
            #[inline(always)]
            fn inverse(self) -> Self {
                reciprocal::rounded::$float(self)
            }
            #[inline(always)]
            fn inner_root(self) -> Self {
                inner_root::$float(self)
            }
            #[inline(always)]
            fn reduce_large(self) -> (i32, super::dd::Dd<Self>) {
                $reduce_large(self)
            }
            $($machine)*
            real!(@tails $tails: exp_tail atanh_tail sin_tail cos_tail asin_tail atan_tail sinh_tail tanh_tail
                rcbrt_start);
        }
    };
    (@tails $tails:ident: $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(x: Self) -> Self {
            super::$tails::$name(x)
        }
    )*};
    (@fma f32) => { machine::fma_f32 };
    (@fma f64) => { machine::fma_f64 };
    (@mul f32) => { machine::mul_rn_f32 };
    (@mul f64) => { machine::mul_rn_f64 };
}

real! {
    f32 u32, poly32, super::trig::reduce_large_f32,
    {
        LN2: [Self; 2] = [core::f32::consts::LN_2, -1.9046542e-09];
        LOG2_E: [Self; 2] = [core::f32::consts::LOG2_E, 1.925963e-08];
        LOG10_E: [Self; 2] = [core::f32::consts::LOG10_E, -1.010305e-08];
        LN10: [Self; 2] = [core::f32::consts::LN_10, -3.1975436e-08];
        LOG10_2: [Self; 2] = [core::f32::consts::LOG10_2, -1.4320989e-08];
        LOG2_10: Self = core::f32::consts::LOG2_10;
        PI: [Self; 2] = [core::f32::consts::PI, -8.742278e-08];
        THIRD: [Self; 2] = [0.33333334, -9.934108e-09];
        PI_2: [Self; 3] = [core::f32::consts::FRAC_PI_2, -4.371139e-08, -1.7151245e-15];
        FRAC_2_PI: Self = core::f32::consts::FRAC_2_PI;
        SQRT_2_2: Self = core::f32::consts::FRAC_1_SQRT_2;
        TAN_3PI_8: Self = 2.4142137;
        RCBRT_POWERS: [Self; 2] = [0.7937005, 0.62996054];
        TANH_SMALL: Self = 0.55;
        EXP_RANGE: [Self; 2] = [-104.0, 91.0];
        TRIG_LARGE: Self = 65536.0;
    }
    {
        machine! {
            root = sqrt_f32 | sqrt;
            nearest = rint_f32 | round_ties_even;
            round_down = floor_f32 | floor;
            round_up = ceil_f32 | ceil;
            round_to_zero = trunc_f32 | trunc;
        }
    }
}

real! {
    f64 u64, poly64, super::trig::reduce_large_f64,
    {
        LN2: [Self; 2] = [core::f64::consts::LN_2, 2.3190468138462996e-17];
        LOG2_E: [Self; 2] = [core::f64::consts::LOG2_E, 2.0355273740931033e-17];
        LOG10_E: [Self; 2] = [core::f64::consts::LOG10_E, 1.098319650216765e-17];
        LN10: [Self; 2] = [core::f64::consts::LN_10, -2.1707562233822494e-16];
        LOG10_2: [Self; 2] = [core::f64::consts::LOG10_2, -2.8037281277851704e-18];
        LOG2_10: Self = core::f64::consts::LOG2_10;
        PI: [Self; 2] = [core::f64::consts::PI, 1.2246467991473532e-16];
        THIRD: [Self; 2] = [0.3333333333333333, 1.850371707708594e-17];
        PI_2: [Self; 3] = [core::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
        FRAC_2_PI: Self = core::f64::consts::FRAC_2_PI;
        SQRT_2_2: Self = core::f64::consts::FRAC_1_SQRT_2;
        TAN_3PI_8: Self = 2.414213562373095;
        RCBRT_POWERS: [Self; 2] = [0.7937005259840998, 0.6299605249474366];
        TANH_SMALL: Self = 0.55;
        EXP_RANGE: [Self; 2] = [-746.0, 712.0];
        TRIG_LARGE: Self = 1073741824.0;
    }
    {
        machine! {
            root = sqrt_f64 | sqrt;
            nearest = rint_f64 | round_ties_even;
            round_down = floor_f64 | floor;
            round_up = ceil_f64 | ceil;
            round_to_zero = trunc_f64 | trunc;
        }
    }
}
