//! Error, gamma and Bessel functions.
//!
//! All are computed in `f64`. Of `f32`, the Bessel functions J and Y round that result, the others have forms of their own in
//! [`single`](super::single).

mod bessel;
mod erf;
mod gamma;
mod poly;

pub(crate) use bessel::{i0, i1, j0, j1, jn, y0, y1, yn};
pub(crate) use erf::{erf, erf_inv, erfc, erfc_inv, erfcx, norm_cdf, norm_cdf_inv};
pub(crate) use gamma::{gamma, ln_gamma};
