//! Conversions, and the bits of floats.

#[cfg(not(target_os = "cuda"))]
use crate::math::real::Real;
use crate::math::remainder::round;
#[cfg(not(target_os = "cuda"))]
use crate::math::rounding::{Direction, towards};
use half::f16;

/// Converts a float to an integer; on the host, the integer of the float `$whole`.
macro_rules! to_integer {
    ($text:literal $from:ident $to:ident, $x:ident, $whole:expr) => {{
        #[cfg(target_os = "cuda")]
        {
            instruction!($text $from $to, $x)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            if $x.is_nan() { to_integer!(@nan $from $to) } else { $whole as $to }
        }
    }};
    // As the PTX manual specifies.
    (@nan f32 i32) => { 0 };
    (@nan f32 u32) => { 0 };
    (@nan $from:ident $to:ident) => { 1 << ($to::BITS - 1) };
}

/// Converts a number to a float, rounded in the given direction.
macro_rules! rounded {
    ($text:literal $from:ident $to:ident $direction:ident, $x:expr) => {{
        #[cfg(target_os = "cuda")]
        {
            instruction!($text $from $to, $x)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            rounded!(@host $from $to, $x, Direction::$direction)
        }
    }};
    (@host f64 f32, $x:expr, $direction:expr) => { narrowed($x, $direction) };
    (@host $from:ident $to:ident, $x:expr, $direction:expr) => {{
        let (exact, nearest) = ($x, $x as $to);
        towards($direction, nearest, i128::from(exact).cmp(&(nearest as i128)))
    }};
}

