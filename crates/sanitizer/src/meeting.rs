//! Knowledge that lies in memory: whoever writes a place leaves there what it knows, for those who read it.

use std::collections::HashMap;

use virtual_gpu::observer::{Access, AccessKind, At, Order, Scope};

use crate::clock::{Clocks, Gathered};
use crate::numbered::Numbered;
use crate::reached::lanes;

/// Knowledge left at a location by those who wrote it, for those who read it.
#[derive(Debug, Default)]
pub struct Meeting {
    /// For threads of the writer's own block, by block.
    narrow: HashMap<u32, Gathered>,
    /// For any block.
    pub wide: Gathered,
    /// Of an `mbarrier`: by parity of the phase.
    pub phases: [Gathered; 2],
    /// The block and warp that left knowledge here last.
    by: Option<(u32, u32)>,
}

impl Meeting {
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

/// Atomics and volatile accesses carry knowledge from thread to thread.
pub fn meet(block: u32, clocks: &mut Clocks, meetings: &mut Numbered<Meeting>, at: At, access: &Access<'_>) {
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
        if meetings.is_empty() && !passes_on {
            continue;
        }
        let address = access.addresses[lane as usize];
        let meeting = match meetings.get_mut(&address) {
            Some(meeting) => meeting,
            None if passes_on => meetings.entry(address).or_default(),
            None => continue,
        };
        if !reads {
            meeting.stored_by((block, at.warp));
        }
        if passes_on {
            meeting.by = Some((block, at.warp));
        }
        if reads {
            // A reader whose own scope is the block's is synchronised with no other block.
            if wide {
                clocks.read_of(thread, &mut meeting.wide, true, acquires);
            }
            if let Some(narrow) = meeting.narrow.get_mut(&block) {
                clocks.read_of(thread, narrow, false, acquires);
            }
        }
        if passes_on {
            let narrow = meeting.narrow.entry(block).or_default();
            if releases {
                let snapshot = clocks.publish(thread);
                narrow.put(&snapshot);
                if wide {
                    meeting.wide.put(&snapshot);
                }
            } else {
                clocks.pass_on(thread, false, narrow);
                if wide {
                    clocks.pass_on(thread, true, &mut meeting.wide);
                }
            }
        }
    }
}
