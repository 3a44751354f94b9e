//! Device memory: a reserved range of addresses, backed lazily, with unmapped gaps between allocations.
//!
//! All devices of a process share the address space, so that each address means one thing; devices differ in how much
//! memory they have, and in what their kernels can access (`reach`).
//!
//! Addresses are assigned in ascending order, and a freed range is reused only after the whole space has been walked,
//! so a pointer that outlives its buffer, or runs past its end, does not hit another buffer.

mod allocation;
mod backing;
mod heap;
mod machine;
mod multicast;
mod owners;
mod physical;
mod reach;
mod site;
mod store;
mod view;
pub mod window;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allocation::GRANULE;
pub use allocation::{Allocation, AllocationKind};
pub use heap::Heap;
pub(crate) use machine::Lookout;
pub use multicast::Multicast;
pub(crate) use owners::Owners;
pub use physical::Physical;
use reach::Peers;
pub use reach::{MOST_DEVICES, Rights};
pub use site::Site;
use store::Store;
pub(crate) use view::{HostRange, View};

use crate::Error;

/// Device addresses start here: above every address of a host process, below the generic windows, within 48 bits. The
/// addresses of constants follow.
pub const DEVICE_BASE: u64 = 0x8000_0000_0000;
const DEVICE_END: u64 = window::CONSTANTS;
/// Allocations of a mebibyte and more start on page boundaries, like real drivers': programs that map pages out of one
/// big allocation rely on it.
const PAGE: u64 = 2 << 20;
const MIN_GAP: u64 = 1 << 20;

/// A part of an address range: an allocation, an offset in it, and a number of bytes.
type Piece = (Arc<Allocation>, u64, u64);

/// A device's memory, as seen by one of its contexts. Every launch and every host thread shares it.
///
/// Its allocations belong to its device and context. Lookups, reads, writes and frees work on all addresses of the
/// process.
#[derive(Debug)]
pub struct Memory {
    space: Arc<Space>,
    store: Arc<Store>,
    /// The context, by a unique number.
    context: u64,
    peers: Peers,
}

/// The addresses that all devices share.
#[derive(Debug)]
struct Space {
    state: Mutex<State>,
    /// Incremented with each change that views must notice: freed allocations, removed mappings, and revoked access.
    frees: AtomicU64,
    devices: AtomicU64,
    contexts: AtomicU64,
    /// Incremented when a kernel of any device writes something: other devices may be waiting for that.
    writes: AtomicU64,
}

#[derive(Debug)]
struct State {
    allocations: BTreeMap<u64, Arc<Allocation>>,
    next: u64,
    next_constant: u64,
    /// Address ranges reserved for mappings: start and bytes.
    reserved: BTreeMap<u64, u64>,
    multicasts: Arc<[Multicast]>,
}

impl Memory {
    /// Memory of `total` bytes; the host provides it only as it is touched.
    pub fn new(total: u64) -> Self {
        let space = Space {
            state: Mutex::new(State {
                allocations: BTreeMap::new(),
                next: DEVICE_BASE,
                next_constant: window::CONSTANTS,
                reserved: BTreeMap::new(),
                multicasts: Arc::default(),
            }),
            frees: AtomicU64::new(0),
            devices: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            contexts: AtomicU64::new(0),
        };
        Self::in_space(Arc::new(space), total)
    }

    fn in_space(space: Arc<Space>, total: u64) -> Self {
        let device = space.devices.fetch_add(1, Ordering::Relaxed) as u32;
        let context = space.contexts.fetch_add(1, Ordering::Relaxed);
        Memory { space, store: Arc::new(Store::new(device, total)), context, peers: Peers::default() }
    }

    /// Another device's memory of `total` bytes, at addresses different from all of this one's.
    pub fn beside(&self, total: u64) -> Self {
        Self::in_space(self.space.clone(), total)
    }

    /// The same memory for another context, which owns what it allocates.
    pub fn for_context(&self) -> Self {
        let (space, store) = (self.space.clone(), self.store.clone());
        let context = space.contexts.fetch_add(1, Ordering::Relaxed);
        Memory { space, store, context, peers: Peers::default() }
    }

    /// The device's number among those that share the address space.
    pub fn device(&self) -> u32 {
        self.store.device
    }

    /// Incremented when a kernel of any device writes something.
    pub(crate) fn writes(&self) -> &AtomicU64 {
        &self.space.writes
    }

