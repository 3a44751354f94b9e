//! The barrier check: barriers that promised to be reached together and are not, and wrong masks.
//!
//! Threads that wait for ever are found by the virtual GPU itself, which ends the launch with who waits where.

use virtual_gpu::observer::At;

/// What is wrong with a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// `.aligned`, and some living lanes of the warp are elsewhere.
    Divergent {
        /// Lanes that are elsewhere.
        elsewhere: u32,
    },
    /// A lane executes a warp barrier whose mask leaves it out.
    NotMember {
        /// Lanes left out.
        lanes: u32,
    },
    /// The mask names lanes that have ended.
    Ended {
        /// Lanes that have ended.
        lanes: u32,
    },
}

/// The barrier check of one block.
#[derive(Debug)]
pub struct BlockBarriers {
    alive: Vec<u32>,
}

impl BlockBarriers {
    /// For a block that is about to start.
    pub fn new(threads: u32) -> Self {
        let full = |warp: u32| (threads - warp * 32).min(32);
        let alive = (0..threads.div_ceil(32)).map(|warp| u32::MAX >> (32 - full(warp))).collect();
        BlockBarriers { alive }
    }

    /// Lanes have ended.
    pub fn exit(&mut self, at: At) {
        self.alive[at.warp as usize] &= !at.lanes;
    }

    /// A block barrier.
    pub fn barrier(&self, at: At, aligned: bool) -> Option<Wrong> {
        let elsewhere = self.alive[at.warp as usize] & !at.lanes;
        (aligned && at.lanes != 0 && elsewhere != 0).then_some(Wrong::Divergent { elsewhere })
    }

    /// A warp barrier, vote or shuffle with a mask.
    pub fn warp_sync(&self, at: At, members: u32) -> Option<Wrong> {
        let outside = at.lanes & !members;
        if outside != 0 {
            return Some(Wrong::NotMember { lanes: outside });
        }
        // Lanes beyond a part-empty last warp count as ended; the full mask is the common way to say "all there are".
        let ended = members & !self.alive[at.warp as usize];
        (ended != 0 && members != !0).then_some(Wrong::Ended { lanes: ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(warp: u32, lanes: u32) -> At {
        At { pc: 0, warp, lanes }
    }

    #[test]
    fn a_divergent_aligned_barrier_is_wrong_until_the_others_have_ended() {
        let mut barriers = BlockBarriers::new(40);
        assert_eq!(barriers.barrier(at(0, !1), true), Some(Wrong::Divergent { elsewhere: 1 }));
        assert_eq!(barriers.barrier(at(0, !1), false), None);
        barriers.exit(at(0, 1));
        assert_eq!(barriers.barrier(at(0, !1), true), None);
        assert_eq!(barriers.barrier(at(1, 0xFF), true), None, "the last warp has eight lanes");
    }

    #[test]
    fn masks_name_those_who_come() {
        let mut barriers = BlockBarriers::new(64);
        assert_eq!(barriers.warp_sync(at(0, 0b11), 0b01), Some(Wrong::NotMember { lanes: 0b10 }));
        assert_eq!(barriers.warp_sync(at(0, 0b11), 0b11), None);
        barriers.exit(at(0, 0b100));
        assert_eq!(barriers.warp_sync(at(0, 0b11), 0b111), Some(Wrong::Ended { lanes: 0b100 }));
    }
}
