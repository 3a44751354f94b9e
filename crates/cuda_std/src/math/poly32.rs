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

/// (ln(1 + f) - f + f²/2) / f³ on 3/4 <= 1 + f <= 3/2. Error 1.4e-9.
#[inline(always)]
pub(crate) fn ln_tail(x: f32) -> f32 {
    polynomial!(x;
        0.33333337, -0.25000167, 0.19999848, -0.16655572, 0.14270444, -0.12714581, 0.11736368,
        -0.09254506, 0.038822778)
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

/// (e^r - 1) / r on |r| <= ln(2)/2. Error 1.1e-9.
#[inline(always)]
pub(crate) fn exp_head(x: f32) -> f32 {
    polynomial!(x;
        1.0, 0.5, 0.16666667, 0.041666266, 0.008333255, 0.0013946214, 0.00019921648)
}

/// (10^r - 1) / r on |r| <= log10(2)/2. Error 7.3e-9.
#[inline(always)]
pub(crate) fn exp10_head(x: f32) -> f32 {
    polynomial!(x;
        2.3025851, 2.650949, 2.0346787, 1.1712439, 0.53937787, 0.20785022, 0.0683652)
}

/// log2(1 + f) / f - log2(e) as an f32, on √½ <= 1 + f <= √2. Error 1.0e-8.
#[inline(always)]
pub(crate) fn log2_tail(x: f32) -> f32 {
    polynomial!(x;
        2.0219062e-08, -0.72134733, 0.4808979, -0.3606964, 0.28858522, -0.2396369, 0.20429736,
        -0.1906114, 0.18781826, -0.11296769)
}

/// log10(1 + f) / f - log10(e) as an f32, on √½ <= 1 + f <= √2. Error 7.0e-9.
#[inline(always)]
pub(crate) fn log10_tail(x: f32) -> f32 {
    polynomial!(x;
        -9.814232e-09, -0.21714719, 0.14476469, -0.10858044, 0.0868728, -0.07213789, 0.061499633,
        -0.057379752, 0.056538932, -0.034006666)
}

/// (atan(x)/x - 1) / z with z = x², on |x| <= 1. Error 4.1e-8.
#[inline(always)]
pub(crate) fn atan_whole(x: f32) -> f32 {
    polynomial!(x;
        -0.33333302, 0.19998626, -0.1426512, 0.10954798, -0.08399868, 0.057658564, -0.03063738,
        0.010504278, -0.0016786224)
}

/// (sin(πx)/(πx) - 1) / z with z = x², on |x| <= 1/2. Error 1.0e-10.
#[inline(always)]
pub(crate) fn sin_pi_tail(x: f32) -> f32 {
    polynomial!(x;
        -1.644934, 0.811742, -0.19074534, 0.026104284, -0.0022143463)
}

/// (1 + 2x)·e^(x²)·erfc(x) - 1 with x = 5/2·(1 + t) / (1 - t), on x >= 0. Error 2.0e-8.
#[inline(always)]
pub(crate) fn erfcx_scaled(x: f32) -> f32 {
    polynomial!(x;
        0.2648382, -0.122356825, -0.09902428, 0.15763144, -0.10297019, 0.032749493, 0.00094579236,
        -0.0043445616, 0.0004644444, 0.00056974613, -6.436103e-05, -5.971337e-05)
}

/// erfinv(u)/u with t = -ln(1 - u²) - 33/16, on -33/16 <= t <= 5 - 33/16. Error 1.3e-8.
#[inline(always)]
pub(crate) fn erf_inv_near(x: f32) -> f32 {
    polynomial!(x;
        1.3928176, 0.24950247, -0.002280306, -0.0016379738, 0.00021797103, 5.8505498e-06,
        -4.703992e-06, 3.242721e-07, 5.784622e-08, -8.790398e-09)
}

/// erfcinv(y)/s with v = 1/s, s² = -ln(y·(2 - y)), on 5 <= s² <= 104. Error 2.2e-8.
#[inline(always)]
pub(crate) fn erf_inv_far(x: f32) -> f32 {
    polynomial!(x;
        1.0003599, -0.028846163, -1.2134907, 4.931086, -15.790391, 45.59455, -101.81025, 157.86826,
        -148.90265, 63.009205)
}

/// y·(ln Γ(y) - (y - ½)·ln y + y - ln(2π)/2) with v = 1/y², on y >= 3. Error 2.0e-10.
#[inline(always)]
pub(crate) fn stirling_near(x: f32) -> f32 {
    polynomial!(x;
        0.08333333, -0.0027772526, 0.00077838986, -0.00042058897)
}

/// ln Γ(1 + d) / d on |d| <= 1/2. Error 5.2e-8.
#[inline(always)]
pub(crate) fn ln_gamma_at_1(x: f32) -> f32 {
    polynomial!(x;
        -0.5772157, 0.8224669, -0.40068588, 0.27059442, -0.20738235, 0.16913114, -0.14391908,
        0.13112839, -0.11455353, 0.065172, -0.06542592, 0.17994554, -0.15788622)
}

/// ln Γ(2 + d) / d on -1/2 <= d <= 1. Error 2.9e-8.
#[inline(always)]
pub(crate) fn ln_gamma_at_2(x: f32) -> f32 {
    polynomial!(x;
        0.42278433, 0.32246703, -0.067352295, 0.02058101, -0.007385765, 0.0028883286,
        -0.0011898183, 0.00051769597, -0.00023865294, 9.5831725e-05, -2.0520241e-05)
}

/// Γ(3/2 + d) on |d| <= 1/2. Error 3.8e-8.
#[inline(always)]
pub(crate) fn gamma_head(x: f32) -> f32 {
    polynomial!(x;
        0.88622695, 0.032338288, 0.41481388, -0.10728613, 0.14462787, -0.07771572, 0.058870982,
        -0.03628224, 0.024082538, -0.023706065, 0.016825465)
}

/// (I0(x) - 1) / t with t = x² / 4, on x <= 8. Error 1.7e-9.
#[inline(always)]
pub(crate) fn i0_small(x: f32) -> f32 {
    polynomial!(x;
        1.0, 0.25, 0.02777777, 0.0017361224, 6.943772e-05, 1.9310485e-06, 3.9018364e-08,
        6.5030004e-10, 5.5504624e-12, 1.3746715e-13)
}

/// (2·I1(x)/x - 1) / t with t = x² / 4, on x <= 8. Error 1.5e-9.
#[inline(always)]
pub(crate) fn i1_small(x: f32) -> f32 {
    polynomial!(x;
        0.5, 0.083333336, 0.006944439, 0.0003472266, 1.1572365e-05, 2.759517e-07, 4.8704165e-09,
        7.249874e-11, 5.54151e-13, 1.2394116e-14)
}

/// I0(x)·e^-x·√x with v = 1/x, on x >= 8. Error 1.2e-8.
#[inline(always)]
pub(crate) fn i0_large(x: f32) -> f32 {
    polynomial!(x;
        0.39894226, 0.049871866, 0.027796222, 0.035745975, -0.030549143, 0.43996876)
}

/// I1(x)·e^-x·√x with v = 1/x, on x >= 8. Error 1.8e-8.
#[inline(always)]
pub(crate) fn i1_large(x: f32) -> f32 {
    polynomial!(x;
        0.3989423, -0.14960642, -0.046542164, -0.04656288, 0.011608869, -0.45524812)
}
