//! Functions of `GpuFloat` and `FloatExt` in a kernel: what rustc inlines there must round as it does in a function of its
//! own, and approximations by the device must end up correctly rounded.

use cuda_std::intrinsics::fast_tanhf;
use cuda_std::prelude::*;
use cuda_std::{FloatExt, GpuFloat};

/// Results of each input.
pub const RESULTS: usize = 36;

/// All functions of one input.
#[inline(always)]
pub fn all<T: GpuFloat + FloatExt>(x: T, y: T) -> [T; RESULTS] {
    let (sin, cos) = x.sin_cos();
    [
        GpuFloat::sin(x),
        GpuFloat::cos(x),
        GpuFloat::tan(x),
        GpuFloat::asin(x),
        GpuFloat::acos(x),
        GpuFloat::atan(x),
        GpuFloat::atan2(x, y),
        sin,
        cos,
        GpuFloat::exp(x),
        GpuFloat::exp2(x),
        GpuFloat::exp_m1(x),
        GpuFloat::ln(x),
        GpuFloat::log2(x),
        GpuFloat::log10(x),
        GpuFloat::ln_1p(x),
        GpuFloat::powf(x, y),
        GpuFloat::cbrt(x),
        GpuFloat::hypot(x, y),
        GpuFloat::sinh(x),
        GpuFloat::cosh(x),
        GpuFloat::tanh(x),
        GpuFloat::asinh(x),
        GpuFloat::acosh(x),
        GpuFloat::atanh(x),
        x.rcbrt(),
        x.error_function(),
        x.complementary_error_function(),
        x.scaled_complementary_error_function(),
        x.inv_complementary_error_function(),
        x.norm_cdf(),
        x.inv_norm_cdf(),
        x.gamma(),
        x.log_gamma(),
        x.sinpi(),
        GpuFloat::rem_euclid(x, y),
    ]
}

/// f32.
///
/// # Safety
/// `out` holds [`RESULTS`] elements for each of `x`, and `y` is as long.
#[kernel]
pub unsafe fn mathematics_f32(x: &[f32], y: &[f32], out: *mut [f32; RESULTS]) {
    let i = thread::index_1d() as usize;
    if i < x.len() && i < y.len() {
        // SAFETY: as the contract says.
        unsafe { *out.add(i) = all(x[i], y[i]) };
    }
}

/// f64.
///
/// # Safety
/// As [`fn@mathematics_f32`].
#[kernel]
pub unsafe fn mathematics_f64(x: &[f64], y: &[f64], out: *mut [f64; RESULTS]) {
    let i = thread::index_1d() as usize;
    if i < x.len() && i < y.len() {
        // SAFETY: as the contract says.
        unsafe { *out.add(i) = all(x[i], y[i]) };
    }
}

/// x · Φ(x), and its approximation by a hyperbolic tangent of the device.
///
/// # Safety
/// `out` holds two elements for each of `x`.
#[kernel]
pub unsafe fn gelu(x: &[f32], out: *mut [f32; 2]) {
    let i = thread::index_1d() as usize;
    if let Some(&x) = x.get(i) {
        // SAFETY: arithmetic has no precondition.
        let tanh = unsafe { fast_tanhf(0.797_884_6 * (x + 0.044_715 * x * x * x)) };
        let gelu = [x * x.norm_cdf(), 0.5 * x * (1.0 + tanh)];
        // SAFETY: as the contract says.
        unsafe { *out.add(i) = gelu };
    }
}
