//! Synchronisation of threads: fences, barriers of block, warp and cluster, and phases of an `mbarrier`.

use std::sync::PoisonError;

use virtual_gpu::observer::{At, BarrierStep, Scope};

use super::BlockRaces;
use super::asynchronous::{land, landed_by};
use crate::clock::{Meet, Met};
use crate::reached::lanes;

/// Where the barrier of a cluster has its place among those of shared memory: no address there is so high.
const CLUSTER_BARRIER: u64 = u64::MAX;

/// A named barrier of the block.
#[derive(Debug, Default)]
pub struct Barrier {
    meet: Option<Meet>,
    /// The last generation that is complete: those who leave do so before anyone arrives again.
    met: Option<Met>,
    /// Threads that wait.
    waiting: u32,
}

impl BlockRaces {
    /// A fence: what came before it may be passed on by the next atomic or volatile write.
    pub fn fenced(&mut self, at: At, scope: Scope) {
        let wide = scope >= Scope::Cluster;
        lanes(at.lanes).for_each(|lane| self.clocks.fence(at.warp * 32 + lane, wide));
        self.launched.fenced(self.block, at, wide);
        if scope == Scope::System {
            self.global.lock().unwrap_or_else(PoisonError::into_inner).orders_devices = true;
        }
    }

    /// A fence between plain accesses and those of bulk copies and products.
    pub fn proxy_fence(&mut self, at: At) {
        lanes(at.lanes).for_each(|lane| self.clocks.proxy_fence(at.warp * 32 + lane));
    }

    pub fn met(&mut self, at: At, index: u32, step: BarrierStep) {
        let barrier = self.barriers.entry(index).or_default();
        if step != BarrierStep::Leave {
            let meet = barrier.meet.get_or_insert_with(|| self.clocks.meet());
            lanes(at.lanes).for_each(|lane| self.clocks.arrive(at.warp * 32 + lane, meet));
            if step == BarrierStep::ArriveAndWait {
                barrier.waiting += at.lanes.count_ones();
            }
            return;
        }
        if let Some(meet) = barrier.meet.take() {
            barrier.met = Some(meet.over());
        }
        if let Some(met) = &barrier.met {
            lanes(at.lanes).for_each(|lane| self.clocks.leave(at.warp * 32 + lane, met));
        }
        barrier.waiting = barrier.waiting.saturating_sub(at.lanes.count_ones());
    }

    /// Lanes of a warp meet at `bar.warp.sync`.
    pub fn warp_met(&mut self, at: At, members: u32) {
        let mut meet = self.clocks.meet();
        let members = at.lanes & members;
        lanes(members).for_each(|lane| self.clocks.arrive(at.warp * 32 + lane, &mut meet));
        let met = meet.over();
        lanes(members).for_each(|lane| self.clocks.leave(at.warp * 32 + lane, &met));
    }

    /// Lanes of a warp exchange values, by a shuffle or a vote.
    pub fn warp_exchanged(&mut self, at: At, members: u32) {
        self.clocks.exchange(lanes(at.lanes & members).map(|lane| at.warp * 32 + lane));
    }

    /// Lanes leave what they know at an `mbarrier`, for who waits for this phase.
    pub fn mbarrier_arrive(&mut self, at: At, addresses: &[u64; 32], parity: bool) {
        let mut shared = self.shared.hold();
        for lane in lanes(at.lanes) {
            let snapshot = self.clocks.publish(at.warp * 32 + lane);
            let sync_object = shared.sync_objects.entry(addresses[lane as usize]).or_default();
            sync_object.phases[usize::from(parity)].put(&snapshot);
        }
    }

    /// Lanes come to the barrier of the cluster. If that releases they leave all that they know there, else what their
    /// last fence covers.
    pub fn cluster_arrive(&mut self, at: At, parity: bool, releases: bool) {
        if releases {
            return self.mbarrier_arrive(at, &[CLUSTER_BARRIER; 32], parity);
        }
        let mut shared = self.shared.hold();
        let phase = &mut shared.sync_objects.entry(CLUSTER_BARRIER).or_default().phases[usize::from(parity)];
        lanes(at.lanes).for_each(|lane| self.clocks.pass_on(at.warp * 32 + lane, true, phase));
    }

    /// Lanes have waited for the barrier of the cluster.
    pub fn cluster_complete(&mut self, at: At, parity: bool) {
        let mut shared = self.shared.hold();
        let Some(sync_object) = shared.sync_objects.get_mut(&CLUSTER_BARRIER) else { return };
        for lane in lanes(at.lanes) {
            self.clocks.read_of(
                at.warp * 32 + lane,
                &mut sync_object.phases[usize::from(parity)],
                true,
                true,
            );
        }
    }

    /// Lanes saw a phase of an `mbarrier` complete and know what was left there.
    pub fn mbarrier_complete(&mut self, at: At, addresses: &[u64; 32], parity: bool) {
        let mut shared = self.shared.hold();
        let shared = &mut *shared;
        for lane in lanes(at.lanes) {
            let barrier = addresses[lane as usize];
            let landed = self.copies.completed(barrier, parity);
            for (i, &(thread, address, bytes)) in landed.iter().enumerate() {
                land(&mut shared.shadow, &landed_by(&self.clocks, thread), address, bytes);
                // A thread's copies come one after the other.
                if landed.get(i + 1).is_none_or(|next| next.0 != thread) {
                    let snapshot = self.clocks.publish(thread);
                    let sync_object = shared.sync_objects.entry(barrier).or_default();
                    sync_object.phases[usize::from(parity)].put(&snapshot);
                }
            }
            if let Some(sync_object) = shared.sync_objects.get_mut(&addresses[lane as usize]) {
                let thread = at.warp * 32 + lane;
                self.clocks.read_of(thread, &mut sync_object.phases[usize::from(parity)], true, true);
                self.clocks.read_of(thread, &mut sync_object.wide, true, true);
            }
        }
    }
}
