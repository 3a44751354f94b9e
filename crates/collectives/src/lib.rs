//! Several GPUs that work together: NCCL's calls on devices' buffers and streams.
//!
//! - [`Communicator`] is a rank: a device among others, all of one process ([`Communicator::all`]) or one per process
//!   ([`Communicator::from_job`], from the variables of `torchrun`, `mpirun` and Slurm: see [`Job`]).
//! - [`Call`] is what a rank asks of all others, or of one; [`together`] makes several as a group, and waits
//!   for them; [`together_async`] does not.
//! - [`Error`] names the rank and the call: a rank that died, one that never came, one that makes a different call.
//! - [`Nccl`] is opened at run time (`libnccl.so.2`); building needs nothing.
//!
//! If the devices are virtual, copies between them or messages between processes do what NCCL does, with the same
//! results up to the order of sums. They are for tests and for learning: they are not timed.
//!
//! ```
//! use std::time::Duration;
//!
//! use warpsmith_collectives::{Communicator, Reduction, together};
//! use warpsmith_launch::{Device, DevicePreference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let devices = Device::all(DevicePreference::Virtual)?; // as many as WARPSMITH_DEVICES says
//! let ranks = Communicator::all(&devices, Duration::from_secs(60))?;
//! let mut buffers = devices.iter().map(|device| device.upload(&[1.0f32; 1000])).collect::<Result<Vec<_>, _>>()?;
//! let calls = ranks.iter().zip(&mut buffers).map(|(rank, x)| rank.all_reduce_in_place(x, Reduction::Sum));
//! together(calls.collect::<Result<Vec<_>, _>>()?)?;
//! for x in &buffers {
//!     assert!(x.to_vec()?.iter().all(|&sum| sum == ranks.len() as f32));
//! }
//! # Ok(()) }
//! ```
#![warn(missing_docs)]

mod call;
mod communicator;
mod copies;
mod element;
mod error;
mod frame;
mod hub;
mod job;
mod messages;
mod nccl;
mod nccl_rank;
mod rendezvous;
mod traffic;

pub use call::{Call, Kind, parts, together, together_async};
pub use communicator::Communicator;
pub use element::{Element, Reduction, Type};
pub use error::Error;
pub use job::Job;
pub use nccl::{Nccl, NcclUnavailable};
pub use traffic::Traffic;
