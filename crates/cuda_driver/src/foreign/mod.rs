//! What programs need that know nothing of this project, and a project of its own seldom does: graphs, arrays and textures,
//! linking, mappings and multicast. The feature `foreign` leaves it out; the symbols stay and say so.
//!
//! Unlike [`crate::api`], files here hold objects and the functions over them alike: nothing else needs the objects.
#![allow(non_snake_case)]

pub mod array;
pub mod graph;
pub mod link;
pub mod multicast;
mod object_files;
mod ptx_link;
pub mod texture;
pub mod virtual_memory;
