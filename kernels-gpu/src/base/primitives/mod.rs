//! The kernels of [`primitives`](crate::primitives), for every device.

pub mod histogram;
pub mod reduce;
pub mod scan;
pub mod select;
pub mod sort;
