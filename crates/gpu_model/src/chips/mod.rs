//! Chips and generations: what a multiprocessor holds, and the named GPUs that the virtual one can stand for.

mod capability;
mod limits;
mod named;

pub use capability::{Capability, ParseCapabilityError};
pub use limits::{RegisterUnit, SmLimits, UnknownCapability, generations};
pub use named::{A100, ALL, B200, Chip, H100, H200, PciId, RTX3060, RTX4090, RTX5090, T4, by_key};
