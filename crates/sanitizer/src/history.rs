//! Shadows of memory, as the race check keeps them: to global memory by the blocks of a launch, to shared memory by a block
//! or by those of a cluster.

use crate::clock::Clocks;
use crate::copies::Bulk;
use crate::numbered::Numbered;
use crate::outstanding::Outstanding;
use crate::pending_race::{PendingRace, Polled};
use crate::shadow::{Clash, Race, Shadow, Spare, Stamp};
use crate::sync_object::SyncObject;

/// The shadow that blocks of one launch share.
#[derive(Debug, Default)]
pub struct GlobalRaces {
    pub shadow: Shadow,
    pub sync_objects: Numbered<SyncObject>,
    pub pending: Vec<PendingRace>,
    pub polled: Polled,
    pub spare: Spare,
    /// Whether a thread has fenced, released or acquired for all devices.
    pub orders_devices: bool,
    /// Set once a thread has made an atomic, volatile or ordered access for the whole system.
    pub reaches_host: bool,
}

impl GlobalRaces {
    /// Of a launch whose shadows take their pages from `spare`.
    pub fn new(spare: Spare) -> Self {
        let (shadow, sync_objects) = (Shadow::of_global(spare.clone()), Numbered::default());
        GlobalRaces { shadow, sync_objects, spare, ..GlobalRaces::default() }
    }

    /// Races that nothing has explained until the end of the launch.
    pub fn take_pending(&mut self) -> Vec<PendingRace> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|race| !self.polled.explains(race));
        pending
    }

    /// Bytes of the shadow.
    pub fn bytes(&self) -> usize {
        self.shadow.bytes()
    }
}

/// The shadow of shared memory: of a block, or of the blocks of a cluster.
#[derive(Debug)]
pub struct SharedRaces {
    pub shadow: Shadow,
    pub sync_objects: Numbered<SyncObject>,
    pub outstanding: Outstanding,
    /// Bulk copies into it that are under way.
    pub bulk: Vec<Bulk>,
    /// Ranks of blocks that have ended, a bit each.
    pub left: u32,
}

impl SharedRaces {
    /// Whose shadow takes its pages from `spare`.
    pub fn new(spare: Spare) -> Self {
        SharedRaces {
            shadow: Shadow::of_shared(spare),
            sync_objects: Numbered::default(),
            outstanding: Outstanding::default(),
            bulk: Vec::new(),
            left: 0,
        }
    }

    /// A write to it, which an asynchronous instruction may still have to read.
    #[inline]
    pub fn overwritten(
        &mut self,
        clocks: &Clocks,
        later: Stamp,
        (address, bytes): (u64, u32),
        report: &mut impl FnMut(Race),
    ) {
        let (thread, wide) = (later.warp() * 32 + later.first(), u64::from(bytes));
        let outstanding = &mut self.outstanding;
        let reader = outstanding.reader(address, wide);
        if let Some(earlier) = reader.or_else(|| outstanding.operand_of(clocks, thread, address, wide)) {
            report(Race { address, earlier, later, clash: Clash::Unordered });
        }
    }
}
