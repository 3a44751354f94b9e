//! The race check as a tool: which events tell it what, and what it says.

use virtual_gpu::observer::{
    Access, AccessKind, AsyncEvent, At, MemorySpace, Operands, Order, Register, Scope,
};

use super::BlockRaces;
use super::asynchronous::Source;
use crate::reached::Reached;
use crate::report::Reporter;
use crate::tool::{BlockBarrier, Tool};

impl Tool for BlockRaces {
    fn access(&mut self, at: At, access: &Access<'_>, reached: &Reached, reporter: &mut Reporter) {
        let atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let order_dependent =
            access.order == Order::Volatile && !atomic && reporter.launched.relies_on_order(at.pc);
        self.accessed(at, access, reached, order_dependent, |race| reporter.race(at, access.space, race));
    }

    fn asynchronous(&mut self, at: At, event: &AsyncEvent<'_>, reporter: &mut Reporter) {
        self.products.follow(at.warp, event);
        let mut in_shared = |race| reporter.race(at, MemorySpace::Shared, race);
        match *event {
            AsyncEvent::CopyStarted { shared, global, bytes, read } => {
                let source = |lane: u32| Source { address: global[lane as usize], read: read[lane as usize] };
                self.copy_started(at, shared, bytes, source, in_shared);
            }
            AsyncEvent::GroupCommitted => self.group_committed(at),
            AsyncEvent::GroupsAwaited { pending } => self.groups_awaited(at, pending),
            AsyncEvent::CopiesTied { barrier, parity } => self.copies_tied(at, barrier, parity),
            AsyncEvent::BulkStarted { address, bytes, barrier, .. } => {
                self.bulk_started(at, address, bytes, barrier, in_shared);
            }
            AsyncEvent::Moved { space: MemorySpace::Shared, write: true, address, bytes, .. } => {
                self.bulk_landed(address, bytes);
            }
            AsyncEvent::Moved { space, write, reduces, address, bytes, within, .. } => {
                self.bulk_moved(at, space, (write, reduces), (address, bytes), within, |race| {
                    reporter.race(at, space, race)
                });
            }
            AsyncEvent::BulkTaken { address, bytes } => self.bulk_taken(at, address, bytes),
            AsyncEvent::ClusterArrive { parity, releases } => self.cluster_arrive(at, parity, releases),
            AsyncEvent::ClusterComplete { parity } => self.cluster_complete(at, parity),
            AsyncEvent::BulkGroupCommitted => self.bulk_group_committed(at),
            AsyncEvent::BulkGroupsAwaited { pending, written } => {
                self.bulk_groups_awaited(at, pending, written);
            }
            AsyncEvent::ProxyFence => self.proxy_fence(at),
            AsyncEvent::ProductIssued { pieces, .. } => self.product_issued(at, pieces, in_shared),
            AsyncEvent::ProductsCommitted => self.products_committed(at),
            AsyncEvent::ProductsAwaited { pending } => self.products_awaited(at, pending),
            AsyncEvent::MbarrierMade { addresses } => self.mbarrier_made(at, addresses, in_shared),
            AsyncEvent::MbarrierAsked { addresses } => self.mbarrier_used(at, addresses, false, in_shared),
            AsyncEvent::MbarrierArrive { addresses, parity } => {
                self.mbarrier_used(at, addresses, true, &mut in_shared);
                self.mbarrier_arrive(at, addresses, parity);
            }
            AsyncEvent::MbarrierComplete { addresses, parity } => {
                self.mbarrier_complete(at, addresses, parity);
            }
            _ => {}
        }
    }

    #[inline]
    fn follows(&self, warp: u32) -> bool {
        self.products.follows(warp)
    }

    #[inline]
    fn registers(
        &mut self,
        at: At,
        reads: &[Register],
        writes: &[Register],
        _: &Operands<'_>,
        reporter: &mut Reporter,
    ) {
        if self.products.follows(at.warp)
            && self.products.looks(at.warp, reporter.launched.code.operation(at.pc), reads, writes)
        {
            reporter.result_too_early(at);
        }
    }

    fn barrier(&mut self, at: At, barrier: BlockBarrier, _: &mut Reporter) {
        self.met(at, barrier.index, barrier.step);
    }

    fn fence(&mut self, at: At, scope: Scope) {
        self.fenced(at, scope);
    }

    fn warp_sync(&mut self, at: At, members: u32, orders: bool, _: &mut Reporter) {
        match orders {
            true => self.warp_met(at, members),
            false => self.warp_exchanged(at, members),
        }
    }

    fn heap_allocated(&mut self, address: u64, bytes: u64) {
        self.forget(address, bytes);
    }

    fn exit(&mut self, at: At, reporter: &mut Reporter) {
        if let Some((lane, pc, address)) = self.copies_forgotten(at) {
            reporter.copy_forgotten(at.warp, lane, pc, address);
        }
        self.ended(at).iter().for_each(|late| reporter.block_gone(late));
    }

    fn bytes(&mut self) -> usize {
        self.shadow_bytes()
    }
}
