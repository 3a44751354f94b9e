//! State that the blocks of a cluster share: each reaches the shared memory of the others.
//!
//! An address of shared memory names the block by its rank, as the window of shared memory does; 0 stands for the block
//! itself there. In what a cluster's blocks share each address has its rank, so that all mean the same by it.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use virtual_gpu::memory::window::SHARED_OFFSET_BITS;
use virtual_gpu::observer::{AsyncEvent, BlockInfo, LaunchInfo, MemorySpace};

use crate::history::SharedRaces;
use crate::shadow::Spare;
use crate::written::Written;

/// Two tools' shadows of the cluster's shared memory.
#[derive(Debug)]
pub struct Team {
    pub races: Mutex<SharedRaces>,
    pub written: Mutex<Written>,
}

/// The clusters of a launch that are under way.
#[derive(Debug)]
pub struct Teams {
    /// Blocks of a cluster, along each axis.
    shape: [u32; 3],
    running: Mutex<HashMap<[u32; 3], Weak<Team>>>,
}

/// A block's place in its cluster.
#[derive(Debug, Clone)]
pub struct Member {
    pub team: Arc<Team>,
    pub rank: u32,
}

impl Teams {
    /// Of a launch; `None` if its clusters are single blocks.
    pub fn of(launch: &LaunchInfo) -> Option<Self> {
        let shape = launch.launch.cluster.map(|blocks| blocks.max(1));
        (shape != [1; 3]).then(|| Teams { shape, running: Mutex::default() })
    }

    /// The place of a block that is about to start.
    pub fn member(&self, block: &BlockInfo, spare: &Spare) -> Member {
        let [x, y, _] = self.shape;
        let of_axis: [(u32, u32); 3] = std::array::from_fn(|axis| {
            (block.index[axis] / self.shape[axis], block.index[axis] % self.shape[axis])
        });
        let [within_x, within_y, within_z] = of_axis.map(|(_, within)| within);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, team| team.strong_count() > 0);
        let entry = running.entry(of_axis.map(|(cluster, _)| cluster)).or_default();
        let team = entry.upgrade().unwrap_or_else(|| {
            let races = Mutex::new(SharedRaces::new(spare.clone()));
            Arc::new(Team { races, written: Mutex::default() })
        });
        *entry = Arc::downgrade(&team);
        Member { team, rank: within_x + x * (within_y + y * within_z) }
    }
}

/// A shared address as all blocks of the cluster mean it, from what the block of this rank means by it. Outside of
/// clusters a block is of rank 0, and its addresses have none.
#[inline]
pub fn named(rank: Option<u32>, address: u64) -> u64 {
    match (rank, address >> SHARED_OFFSET_BITS) {
        (Some(rank), 0) => address | u64::from(rank + 1) << SHARED_OFFSET_BITS,
        (None, 1) => within(address),
        _ => address,
    }
}

/// The offset in the block's memory.
pub fn within(address: u64) -> u64 {
    address & ((1 << SHARED_OFFSET_BITS) - 1)
}

/// The rank that an address names.
pub fn rank(address: u64) -> Option<u32> {
    (address >> SHARED_OFFSET_BITS).checked_sub(1).map(|rank| rank as u32)
}

/// Where a renamed event keeps its addresses.
#[derive(Debug, Default)]
pub struct Renaming {
    addresses: [u64; 32],
    pieces: Vec<u32>,
}

/// The event with its shared addresses as all blocks of the cluster mean them.
pub fn renamed<'a>(event: &AsyncEvent<'a>, of: Option<u32>, kept: &'a mut Renaming) -> AsyncEvent<'a> {
    use AsyncEvent as E;
    let one = |address: u64| named(of, address);
    let mut event = *event;
    match &mut event {
        E::CopyStarted { shared: addresses, .. }
        | E::MbarrierMade { addresses }
        | E::MbarrierAsked { addresses }
        | E::MbarrierArrive { addresses, .. }
        | E::MbarrierComplete { addresses, .. } => {
            kept.addresses = addresses.map(one);
            *addresses = &kept.addresses;
        }
        E::CopiesTied { barrier, .. } => *barrier = one(*barrier),
        E::MbarrierExpects { address, .. } => *address = one(*address),
        E::Moved { space: MemorySpace::Shared, address, .. } | E::BulkTaken { address, .. } => {
            *address = one(*address);
        }
        E::BulkStarted { address, barrier, .. } => {
            (*address, *barrier) = (one(*address), one(*barrier));
        }
        E::ProductIssued { pieces, .. } if of.is_some() => {
            kept.pieces = pieces.iter().map(|&piece| one(piece.into()) as u32).collect();
            *pieces = &kept.pieces;
        }
        _ => {}
    }
    event
}

/// The shared memory's shadow of a block: its own, or that of its cluster.
#[derive(Debug)]
pub enum Shared<T> {
    /// Of a block by itself.
    Own(T),
    /// Of the blocks of a cluster.
    Team(Arc<Team>),
}

/// It, to work with.
#[derive(Debug)]
pub enum Held<'a, T> {
    /// See [`Shared`].
    Own(&'a mut T),
    /// See [`Shared`].
    Team(MutexGuard<'a, T>),
}

impl<T> Shared<T>
where
    Team: AsRef<Mutex<T>>,
{
    /// The part that the block may use now.
    #[inline]
    pub fn hold(&mut self) -> Held<'_, T> {
        match self {
            Shared::Own(own) => Held::Own(own),
            Shared::Team(team) => Held::Team(lock((**team).as_ref())),
        }
    }
}

impl AsRef<Mutex<SharedRaces>> for Team {
    fn as_ref(&self) -> &Mutex<SharedRaces> {
        &self.races
    }
}

impl AsRef<Mutex<Written>> for Team {
    fn as_ref(&self) -> &Mutex<Written> {
        &self.written
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Held::Own(own) => own,
            Held::Team(team) => team,
        }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        match self {
            Held::Own(own) => own,
            Held::Team(team) => team,
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_means_the_same_to_all_blocks_of_a_cluster() {
        assert_eq!(named(Some(2), 0x40), 0x0300_0040);
        assert_eq!(named(Some(0), 0x0300_0040), 0x0300_0040, "what another block calls it");
        assert_eq!((within(0x0300_0040), rank(0x0300_0040)), (0x40, Some(2)));
        assert_eq!(named(None, 0x0100_0040), 0x40, "a block alone is of rank 0");
    }
}
