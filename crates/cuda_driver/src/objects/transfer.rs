//! Copies and fills: descriptions that are checked when issued and run in stream order.

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use virtual_gpu::Error;
use virtual_gpu::memory::Allocation;

use crate::abi::{Answer, CUdeviceptr, CUgraphNodeType, CUresult};
use crate::check;
use crate::objects::allocation::{is_pinned, owner_of};
use crate::objects::context::Context;
use crate::objects::device::{Device, memory};
use crate::objects::registry::Registry;
use crate::objects::stream::Target;
use crate::objects::work::Work;

/// One side of a copy: where its first byte is, and the distance between its rows and slices.
#[derive(Clone)]
pub struct Side {
    pub memory: Memory,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Bytes from one slice to the next.
    pub slice: usize,
}

#[derive(Clone)]
pub enum Memory {
    Host(usize),
    Device(CUdeviceptr),
    /// The host's, which the device reaches: gone when it is freed before the copy's turn, though other memory may then have
    /// its address; and there until the copy is done.
    Pinned {
        address: u64,
        allocation: Weak<Allocation>,
    },
    /// Bytes copied out of the host's pageable memory when the work was issued.
    Staged(Arc<Vec<u8>>),
}

impl Memory {
    /// The meaning of a unified address: device memory if an allocation contains it, else host memory.
    pub fn unified(address: u64) -> Self {
        if memory().find(address).is_some() { Self::Device(address) } else { Self::Host(address as usize) }
    }

    pub fn host(pointer: *const c_void) -> Self {
        Self::Host(pointer as usize)
    }

    /// Whether the host may touch these bytes again as soon as the call returns.
    fn is_pageable(&self, bytes: usize) -> bool {
        matches!(self, Self::Host(address) if !is_pinned(*address, bytes))
    }

    /// Tells whether it is the host's, pinned or not.
    fn is_hosts(&self) -> bool {
        match self {
            Self::Host(_) | Self::Staged(_) => true,
            Self::Device(address) | Self::Pinned { address, .. } => allocation(*address)
                .ok()
                .and_then(|allocation| owner_of(allocation.address()))
                .is_some_and(|(_, origin)| origin.is_pinned()),
        }
    }

    /// Keeps pinned memory for as long as a copy runs.
    fn hold(&self) -> Answer<Option<Arc<Allocation>>> {
        match self {
            Self::Pinned { allocation, .. } => {
                allocation.upgrade().map(Some).ok_or(CUresult::ILLEGAL_ADDRESS)
            }
            _ => Ok(None),
        }
    }
}

impl Side {
    pub fn linear(memory: Memory) -> Self {
        Self { memory, pitch: 0, slice: 0 }
    }

    /// The number of bytes from the first to the last that a box of this size touches.
    fn span(&self, [width, height, depth]: [usize; 3]) -> Answer<usize> {
        let rows = self.pitch.checked_mul(height.saturating_sub(1));
        let slices = self.slice.checked_mul(depth.saturating_sub(1));
        rows.zip(slices)
            .and_then(|(rows, slices)| rows.checked_add(slices)?.checked_add(width))
            .ok_or(CUresult::INVALID_VALUE)
    }

    /// Fails unless a device may read it, or write it, where its program says which devices may.
    fn check_access(&self, extent: [usize; 3], device: &Device, write: bool) -> Answer {
        match self.memory {
            Memory::Device(address) => check_access(address, self.span(extent)?, device, write),
            _ => Ok(()),
        }
    }

    fn check(&self, extent: [usize; 3]) -> Answer {
        let span = self.span(extent)?;
        match self.memory {
            Memory::Device(address) => check_device(address, span),
            // What lies on the first page, or behind the half of the addresses that programs have, is no memory.
            Memory::Host(address) if !(PAGE..=HIGHEST).contains(&address) || span > HIGHEST - address => {
                Err(CUresult::INVALID_VALUE)
            }
            _ => Ok(()),
        }
    }
}

const PAGE: usize = 4096;
const HIGHEST: usize = (1 << 56) - 1;

pub fn allocation(address: CUdeviceptr) -> Answer<Arc<Allocation>> {
    memory().find(address).ok_or(CUresult::INVALID_VALUE)
}

/// Fails as the driver does for a range that is not inside one allocation, or inside mappings that follow each other.
pub fn check_device(address: CUdeviceptr, bytes: usize) -> Answer {
    check_each(address, bytes, |_| Ok(()))
}

/// Fails unless a device may read the bytes, or write them: those of a pool, or mapped, which it has no access to are no copy's
/// of its contexts. Other memory is every device's to copy. The answers are an H200's (CUDA 13).
fn check_access(address: CUdeviceptr, bytes: usize, device: &Device, write: bool) -> Answer {
    check_each(address, bytes, |allocation| {
        let (reads, writes) =
            allocation.rights().map_or((true, true), |rights| rights.of(device.number as u32));
        if if write { writes } else { reads } { Ok(()) } else { Err(CUresult::INVALID_VALUE) }
    })
}

