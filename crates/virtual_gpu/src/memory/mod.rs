//! Device memory: a reserved range of addresses, backed lazily, with unmapped gaps between allocations.
//!
//! Addresses are handed out upwards and a freed range is used again only when the whole range has been walked, so a
//! pointer that outlives its buffer, or runs past its end, meets no other buffer.

mod allocation;
mod backing;
mod multicast;
mod physical;
pub mod window;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use allocation::{Allocation, AllocationKind};
pub use multicast::Multicast;
pub use physical::Physical;

use crate::Error;

/// Device addresses start here: above every address of a host process, below the generic windows, within 48 bits. Those of
/// constants follow.
pub const DEVICE_BASE: u64 = 0x8000_0000_0000;
const DEVICE_END: u64 = window::CONSTANTS;
/// What `cuMemAlloc` promises is 256; real drivers give 512.
const ALIGN: u64 = 512;
/// Allocations of a mebibyte and more begin at pages of their own, as real drivers': programs that cut pages out of one big
/// allocation count on it.
const PAGE: u64 = 2 << 20;
const MIN_GAP: u64 = 1 << 20;

/// The device's memory. Shared by every launch and every host thread.
#[derive(Debug)]
pub struct Memory {
    state: Mutex<State>,
    total: u64,
    /// Bytes of memory without an address of its own.
    physical: Arc<AtomicU64>,
}

#[derive(Debug)]
struct State {
    allocations: BTreeMap<u64, Arc<Allocation>>,
    next: u64,
    next_constant: u64,
    used: u64,
    table: Option<Arc<Table>>,
    /// Addresses that are kept for mappings: start and bytes.
    reserved: BTreeMap<u64, u64>,
    multicasts: Vec<Multicast>,
}

/// The allocations at one moment, sorted, for look-up without a lock.
#[derive(Debug, Default)]
pub struct Table {
    /// End of each allocation (exclusive), ascending.
    ends: Vec<u64>,
    allocations: Vec<Arc<Allocation>>,
    multicasts: Vec<Multicast>,
}

impl Table {
    /// The allocation that holds `address`, if one does.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&Arc<Allocation>> {
        let i = self.ends.partition_point(|&end| end <= address);
        self.allocations.get(i).filter(|a| a.address() <= address)
    }

    /// The allocations next to `address`: the last that starts at or below it, the first that starts above it.
    pub fn neighbours(&self, address: u64) -> (Option<&Arc<Allocation>>, Option<&Arc<Allocation>>) {
        let i = self.allocations.partition_point(|a| a.address() <= address);
        (i.checked_sub(1).map(|i| &self.allocations[i]), self.allocations.get(i))
    }

    /// All allocations, by address.
    pub fn allocations(&self) -> &[Arc<Allocation>] {
        &self.allocations
    }
}

