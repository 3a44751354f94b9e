//! Coalescing: how many pieces of global memory a warp instruction touches.
//!
//! [`sectors`] counts for today's chips, where global memory moves in aligned pieces of 32 bytes.

mod sectors;

pub use sectors::{SECTOR_BYTES, efficiency, sectors};
