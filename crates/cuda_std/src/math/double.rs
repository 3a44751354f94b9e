//! The `f64` functions, under the names that `single` uses for those of `f32`.

pub(crate) use super::exp::{cosh, exp, exp_m1, exp2, exp10, sinh, tanh};
pub(crate) use super::log::{acosh, asinh, atanh, ln, ln_1p, log, log2, log10, pow, powi};
pub(crate) use super::root::{cbrt, hypot, rcbrt, rhypot};
pub(crate) use super::trig::{acos, asin, atan, atan2, cos, sin, sin_cos, tan};
