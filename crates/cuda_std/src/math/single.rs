//! The `f32` functions with algorithms of their own: a few plain roundings where `f64` uses sums of two floats.
//!
//! Reciprocals and roots start from the special function unit's approximations and are then correctly rounded
//! ([`Real::inverse`], [`Real::inner_root`]), so that device and host agree.
//!
//! [`Real::inverse`]: super::real::Real::inverse
//! [`Real::inner_root`]: super::real::Real::inner_root

mod bessel;
mod erf;
mod exp;
mod gamma;
mod log;
mod root;
mod trig;

pub(crate) use super::exp::exp_m1;
pub(crate) use super::log::{log, pow, powi};
pub(crate) use super::root::hypot;
pub(crate) use super::trig::{atan2, cos, sin, sin_cos, tan};
pub(crate) use bessel::{i0, i1};
pub(crate) use erf::{erf, erf_inv, erfc, erfc_inv, erfcx, norm_cdf, norm_cdf_inv};
pub(crate) use exp::{cosh, exp, exp2, exp10, sinh, tanh};
pub(crate) use gamma::{gamma, ln_gamma};
pub(crate) use log::{acosh, asinh, atanh, ln, ln_1p, ln_near, log2, log10};
pub(crate) use root::{cbrt, rcbrt, rhypot};
pub(crate) use trig::{acos, asin, atan};
