//! What most kernels need: `use cuda_std::prelude::*;`.
//!
//! It can be imported into crates with and without `#![no_std]`, on the device and on the host. There the printing
//! macros are `std`'s, which such a crate may have in scope already, and a name that means two macros is an error; the
//! assertions are `core`'s everywhere, for the same reason. [`cuda_std::println!`](crate::println!) and
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
