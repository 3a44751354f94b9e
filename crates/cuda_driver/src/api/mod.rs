//! The driver's entry points on the virtual device: functions of the same name, on top of [`crate::objects`]. See
//! [`crate::entry`] for how a call gets here. One file per subject.
#![allow(non_snake_case)]

pub mod batch;
pub mod context;
pub mod copy;
pub mod device;
pub mod errors;
pub mod event;
pub mod fill;
pub mod function;
pub mod host_memory;
pub mod launch;
pub mod library;
pub mod limits;
pub mod memory;
pub mod module;
pub mod occupancy;
pub mod pointer;
pub mod pool;
pub mod stream;
pub mod stream_attributes;
pub mod tensor_map;
pub mod tools;
pub mod value;
