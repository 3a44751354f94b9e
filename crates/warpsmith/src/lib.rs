//! CUDA kernels beside the host code that launches them.
//!
//! ```toml
//! [dependencies]
//! warpsmith = …
//! [build-dependencies]
//! warpsmith_build = …
//! ```
//! The build script is `fn main() { warpsmith_build::kernels() }`, and the program
//! ```ignore
//! use warpsmith::prelude::*;
//!
//! #[warpsmith::device]
//! mod kernels {
//!     use warpsmith::kernel::*;
//!
//!     #[kernel]
//!     pub fn add(block: Block<256>, a: &[f32], b: &[f32], mut sum: SliceMut<f32>) {
//!         sum.write(&block, |_, i| a[i] + b[i]);
//!     }
//! }
//!
//! fn main() -> warpsmith::Result<()> {
//!     let device = Device::from_environment()?;
//!     let (a, b) = (device.upload(&[1.0; 1000])?, device.upload(&[2.0; 1000])?);
//!     let mut sum = device.zeroed(1000)?;
//!     device.scope(|scope| scope.launch(kernels::add, (&a, &b, &mut sum)))?;
//!     println!("{:?}", &device.download(&sum)?[..4]);
//!     Ok(())
//! }
//! ```
//!
//! [`macro@device`] marks a module that the build script compiles for the GPU, too; one in a file of its own is declared by
//! [`device_mod!`]. Its kernels are those of [`blockwise`], or `unsafe` ones over pointers ([`cuda_std`]). On the GPU it is a
//! crate by itself: it names its own items, those of other device modules, and the package's dependencies that do without the
//! standard library. Constants and structs that both sides need stand in it.
//!
//! | crate | is for |
//! | --- | --- |
//! | [`launch`] | devices, buffers, launches |
//! | [`blockwise`] | kernels without `unsafe`; a tutorial |
//! | [`cuda_std`], [`tile`] | kernels over pointers, and their building blocks |
//! | [`cust`] | the driver's interface, for what [`launch`] lacks |
#![no_std]

pub use cuda_std_macros::{device, device_mod};
pub use {blockwise, cuda_std, half, tile};

#[cfg(not(target_os = "cuda"))]
pub use warpsmith_launch::{self as launch, Error, cust};

/// The result of what reaches the driver.
#[cfg(not(target_os = "cuda"))]
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Imports of kernels: `use warpsmith::kernel::*;`.
pub mod kernel {
    pub use blockwise::prelude::*;
    pub use cuda_std::prelude::{block_dim, cluster_dim, f16, launch_bounds, print, println, thread};
}

/// Imports of the host: `use warpsmith::prelude::*;`.
#[cfg(not(target_os = "cuda"))]
pub mod prelude {
    pub use warpsmith_launch::{
        Bf16, Buffer, BufferSlice, BufferSliceMut, Device, DeviceMatrix, F16, Graph, LaunchOptions, Launcher,
        Scope, Shape, Stream,
    };
}
