//! The commands of `warpsmith`, one file each: arguments, then `run`.

pub mod bench;
pub mod check;
pub mod completions;
pub mod demo;
pub mod devices;
pub mod doctor;
pub mod driver_dir;
pub mod explain;
pub mod inspect;
pub mod list;
mod names;
pub mod new;
pub mod occupancy;
pub mod profile;
pub mod report;
pub mod roofline;
pub mod run;
