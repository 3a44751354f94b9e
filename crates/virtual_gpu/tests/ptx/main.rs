//! PTX written by hand, with answers worked out by hand or in Rust.

#[path = "../device/mod.rs"]
mod device;
mod flow;
mod spaces;
