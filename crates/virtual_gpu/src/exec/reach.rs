//! Memory as instructions of their own kind reach it, byte by byte and lane by lane.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::access;
use super::context::{Raise, raise};
use super::extension::Machine;
use crate::fault::FaultKind;
use crate::form::access::SpaceOperand;
use crate::form::op::ALL_BYTES;
use crate::form::registers::lanes_of;
use crate::memory::HostRange;
use crate::observer::{Access, AccessKind, At, MemorySpace, Named, Order, Scope};

impl Machine<'_> {
    /// The host bytes of an address in a space, or of a generic one.
    pub fn reach(
        &mut self,
        space: SpaceOperand,
        address: u64,
        bytes: u32,
        what: &str,
        lane: usize,
    ) -> Result<*mut u8, Box<Raise>> {
        let (space, address) = named(space, address);
        let size = u64::from(bytes);
        match space {
            MemorySpace::Shared => match u32::try_from(address) {
                Ok(address) => self.shared(address, bytes, what, lane),
                Err(_) => Err(outside(what, address, bytes, ", beyond shared memory", lane)),
            },
            MemorySpace::Global | MemorySpace::Const => self.global(address, bytes, what, lane),
            MemorySpace::Local => {
                let limit = u64::from(self.warp.local.size());
                if address.checked_add(size).is_none_or(|end| end > limit) {
                    return Err(outside(what, address, bytes, ", beyond the stack", lane));
                }
                Ok(self.warp.local.lane(lane).wrapping_add(address as usize))
            }
            MemorySpace::Param => {
                let limit = self.launch.params.len() as u64;
                if address.checked_add(size).is_none_or(|end| end > limit) {
                    return Err(outside(what, address, bytes, ", beyond the kernel's parameters", lane));
                }
                Ok(self.launch.params.as_ptr().cast_mut().wrapping_add(address as usize))
            }
        }
    }

    /// The same of an address that must be aligned.
    pub fn aligned(
        &mut self,
        space: SpaceOperand,
        address: u64,
        [bytes, multiple]: [u32; 2],
        what: &str,
        lane: usize,
    ) -> Result<*mut u8, Box<Raise>> {
        if !address.is_multiple_of(multiple.into()) {
            let kind = FaultKind::MisalignedAddress { access: what.into(), address, bytes: multiple };
            return Err(raise(kind, 1 << lane));
        }
        self.reach(space, address, bytes, what, lane)
    }

    /// Where address 0 would be, if all these lanes' bytes are aligned and lie in the block's shared memory or in one allocation: one
    /// look for all lanes.
    pub fn inside(
        &self,
        space: MemorySpace,
        addresses: &[u64; 32],
        bytes: u32,
        lanes: u32,
    ) -> Option<*mut u8> {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for lane in lanes_of(lanes) {
            let address = addresses[lane];
            (low, high, bits) = (low.min(address), high.max(address), bits | address);
        }
        if lanes == 0 || !bits.is_multiple_of(bytes.into()) {
            return None;
        }
        let end = high.checked_add(bytes.into())?;
        match space {
            MemorySpace::Shared => {
                let memory = self.cluster.get(self.block.cluster_rank as usize)?;
                (end <= memory.size.into()).then_some(memory.bytes)
            }
            MemorySpace::Global => {
                let allocation = self.device.find(low)?;
                let start = allocation.address() as usize;
                (end <= self.device.end_of(allocation)).then(|| allocation.as_ptr().wrapping_sub(start))
            }
            _ => None,
        }
    }

    /// Reads bytes that other threads may write at the same time.
    pub fn read(
        &mut self,
        space: SpaceOperand,
        address: u64,
        to: &mut [u8],
        what: &str,
        lane: usize,
    ) -> Result<(), Box<Raise>> {
        let mut rest = to;
        for piece in self.pieces(space, address, rest.len() as u32, what, lane)? {
            let (here, after) = rest.split_at_mut(piece.bytes);
            load(piece.place, here);
            rest = after;
        }
        Ok(())
    }

    /// Writes bytes that other threads may read at the same time.
    pub fn write(
        &mut self,
        space: SpaceOperand,
        address: u64,
        from: &[u8],
        what: &str,
        lane: usize,
    ) -> Result<(), Box<Raise>> {
        let mut rest = from;
        for piece in self.pieces_to_write(space, address, rest.len() as u32, what, lane)? {
            let (here, after) = rest.split_at(piece.bytes);
            store(piece.place, here);
            rest = after;
        }
        Ok(())
    }

    /// The host bytes of a range, one after the other: global memory's may lie in several mappings.
    fn pieces(
        &mut self,
        space: SpaceOperand,
        address: u64,
        bytes: u32,
        what: &str,
        lane: usize,
    ) -> Result<Vec<HostRange>, Box<Raise>> {
        if !matches!(named(space, address).0, MemorySpace::Global | MemorySpace::Const) {
            let place = self.reach(space, address, bytes, what, lane)?;
            return Ok(vec![HostRange { place, bytes: bytes as usize, read_only: false }]);
        }
        let found = self.device.pieces(address, bytes.into());
        found.ok_or_else(|| outside(what, address, bytes, &self.device.nearby(address), lane))
    }

    /// The same of a range that is written.
    pub fn pieces_to_write(
        &mut self,
        space: SpaceOperand,
        address: u64,
        bytes: u32,
        what: &str,
        lane: usize,
    ) -> Result<Vec<HostRange>, Box<Raise>> {
        let pieces = self.pieces(space, address, bytes, what, lane)?;
        match pieces.iter().any(|piece| piece.read_only) {
            true => Err(raise(FaultKind::WriteToConstant { address }, 1 << lane)),
            false => Ok(pieces),
        }
    }

    /// Shows the observer an access of `bytes` a lane.
    pub fn show_access(
        &mut self,
        at: At,
        space: SpaceOperand,
        kind: AccessKind,
        bytes: u32,
        lanes: u32,
        addresses: &[u64; 32],
    ) {
        if !self.observer.follows_accesses() {
            return;
        }
        let generic = space == SpaceOperand::Generic;
        let mut rest = lanes;
        while rest != 0 {
            let (space_here, _) = named(space, addresses[rest.trailing_zeros() as usize]);
            let mut offsets = *addresses;
            let mut here = 0;
            for lane in lanes_of(rest) {
                let (space, offset) = named(space, addresses[lane]);
                if space == space_here {
                    here |= 1 << lane;
                    offsets[lane] = offset;
                }
            }
            let access = Access {
                space: space_here,
                generic,
                kind,
                width: bytes,
                elements: 1,
                lanes: here,
                addresses: &offsets,
                order: Order::Weak,
                scope: Scope::Block,
                non_coherent: false,
                used: ALL_BYTES,
                image: false,
                registers: Named::default(),
                values: None,
                swap: None,
            };
            self.observer.access(At { lanes: here, ..at }, &access);
            rest &= !here;
        }
    }
}

