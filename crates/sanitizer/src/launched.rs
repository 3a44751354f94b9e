//! The launch that is watched: what every block needs to name things in a report.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use virtual_gpu::observer::{At, LaunchInfo};
use virtual_gpu::{Code, SharedArray};

use crate::objects::Objects;
use crate::place::Shape;
use crate::shadow::Stamp;

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
    /// The parameter block.
    params: Vec<u8>,
    /// The kernel's own operations.
    operations: Range<u32>,
    /// By operation: the allocation that its address derives from, or all addresses.
    extents: Box<[OnceLock<Range<u64>>]>,
    /// Volatile accesses so far, by place.
    volatile: Mutex<HashMap<u32, bool>>,
    /// By block and warp: lanes whose latest fence, release or acquire is of block scope.
    narrow: Mutex<HashMap<(u32, u32), u32>>,
    /// Whether there was any: most launches have none.
    has_narrow: AtomicBool,
    /// Whether a loop repeats a place.
    repeated: Mutex<HashMap<u32, bool>>,
}

impl Launched {
    pub fn of(launch: &LaunchInfo) -> Self {
        let operations = launch.code.operations_of(launch.function);
        Launched {
            params: launch.params.clone(),
            extents: operations.clone().map(|_| OnceLock::new()).collect(),
            operations,
            kernel: launch.kernel.clone(),
            shape: Shape::new(launch),
            code: launch.code.clone(),
            function: launch.function,
            shared_bytes: launch.shared_bytes,
            shared_end: launch.shared_end,
            reserved: launch.reserved.clone(),
            shared: launch.shared.clone(),
            volatile: Mutex::default(),
            narrow: Mutex::default(),
            has_narrow: AtomicBool::new(false),
            repeated: Mutex::default(),
        }
    }

    /// The addresses of the allocation that the pointer lies in from which an operation computes its address, if that pointer
    /// is a parameter; else all addresses.
    #[inline]
    pub fn extent(&self, pc: u32, objects: &Objects) -> Range<u64> {
        const ALL: Range<u64> = 0..u64::MAX;
        if !self.operations.contains(&pc) {
            return ALL;
        }
        let find = || {
            let offset = self.code.parameter_of(pc)? as usize;
            let pointer = self.params.get(offset..offset + 8)?.try_into().ok()?;
            objects.extent(u64::from_le_bytes(pointer))
        };
        self.extents[(pc - self.operations.start) as usize].get_or_init(|| find().unwrap_or(ALL)).clone()
    }

    /// See [`Code::relies_on_order`]; worked out once for a place.
    pub fn relies_on_order(&self, pc: u32) -> bool {
        let mut volatile = self.volatile.lock().unwrap_or_else(PoisonError::into_inner);
        *volatile.entry(pc).or_insert_with(|| self.code.relies_on_order(pc))
    }

    /// Lanes execute a fence, or an access that orders others.
    pub fn fenced(&self, block: u32, at: At, wide: bool) {
        // A warp sees its own earlier fences.
        if wide && !self.has_narrow.load(Ordering::Relaxed) {
            return;
        }
        self.has_narrow.store(true, Ordering::Relaxed);
        let mut narrow = self.narrow.lock().unwrap_or_else(PoisonError::into_inner);
        if !wide {
            *narrow.entry((block, at.warp)).or_default() |= at.lanes;
        } else if let Some(lanes) = narrow.get_mut(&(block, at.warp)) {
            *lanes &= !at.lanes;
        }
    }

    /// Whether the latest fence of a thread that made an access has block scope.
    pub fn fences_narrowly(&self, access: &Stamp) -> bool {
        let narrow = self.narrow.lock().unwrap_or_else(PoisonError::into_inner);
        narrow.get(&(access.block, access.warp())).is_some_and(|lanes| lanes >> access.first() & 1 != 0)
    }

    /// Whether a thread may come to a place again; worked out once for a place.
    pub fn repeats(&self, pc: u32) -> bool {
        let mut repeated = self.repeated.lock().unwrap_or_else(PoisonError::into_inner);
        *repeated.entry(pc).or_insert_with(|| self.code.reaches(pc, pc))
    }
}