/// Checks each allocation that a range touches.
fn check_each(address: CUdeviceptr, bytes: usize, admits: impl Fn(&Allocation) -> Answer) -> Answer {
    let end = address.checked_add(bytes as u64).ok_or(CUresult::INVALID_VALUE)?;
    let mut at = address;
    loop {
        let allocation = memory().find(at).ok_or_else(|| {
            check::tell(|sanitizer| sanitizer.host_went_beyond(address, bytes as u64));
            CUresult::INVALID_VALUE
        })?;
        admits(&allocation)?;
        if end <= allocation.end() {
            return Ok(());
        }
        at = allocation.end();
    }
}

/// Memory that programs name by a handle: an array.
pub trait Named: Send + Sync {
    /// The side of a copy that a box of this extent is, from an element on.
    fn side(&self, from: [usize; 3], extent: [usize; 3]) -> Answer<Side>;
}

pub static NAMED: Registry<dyn Named> = Registry::new(CUresult::INVALID_HANDLE);

#[derive(Clone)]
pub struct Copy {
    pub from: Side,
    pub to: Side,
    /// Bytes of a row, rows, slices.
    pub extent: [usize; 3],
}

impl Copy {
    pub fn linear(to: Memory, from: Memory, bytes: usize) -> Self {
        Self { from: Side::linear(from), to: Side::linear(to), extent: [bytes, 1, 1] }
    }

    pub fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    /// Fails when a side is not there in full.
    pub fn check(&self) -> Answer {
        if self.is_empty() {
            return Ok(());
        }
        self.from.check(self.extent)?;
        self.to.check(self.extent)
    }

    /// The same copy, if a device may read the one side and write the other. Copies between two contexts need no access.
    pub fn accessible_to(self, device: &Device) -> Answer<Self> {
        if !self.is_empty() {
            self.from.check_access(self.extent, device, false)?;
            self.to.check_access(self.extent, device, true)?;
        }
        Ok(self)
    }

    /// Notes which sides the device can reach.
    fn pin(&mut self) -> Answer {
        if self.is_empty() {
            return Ok(());
        }
        for side in [&mut self.from, &mut self.to] {
            let span = side.span(self.extent)?;
            if let Memory::Host(address) = side.memory
                && is_pinned(address, span)
            {
                let address = address as u64;
                side.memory = Memory::Pinned { address, allocation: Arc::downgrade(&allocation(address)?) };
            }
        }
        Ok(())
    }