libdevice! {
    /// `f32` to `i32`, to the nearest, ties to even; saturates, NaN is 0.
    fn float2int_rn(x: f32) -> i32 = to_integer!("cvt.rni.s32.f32" f32 i32, x, x.nearest());
    /// `f32` to `i32`, rounded down; saturates, NaN is 0.
    fn float2int_rd(x: f32) -> i32 = to_integer!("cvt.rmi.s32.f32" f32 i32, x, x.round_down());
    /// `f32` to `i32`, rounded up; saturates, NaN is 0.
    fn float2int_ru(x: f32) -> i32 = to_integer!("cvt.rpi.s32.f32" f32 i32, x, x.round_up());
    /// `f32` to `i32`, rounded towards zero; saturates, NaN is 0.
    fn float2int_rz(x: f32) -> i32 = to_integer!("cvt.rzi.s32.f32" f32 i32, x, x.round_to_zero());
    /// `f32` to `u32`, to the nearest, ties to even; saturates, NaN is 0.
    fn float2uint_rn(x: f32) -> i32 = to_integer!("cvt.rni.u32.f32" f32 u32, x, x.nearest()) as i32;
    /// `f32` to `u32`, rounded down; saturates, NaN is 0.
    fn float2uint_rd(x: f32) -> i32 = to_integer!("cvt.rmi.u32.f32" f32 u32, x, x.round_down()) as i32;
    /// `f32` to `u32`, rounded up; saturates, NaN is 0.
    fn float2uint_ru(x: f32) -> i32 = to_integer!("cvt.rpi.u32.f32" f32 u32, x, x.round_up()) as i32;
    /// `f32` to `u32`, rounded towards zero; saturates, NaN is 0.
    fn float2uint_rz(x: f32) -> i32 = to_integer!("cvt.rzi.u32.f32" f32 u32, x, x.round_to_zero()) as i32;
    /// `f32` to `i64`, to the nearest, ties to even; saturates, NaN is the least one.
    fn float2ll_rn(x: f32) -> i64 = to_integer!("cvt.rni.s64.f32" f32 i64, x, x.nearest());
    /// `f32` to `i64`, rounded down; saturates, NaN is the least one.
    fn float2ll_rd(x: f32) -> i64 = to_integer!("cvt.rmi.s64.f32" f32 i64, x, x.round_down());
    /// `f32` to `i64`, rounded up; saturates, NaN is the least one.
    fn float2ll_ru(x: f32) -> i64 = to_integer!("cvt.rpi.s64.f32" f32 i64, x, x.round_up());
    /// `f32` to `i64`, rounded towards zero; saturates, NaN is the least one.
    fn float2ll_rz(x: f32) -> i64 = to_integer!("cvt.rzi.s64.f32" f32 i64, x, x.round_to_zero());
    /// `f32` to `u64`, to the nearest, ties to even; saturates, NaN is 2⁶³.
    fn float2ull_rn(x: f32) -> i64 = to_integer!("cvt.rni.u64.f32" f32 u64, x, x.nearest()) as i64;
    /// `f32` to `u64`, rounded down; saturates, NaN is 2⁶³.
    fn float2ull_rd(x: f32) -> i64 = to_integer!("cvt.rmi.u64.f32" f32 u64, x, x.round_down()) as i64;
    /// `f32` to `u64`, rounded up; saturates, NaN is 2⁶³.
    fn float2ull_ru(x: f32) -> i64 = to_integer!("cvt.rpi.u64.f32" f32 u64, x, x.round_up()) as i64;
    /// `f32` to `u64`, rounded towards zero; saturates, NaN is 2⁶³.
    fn float2ull_rz(x: f32) -> i64 = to_integer!("cvt.rzi.u64.f32" f32 u64, x, x.round_to_zero()) as i64;
    /// `f64` to `i32`, to the nearest, ties to even; saturates, NaN is the least one.
    fn double2int_rn(x: f64) -> i32 = to_integer!("cvt.rni.s32.f64" f64 i32, x, x.nearest());
    /// `f64` to `i32`, rounded down; saturates, NaN is the least one.
    fn double2int_rd(x: f64) -> i32 = to_integer!("cvt.rmi.s32.f64" f64 i32, x, x.round_down());
    /// `f64` to `i32`, rounded up; saturates, NaN is the least one.
    fn double2int_ru(x: f64) -> i32 = to_integer!("cvt.rpi.s32.f64" f64 i32, x, x.round_up());
    /// `f64` to `i32`, rounded towards zero; saturates, NaN is the least one.
    fn double2int_rz(x: f64) -> i32 = to_integer!("cvt.rzi.s32.f64" f64 i32, x, x.round_to_zero());
    /// `f64` to `u32`, to the nearest, ties to even; saturates, NaN is 2³¹.
    fn double2uint_rn(x: f64) -> i32 = to_integer!("cvt.rni.u32.f64" f64 u32, x, x.nearest()) as i32;
    /// `f64` to `u32`, rounded down; saturates, NaN is 2³¹.
    fn double2uint_rd(x: f64) -> i32 = to_integer!("cvt.rmi.u32.f64" f64 u32, x, x.round_down()) as i32;
    /// `f64` to `u32`, rounded up; saturates, NaN is 2³¹.
    fn double2uint_ru(x: f64) -> i32 = to_integer!("cvt.rpi.u32.f64" f64 u32, x, x.round_up()) as i32;
    /// `f64` to `u32`, rounded towards zero; saturates, NaN is 2³¹.
    fn double2uint_rz(x: f64) -> i32 = to_integer!("cvt.rzi.u32.f64" f64 u32, x, x.round_to_zero()) as i32;
    /// `f64` to `i64`, to the nearest, ties to even; saturates, NaN is the least one.
    fn double2ll_rn(x: f64) -> i64 = to_integer!("cvt.rni.s64.f64" f64 i64, x, x.nearest());
    /// `f64` to `i64`, rounded down; saturates, NaN is the least one.
    fn double2ll_rd(x: f64) -> i64 = to_integer!("cvt.rmi.s64.f64" f64 i64, x, x.round_down());
    /// `f64` to `i64`, rounded up; saturates, NaN is the least one.
    fn double2ll_ru(x: f64) -> i64 = to_integer!("cvt.rpi.s64.f64" f64 i64, x, x.round_up());
    /// `f64` to `i64`, rounded towards zero; saturates, NaN is the least one.
    fn double2ll_rz(x: f64) -> i64 = to_integer!("cvt.rzi.s64.f64" f64 i64, x, x.round_to_zero());
    /// `f64` to `u64`, to the nearest, ties to even; saturates, NaN is 2⁶³.
    fn double2ull_rn(x: f64) -> i64 = to_integer!("cvt.rni.u64.f64" f64 u64, x, x.nearest()) as i64;
    /// `f64` to `u64`, rounded down; saturates, NaN is 2⁶³.
    fn double2ull_rd(x: f64) -> i64 = to_integer!("cvt.rmi.u64.f64" f64 u64, x, x.round_down()) as i64;
    /// `f64` to `u64`, rounded up; saturates, NaN is 2⁶³.
    fn double2ull_ru(x: f64) -> i64 = to_integer!("cvt.rpi.u64.f64" f64 u64, x, x.round_up()) as i64;
    /// `f64` to `u64`, rounded towards zero; saturates, NaN is 2⁶³.
    fn double2ull_rz(x: f64) -> i64 = to_integer!("cvt.rzi.u64.f64" f64 u64, x, x.round_to_zero()) as i64;
    /// `i32` to `f32`, to the nearest, ties to even.
    fn int2float_rn(x: i32) -> f32 = x as f32;
    /// `i32` to `f32`, rounded down.
    fn int2float_rd(x: i32) -> f32 = rounded!("cvt.rm.f32.s32" i32 f32 Down, x);
    /// `i32` to `f32`, rounded up.
    fn int2float_ru(x: i32) -> f32 = rounded!("cvt.rp.f32.s32" i32 f32 Up, x);
    /// `i32` to `f32`, rounded towards zero.
    fn int2float_rz(x: i32) -> f32 = rounded!("cvt.rz.f32.s32" i32 f32 Zero, x);
    /// `i32` to `f64`, exact.
    fn int2double_rn(x: i32) -> f64 = f64::from(x);
    /// `u32` to `f32`, to the nearest, ties to even.
    fn uint2float_rn(x: i32) -> f32 = (x as u32) as f32;
    /// `u32` to `f32`, rounded down.
    fn uint2float_rd(x: i32) -> f32 = rounded!("cvt.rm.f32.u32" u32 f32 Down, x as u32);
    /// `u32` to `f32`, rounded up.
    fn uint2float_ru(x: i32) -> f32 = rounded!("cvt.rp.f32.u32" u32 f32 Up, x as u32);
    /// `u32` to `f32`, rounded towards zero.
    fn uint2float_rz(x: i32) -> f32 = rounded!("cvt.rz.f32.u32" u32 f32 Zero, x as u32);
    /// `u32` to `f64`, exact.
    fn uint2double_rn(x: i32) -> f64 = f64::from(x as u32);
    /// `i64` to `f32`, to the nearest, ties to even.
    fn ll2float_rn(x: i64) -> f32 = x as f32;
    /// `i64` to `f32`, rounded down.
    fn ll2float_rd(x: i64) -> f32 = rounded!("cvt.rm.f32.s64" i64 f32 Down, x);
    /// `i64` to `f32`, rounded up.
    fn ll2float_ru(x: i64) -> f32 = rounded!("cvt.rp.f32.s64" i64 f32 Up, x);
    /// `i64` to `f32`, rounded towards zero.
    fn ll2float_rz(x: i64) -> f32 = rounded!("cvt.rz.f32.s64" i64 f32 Zero, x);
    /// `i64` to `f64`, to the nearest, ties to even.
    fn ll2double_rn(x: i64) -> f64 = x as f64;
    /// `i64` to `f64`, rounded down.
    fn ll2double_rd(x: i64) -> f64 = rounded!("cvt.rm.f64.s64" i64 f64 Down, x);
    /// `i64` to `f64`, rounded up.
    fn ll2double_ru(x: i64) -> f64 = rounded!("cvt.rp.f64.s64" i64 f64 Up, x);
    /// `i64` to `f64`, rounded towards zero.
    fn ll2double_rz(x: i64) -> f64 = rounded!("cvt.rz.f64.s64" i64 f64 Zero, x);
    /// `u64` to `f32`, to the nearest, ties to even.
    fn ull2float_rn(x: i64) -> f32 = (x as u64) as f32;
    /// `u64` to `f32`, rounded down.
    fn ull2float_rd(x: i64) -> f32 = rounded!("cvt.rm.f32.u64" u64 f32 Down, x as u64);
    /// `u64` to `f32`, rounded up.
    fn ull2float_ru(x: i64) -> f32 = rounded!("cvt.rp.f32.u64" u64 f32 Up, x as u64);
    /// `u64` to `f32`, rounded towards zero.
    fn ull2float_rz(x: i64) -> f32 = rounded!("cvt.rz.f32.u64" u64 f32 Zero, x as u64);
    /// `u64` to `f64`, to the nearest, ties to even.
    fn ull2double_rn(x: i64) -> f64 = (x as u64) as f64;
    /// `u64` to `f64`, rounded down.
    fn ull2double_rd(x: i64) -> f64 = rounded!("cvt.rm.f64.u64" u64 f64 Down, x as u64);
    /// `u64` to `f64`, rounded up.
    fn ull2double_ru(x: i64) -> f64 = rounded!("cvt.rp.f64.u64" u64 f64 Up, x as u64);
    /// `u64` to `f64`, rounded towards zero.
    fn ull2double_rz(x: i64) -> f64 = rounded!("cvt.rz.f64.u64" u64 f64 Zero, x as u64);
    /// `f64` to `f32`, to the nearest, ties to even.
    fn double2float_rn(x: f64) -> f32 = x as f32;
    /// `f64` to `f32`, rounded down.
    fn double2float_rd(x: f64) -> f32 = rounded!("cvt.rm.f32.f64" f64 f32 Down, x);
    /// `f64` to `f32`, rounded up.
    fn double2float_ru(x: f64) -> f32 = rounded!("cvt.rp.f32.f64" f64 f32 Up, x);
    /// `f64` to `f32`, rounded towards zero.
    fn double2float_rz(x: f64) -> f32 = rounded!("cvt.rz.f32.f64" f64 f32 Zero, x);
    /// `f32` to the bits of an `f16`, to the nearest, ties to even.
    fn float2half_rn(x: f32) -> i16 = f16::from_f32(x).to_bits() as i16;
    /// The bits of an `f16` to `f32`, exact.
    fn half2float(x: i16) -> f32 = f16::from_bits(x as u16).to_f32();
    /// To the nearest integer, ties to even; saturates, NaN is the least one.
    fn llrint(x: f64) -> i64 = to_integer!("cvt.rni.s64.f64" f64 i64, x, x.nearest());
    /// To the nearest integer, ties to even; saturates, NaN is the least one.
    fn llrintf(x: f32) -> i64 = to_integer!("cvt.rni.s64.f32" f32 i64, x, x.nearest());
    /// To the nearest integer, ties away from zero; saturates, NaN is the least one.
    fn llround(x: f64) -> i64 = {
        let whole = round(x);
        to_integer!("cvt.rzi.s64.f64" f64 i64, whole, whole)
    };
    /// To the nearest integer, ties away from zero; saturates, NaN is the least one.
    fn llroundf(x: f32) -> i64 = {
        let whole = round(x);
        to_integer!("cvt.rzi.s64.f32" f32 i64, whole, whole)
    };
    /// The upper half of the bits.
    fn double2hiint(x: f64) -> i32 = (x.to_bits() >> 32) as i32;
    /// The lower half of the bits.
    fn double2loint(x: f64) -> i32 = x.to_bits() as i32;
    /// The float with these upper and lower halves.
    fn hiloint2double(high: i32, low: i32) -> f64 = f64::from_bits(u64::from(high as u32) << 32 | u64::from(low as u32));
    /// The bits.
    fn double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    /// The float with these bits.
    fn longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    /// The bits.
    fn float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    /// The bits.
    fn float_as_uint(x: f32) -> i32 = x.to_bits() as i32;
    /// The float with these bits.
    fn int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    /// The float with these bits.
    fn uint_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
}