    /// Counts a write that no kernel has made: one that waits for the host is not stuck while the host is kept from going on.
    pub fn count_write(&self) {
        self.writes().fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there are other devices.
    pub(crate) fn has_peers(&self) -> bool {
        self.space.devices.load(Ordering::Relaxed) > 1
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held left the maps intact: every change is one insertion or removal.
        self.space.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Free bytes and total bytes.
    pub fn info(&self) -> (u64, u64) {
        (self.store.free(), self.store.total)
    }

    fn out_of_memory(&self, asked: u64) -> Error {
        let (free, total) = self.info();
        Error::OutOfMemory { asked, free, total }
    }

    /// Allocates `bytes` of zeroed memory and returns its device address.
    pub fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        self.alloc_kind(bytes, AllocationKind::Buffer, None)
    }

    /// Allocates memory of a given kind, with a name for reports.
    pub fn alloc_kind(&self, bytes: u64, kind: AllocationKind, label: Option<&str>) -> Result<u64, Error> {
        self.alloc_with(bytes, kind, label, |allocation| allocation)
    }

    /// The same for memory whose program says which devices can access it.
    pub fn alloc_shared(&self, bytes: u64, kind: AllocationKind, rights: &Arc<Rights>) -> Result<u64, Error> {
        self.alloc_with(bytes, kind, None, |allocation| allocation.under(rights.clone()))
    }

    fn alloc_with(
        &self,
        bytes: u64,
        kind: AllocationKind,
        label: Option<&str>,
        also: impl FnOnce(Allocation) -> Allocation,
    ) -> Result<u64, Error> {
        let taken = if kind == AllocationKind::Host { 0 } else { bytes };
        let share = self.store.take(taken).filter(|_| bytes > 0).ok_or_else(|| self.out_of_memory(bytes))?;
        let mut state = self.state();
        let allocation = match kind {
            AllocationKind::Managed | AllocationKind::Host => Allocation::at_host(bytes, kind, label),
            _ => state.place(bytes, kind).and_then(|address| Allocation::zeroed(address, bytes, kind, label)),
        };
        let allocation = allocation.ok_or_else(|| self.out_of_memory(bytes))?;
        let allocation = also(allocation.of(self.context, share));
        let address = allocation.address();
        state.allocations.insert(address, Arc::new(allocation));
        Ok(address)
    }

    /// Makes the program's own memory visible to kernels at its own address.
    ///
    /// # Safety
    /// The `bytes` bytes at `host` must stay valid until [`Memory::free`] of that address has returned.
    pub unsafe fn map_host(&self, host: *mut u8, bytes: u64) -> Result<u64, Error> {
        let address = host as u64;
        let mut state = self.state();
        let bad = Error::BadAddress { address, bytes };
        let end = address.checked_add(bytes).filter(|&end| end <= DEVICE_BASE).ok_or(bad.clone())?;
        if host.is_null() || bytes == 0 {
            return Err(bad);
        }
        if let Some((_, before)) = state.allocations.range(..end).next_back()
            && before.end() > address
        {
            return Err(bad);
        }
        // SAFETY: the caller's promise; `free` drops the value before it returns.
        let allocation = unsafe { Allocation::lent(host, bytes) };
        state.allocations.insert(address, Arc::new(allocation));
        Ok(address)
    }

    /// Frees the allocation that starts at `address`. No lookup finds it from now on; its bytes go away when no
    /// instruction in progress can reach them. For bytes lent by the program this function waits for that.
    pub fn free(&self, address: u64) -> Result<(), Error> {
        let allocation = self.take_out(address)?;
        if allocation.is_lent() {
            wait_for_the_last(allocation);
        }
        Ok(())
    }

    /// Removes the allocation that starts at `address`, so that no one can reach it.
    fn take_out(&self, address: u64) -> Result<Arc<Allocation>, Error> {
        self.take_out_if(address, |_| true)
    }

    fn take_out_if(
        &self,
        address: u64,
        fits: impl FnOnce(&Allocation) -> bool,
    ) -> Result<Arc<Allocation>, Error> {
        let mut state = self.state();
        let bad = Error::BadAddress { address, bytes: 0 };
        let Entry::Occupied(entry) = state.allocations.entry(address) else { return Err(bad) };
        if !fits(entry.get()) {
            return Err(bad);
        }
        let allocation = entry.remove();
        allocation.uncount();
        if let Some(heap) = allocation.heap() {
            heap.give_back(allocation.size());
        }
        allocation.end_reach();
        self.space.frees.fetch_add(1, Ordering::Release);
        Ok(allocation)
    }

    /// Incremented with each freed allocation, removed mapping, and revoked access.
    fn frees(&self) -> u64 {
        self.space.frees.load(Ordering::Acquire)
    }

    /// The allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<Arc<Allocation>> {
        self.find_granule(address).filter(|allocation| address < allocation.end())
    }