/// The space that an address lies in, and its offset there.
pub(super) fn named(space: SpaceOperand, address: u64) -> (MemorySpace, u64) {
    match space {
        SpaceOperand::In(space) => (space, address),
        SpaceOperand::Generic => {
            let (space, start) = access::space_of(address);
            (space, address - start)
        }
    }
}

/// Copies `data` out to memory that other threads may use at the same time: `place` has as many bytes.
fn store(place: *mut u8, data: &[u8]) {
    let wide = (place as usize).is_multiple_of(8);
    for (index, piece) in data.chunks(8).enumerate() {
        let at = place.wrapping_add(8 * index);
        match <[u8; 8]>::try_from(piece) {
            // SAFETY: `place` has as many bytes as `data`; `at` is aligned if `place` is.
            Ok(bytes) if wide => unsafe {
                AtomicU64::from_ptr(at.cast()).store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
            },
            _ => {
                for (offset, &byte) in piece.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { AtomicU8::from_ptr(at.add(offset)).store(byte, Ordering::Relaxed) }
                }
            }
        }
    }
}

/// Reads memory that other threads may use at the same time: `place` has as many bytes as `data`.
fn load(place: *const u8, data: &mut [u8]) {
    let wide = (place as usize).is_multiple_of(8);
    for (index, piece) in data.chunks_mut(8).enumerate() {
        let at = place.wrapping_add(8 * index).cast_mut();
        if wide && piece.len() == 8 {
            // SAFETY: `place` has as many bytes as `data`; `at` is aligned as `place` is.
            let word = unsafe { AtomicU64::from_ptr(at.cast()).load(Ordering::Relaxed) };
            piece.copy_from_slice(&word.to_ne_bytes());
        } else {
            for (offset, byte) in piece.iter_mut().enumerate() {
                // SAFETY: as above.
                *byte = unsafe { AtomicU8::from_ptr(at.add(offset)).load(Ordering::Relaxed) };
            }
        }
    }
}

#[cold]
pub(super) fn outside(what: &str, address: u64, bytes: u32, nearby: &str, lane: usize) -> Box<Raise> {
    raise(FaultKind::IllegalAddress { access: what.into(), address, bytes, nearby: nearby.into() }, 1 << lane)
}
