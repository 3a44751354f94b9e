//! State that the blocks of a cluster share beside their shared memory, and `barrier.cluster`.

use super::context::{Raise, Step};
use super::extension::{Execute, ExtensionState, Machine};
use crate::form::asynchronous::BarrierCluster;
use crate::form::registers::lanes_of;
use crate::observer::{AsyncEvent, At};

/// State of a cluster, or of the single block that a launch without clusters has in its place.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    pub extensions: ExtensionState,
    /// Lanes that have not exited, of each warp of each block.
    live: Vec<Vec<u32>>,
    /// They are those that the blocks began with.
    is_whole: bool,
}

impl ClusterState {
    /// For new blocks: the lanes of each warp of each.
    pub fn restart(&mut self, live: impl ExactSizeIterator<Item = impl Iterator<Item = u32>>) {
        self.extensions.clear();
        if std::mem::replace(&mut self.is_whole, true) {
            return;
        }
        self.live.resize(live.len(), Vec::new());
        for (kept, live) in self.live.iter_mut().zip(live) {
            kept.clear();
            kept.extend(live);
        }
    }

    /// Lanes of each warp of a block that have not exited.
    pub fn of(&self, block: u32) -> &[u32] {
        &self.live[block as usize]
    }

    /// Only these lanes of a warp have not exited.
    pub fn set(&mut self, block: u32, warp: usize, lanes: u32) {
        let live = &mut self.live[block as usize][warp];
        self.is_whole &= *live == lanes;
        *live = lanes;
    }
}

#[derive(Debug, Default)]
struct ClusterBarrier {
    phase: u64,
    /// Of each warp of each block: the lanes that have arrived in this phase.
    arrived: Vec<Vec<u32>>,
    /// Of each lane: the phase it arrived in last.
    tickets: Vec<Vec<[u64; 32]>>,
}

impl ClusterBarrier {
    /// Makes room for all warps.
    fn fit(&mut self, live: &[Vec<u32>]) {
        self.arrived.resize(live.len(), Vec::new());
        self.tickets.resize(live.len(), Vec::new());
        for (block, warps) in live.iter().enumerate() {
            self.arrived[block].resize(warps.len(), 0);
            self.tickets[block].resize(warps.len(), [u64::MAX; 32]);
        }
    }

    /// Ends the phase if every thread that has not exited has arrived.
    fn settle(&mut self, live: &[Vec<u32>]) {
        let all =
            |(live, arrived): (&Vec<u32>, &Vec<u32>)| live.iter().zip(arrived).all(|(l, a)| l & !a == 0);
        if live.iter().zip(&self.arrived).all(all) {
            self.phase += 1;
            self.arrived.iter_mut().flatten().for_each(|lanes| *lanes = 0);
        }
    }
}

impl Execute for BarrierCluster {
    fn execute(&self, machine: &mut Machine<'_>, at: At) -> Result<Step, Box<Raise>> {
        let (block, warp) = (machine.block.cluster_rank as usize, at.warp as usize);
        let ClusterState { extensions, live, .. } = &mut *machine.team;
        let barrier = extensions.get::<ClusterBarrier>();
        barrier.fit(live);
        if !self.wait {
            for lane in lanes_of(at.lanes) {
                barrier.tickets[block][warp][lane] = barrier.phase;
            }
            let parity = barrier.phase % 2 == 1;
            barrier.arrived[block][warp] |= at.lanes;
            barrier.settle(live);
            machine.observer.asynchronous(at, &AsyncEvent::ClusterArrive { parity, releases: self.releases });
            return Ok(Step::Next);
        }
        // A thread may have exited since.
        barrier.settle(live);
        let through = lanes_of(at.lanes).all(|lane| barrier.tickets[block][warp][lane] != barrier.phase);
        if !through {
            return Ok(Step::Retry);
        }
        // All lanes that wait here have arrived in the same phase.
        if let Some(lane) = lanes_of(at.lanes).next() {
            let parity = barrier.tickets[block][warp][lane] % 2 == 1;
            machine.observer.asynchronous(at, &AsyncEvent::ClusterComplete { parity });
        }
        Ok(Step::Next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exited_lanes_are_not_waited_for() {
        let mut live = vec![vec![u32::MAX, 0xFF], vec![1]];
        let mut barrier = ClusterBarrier::default();
        barrier.fit(&live);
        barrier.arrived[0] = vec![u32::MAX, 0xF];
        barrier.arrived[1][0] = 1;
        barrier.settle(&live);
        assert_eq!(barrier.phase, 0);
        live[0][1] = 0xF;
        barrier.settle(&live);
        assert_eq!((barrier.phase, barrier.arrived[0][0]), (1, 0));
    }
}
