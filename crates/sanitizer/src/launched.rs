//! The launch that is watched: what every block needs to name things in a report.

use std::ops::Range;
use std::sync::Arc;

use virtual_gpu::observer::LaunchInfo;
use virtual_gpu::{Code, SharedArray};

use crate::place::Shape;

#[derive(Debug)]
pub(crate) struct Launched {
    pub kernel: String,
    pub shape: Shape,
    pub code: Arc<Code>,
    pub function: u32,
    pub shared_bytes: u32,
    pub shared_end: u32,
    pub reserved: Range<u32>,
    pub shared: Vec<Option<SharedArray>>,
}

impl Launched {
    pub fn of(launch: &LaunchInfo) -> Self {
        Launched {
            kernel: launch.kernel.clone(),
            shape: Shape::new(launch),
            code: launch.code.clone(),
            function: launch.function,
            shared_bytes: launch.shared_bytes,
            shared_end: launch.shared_end,
            reserved: launch.reserved.clone(),
            shared: launch.shared.clone(),
        }
    }
}
