//! Error, gamma and Bessel functions.
//!
//! All are computed in `f64`, and their `f32` forms round that result, so that they are correctly rounded but for rare ties. The
//! error function has a form of its own for `f32`.

mod bessel;
mod erf;
mod gamma;
mod poly;

pub(crate) use bessel::{i0, i1, j0, j1, jn, y0, y1, yn};
pub(crate) use erf::{erf, erf_inv, erf_single, erfc, erfc_inv, erfcx, norm_cdf, norm_cdf_inv};
pub(crate) use gamma::{gamma, ln_gamma};
