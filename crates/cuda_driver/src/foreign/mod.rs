//! Entries for programs that know nothing of this project: arrays and textures, linking, mappings and multicast. Without
//! the feature `foreign` the symbols remain, and say that it is missing.
//!
//! Unlike in [`crate::api`], files here contain both objects and the functions on them: nothing else needs the objects.
#![allow(non_snake_case)]

pub mod array;
pub mod link;
pub mod multicast;
mod object_files;
mod ptx_link;
pub mod texture;
pub mod virtual_memory;
