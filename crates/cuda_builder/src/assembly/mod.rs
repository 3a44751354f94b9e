//! From the module to PTX: parts, each lowered by itself, and their texts joined.

mod capability;
mod join;
mod lines;
pub mod part;
pub mod partition;
mod ptx_version;

pub use join::{join, join_functions};
pub use ptx_version::raise;
