//! The kernels of [`primitives`](crate::primitives), for every device.

pub mod reduce;
