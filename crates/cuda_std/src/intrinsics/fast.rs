//! Approximations by the special function unit: `fast_*`, and what one of its instructions computes.
//!
//! On the device their errors are those that the PTX manual gives for the instructions; on the host the accurate
//! functions stand in.

#[cfg(not(target_os = "cuda"))]
use crate::math;

macro_rules! approximate {
    ($float:ident, $text:literal, $x:expr, $host:expr) => {{
        #[cfg(target_os = "cuda")]
        {
            instruction!($text $float $float, $x)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            $host($x)
        }
    }};
}

#[inline(always)]
fn sine(x: f32) -> f32 {
    approximate!(f32, "sin.approx.f32", x, math::trig::sin)
}

#[inline(always)]
fn cosine(x: f32) -> f32 {
    approximate!(f32, "cos.approx.f32", x, math::trig::cos)
}

#[inline(always)]
fn power_of_two(x: f32) -> f32 {
    approximate!(f32, "ex2.approx.f32", x, math::single::exp2)
}

#[inline(always)]
fn log_of_two(x: f32) -> f32 {
    approximate!(f32, "lg2.approx.f32", x, math::single::log2)
}

#[inline(always)]
fn quotient(x: f32, y: f32) -> f32 {
    #[cfg(target_os = "cuda")]
    {
        let result: f32;
        // SAFETY: arithmetic has no precondition.
        unsafe {
            crate::__blockwise_ptx!("div.approx.f32 {result}, {x}, {y};", result = out(f32) result, x = in(f32) x, y = in(f32) y;
                options(pure, nomem))
        }
        result
    }
    #[cfg(not(target_os = "cuda"))]
    {
        x / y
    }
}

libdevice! {
    /// The sine, to 2^-20.5 absolute in [-2π, 2π].
    fn fast_sinf(x: f32) -> f32 = sine(x);
    /// The cosine, to 2^-20.5 absolute in [-2π, 2π].
    fn fast_cosf(x: f32) -> f32 = cosine(x);
    /// [`fast_sinf`] and [`fast_cosf`] at once.
    fn fast_sincosf(x: f32, sin: *mut f32, cos: *mut f32) = {
        // SAFETY: the caller's promise.
        unsafe {
            *sin = sine(x);
            *cos = cosine(x);
        }
    };
    /// [`fast_sinf`] by [`fast_cosf`].
    fn fast_tanf(x: f32) -> f32 = quotient(sine(x), cosine(x));
    /// The hyperbolic tangent, to 2^-11 relative, from `compute_75`.
    fn fast_tanhf(x: f32) -> f32 = approximate!(f32, "tanh.approx.f32", x, math::single::tanh);
    /// e^x, to 2 + |x|·1.2 ulp.
    fn fast_expf(x: f32) -> f32 = power_of_two(x * core::f32::consts::LOG2_E);
    /// 10^x, to 2 + |x|·2.9 ulp.
    fn fast_exp10f(x: f32) -> f32 = power_of_two(x * core::f32::consts::LOG2_10);
    /// The natural logarithm, to 2^-21.4 absolute in [0.5, 2], else to 3 ulp.
    fn fast_logf(x: f32) -> f32 = log_of_two(x) * core::f32::consts::LN_2;
    /// The logarithm to base 2, to 2^-22 absolute in [0.5, 2], else to 2 ulp.
    fn fast_log2f(x: f32) -> f32 = log_of_two(x);
    /// The logarithm to base 10, to 2^-24 absolute in [0.5, 2], else to 3 ulp.
    fn fast_log10f(x: f32) -> f32 = log_of_two(x) * core::f32::consts::LOG10_2;
    /// x^y as 2^(y · log2 x), for x > 0.
    fn fast_powf(x: f32, y: f32) -> f32 = power_of_two(y * log_of_two(x));
    /// x / y, to 2 ulp for 2^-126 <= |y| <= 2^126; 0 or NaN for greater |y|.
    fn fast_fdividef(x: f32, y: f32) -> f32 = quotient(x, y);
    /// 1 / √x, to 2 ulp.
    fn rsqrtf(x: f32) -> f32 = approximate!(f32, "rsqrt.approx.f32", x, math::root::rsqrt);
    /// The upper half of an approximation of 1 / x, the lower half zero.
    fn rcp64h(x: f64) -> f64 =
        approximate!(f64, "rcp.approx.ftz.f64", x, |x: f64| f64::from_bits((1.0 / x).to_bits() >> 32 << 32));
}
