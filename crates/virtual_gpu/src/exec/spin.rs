//! Distinguishes threads that wait in a loop from threads that compute in one.
//!
//! Neither writes anything that others could see. A waiting thread reads the same places again and again; a computing one reads
//! nothing for long, or reads on. This is looked at only when nothing was written for a while.

use std::collections::HashSet;

use super::access;
use crate::form::access::{AddressOperand, SpaceOperand};
use crate::form::registers::{Regs, lanes_of};
use crate::memory::window;
use crate::observer::{At, MemorySpace};

/// Operations of a warp without a look at memory after which it is said to compute: loops that let some time pass
/// between two looks are shorter.
const COMPUTES: u64 = 50_000;
/// Looks that are remembered.
const MOST: usize = 1 << 18;

/// The looks at memory of a block's warps, since it came under suspicion.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Warp, operation, and a hash of the addresses.
    seen: HashSet<(u32, u32, u64)>,
    /// The running warp looked where it had looked before.
    looked: bool,
}

impl Watch {
    /// A warp looks at memory. Whether it is a place where it has not looked yet.
    pub fn looks(&mut self, at: At, addresses: &[u64; 32]) -> bool {
        self.looked = true;
        let hash = lanes_of(at.lanes).fold(u64::from(at.lanes), |hash, lane| {
            (hash ^ addresses[lane]).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        self.seen.len() >= MOST || self.seen.insert((at.warp, at.pc, hash))
    }

    /// A load or an atomic looks at memory; a thread's own stack is none that others write.
    pub fn loads(&mut self, space: SpaceOperand, address: AddressOperand, regs: Regs, at: At) -> bool {
        if matches!(space, SpaceOperand::In(MemorySpace::Local | MemorySpace::Param | MemorySpace::Const)) {
            return false;
        }
        let addresses = access::addresses(regs, address);
        let first = addresses[(at.lanes.trailing_zeros() & 31) as usize];
        let stack =
            space == SpaceOperand::Generic && access::space_of(first) == (MemorySpace::Local, window::LOCAL);
        !stack && self.looks(at, &addresses)
    }

    /// Ends a slice. Whether the warp computes: `since` counts its operations since it last looked at memory.
    pub fn computes(&mut self, since: &mut u64, steps: u64) -> bool {
        *since = if std::mem::take(&mut self.looked) { 0 } else { *since + steps };
        let computes = *since > COMPUTES;
        if computes {
            *since = 0;
        }
        computes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_at_the_same_places_waits() {
        let mut watch = Watch::default();
        let at = At { pc: 3, warp: 0, lanes: 1 };
        let mut since = 0;
        for round in 0..100 {
            assert_eq!(watch.looks(at, &[64; 32]), round == 0);
            assert!(!watch.computes(&mut since, 10_000));
        }
        assert!(watch.looks(at, &[68; 32]), "it reads on");
        assert!(watch.looks(At { warp: 1, ..at }, &[64; 32]));
    }

    #[test]
    fn who_reads_nothing_computes() {
        let (mut watch, mut since) = (Watch::default(), 0);
        let turns = (0..100).filter(|_| watch.computes(&mut since, 2048)).count();
        assert_eq!(turns, 4);
    }
}
