//! Synchronisation objects: the clocks that releases left at a location, for acquires.

use std::collections::HashMap;

use virtual_gpu::observer::{Access, AccessKind, At, Order, Scope};

use crate::clock::{Clocks, Gathered};
use crate::numbered::Numbered;
use crate::reached::lanes;

/// The clocks that writers left at a location, for its readers.
#[derive(Debug, Default)]
pub struct SyncObject {
    /// For threads of the writer's own block, by block.
    narrow: HashMap<u32, Gathered>,
    /// For any block.
    pub wide: Gathered,
    /// Of an `mbarrier`: by parity of the phase.
    pub phases: [Gathered; 2],
    /// The block and warp that left knowledge here last.
    by: Option<(u32, u32)>,
}

impl SyncObject {
    /// A store, which is no read-modify-write. Who reads it has read nothing that others wrote: that ends the release
    /// sequences of all but the thread itself, or its warp, whose lanes may store by one instruction.
    fn stored_by(&mut self, warp: (u32, u32)) {
        if self.by.is_some_and(|by| by != warp) {
            self.narrow.clear();
            self.wide = Gathered::default();
            self.by = None;
        }
    }
}

/// Atomic and volatile accesses release to a location and acquire from it.
pub fn synchronise(
    block: u32,
    clocks: &mut Clocks,
    sync_objects: &mut Numbered<SyncObject>,
    at: At,
    access: &Access<'_>,
) {
    let (reads, writes) = match access.kind {
        AccessKind::Load => (true, false),
        AccessKind::Store => (false, true),
        AccessKind::Atomic | AccessKind::Reduction => (true, true),
    };
    let both = matches!(access.order, Order::AcquireRelease | Order::SequentiallyConsistent);
    let releases = both || access.order == Order::Release;
    let acquires = both || access.order == Order::Acquire;
    let wide = access.scope >= Scope::Cluster;
    for lane in lanes(access.lanes) {
        let thread = at.warp * 32 + lane;
        let passes_on = writes && (releases || clocks.has_fenced(thread));
        if sync_objects.is_empty() && !passes_on {
            continue;
        }
        let address = access.addresses[lane as usize];
        let sync_object = match sync_objects.get_mut(&address) {
            Some(sync_object) => sync_object,
            None if passes_on => sync_objects.entry(address).or_default(),
            None => continue,
        };
        if !reads {
            sync_object.stored_by((block, at.warp));
        }
        if passes_on {
            sync_object.by = Some((block, at.warp));
        }
        if reads {
            // A reader whose own scope is the block's is synchronised with no other block.
            if wide {
                clocks.read_of(thread, &mut sync_object.wide, true, acquires);
            }
            if let Some(narrow) = sync_object.narrow.get_mut(&block) {
                clocks.read_of(thread, narrow, false, acquires);
            }
        }
        if passes_on {
            let narrow = sync_object.narrow.entry(block).or_default();
            if releases {
                let snapshot = clocks.publish(thread);
                narrow.put(&snapshot);
                if wide {
                    sync_object.wide.put(&snapshot);
                }
            } else {
                clocks.pass_on(thread, false, narrow);
                if wide {
                    clocks.pass_on(thread, true, &mut sync_object.wide);
                }
            }
        }
    }
}
