//! Memory as instructions of their own kind reach it, byte by byte and lane by lane.

use super::access;
use super::context::{Raise, raise};
use super::extension::Machine;
use crate::fault::FaultKind;
use crate::observer::{Access, AccessKind, At, MemorySpace, Named, Order, Scope};
use crate::op::SpaceOperand;

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

    /// Tells the observer of an access of `bytes` a lane.
    pub fn show_access(
        &mut self,
        at: At,
        space: SpaceOperand,
        kind: AccessKind,
        bytes: u32,
        lanes: u32,
        addresses: &[u64; 32],
    ) {
        let generic = space == SpaceOperand::Generic;
        let mut rest = lanes;
        while rest != 0 {
            let (space_here, _) = named(space, addresses[rest.trailing_zeros() as usize]);
            let mut offsets = *addresses;
            let mut here = 0;
            for lane in super::registers::lanes_of(rest) {
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

#[cold]
pub(super) fn outside(what: &str, address: u64, bytes: u32, nearby: &str, lane: usize) -> Box<Raise> {
    raise(FaultKind::IllegalAddress { access: what.into(), address, bytes, nearby: nearby.into() }, 1 << lane)
}