#[cfg(not(target_os = "cuda"))]
fn narrowed(x: f64, direction: Direction) -> f32 {
    let nearest = x as f32;
    match x.partial_cmp(&f64::from(nearest)) {
        Some(order) => towards(direction, nearest, order),
        None => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SAFETY of all calls: these functions have no requirements.
    macro_rules! check {
        ($($call:expr => $expected:expr;)*) => {$(
            // SAFETY: see above.
            core::assert_eq!(unsafe { $call }, $expected, stringify!($call));
        )*};
    }

    #[test]
    fn floats_to_integers() {
        check! {
            float2int_rn(2.5) => 2;
            float2int_rn(-3.5) => -4;
            float2int_rd(-2.1) => -3;
            float2int_ru(2.1) => 3;
            float2int_rz(-2.9) => -2;
            float2int_rz(1e20) => i32::MAX;
            float2int_rz(f32::NAN) => 0;
            float2uint_rz(-1.0) => 0;
            float2uint_rn(4294967040.0) => -256;
            float2ll_rd(-0.5) => -1;
            float2uint_rn(f32::NAN) => 0;
            float2ll_rz(f32::NAN) => i64::MIN;
            float2ull_ru(f32::NAN) => i64::MIN;
            double2int_rd(f64::NAN) => i32::MIN;
            double2uint_rz(f64::NAN) => i32::MIN;
            llroundf(f32::NAN) => i64::MIN;
            double2ull_rz(18446744073709549568.0) => -2048;
            double2int_ru(-2147483648.5) => i32::MIN;
            double2uint_rd(3e9) => -1294967296;
            llrint(2.5) => 2;
            llround(2.5) => 3;
            llroundf(-0.5) => -1;
        }
    }

    #[test]
    fn integers_to_floats() {
        let odd = (1 << 24) + 1;
        check! {
            int2float_rn(odd) => 16777216.0;
            int2float_rd(odd) => 16777216.0;
            int2float_ru(odd) => 16777218.0;
            int2float_rz(-odd) => -16777216.0;
            int2float_rd(-odd) => -16777218.0;
            int2float_ru(i32::MAX) => 2147483648.0;
            int2float_rd(i32::MAX) => 2147483520.0;
            uint2float_rz(-1) => 4294967040.0;
            ull2double_rd(-1) => 18446744073709549568.0;
            ull2double_ru(-1) => 18446744073709551616.0;
            ll2double_rz(i64::MIN) => -9223372036854775808.0;
            ll2float_ru(i64::MAX) => 9223372036854775808.0;
            uint2double_rn(-1) => 4294967295.0;
        }
    }

    #[test]
    fn doubles_to_floats() {
        check! {
            double2float_rd(0.1) => f32::from_bits(0x3dcc_cccc);
            double2float_ru(0.1) => f32::from_bits(0x3dcc_cccd);
            double2float_rz(-0.1) => f32::from_bits(0xbdcc_cccc);
            double2float_rz(1e300) => f32::MAX;
            double2float_rd(-1e300) => f32::NEG_INFINITY;
            double2float_ru(1e-300) => f32::from_bits(1);
            double2float_rd(0.5) => 0.5;
        }
    }

    #[test]
    fn bits() {
        check! {
            double2hiint(1.0) => 0x3ff0_0000;
            double2loint(f64::from_bits(0x1234_5678_9abc_def0)) => 0x9abc_def0_u32 as i32;
            hiloint2double(0x3ff0_0000, 0) => 1.0;
            half2float(0x3c00) => 1.0;
            float2half_rn(-2.0) => 0xc000_u16 as i16;
            float_as_uint(-0.0) => i32::MIN;
            uint_as_float(0x3f80_0000) => 1.0;
        }
    }
}