    /// The allocation that contains `address` in one of its granules.
    fn find_granule(&self, address: u64) -> Option<Arc<Allocation>> {
        let state = self.state();
        let (_, allocation) = state.allocations.range(..=address).next_back()?;
        (address - allocation.address() < allocation.extent()).then(|| allocation.clone())
    }

    /// The allocations next to `address`: the last one at or below it, the first one above it.
    fn neighbours(&self, address: u64) -> (Option<Arc<Allocation>>, Option<Arc<Allocation>>) {
        let state = self.state();
        let before = state.allocations.range(..=address).next_back();
        let after = state.allocations.range(address..).find(|(start, _)| **start > address);
        let allocation = |found: Option<(&u64, &Arc<Allocation>)>| found.map(|(_, a)| a.clone());
        (allocation(before), allocation(after))
    }

    /// The allocations a range covers. Only mappings follow each other without a gap.
    fn pieces(&self, address: u64, bytes: u64) -> Result<Vec<Piece>, Error> {
        let mut pieces = Vec::new();
        let (mut at, mut rest) = (address, bytes);
        while rest > 0 {
            let allocation = self.find(at).ok_or(Error::BadAddress { address, bytes })?;
            let offset = at - allocation.address();
            let here = rest.min(allocation.size() - offset);
            pieces.push((allocation, offset, here));
            (at, rest) = (at + here, rest - here);
        }
        Ok(pieces)
    }

    /// Copies from device memory to the host.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), Error> {
        let mut rest = to;
        for (allocation, offset, bytes) in self.pieces(address, rest.len() as u64)? {
            let (here, after) = rest.split_at_mut(bytes as usize);
            allocation.read(offset, here);
            rest = after;
        }
        Ok(())
    }

    /// The same for a range to be written, in pieces for which the machine has memory.
    fn pieces_to_write(
        &self,
        address: u64,
        bytes: u64,
    ) -> Result<impl Iterator<Item = Result<Piece, Error>>, Error> {
        let (free, total) = self.info();
        let steps = self.pieces(address, bytes)?.into_iter().flat_map(|(allocation, offset, bytes)| {
            let step = move |at: u64| (allocation.clone(), offset + at, machine::STEP.min(bytes - at));
            (0..bytes).step_by(machine::STEP as usize).map(step)
        });
        Ok(steps.map(move |(allocation, offset, here)| {
            // Small writes are not checked; long-running kernels check for them.
            let room =
                here < machine::STEP / 4 || machine::has_room(allocation.at(offset, here), here as usize);
            if room {
                Ok((allocation, offset, here))
            } else {
                Err(Error::OutOfMemory { asked: bytes, free, total })
            }
        }))
    }

    /// Copies from the host to device memory.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), Error> {
        let mut rest = from;
        for piece in self.pieces_to_write(address, rest.len() as u64)? {
            let (allocation, offset, bytes) = piece?;
            let (here, after) = rest.split_at(bytes as usize);
            allocation.write(offset, here);
            rest = after;
        }
        Ok(())
    }

    /// Copies within device memory; the ranges may overlap.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), Error> {
        let (sources, targets) = (self.pieces(from, bytes)?, self.pieces(to, bytes)?);
        if let ([(source, from, _)], [(target, to, _)]) = (sources.as_slice(), targets.as_slice())
            && bytes < machine::STEP
        {
            target.copy_from(*to, source, *from, bytes);
            return Ok(());
        }
        // Through a buffer; overlapping bytes are read before they are written.
        const BUFFER: u64 = 1 << 20;
        let mut buffer = vec![0; BUFFER.min(bytes) as usize];
        let mut steps: Vec<u64> = (0..bytes).step_by(BUFFER as usize).collect();
        if to > from {
            steps.reverse();
        }
        for at in steps {
            let here = &mut buffer[..BUFFER.min(bytes - at) as usize];
            self.read(from + at, here)?;
            self.write(to + at, here)?;
        }
        Ok(())
    }

    /// Fills `count` elements with a pattern of 1, 2 or 4 bytes (or any other length).
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), Error> {
        let bytes = (pattern.len() as u64).saturating_mul(count);
        if bytes == 0 {
            return Ok(());
        }
        let mut done = 0;
        for piece in self.pieces_to_write(address, bytes)? {
            let (allocation, offset, here) = piece?;
            let mut turned = pattern.to_vec();
            turned.rotate_left((done % pattern.len() as u64) as usize);
            allocation.fill(offset, &turned, here);
            done += here;
        }
        Ok(())
    }
}