impl Memory {
    /// Memory of `total` bytes; nothing is taken from the host until it is touched.
    pub fn new(total: u64) -> Self {
        Memory {
            state: Mutex::new(State {
                allocations: BTreeMap::new(),
                next: DEVICE_BASE,
                next_constant: window::CONSTANTS,
                used: 0,
                table: None,
                reserved: BTreeMap::new(),
                multicasts: Vec::new(),
            }),
            total,
            physical: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held left the maps whole: every change is one insertion or removal.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes free and bytes in all.
    pub fn info(&self) -> (u64, u64) {
        let used = self.state().used.saturating_add(self.physical.load(Ordering::Relaxed));
        (self.total - used.min(self.total), self.total)
    }

    /// Allocates `bytes` of zeroed memory and returns its device address.
    pub fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        self.alloc_kind(bytes, AllocationKind::Buffer, None)
    }

    /// Allocates memory of a given kind, with a name for reports.
    pub fn alloc_kind(&self, bytes: u64, kind: AllocationKind, label: Option<&str>) -> Result<u64, Error> {
        let (free, _) = self.info();
        let mut state = self.state();
        let out_of_memory = Error::OutOfMemory { asked: bytes, free, total: self.total };
        if bytes == 0 || bytes > free {
            return Err(out_of_memory);
        }
        let allocation = match kind {
            AllocationKind::Managed => Allocation::managed(bytes, label),
            _ => state.place(bytes, kind).and_then(|address| Allocation::zeroed(address, bytes, kind, label)),
        };
        let allocation = allocation.ok_or(out_of_memory)?;
        let address = allocation.address();
        state.used += bytes;
        state.allocations.insert(address, Arc::new(allocation));
        state.table = None;
        Ok(address)
    }

    /// Makes host memory visible to kernels at its own address (pinned and managed memory).
    ///
    /// # Safety
    /// The `bytes` bytes at `host` must stay valid until [`Memory::free`] of that address, and until launches that were
    /// running at that time have ended.
    pub unsafe fn map_host(&self, host: *mut u8, bytes: u64) -> Result<u64, Error> {
        let address = host as u64;
        let mut state = self.state();
        let bad = Error::BadAddress { address, bytes };
        if host.is_null() || bytes == 0 || address >= DEVICE_BASE {
            return Err(bad);
        }
        let end = address + bytes;
        if let Some((_, before)) = state.allocations.range(..end).next_back()
            && before.end() > address
        {
            return Err(bad);
        }
        // SAFETY: the caller's promise is the one that this function asks for.
        let allocation = unsafe { Allocation::borrowed(host, bytes) };
        state.allocations.insert(address, Arc::new(allocation));
        state.table = None;
        Ok(address)
    }

    /// Frees the allocation that starts at `address`. A launch that is still using it keeps its bytes alive.
    pub fn free(&self, address: u64) -> Result<(), Error> {
        let mut state = self.state();
        match state.allocations.remove(&address) {
            Some(allocation) => {
                if allocation.kind() != AllocationKind::Host {
                    state.used -= allocation.size();
                }
                state.table = None;
                Ok(())
            }
            None => Err(Error::BadAddress { address, bytes: 0 }),
        }
    }

    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<Arc<Allocation>> {
        let state = self.state();
        let (_, allocation) = state.allocations.range(..=address).next_back()?;
        (address < allocation.end()).then(|| allocation.clone())
    }

    /// The allocations as they are now, sorted for look-up without a lock.
    pub fn table(&self) -> Arc<Table> {
        let mut state = self.state();
        if let Some(table) = &state.table {
            return table.clone();
        }
        let allocations: Vec<_> = state.allocations.values().cloned().collect();
        let table = Arc::new(Table {
            ends: allocations.iter().map(|a| a.end()).collect(),
            allocations,
            multicasts: state.multicasts.clone(),
        });
        state.table = Some(table.clone());
        table
    }

    /// The pieces that a range lies in: allocations, offsets in them, bytes. Only mappings follow each other without a gap.
    fn pieces(&self, address: u64, bytes: u64) -> Result<Vec<(Arc<Allocation>, u64, u64)>, Error> {
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

    /// Copies from the host to device memory.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), Error> {
        let mut rest = from;
        for (allocation, offset, bytes) in self.pieces(address, rest.len() as u64)? {
            let (here, after) = rest.split_at(bytes as usize);
            allocation.write(offset, here);
            rest = after;
        }
        Ok(())
    }

    /// Copies within device memory; the ranges may overlap.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), Error> {
        let (sources, targets) = (self.pieces(from, bytes)?, self.pieces(to, bytes)?);
        if let ([(source, from, _)], [(target, to, _)]) = (sources.as_slice(), targets.as_slice()) {
            target.copy_from(*to, source, *from, bytes);
            return Ok(());
        }
        // Across a seam between mappings: through the host.
        let mut all = vec![0; bytes as usize];
        self.read(from, &mut all)?;
        self.write(to, &all)
    }

    /// Fills `count` elements with a pattern of 1, 2 or 4 bytes (or any other length).
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), Error> {
        let bytes = (pattern.len() as u64).saturating_mul(count);
        if bytes == 0 {
            return Ok(());
        }
        let pieces = self.pieces(address, bytes)?;
        if let [(allocation, offset, _)] = pieces.as_slice() {
            allocation.fill(*offset, pattern, bytes);
            return Ok(());
        }
        let mut done = 0;
        for (allocation, offset, here) in pieces {
            let mut turned = pattern.to_vec();
            turned.rotate_left((done % pattern.len() as u64) as usize);
            allocation.fill(offset, &turned, here);
            done += here;
        }
        Ok(())
    }
}

impl State {
    /// Addresses for `bytes` with a gap behind them as wide as they are.
    fn place(&mut self, bytes: u64, kind: AllocationKind) -> Option<u64> {
        let align = if bytes >= MIN_GAP { PAGE } else { ALIGN };
        let span = bytes.checked_add(bytes.max(MIN_GAP))?.checked_next_multiple_of(ALIGN)?;
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
        // The range has been walked once: the first hole that is wide enough.
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
            at = at.max((end + MIN_GAP).next_multiple_of(ALIGN));
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
        assert!(b - a > 16 && a.is_multiple_of(ALIGN));
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
        let table = memory.table();
        assert_eq!(table.find(a + 99).unwrap().address(), a);
        assert!(table.find(a + 100).is_none());
        assert!(table.find(b - 1).is_none());
        assert_eq!(table.find(b).unwrap().address(), b);
        let (before, after) = table.neighbours(a + 100);
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
