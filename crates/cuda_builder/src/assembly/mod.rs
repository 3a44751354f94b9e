//! From the module to PTX: parts are lowered one by one, and their texts joined.

mod capability;
pub mod functions;
mod join;
mod lines;
pub mod part;
pub mod partition;
mod ptx_version;

pub use join::join;
pub use ptx_version::raise;
