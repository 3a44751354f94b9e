//! The polynomials of the elementary functions for `f32`, made by `tools/minimax.py`.

use super::real::polynomial;

/// (e^r - 1 - r) / r² on |r| <= ln(2)/2. Error 5.1e-10.
#[inline(always)]
pub(crate) fn exp_tail(x: f32) -> f32 {
    polynomial!(x;
        0.5, 0.16666648, 0.041666474, 0.008337685, 0.0013933198, 0.00017528725)
}

/// (atanh(s)/s - 1 - z/3) / z² with z = s², on |s| <= (√2-1)/(√2+1). Error 1.5e-8.
#[inline(always)]
pub(crate) fn atanh_tail(x: f32) -> f32 {
    polynomial!(x;
        0.2, 0.14285573, 0.11119113, 0.09190458)
}

/// (sin(x)/x - 1) / z with z = x², on |x| <= π/4. Error 1.6e-10.
#[inline(always)]
pub(crate) fn sin_tail(x: f32) -> f32 {
    polynomial!(x;
        -0.16666667, 0.00833338, -0.00019853513, 2.8375512e-06)
}

/// (cos(x) - 1 + z/2) / z² with z = x², on |x| <= π/4. Error 1.1e-10.
#[inline(always)]
pub(crate) fn cos_tail(x: f32) -> f32 {
    polynomial!(x;
        0.041666646, -0.00138873, 2.4430527e-05)
}

/// (asin(x)/x - 1) / z with z = x², on |x| <= 1/2. Error 9.1e-10.
#[inline(always)]
pub(crate) fn asin_tail(x: f32) -> f32 {
    polynomial!(x;
        0.1666666, 0.07500521, 0.0445136, 0.031836536, 0.014329316, 0.037664212)
}

/// (atan(x)/x - 1) / z with z = x², on |x| <= tan(π/8). Error 7.0e-10.
#[inline(always)]
pub(crate) fn atan_tail(x: f32) -> f32 {
    polynomial!(x;
        -0.33333316, 0.19998534, -0.14244546, 0.10600434, -0.06093325)
}

/// (sinh(x)/x - 1) / z with z = x², on |x| <= 1. Error 3.2e-10.
#[inline(always)]
pub(crate) fn sinh_tail(x: f32) -> f32 {
    polynomial!(x;
        0.16666667, 0.008333311, 0.00019842635, 2.7839226e-06)
}

/// (tanh(x)/x - 1) / z with z = x², on |x| <= 0.55. Error 1.2e-10.
#[inline(always)]
pub(crate) fn tanh_tail(x: f32) -> f32 {
    polynomial!(x;
        -0.3333333, 0.13333227, -0.053949196, 0.021712255, -0.008199203, 0.0021539668)
}

/// m^(-1/3) on 1 <= m < 2. Error 0.00027.
#[inline(always)]
pub(crate) fn rcbrt_start(x: f32) -> f32 {
    polynomial!(x;
        1.5418915, -0.80996823, 0.31775978, -0.04993511)
}

/// (ln(1 + f) - f + f²/2) / f³ on √½ <= 1 + f <= √2. Error 9.4e-10.
#[inline(always)]
pub(crate) fn ln_tail(x: f32) -> f32 {
    polynomial!(x;
        0.3333331, -0.24999987, 0.20002228, -0.16669255, 0.14218646, -0.12384292, 0.11873038,
        -0.11790041, 0.069153674)
}

/// erf(x)/x - 1 with z = x², on |x| <= 1.05. Error 4.8e-9.
#[inline(always)]
pub(crate) fn erf_near(x: f32) -> f32 {
    polynomial!(x;
        0.12837917, -0.3761263, 0.112836435, -0.026859315, 0.0052095964, -0.00083858497, 0.00010920736, -9.423983e-06)
}

/// log2(erfc(x)) / x on 1.05 <= x <= 4. Error 1.2e-9.
#[inline(always)]
pub(crate) fn erfc_exponent(x: f32) -> f32 {
    polynomial!(x;
        -1.6284058, -0.91587806, -0.15402253, 0.03494022, -0.0055708974, 0.0005445805, -2.4201854e-05)
}

/// (2^r - 1) / r on |r| <= 1/2. Error 1.6e-8.
#[inline(always)]
pub(crate) fn exp2_head(x: f32) -> f32 {
    polynomial!(x;
        0.6931472, 0.2402265, 0.05550328, 0.009618005, 0.0013400279, 0.00015476161)
}
