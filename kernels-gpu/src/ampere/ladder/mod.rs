//! The steps of the [ladder](crate::base::ladder) that copy asynchronously.

#[path = "04_asynchronous.rs"]
pub mod asynchronous;
#[path = "06_ordered.rs"]
pub mod ordered;
#[path = "05_warps.rs"]
pub mod warps;

#[cfg(feature = "host")]
use self::{asynchronous::matmul_asynchronous, ordered::matmul_ordered, warps::matmul_warps};
listed! { matmul_asynchronous matmul_warps matmul_ordered }
