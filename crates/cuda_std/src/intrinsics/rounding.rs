//! Arithmetic with an explicit rounding direction. All results are exactly what the names say.

#[cfg(not(target_os = "cuda"))]
use crate::math::{real::Real, rounding};

macro_rules! unary {
    ($op:ident $float:ident $text:literal $direction:ident, $x:ident) => {{
        #[cfg(target_os = "cuda")]
        {
            instruction!($text $float $float, $x)
        }
        #[cfg(not(target_os = "cuda"))]
        unary!(@host $op $direction, $x)
    }};
    (@host rcp Nearest, $x:ident) => { 1.0 / $x };
    (@host rcp $direction:ident, $x:ident) => { rounding::host::div(1.0, $x, rounding::Direction::$direction) };
    (@host sqrt Nearest, $x:ident) => { $x.root() };
    (@host sqrt $direction:ident, $x:ident) => { rounding::host::sqrt($x, rounding::Direction::$direction) };
}

macro_rules! binary {
    ($op:ident $float:ident $text:literal $direction:ident, $x:ident, $y:ident) => {{
        #[cfg(target_os = "cuda")]
        {
            instruction!($text $float $float, $x, $y)
        }
        #[cfg(not(target_os = "cuda"))]
        binary!(@host $op $direction, $x, $y)
    }};
    (@host add Nearest, $x:ident, $y:ident) => { $x + $y };
    (@host sub Nearest, $x:ident, $y:ident) => { $x - $y };
    (@host mul Nearest, $x:ident, $y:ident) => { $x * $y };
    (@host div Nearest, $x:ident, $y:ident) => { $x / $y };
    (@host sub $direction:ident, $x:ident, $y:ident) => {
        rounding::host::add($x, -$y, rounding::Direction::$direction)
    };
    (@host $op:ident $direction:ident, $x:ident, $y:ident) => {
        rounding::host::$op($x, $y, rounding::Direction::$direction)
    };
}

macro_rules! ternary {
    ($float:ident $text:literal $direction:ident, $x:ident, $y:ident, $z:ident) => {{
        #[cfg(target_os = "cuda")]
        {
            instruction!($text $float $float, $x, $y, $z)
        }
        #[cfg(not(target_os = "cuda"))]
        ternary!(@host $direction, $x, $y, $z)
    }};
    (@host Nearest, $x:ident, $y:ident, $z:ident) => { Real::fma($x, $y, $z) };
    (@host $direction:ident, $x:ident, $y:ident, $z:ident) => {
        rounding::host::fma($x, $y, $z, rounding::Direction::$direction)
    };
}