    /// Copies the source's pageable bytes now, so that the host may write them again.
    fn stage(&mut self) -> Answer {
        let span = self.from.span(self.extent)?;
        if let Memory::Host(address) = self.from.memory
            && self.from.memory.is_pageable(span)
        {
            // SAFETY: the caller of the copy vouches for the source; `span` is what its box touches.
            let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, span) };
            let mut copy = Vec::new();
            copy.try_reserve_exact(span).map_err(|_| CUresult::OUT_OF_MEMORY)?;
            copy.extend_from_slice(bytes);
            self.from.memory = Memory::Staged(copy.into());
        }
        Ok(())
    }

    /// Whether the call must not return before the bytes are there.
    fn must_wait(&self) -> bool {
        // "From any host memory to any host memory, the function is fully synchronous" (driver API, synchronization behavior).
        self.to.span(self.extent).is_ok_and(|span| self.to.memory.is_pageable(span))
            || self.from.memory.is_hosts() && self.to.memory.is_hosts()
    }

    pub fn run_now(mut self, target: &Target) -> Answer {
        self.check()?;
        self.pin()?;
        target.refuse_capture()?;
        target.refuse_if_it_waits_for_a_capture()?;
        // Everything before it is done, so the copy needs no turn of its own.
        target.synchronize()?;
        target.context.queue.directly(|| self.run())
    }

    /// Issues the copy; waits where the real driver would.
    pub fn issue(mut self, target: &Target) -> Answer {
        self.check()?;
        self.pin()?;
        if target.capture().is_some() {
            return target.issue(self);
        }
        self.stage()?;
        if !self.must_wait() {
            return target.issue(self);
        }
        target.refuse_if_it_waits_for_a_capture()?;
        let mark = target.run(self)?;
        target.context.queue.wait(&[mark])?;
        target.context.intact()
    }

    fn run(&self) -> Answer {
        let [width, height, depth] = self.extent;
        if self.is_empty() {
            return Ok(());
        }
        let _held = [self.from.memory.hold()?, self.to.memory.hold()?];
        let contiguous = |side: &Side| {
            (height == 1 || side.pitch == width) && (depth == 1 || side.slice == width * height)
        };
        if contiguous(&self.from) && contiguous(&self.to) {
            return self.run_row(0, 0, width * height * depth);
        }
        for z in 0..depth {
            for y in 0..height {
                let offset = |side: &Side| z * side.slice + y * side.pitch;
                self.run_row(offset(&self.from), offset(&self.to), width)?;
            }
        }
        Ok(())
    }

    fn tell(&self, from: u64, to: u64, bytes: u64) {
        // Kernels reach pinned memory, too.
        let reachable = |side: &Side| match side.memory {
            Memory::Device(address) | Memory::Pinned { address, .. } => Some(address),
            Memory::Host(_) | Memory::Staged(_) => None,
        };
        check::tell(|sanitizer| match (reachable(&self.from), reachable(&self.to)) {
            (Some(source), Some(target)) => sanitizer.host_copied(target + to, source + from, bytes),
            (Some(source), None) => sanitizer.host_read(source + from, bytes),
            (None, Some(target)) => sanitizer.host_wrote(target + to, bytes),
            (None, None) => {}
        });
    }

    fn run_row(&self, from: usize, to: usize, bytes: usize) -> Answer {
        let memory = memory();
        self.tell(from as u64, to as u64, bytes as u64);
        match (&self.from.memory, &self.to.memory) {
            (
                Memory::Device(source) | Memory::Pinned { address: source, .. },
                Memory::Device(target) | Memory::Pinned { address: target, .. },
            ) => memory.copy(target + to as u64, source + from as u64, bytes as u64).map_err(failure),
            (Memory::Device(source) | Memory::Pinned { address: source, .. }, Memory::Host(target)) => {
                // SAFETY: the caller of the copy vouches for the target; it is u8, which any bytes are.
                let target = unsafe { std::slice::from_raw_parts_mut((target + to) as *mut u8, bytes) };
                memory.read(source + from as u64, target).map_err(failure)
            }
            (Memory::Host(source), Memory::Device(target) | Memory::Pinned { address: target, .. }) => {
                // SAFETY: the caller of the copy vouches for the source.
                let source = unsafe { std::slice::from_raw_parts((source + from) as *const u8, bytes) };
                memory.write(target + to as u64, source).map_err(failure)
            }
            (Memory::Staged(source), Memory::Device(target) | Memory::Pinned { address: target, .. }) => {
                memory.write(target + to as u64, &source[from..from + bytes]).map_err(failure)
            }
            (Memory::Host(source), Memory::Host(target)) => {
                // SAFETY: the caller of the copy vouches for both sides; `copy` admits overlap.
                unsafe { std::ptr::copy((source + from) as *const u8, (target + to) as *mut u8, bytes) };
                Ok(())
            }
            (Memory::Staged(source), Memory::Host(target)) => {
                // SAFETY: the caller of the copy vouches for the target; the source is ours.
                let target = unsafe { std::slice::from_raw_parts_mut((target + to) as *mut u8, bytes) };
                target.copy_from_slice(&source[from..from + bytes]);
                Ok(())
            }
            (_, Memory::Staged(_)) => Err(CUresult::INVALID_VALUE),
        }
    }
}

impl Work for Copy {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::MEMCPY
    }

    fn perform(&self, _context: &Context) -> Answer {
        self.run()
    }
}

#[derive(Clone, Copy)]
pub struct Fill {
    pub address: CUdeviceptr,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// The element, in its first `element` bytes.
    pub value: [u8; 4],
    /// Bytes of an element: 1, 2 or 4.
    pub element: usize,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Fill {
    /// Fails when the memory is not there in full, or the address does not fit the element.
    pub fn check(&self, device: &Device) -> Answer {
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        if !matches!(self.element, 1 | 2 | 4) || !self.address.is_multiple_of(self.element as u64) {
            return Err(CUresult::INVALID_VALUE);
        }
        let row = self.width.checked_mul(self.element).ok_or(CUresult::INVALID_VALUE)?;
        let rows = self.pitch.checked_mul(self.height - 1).ok_or(CUresult::INVALID_VALUE)?;
        check_access(self.address, rows.checked_add(row).ok_or(CUresult::INVALID_VALUE)?, device, true)
    }
}

impl Work for Fill {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::MEMSET
    }

    fn perform(&self, _context: &Context) -> Answer {
        for row in 0..self.height {
            let address = self.address + (row * self.pitch) as u64;
            let filled = memory().fill(address, &self.value[..self.element], self.width as u64);
            filled.map_err(failure)?;
            let value = &self.value[..self.element];
            check::tell(|sanitizer| {
                sanitizer.host_filled(address, (self.width * self.element) as u64, value)
            });
        }
        Ok(())
    }
}

/// The state of memory that was there when the work was issued.
fn failure(error: Error) -> CUresult {
    match error {
        Error::OutOfMemory { .. } => CUresult::OUT_OF_MEMORY,
        _ => CUresult::ILLEGAL_ADDRESS,
    }
}
