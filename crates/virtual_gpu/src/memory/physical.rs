//! Memory without an address, and addresses without memory (`cuMemCreate`, `cuMemAddressReserve`, `cuMemMap`).

use std::ptr::NonNull;
use std::sync::Arc;

use super::allocation::{Allocation, AllocationKind};
use super::backing::Backing;
use super::reach::Rights;
use super::store::Share;
use super::{DEVICE_BASE, DEVICE_END, MIN_GAP, Memory};
use crate::Error;

/// Memory that has no address until it is mapped. It is returned when the last mapping and the last clone are gone.
#[derive(Debug)]
pub struct Physical {
    backing: Backing,
    size: u64,
    /// Its share of the device's memory.
    share: Share,
}

impl Physical {
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The number of the device whose memory it is.
    pub fn device(&self) -> u32 {
        self.share.device()
    }

    pub(super) fn bytes(&self) -> NonNull<u8> {
        self.backing.bytes()
    }
}

impl Memory {
    /// Memory without an address.
    pub fn physical(&self, bytes: u64) -> Result<Arc<Physical>, Error> {
        let share = self.store.take(bytes).filter(|_| bytes > 0).ok_or_else(|| self.out_of_memory(bytes))?;
        let backing = usize::try_from(bytes).ok().and_then(Backing::zeroed);
        let backing = backing.ok_or_else(|| self.out_of_memory(bytes))?;
        Ok(Arc::new(Physical { backing, size: bytes, share }))
    }

    /// Reserves addresses until they are released; the first is a multiple of `align`, a power of two.
    pub fn reserve(&self, bytes: u64, align: u64) -> Result<u64, Error> {
        let mut state = self.state();
        let wide = bytes.checked_add(align);
        let address = wide
            .and_then(|wide| state.place(wide, AllocationKind::Buffer))
            .map(|address| address.next_multiple_of(align));
        let Some(address) = address.filter(|_| bytes > 0) else {
            return Err(Error::OutOfMemory { asked: bytes, free: 0, total: self.store.total });
        };
        state.reserved.insert(address, bytes);
        Ok(address)
    }

    /// Reserves addresses from `start` on. False if some of them are in use, or are not a device's.
    pub fn reserve_at(&self, start: u64, bytes: u64) -> bool {
        let mut state = self.state();
        let Some(end) = start.checked_add(bytes) else { return false };
        let allocated = state.allocations.range(..end).next_back().is_some_and(|(_, a)| a.end() > start);
        let reserved = state.reserved.range(..end).next_back().is_some_and(|(at, bytes)| at + bytes > start);
        if start < DEVICE_BASE || end > DEVICE_END || bytes == 0 || allocated || reserved {
            return false;
        }
        state.reserved.insert(start, bytes);
        // Addresses not yet handed out begin behind it.
        state.next = state.next.max((end + MIN_GAP).min(DEVICE_END));
        true
    }

    /// Releases reserved addresses. Nothing may be mapped there.
    pub fn release(&self, address: u64) -> Result<(), Error> {
        let mut state = self.state();
        let bad = Error::BadAddress { address, bytes: 0 };
        let bytes = *state.reserved.get(&address).ok_or(bad.clone())?;
        if state.allocations.range(address..address + bytes).next().is_some() {
            return Err(bad);
        }
        state.reserved.remove(&address);
        Ok(())
    }

    /// Maps `bytes` of physical memory, from `offset` on, at reserved addresses, for the devices that `rights` names.
    pub fn map(
        &self,
        address: u64,
        physical: &Arc<Physical>,
        offset: u64,
        bytes: u64,
        rights: &Arc<Rights>,
    ) -> Result<(), Error> {
        let mut state = self.state();
        let bad = Error::BadAddress { address, bytes };
        let end = address.checked_add(bytes).ok_or(bad.clone())?;
        let reserved = state.reserved.range(..=address).next_back();
        let inside = reserved.is_some_and(|(&start, &length)| end <= start + length);
        let taken =
            state.allocations.range(DEVICE_BASE..end).next_back().is_some_and(|(_, a)| a.end() > address);
        let allocation = Allocation::mapped(address, physical, offset, bytes, rights);
        let allocation = allocation.filter(|_| inside && !taken).ok_or(bad)?;
        state.allocations.insert(address, Arc::new(allocation));
        Ok(())
    }

    /// Undoes the [`Memory::map`] at `address`.
    pub fn unmap(&self, address: u64) -> Result<(), Error> {
        self.take_out(address).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 1 << 21;

    #[test]
    fn one_memory_at_two_addresses_and_two_memories_in_a_row() {
        let memory = Memory::new(16 * PAGE);
        let (a, b) = (memory.physical(PAGE).unwrap(), memory.physical(PAGE).unwrap());
        assert_eq!(memory.info().0, 14 * PAGE);
        let at = memory.reserve(4 * PAGE, PAGE).unwrap();
        assert!(at.is_multiple_of(PAGE));
        memory.map(at, &a, 0, PAGE, &Rights::all()).unwrap();
        memory.map(at + PAGE, &b, 0, PAGE, &Rights::all()).unwrap();
        memory.map(at + 3 * PAGE, &a, 0, PAGE, &Rights::all()).unwrap();
        // Across the boundary, and visible at the other address.
        memory.write(at + PAGE - 2, &[1, 2, 3, 4]).unwrap();
        let mut bytes = [0; 4];
        memory.read(at + PAGE - 2, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4]);
        memory.read(at + 4 * PAGE - 2, &mut bytes[..2]).unwrap();
        assert_eq!(bytes[..2], [1, 2]);
        memory.fill(at + PAGE - 1, &[7], 2).unwrap();
        memory.copy(at + 8, at + PAGE - 2, 4).unwrap();
        memory.read(at + 8, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 7, 7, 4]);
        // The hole, the end, an occupied range and one never reserved.
        assert!(memory.write(at + 2 * PAGE - 1, &[0; 2]).is_err());
        assert!(memory.map(at, &b, 0, PAGE, &Rights::all()).is_err());
        assert!(memory.map(at + 2 * PAGE, &b, PAGE, PAGE, &Rights::all()).is_err());
        assert!(memory.map(at + 4 * PAGE, &b, 0, PAGE, &Rights::all()).is_err());
        assert!(memory.release(at).is_err());
        for mapped in [at, at + PAGE, at + 3 * PAGE] {
            memory.unmap(mapped).unwrap();
        }
        memory.release(at).unwrap();
        assert!(memory.map(at, &a, 0, PAGE, &Rights::all()).is_err());
        drop((a, b));
        assert_eq!(memory.info().0, 16 * PAGE);
    }
}
