//! The turns of warps whose lanes are together, in a kernel's own code.
//!
//! Nearly all turns are like that: they begin where a block begins or behind a barrier, and end at a barrier or at the exit. A block
//! of eight warps has their registers in tens of kilobytes, so whatever else a turn looks at is no longer near. While a block
//! runs, what such turns need of a warp is kept in few words, a [`Place`]; the [`Warp`] learns of it when something else needs it.

use super::block::Block;
use super::cluster::ClusterState;
use super::compiled::Door;
use super::context::{Cx, LaunchContext, SharedMemory};
use super::run::{Ends, Raised, ends};
use super::warp::{Group, Wait};
use crate::form::op::{BarrierKind, OpKind};
use crate::form::registers::{NONE, Regs, Row};
use crate::memory::View;
use crate::observer::{At, BlockObserver};

/// Where a warp is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub stage: Stage,
    pub pc: u32,
    pub lanes: u32,
    /// Its lanes have not split since it began.
    pub together: bool,
    pub steps: u64,
    /// The rows of its first frame.
    pub rows: *mut Row,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its lanes are together in the kernel's own function, and can go on.
    Ready,
    /// They have arrived at a plain barrier.
    Waits(u32),
    Gone,
    /// Anything else: ask the warp.
    Odd,
}

/// What became of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is over.
    Over,
    /// Nothing was run, or not all: the interpreter goes on.
    GoesOn,
}

impl<O: BlockObserver> Block<O> {
    /// Looks where all warps are.
    pub(super) fn gather(&mut self, launch: &LaunchContext<'_>) {
        self.places.clear();
        for turn in 0..self.warps.len() {
            let place = self.look(launch, turn);
            self.places.push(place);
        }
    }

    /// Where a warp is.
    pub(super) fn look(&mut self, launch: &LaunchContext<'_>, turn: usize) -> Place {
        let warp = &mut self.warps[turn];
        let (together, steps, rows) = (warp.together, warp.steps, warp.rows.as_mut_ptr());
        let place = |stage: Stage, pc: u32, lanes: u32| Place { stage, pc, lanes, together, steps, rows };
        match warp.groups[..] {
            _ if warp.live == 0 => place(Stage::Gone, 0, 0),
            [Group { frame: 0, wait: Wait::Nothing, pc, mask, .. }] => place(Stage::Ready, pc, mask),
            [Group { frame: 0, wait: Wait::Barrier(id), pc, mask, .. }]
                if warp.arrived == Some(id) && is_plain(launch, pc) =>
            {
                place(Stage::Waits(id), pc, mask)
            }
            _ => place(Stage::Odd, 0, 0),
        }
    }

    /// Tells a warp where it is.
    pub(super) fn tell(&mut self, turn: usize) {
        let Place { stage, pc, steps, .. } = self.places[turn];
        let warp = &mut self.warps[turn];
        let (wait, arrived) = match stage {
            Stage::Odd => return,
            Stage::Ready => (Wait::Nothing, None),
            Stage::Waits(id) => (Wait::Barrier(id), Some(id)),
            Stage::Gone => {
                warp.steps = steps;
                return warp.finish();
            }
        };
        (warp.steps, warp.arrived) = (steps, arrived);
        (warp.groups[0].pc, warp.groups[0].wait) = (pc, wait);
    }

    /// The turn of a warp that is ready: runs it to a barrier or its exit, if it gets there before it has executed `end`
    /// operations.
    #[inline]
    pub(super) fn steady_turn(
        &mut self,
        turn: usize,
        launch: &LaunchContext<'_>,
        (cluster, team, device): (&[SharedMemory], &mut ClusterState, &View),
        door: &mut Door<'_>,
        end: u64,
    ) -> Result<Turn, Raised> {
        let (place, warp) = (&mut self.places[turn], &mut self.warps[turn]);
        let Some(observer) = &mut self.observer else { return Ok(Turn::GoesOn) };
        let mut cx = Cx { launch, block: &mut self.state, cluster, team, observer, device };
        let before = place.steps;
        door.pass(place, warp, &mut cx, end)?;
        if place.steps == before || place.steps >= end {
            return Ok(Turn::GoesOn);
        }
        // SAFETY: the rows are those of the frame of the kernel's function, which `look` found.
        let regs = unsafe { Regs::new(place.rows) };
        let opened = match ends(&launch.code.ops[place.pc as usize], regs, place.lanes) {
            Ends::Barrier(id) if is_plain(launch, place.pc) => {
                place.stage = Stage::Waits(id);
                self.state.barriers[id as usize].arrived += 32;
                self.state.awaited |= 1 << id;
                1 << id
            }
            Ends::Exit => {
                place.stage = Stage::Gone;
                self.finished += 1;
                self.state.progress += 1;
                team.live[self.state.cluster_rank as usize][turn] = 0;
                self.state.awaited
            }
            _ => return Ok(Turn::GoesOn),
        };
        if O::INSTRUCTIONS {
            observer.instruction(At { pc: place.pc, warp: warp.index, lanes: place.lanes });
        }
        place.steps += 1;
        self.open_complete(launch, opened);
        Ok(Turn::Over)
    }
}

/// Whether all threads of a block are to come to a barrier, and nothing is said there.
fn is_plain(launch: &LaunchContext<'_>, pc: u32) -> bool {
    match &launch.code.ops[pc as usize].kind {
        OpKind::Barrier(op) => op.kind == BarrierKind::Sync && op.threads == NONE && op.predicate == NONE,
        _ => false,
    }
}