libdevice! {
    /// x + y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn fadd_rn(x: f32, y: f32) -> f32 = binary!(add f32 "add.rn.f32" Nearest, x, y);
    /// x + y, rounded down; never fused with its neighbours.
    fn fadd_rd(x: f32, y: f32) -> f32 = binary!(add f32 "add.rm.f32" Down, x, y);
    /// x + y, rounded up; never fused with its neighbours.
    fn fadd_ru(x: f32, y: f32) -> f32 = binary!(add f32 "add.rp.f32" Up, x, y);
    /// x + y, rounded towards zero; never fused with its neighbours.
    fn fadd_rz(x: f32, y: f32) -> f32 = binary!(add f32 "add.rz.f32" Zero, x, y);
    /// x - y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn fsub_rn(x: f32, y: f32) -> f32 = binary!(sub f32 "sub.rn.f32" Nearest, x, y);
    /// x - y, rounded down; never fused with its neighbours.
    fn fsub_rd(x: f32, y: f32) -> f32 = binary!(sub f32 "sub.rm.f32" Down, x, y);
    /// x - y, rounded up; never fused with its neighbours.
    fn fsub_ru(x: f32, y: f32) -> f32 = binary!(sub f32 "sub.rp.f32" Up, x, y);
    /// x - y, rounded towards zero; never fused with its neighbours.
    fn fsub_rz(x: f32, y: f32) -> f32 = binary!(sub f32 "sub.rz.f32" Zero, x, y);
    /// x · y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn fmul_rn(x: f32, y: f32) -> f32 = binary!(mul f32 "mul.rn.f32" Nearest, x, y);
    /// x · y, rounded down; never fused with its neighbours.
    fn fmul_rd(x: f32, y: f32) -> f32 = binary!(mul f32 "mul.rm.f32" Down, x, y);
    /// x · y, rounded up; never fused with its neighbours.
    fn fmul_ru(x: f32, y: f32) -> f32 = binary!(mul f32 "mul.rp.f32" Up, x, y);
    /// x · y, rounded towards zero; never fused with its neighbours.
    fn fmul_rz(x: f32, y: f32) -> f32 = binary!(mul f32 "mul.rz.f32" Zero, x, y);
    /// x / y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn fdiv_rn(x: f32, y: f32) -> f32 = binary!(div f32 "div.rn.f32" Nearest, x, y);
    /// x / y, rounded down; never fused with its neighbours.
    fn fdiv_rd(x: f32, y: f32) -> f32 = binary!(div f32 "div.rm.f32" Down, x, y);
    /// x / y, rounded up; never fused with its neighbours.
    fn fdiv_ru(x: f32, y: f32) -> f32 = binary!(div f32 "div.rp.f32" Up, x, y);
    /// x / y, rounded towards zero; never fused with its neighbours.
    fn fdiv_rz(x: f32, y: f32) -> f32 = binary!(div f32 "div.rz.f32" Zero, x, y);
    /// 1 / x, rounded to the nearest, ties to even.
    fn frcp_rn(x: f32) -> f32 = unary!(rcp f32 "rcp.rn.f32" Nearest, x);
    /// 1 / x, rounded down.
    fn frcp_rd(x: f32) -> f32 = unary!(rcp f32 "rcp.rm.f32" Down, x);
    /// 1 / x, rounded up.
    fn frcp_ru(x: f32) -> f32 = unary!(rcp f32 "rcp.rp.f32" Up, x);
    /// 1 / x, rounded towards zero.
    fn frcp_rz(x: f32) -> f32 = unary!(rcp f32 "rcp.rz.f32" Zero, x);
    /// √x, rounded to the nearest, ties to even.
    fn fsqrt_rn(x: f32) -> f32 = unary!(sqrt f32 "sqrt.rn.f32" Nearest, x);
    /// √x, rounded down.
    fn fsqrt_rd(x: f32) -> f32 = unary!(sqrt f32 "sqrt.rm.f32" Down, x);
    /// √x, rounded up.
    fn fsqrt_ru(x: f32) -> f32 = unary!(sqrt f32 "sqrt.rp.f32" Up, x);
    /// √x, rounded towards zero.
    fn fsqrt_rz(x: f32) -> f32 = unary!(sqrt f32 "sqrt.rz.f32" Zero, x);
    /// x + y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn dadd_rn(x: f64, y: f64) -> f64 = binary!(add f64 "add.rn.f64" Nearest, x, y);
    /// x + y, rounded down; never fused with its neighbours.
    fn dadd_rd(x: f64, y: f64) -> f64 = binary!(add f64 "add.rm.f64" Down, x, y);
    /// x + y, rounded up; never fused with its neighbours.
    fn dadd_ru(x: f64, y: f64) -> f64 = binary!(add f64 "add.rp.f64" Up, x, y);
    /// x + y, rounded towards zero; never fused with its neighbours.
    fn dadd_rz(x: f64, y: f64) -> f64 = binary!(add f64 "add.rz.f64" Zero, x, y);
    /// x - y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn dsub_rn(x: f64, y: f64) -> f64 = binary!(sub f64 "sub.rn.f64" Nearest, x, y);
    /// x - y, rounded down; never fused with its neighbours.
    fn dsub_rd(x: f64, y: f64) -> f64 = binary!(sub f64 "sub.rm.f64" Down, x, y);
    /// x - y, rounded up; never fused with its neighbours.
    fn dsub_ru(x: f64, y: f64) -> f64 = binary!(sub f64 "sub.rp.f64" Up, x, y);
    /// x - y, rounded towards zero; never fused with its neighbours.
    fn dsub_rz(x: f64, y: f64) -> f64 = binary!(sub f64 "sub.rz.f64" Zero, x, y);
    /// x · y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn dmul_rn(x: f64, y: f64) -> f64 = binary!(mul f64 "mul.rn.f64" Nearest, x, y);
    /// x · y, rounded down; never fused with its neighbours.
    fn dmul_rd(x: f64, y: f64) -> f64 = binary!(mul f64 "mul.rm.f64" Down, x, y);
    /// x · y, rounded up; never fused with its neighbours.
    fn dmul_ru(x: f64, y: f64) -> f64 = binary!(mul f64 "mul.rp.f64" Up, x, y);
    /// x · y, rounded towards zero; never fused with its neighbours.
    fn dmul_rz(x: f64, y: f64) -> f64 = binary!(mul f64 "mul.rz.f64" Zero, x, y);
    /// x / y, rounded to the nearest, ties to even; never fused with its neighbours.
    fn ddiv_rn(x: f64, y: f64) -> f64 = binary!(div f64 "div.rn.f64" Nearest, x, y);
    /// x / y, rounded down; never fused with its neighbours.
    fn ddiv_rd(x: f64, y: f64) -> f64 = binary!(div f64 "div.rm.f64" Down, x, y);
    /// x / y, rounded up; never fused with its neighbours.
    fn ddiv_ru(x: f64, y: f64) -> f64 = binary!(div f64 "div.rp.f64" Up, x, y);
    /// x / y, rounded towards zero; never fused with its neighbours.
    fn ddiv_rz(x: f64, y: f64) -> f64 = binary!(div f64 "div.rz.f64" Zero, x, y);
    /// 1 / x, rounded to the nearest, ties to even.
    fn drcp_rn(x: f64) -> f64 = unary!(rcp f64 "rcp.rn.f64" Nearest, x);
    /// 1 / x, rounded down.
    fn drcp_rd(x: f64) -> f64 = unary!(rcp f64 "rcp.rm.f64" Down, x);
    /// 1 / x, rounded up.
    fn drcp_ru(x: f64) -> f64 = unary!(rcp f64 "rcp.rp.f64" Up, x);
    /// 1 / x, rounded towards zero.
    fn drcp_rz(x: f64) -> f64 = unary!(rcp f64 "rcp.rz.f64" Zero, x);
    /// √x, rounded to the nearest, ties to even.
    fn dsqrt_rn(x: f64) -> f64 = unary!(sqrt f64 "sqrt.rn.f64" Nearest, x);
    /// √x, rounded down.
    fn dsqrt_rd(x: f64) -> f64 = unary!(sqrt f64 "sqrt.rm.f64" Down, x);
    /// √x, rounded up.
    fn dsqrt_ru(x: f64) -> f64 = unary!(sqrt f64 "sqrt.rp.f64" Up, x);
    /// √x, rounded towards zero.
    fn dsqrt_rz(x: f64) -> f64 = unary!(sqrt f64 "sqrt.rz.f64" Zero, x);
    /// x · y + z, rounded once, to the nearest, ties to even.
    fn fmaf_rn(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rn.f32" Nearest, x, y, z);
    /// x · y + z, rounded once, down.
    fn fmaf_rd(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rm.f32" Down, x, y, z);
    /// x · y + z, rounded once, up.
    fn fmaf_ru(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rp.f32" Up, x, y, z);
    /// x · y + z, rounded once, towards zero.
    fn fmaf_rz(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rz.f32" Zero, x, y, z);
    /// x · y + z, rounded once, to the nearest, ties to even; keeps subnormals whatever the build's options.
    fn fmaf_ieee_rn(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rn.f32" Nearest, x, y, z);
    /// x · y + z, rounded once, down; keeps subnormals whatever the build's options.
    fn fmaf_ieee_rd(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rm.f32" Down, x, y, z);
    /// x · y + z, rounded once, up; keeps subnormals whatever the build's options.
    fn fmaf_ieee_ru(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rp.f32" Up, x, y, z);
    /// x · y + z, rounded once, towards zero; keeps subnormals whatever the build's options.
    fn fmaf_ieee_rz(x: f32, y: f32, z: f32) -> f32 = ternary!(f32 "fma.rz.f32" Zero, x, y, z);
    /// x · y + z, rounded once, to the nearest, ties to even.
    fn fma_rn(x: f64, y: f64, z: f64) -> f64 = ternary!(f64 "fma.rn.f64" Nearest, x, y, z);
    /// x · y + z, rounded once, down.
    fn fma_rd(x: f64, y: f64, z: f64) -> f64 = ternary!(f64 "fma.rm.f64" Down, x, y, z);
    /// x · y + z, rounded once, up.
    fn fma_ru(x: f64, y: f64, z: f64) -> f64 = ternary!(f64 "fma.rp.f64" Up, x, y, z);
    /// x · y + z, rounded once, towards zero.
    fn fma_rz(x: f64, y: f64, z: f64) -> f64 = ternary!(f64 "fma.rz.f64" Zero, x, y, z);
    /// 1 / √x, rounded to the nearest, ties to even.
    fn frsqrt_rn(x: f32) -> f32 = crate::math::root::rsqrt(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SAFETY of all calls: these functions ask for nothing.
    macro_rules! check {
        ($($call:expr => $expected:expr;)*) => {$(
            // SAFETY: see above.
            let result = unsafe { $call };
            core::assert_eq!(result.to_bits(), ($expected as f32).to_bits(), "{}: {result}", stringify!($call));
        )*};
    }

    #[test]
    fn one_bit_decides_the_direction() {
        let one_up = f32::from_bits(0x3f80_0001);
        let one_down = f32::from_bits(0x3f7f_ffff);
        let (tiny, least) = (1e-30, f32::from_bits(1));
        check! {
            fadd_rn(1.0, tiny) => 1.0;
            fadd_ru(1.0, tiny) => one_up;
            fadd_rd(1.0, tiny) => 1.0;
            fadd_rd(1.0, -tiny) => one_down;
            fsub_rz(1.0, tiny) => one_down;
            fsub_rz(-1.0, -tiny) => -one_down;
            fadd_rd(1.0, -1.0) => -0.0;
            fadd_ru(1.0, -1.0) => 0.0;
            fadd_rz(f32::MAX, f32::MAX) => f32::MAX;
            fadd_rd(-f32::MAX, -f32::MAX) => f32::NEG_INFINITY;
            fmul_ru(least, 0.5) => least;
            fmul_rd(least, 0.5) => 0.0;
            fmul_rd(-least, 0.5) => -least;
            fmul_rz(0.1, 0.1) => 0.01;
            fmul_ru(tiny, tiny) => least;
            fdiv_ru(1.0, 3.0) => f32::from_bits(0x3eaa_aaab);
            fdiv_rd(1.0, 3.0) => f32::from_bits(0x3eaa_aaaa);
            fdiv_rz(-1.0, 3.0) => -f32::from_bits(0x3eaa_aaaa);
            fdiv_rd(1.0, -3.0) => -f32::from_bits(0x3eaa_aaab);
            fdiv_rz(1.0, 0.0) => f32::INFINITY;
            frcp_rd(3.0) => f32::from_bits(0x3eaa_aaaa);
            fsqrt_ru(2.0) => f32::from_bits(0x3fb5_04f4);
            fsqrt_rd(2.0) => f32::from_bits(0x3fb5_04f3);
            fsqrt_ru(4.0) => 2.0;
            fmaf_ru(1.0, 1.0, tiny) => one_up;
            fmaf_rz(one_up, one_up, -1.0) => f32::from_bits(0x3480_0000);
            fmaf_ru(one_up, one_up, -1.0) => f32::from_bits(0x3480_0001);
            frsqrt_rn(4.0) => 0.5;
        }
    }

    #[test]
    fn directions_enclose_the_exact_double_result() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Exponents near one, so that products fit in f64 exactly and quotients nearly do.
            f32::from_bits((state >> 32) as u32 & 0x87ff_ffff | 0x3c00_0000)
        };
        for _ in 0..2000 {
            let (x, y) = (random(), random());
            let wide = f64::from(x) * f64::from(y);
            // SAFETY: these functions have no requirements.
            let (down, up, zero) = unsafe { (fmul_rd(x, y), fmul_ru(x, y), fmul_rz(x, y)) };
            assert!(f64::from(down) <= wide && wide <= f64::from(up) && up <= down.next_up(), "{x} * {y}");
            core::assert_eq!(zero, if wide < 0.0 { up } else { down });
            let wide = f64::from(x) + f64::from(y);
            // SAFETY: as above.
            let (down, up) = unsafe { (fadd_rd(x, y), fadd_ru(x, y)) };
            assert!(f64::from(down) <= wide && wide <= f64::from(up) && up <= down.next_up(), "{x} + {y}");
        }
    }
}
