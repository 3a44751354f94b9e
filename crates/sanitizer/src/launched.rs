//! The launch that is watched: what every block needs to name things in a report.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// What is known of volatile accesses, by place.
    volatile: Mutex<HashMap<u32, bool>>,
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
            volatile: Mutex::default(),
        }
    }

    /// See [`Code::relies_on_order`]; worked out once for a place.
    pub fn relies_on_order(&self, pc: u32) -> bool {
        let mut volatile = self.volatile.lock().unwrap_or_else(PoisonError::into_inner);
        *volatile.entry(pc).or_insert_with(|| self.code.relies_on_order(pc))
    }
}
