//! The mathematics behind `GpuFloat`, `FloatExt` and the libdevice names, in plain Rust.
//!
//! One algorithm serves `f32` and `f64` wherever it can: it is written against [`real::Real`], the operations that
//! hardware rounds once, and differs by its polynomials ([`poly32`], [`poly64`], made by `tools/minimax.py`). The same
//! code runs on the device and on the host, so what the tests measure there holds here.
//!
//! - Where `f32` gets by with plain roundings in place of sums of two floats, it has a form of its own in [`single`].
//! - Few branches: both sides of a choice are computed and one selected, since lanes of a warp that choose differently
//!   would run both anyway.
//! - Hardly any tables: the bits of 2/π for the reduction of huge angles are the only one of the elementary functions.
//! - Every product whose rounding error is used goes through [`real::Real::times`], which the device never fuses with
//!   an addition, so the code stays right when the build contracts the rest.

pub(crate) mod dd;
pub(crate) mod double;
pub(crate) mod exp;
pub(crate) mod log;
#[allow(clippy::approx_constant, reason = "coefficients that come near a constant")]
mod poly32;
mod poly64;
pub(crate) mod real;
pub(crate) mod remainder;
pub(crate) mod root;
#[cfg(not(target_os = "cuda"))]
pub(crate) mod rounding;
pub(crate) mod single;
pub(crate) mod special;
pub(crate) mod trig;
