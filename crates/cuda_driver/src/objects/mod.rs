//! The virtual device's objects, which [`crate::api`] makes and uses: contexts, streams, events, modules, memory, and the
//! work that streams do. None knows of the `cu…` functions above.
// Used only by `foreign`.
#![cfg_attr(not(feature = "foreign"), allow(dead_code))]

pub mod allocation;
pub mod arguments;
pub mod call;
pub mod context;
pub mod copy_description;
pub mod device;
pub mod device_attributes;
pub mod event;
pub mod explain;
pub mod function;
pub mod host_call;
pub mod image;
pub mod jit;
pub mod kept_attributes;
pub mod launch;
pub mod library;
pub mod limits;
pub mod managed;
pub mod module;
pub mod occupancy;
pub mod order;
pub mod pool;
pub mod primary;
pub mod process;
pub mod queue;
pub mod registry;
pub mod stream;
pub mod transfer;
pub mod value;
pub mod work;
