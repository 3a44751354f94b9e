//! Products and transposes of matrices that are distributed over several GPUs.
//!
//! - [`GatheredProduct`]: each device has rows of A and columns of B, and computes its rows of C. It fetches the
//!   others' columns of B, one device after the other, while it multiplies by those it has.
//! - [`SplitProduct`]: each device has columns of A and rows of B, a part of K. Each computes a part of every sum, and
//!   a reduce-scatter adds them; that of some rows overlaps with the next rows' product.
//! - [`Transpose`]: each device has rows, and receives rows of the transpose: each transposes its own, and all
//!   exchange.
//!
//! A [`DeviceGroup`] says which devices work together and how data travel: through the devices' copy engines, which take
//! nothing from the multiprocessors but need all devices in one process, or through the
//! [collectives](warpsmith_collectives), which span processes and machines.
//!
//! Each of the three owns its matrices. Its runs are enqueued and return; what reads the results waits for them, and so does the
//! value when it is dropped, before its memory is freed.
#![warn(missing_docs)]

mod error;
mod gathered;
mod group;
mod split;
mod transpose;

pub use error::Error;
pub use gathered::GatheredProduct;
pub use group::{DeviceGroup, Transport, shares};
pub use split::SplitProduct;
pub use transpose::Transpose;
