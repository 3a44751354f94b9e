//! Hand-written PTX, with expected results worked out by hand or in Rust.

mod barriers;
#[path = "../device/mod.rs"]
mod device;
mod flow;
mod matrix;
mod narrow;
mod spaces;
