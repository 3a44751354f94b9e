//! The imports of most kernels: `use cuda_std::prelude::*;`.
//!
//! It works in crates with and without `#![no_std]`, on the device and on the host. Its printing macros on the host are
//! `std`'s, because such a crate may already have those in scope, and one name for two macros is an error. For the same
//! reason the assertions are always `core`'s. [`cuda_std::println!`](crate::println!) and
//! [`cuda_std::assert_eq!`](crate::assert_eq!) are the device's own under their full names.

pub use crate::{f16, kernel, thread};
#[cfg(target_os = "cuda")]
pub use crate::{print, println};
pub use alloc::borrow::ToOwned;
pub use alloc::boxed::Box;
pub use alloc::format;
pub use alloc::rc::Rc;
pub use alloc::string::{String, ToString};
pub use alloc::vec::Vec;
pub use core::{assert_eq, assert_ne};
pub use cuda_std_macros::{block_dim, cluster_dim, launch_bounds};
#[cfg(not(target_os = "cuda"))]
pub use std::{print, println};