/// Waits until no one else holds it.
fn wait_for_the_last(mut allocation: Arc<Allocation>) {
    // A block's slice, or a copy: milliseconds. This is rare, and needs no signalling of its own.
    while let Err(shared) = Arc::try_unwrap(allocation) {
        allocation = shared;
        std::thread::sleep(std::time::Duration::from_micros(20));
    }
}

impl State {
    /// Addresses for `bytes`, followed by a gap of the same size.
    fn place(&mut self, bytes: u64, kind: AllocationKind) -> Option<u64> {
        let align = if bytes >= MIN_GAP { PAGE } else { GRANULE };
        let span = bytes.checked_add(bytes.max(MIN_GAP))?.checked_next_multiple_of(GRANULE)?;
        let (next, first, last) = match kind {
            AllocationKind::Const => (&mut self.next_constant, window::CONSTANTS, window::FIRST),
            _ => (&mut self.next, DEVICE_BASE, DEVICE_END),
        };
        let address = next.next_multiple_of(align);
        if let Some(end) = address.checked_add(span)
            && end <= last
        {
            *next = end;
            return Some(address);
        }
        // The space has been walked once: take the first hole that is wide enough.
        let mut at = first;
        let taken = self.allocations.range(first..last).map(|(&start, a)| (start, a.end()));
        let mut taken: Vec<_> =
            taken.chain(self.reserved.range(first..last).map(|(&at, &bytes)| (at, at + bytes))).collect();
        taken.sort_unstable();
        for (start, end) in taken {
            at = at.next_multiple_of(align);
            if start.saturating_sub(at) >= span {
                return Some(at);
            }
            at = at.max((end + MIN_GAP).next_multiple_of(GRANULE));
        }
        let at = at.next_multiple_of(align);
        (last.saturating_sub(at) >= span).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_allocations_begin_at_pages() {
        let memory = Memory::new(1 << 30);
        memory.alloc(16).unwrap();
        assert!(memory.alloc(MIN_GAP).unwrap().is_multiple_of(PAGE));
    }

    #[test]
    fn copies_fills_and_frees() {
        let memory = Memory::new(1 << 20);
        let a = memory.alloc(16).unwrap();
        let b = memory.alloc(16).unwrap();
        assert!(b - a > 16 && a.is_multiple_of(GRANULE));
        memory.write(a, &[1, 2, 3, 4]).unwrap();
        memory.copy(b + 2, a, 4).unwrap();
        memory.fill(a, &[7, 8], 2).unwrap();
        let mut bytes = [0; 8];
        memory.read(b, &mut bytes).unwrap();
        assert_eq!(bytes, [0, 0, 1, 2, 3, 4, 0, 0]);
        memory.read(a, &mut bytes).unwrap();
        assert_eq!(bytes, [7, 8, 7, 8, 0, 0, 0, 0]);
        assert_eq!(memory.info(), ((1 << 20) - 32, 1 << 20));
        memory.free(a).unwrap();
        assert!(memory.free(a).is_err());
        assert!(memory.read(a, &mut bytes).is_err());
        assert!(memory.read(b + 9, &mut bytes).is_err());
    }

    #[test]
    fn look_up_knows_gaps_and_neighbours() {
        let memory = Memory::new(1 << 20);
        let a = memory.alloc(100).unwrap();
        let b = memory.alloc(100).unwrap();
        assert_eq!(memory.find(a + 99).unwrap().address(), a);
        assert!(memory.find(a + 100).is_none());
        assert!(memory.find(b - 1).is_none());
        assert_eq!(memory.find(b).unwrap().address(), b);
        let (before, after) = memory.neighbours(a + 100);
        assert_eq!(before.unwrap().address(), a);
        assert_eq!(after.unwrap().address(), b);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let memory = Memory::new(1000);
        assert!(memory.alloc(0).is_err());
        assert!(memory.alloc(1001).is_err());
        assert!(memory.alloc(u64::MAX).is_err());
        memory.alloc(600).unwrap();
        assert!(memory.alloc(600).is_err());
    }
}
