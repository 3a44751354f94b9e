//! Running a decoded program.
//!
//! [`launch`] checks the launch; the threads of the [`pool`] take its blocks from the [`grid`]; the [`scheduler`] gives the warps of
//! a [`block`] slices, which [`compiled`] code or the [`interpreter`] runs; a [`warp`] has groups of lanes.

mod access;
pub(crate) mod asynchronous;
mod atomic;
mod block;
mod block_state;
pub(crate) mod bulk;
mod call;
pub(crate) mod cluster;
mod collective;
mod compiled;
pub(crate) mod context;
mod direct;
pub(crate) mod extension;
pub(crate) mod fragments;
mod frame;
mod grid;
mod interpreter;
mod launch;
mod limits;
mod load_store;
mod local;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
mod phase_wait;
mod pool;
mod printf;
mod reach;
mod resume;
mod schedule;
mod scheduler;
mod spin;
pub(crate) mod stack;
mod system;
pub(crate) mod tensormap;
pub(crate) mod texture;
mod undefined;
mod warp;
mod without;

pub(crate) use launch::launch;
pub(crate) use pool::Pool;
pub use warp::MOST_BACKWARD;
