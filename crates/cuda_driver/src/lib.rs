//! The CUDA driver API: forwarded to the real driver, or implemented by the virtual GPU.
//!
//! A program that is linked with this crate has the driver's `cu…` functions in itself, so that `cust` works on a
//! machine without CUDA: name the crate once (`use warpsmith_cuda as _;`) and every symbol is there. Built as a
//! `cdylib` the same functions stand in for `libcuda.so.1` in programs that know nothing of us; see [`stand_in`].
//!
//! The first call, or [`choose`], decides which device handles the calls:
//!
//! | `WARPSMITH_DEVICE` | |
//! | --- | --- |
//! | `auto` (default) | a real GPU if the NVIDIA driver has one, else the virtual GPU; one line on stderr says which |
//! | `gpu` | a real GPU, or an error that says what is missing |
//! | `virtual` | the virtual GPU |
//!
//! `WARPSMITH_MODEL` names the chip that the virtual GPU stands for; `WARPSMITH_DEVICES=4`, or a list of chips
//! (`WARPSMITH_MODEL=h200,h200,a100`), gives several. `WARPSMITH_LIBCUDA` names the real driver's file. On the
//! virtual GPU `WARPSMITH_EXECUTION=interpreted` keeps programs from being compiled ([`Execution`]),
//! `WARPSMITH_PROFILE=FILE` writes what each launch did to memory (see [`profile`]), and
//! `WARPSMITH_CHECK=memory,race,init,barrier,api[:FILE]` runs the sanitizer.
//!
//! From below: [`abi`] is the binary interface, `objects` are what handles name, `api` holds the `cu…` functions of the
//! virtual device, `graph` those of graphs, `foreign` those that only programs need which know nothing of this project,
//! and [`entry`] is the table of all symbols. To add a call, write its function into its file of `api` and its line into the table.
//!
//! ```
//! use warpsmith_cuda::abi::{CUresult, Out};
//!
//! warpsmith_cuda::choose(Some(warpsmith_cuda::DevicePreference::Virtual), None).unwrap();
//! let mut devices = 0;
//! // SAFETY: the place is valid for the call.
//! unsafe {
//!     assert_eq!(warpsmith_cuda::entry::contexts::cuInit(0), CUresult::SUCCESS);
//!     assert_eq!(warpsmith_cuda::entry::contexts::cuDeviceGetCount(Out::new(&mut devices)), CUresult::SUCCESS);
//! }
//! assert_eq!(devices, 1);
//! ```
#![warn(missing_docs)]

pub mod abi;
mod api;
mod check;
mod checked;
mod choice;
pub mod entry;
mod execution;
mod failed;
mod fault;
#[cfg(feature = "foreign")]
mod foreign;
mod fork;
mod graph;
mod kept;
mod loader_cache;
mod objects;
mod observe;
mod per_process;
pub mod profile;
mod real;
pub mod stand_in;

pub use checked::{Checked, checked};
pub use choice::{ChoiceError, DevicePreference, NoGpu, Taken, choose, choose_loaded, taken};
pub use execution::Execution;
pub use fault::{context_lost, last_fault};
pub use real::{Missing, RealDriver};
