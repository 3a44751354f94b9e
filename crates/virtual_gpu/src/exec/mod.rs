//! Running a decoded program.
//!
//! [`launch`] checks the launch and hands its blocks to worker threads; [`block`] runs a block's warps in turn;
//! [`warp`] keeps a warp's groups of lanes; [`run`] is the interpreter's loop.

mod access;
mod atomic;
mod block;
mod call;
mod collective;
pub(crate) mod context;
pub(crate) mod extension;
mod frame;
mod grid;
pub(crate) mod lanewise;
mod local;
mod printf;
pub(crate) mod registers;
mod run;
mod system;
mod warp;

pub(crate) use call::code_address;
pub(crate) use grid::{Pool, launch};
