//! Launches kernels with their own parameter types, on a real GPU or on the virtual one.
//!
//! - [`Device`] takes a device of the kind that is [preferred](DevicePreference), says its [`Limits`], and loads what it admits of a project's PTX.
//! - [`Levels`] are that PTX: one module, or one for each feature level.
//! - [`Launcher`] starts a kernel. Arguments are compared with the kernel's parameters when the program compiles, and the
//!   [`Shape`] with kernel and device before each launch.
//! - [`Buffer`] and [`DeviceMatrix`] are device memory, which [`Device::scope`] lends to kernels without `unsafe`.
//! - [`Graph`] is work that [`Device::capture`] records once, to be launched many times.
//! - [`F16`] and [`Bf16`] are 16-bit floats in buffers, and [`extra`] is what `cust` lacks.
//!
//! A project compiles its kernels in a build script and embeds the PTX:
//!
//! ```
//! use cuda_std::prelude::*;
//! use warpsmith_launch::{Device, Level, Levels, Shape, DevicePreference};
//!
//! /// `y += a * x`.
//! ///
//! /// # Safety
//! /// `y` has as many elements as `x`.
//! #[kernel] // in the kernels' crate
//! pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
//!     // … the body
//! }
//!
//! // include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))
//! # const PTX: &str = "
//! # .version 7.8
//! # .target sm_75
//! # .address_size 64
//! # .visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 len, .param .u64 y) {
//! #     .reg .pred %p; .reg .f32 %a<3>; .reg .b32 %r<4>; .reg .b64 %d<6>;
//! #     ld.param.f32 %a0, [a]; ld.param.u64 %d0, [x]; ld.param.u64 %d1, [len]; ld.param.u64 %d2, [y];
//! #     mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r0, %r1, %r2;
//! #     cvt.u64.u32 %d3, %r3; setp.ge.u64 %p, %d3, %d1; @%p ret;
//! #     shl.b64 %d3, %d3, 2; add.s64 %d4, %d0, %d3; add.s64 %d5, %d2, %d3;
//! #     ld.global.f32 %a1, [%d4]; ld.global.f32 %a2, [%d5]; fma.rn.f32 %a2, %a0, %a1, %a2; st.global.f32 [%d5], %a2;
//! #     ret;
//! # }";
//! static LEVELS: Levels = Levels::new(&[Level::new(PTX)]);
//!
//! # fn main() -> Result<(), warpsmith_launch::Error> {
//! let device = Device::open(DevicePreference::Virtual)?;
//! let x = device.upload(&[1.0f32; 1000])?;
//! let mut y = device.upload(&[0.5f32; 1000])?;
//! let saxpy = device.kernel::<saxpy>(&LEVELS)?;
//! // SAFETY: `y` is as long as `x`.
//! unsafe { saxpy.launch(Shape::line(x.len(), 256), (2.0f32, &x, &mut y))? };
//! assert_eq!(device.download(&y)?, [2.5; 1000]);
//! # Ok(())
//! # }
//! ```
//!
//! `cust` stays visible: `unsafe` launches take its buffers, too, and `cust::launch!` takes [`Launcher::function`] and
//! [`Device::stream`]. That macro tells the driver neither how many arguments there are nor how large: one that is larger than its
//! parameter passes, and so may one that is missing.
#![warn(missing_docs)]

mod argument;
mod buffer;
mod buffer_slice;
mod capture;
#[cfg(feature = "share")]
pub mod cudarc;
mod description;
mod device;
mod embedded;
mod error;
pub mod extra;
mod fingerprint;
mod float16;
mod graph;
mod graph_argument;
mod launcher;
mod lent;
mod levels;
mod limits;
mod matrix;
mod modules;
mod safe_argument;
mod scope;
#[cfg(feature = "share")]
mod slice_guard;
mod stream;

pub use argument::{Argument, Arguments, HostType, PackedArguments};
pub use buffer::Buffer;
pub use buffer_slice::{BufferSlice, BufferSliceMut};
pub use cuda_std::{Description, Kernel};
pub use cust;
pub use description::compare;
pub use device::Device;
pub use embedded::Launchable;
pub use error::{Error, ErrorContext};
pub use float16::{Bf16, F16};
pub use graph::Graph;
pub use graph_argument::{GraphArgument, GraphArguments, GraphBound, GraphKind};
pub use launcher::{Launcher, Shape};
pub use lent::{AllLentFor, CopySource, CopyTarget, LentFor};
pub use levels::{Entry, Level, Levels, alone};
pub use limits::Limits;
pub use matrix::{DeviceMatrix, MatrixSlice, MatrixSliceMut};
pub use modules::Module;
pub use safe_argument::{SafeArgument, SafeArguments};
pub use scope::{LaunchOptions, Scope};
#[cfg(feature = "share")]
pub use slice_guard::{SliceGuard, SliceGuardMut};
pub use stream::Stream;
pub use warpsmith_cuda::DevicePreference;
