//! Pure arithmetic of GPU memory systems: banks, coalescing, occupancy, roofline.
//!
//! Nothing here knows a GPU, a driver or a kernel: addresses and sizes go in, counts come out. The virtual GPU asks
//! [`banks::shared_wavefronts`] and [`coalescing::sectors`] for every memory instruction of a profiled launch; the
//! teaching commands ask the explaining forms beside them, which say which lane wanted what.
//!
//! The counting rules were measured on an H200 (capability 9.0) and are tested against that table, row by row.

pub mod banks;
pub mod cache;
pub mod chips;
pub mod coalescing;
mod halves;
pub mod occupancy;
pub mod profile;
pub mod roofline;

pub use chips::{Capability, Chip, SmLimits, UnknownCapability};
pub use halves::Halves;

/// Lanes of a warp, on every chip so far.
pub const WARP_LANES: usize = 32;

/// One byte address for each lane of a warp; inactive lanes hold anything.
pub type LaneAddresses = [u64; WARP_LANES];

/// Iterates over the lanes that a mask has active, lowest first.
pub fn active_lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..WARP_LANES).filter(move |lane| mask >> lane & 1 != 0)
}
