//! The blocks that one thread runs together.

use crate::exec::block::Block;
use crate::exec::cluster::ClusterState;
use crate::exec::context::{LaunchContext, SharedMemory};
use crate::exec::limits::cluster_blocks;
use crate::observer::BlockObserver;

/// Slices that blocks before a faulted one may take to end, or to fault themselves.
pub(super) const GRACE: u32 = 256;

/// Blocks that run together on one thread: a cluster.
pub(super) struct Team<B> {
    /// Its place in the order of the schedule.
    pub place: u64,
    pub blocks: Vec<Block<B>>,
    /// Their shared memory.
    pub shared: Vec<SharedMemory>,
    /// Whether the schedule put it behind all others, those that have not started among them.
    pub behind: bool,
    pub state: ClusterState,
    /// Slices left after a later block has faulted: it may wait for that block, or fault itself.
    pub grace: u32,
}

impl<B: BlockObserver> Team<B> {
    pub fn new(context: &LaunchContext<'_>) -> Self {
        let size = cluster_blocks(&context.launch) as usize;
        Team {
            place: 0,
            blocks: (0..size).map(|_| Block::new()).collect(),
            shared: Vec::new(),
            behind: false,
            state: ClusterState::default(),
            grace: GRACE,
        }
    }

    /// About how much memory it takes on the host.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(Block::bytes).sum()
    }
}
