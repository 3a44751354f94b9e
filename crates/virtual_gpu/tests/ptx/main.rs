//! PTX written by hand, with answers worked out by hand or in Rust.

mod barriers;
#[path = "../device/mod.rs"]
mod device;
mod flow;
mod matrix;
mod narrow;
mod spaces;
