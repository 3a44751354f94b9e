//! The error of an `f32` result relative to an `f64` one. For the host and for the device.

/// In units of the last place of `f32` at `want`, or at `least` if that is greater.
pub fn single_error(got: f32, want: f64, least: f64) -> f64 {
    let nearest = want as f32;
    if got.is_nan() || want.is_nan() || nearest.is_infinite() {
        let same = got == nearest || got.is_nan() && want.is_nan();
        // Just below overflow, either side may be right.
        let at_the_limit = want.is_finite() && want.abs() < 3.4028237e38 && got.abs() == f32::MAX;
        return if same || at_the_limit { 0.0 } else { f64::INFINITY };
    }
    let exponent = nearest.abs().max(f32::MIN_POSITIVE).max(least as f32).to_bits() >> 23;
    // 2 to the power of -(exponent - 127 - 23).
    let places = f64::from_bits(u64::from(1023 + 150 - exponent) << 52);
    ((f64::from(got) - want) * places).abs()
}
