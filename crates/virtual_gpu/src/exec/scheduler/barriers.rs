//! The barriers at which a block's warps meet.

use super::Scheduler;
use crate::exec::block_state::Barrier;
use crate::exec::context::{LaunchContext, Raise, raise};
use crate::exec::interpreter::Raised;
use crate::exec::resume::WarpState;
use crate::exec::warp::{Group, Wait};
use crate::fault::FaultKind;
use crate::form::op::{BarrierKind, BarrierOp, OpKind};
use crate::form::registers::{NONE, lanes_of};
use crate::observer::{At, BarrierStep, BlockObserver};

impl<O: BlockObserver> Scheduler<'_, '_, O> {
    /// Counts a warp all lanes of which have come to a barrier. Whether some lane may go on.
    #[inline(always)]
    pub(super) fn arrive(&mut self, index: usize, id: u32) -> Result<bool, Raised> {
        let passed = match &mut self.resumes[index].state {
            // Compiled code stops at plain barriers only.
            state @ WarpState::Ready => {
                *state = WarpState::AtBarrier(id);
                false
            }
            _ => self.arrive_by_groups(index, id)?,
        };
        let block = &mut *self.cx.block;
        block.barriers[id as usize].arrived += 32;
        block.awaited |= 1 << id;
        Ok(self.open_if_complete(id) || passed)
    }

    /// Opens all barriers that are complete. Whether there were any.
    #[inline(always)]
    pub(super) fn open_complete(&mut self) -> bool {
        let mut moved = false;
        for id in lanes_of(self.cx.block.awaited) {
            moved |= self.open_if_complete(id as u32);
        }
        moved
    }

    #[inline(always)]
    fn open_if_complete(&mut self, id: u32) -> bool {
        let warps = self.warps.len() as u32 - *self.finished;
        let complete = self.cx.block.barriers[id as usize].is_complete(warps);
        if complete {
            self.open(id);
        }
        complete
    }

    /// Has the groups of an interpreted warp arrive. Whether some of them go on at once.
    #[inline(never)]
    fn arrive_by_groups(&mut self, index: usize, id: u32) -> Result<bool, Raised> {
        let warp = &mut self.warps[index];
        let barrier = &mut self.cx.block.barriers[id as usize];
        let mut waits = false;
        let mut passed = Vec::new();
        for i in 0..warp.groups.len() {
            let group = warp.groups[i];
            let Some(op) = barrier_op(self.cx.launch, &group) else { continue };
            let regs = warp.regs(group.frame);
            let lane = group.mask.trailing_zeros() as usize;
            if op.threads != NONE {
                // SAFETY: decoding gave the operand a 32-bit register.
                let threads: u32 = unsafe { regs.get(op.threads, lane) };
                if threads == 0 || !threads.is_multiple_of(32) {
                    return Err(Raised { raise: bad_count(threads, group.mask), pc: group.pc });
                }
                barrier.threads = threads;
            }
            if op.predicate != NONE {
                // SAFETY: decoding gave the operand a predicate.
                let yes = unsafe { regs.predicate(op.predicate) } ^ if op.invert { u32::MAX } else { 0 };
                barrier.asked += group.mask.count_ones();
                barrier.yes += (yes & group.mask).count_ones();
            }
            if op.kind == BarrierKind::Arrive {
                passed.push(i);
            } else {
                waits = true;
            }
            if O::SYNCHRONISATION {
                let step = if op.kind == BarrierKind::Arrive {
                    BarrierStep::Arrive
                } else {
                    BarrierStep::ArriveAndWait
                };
                // Lanes that called the same functions in turns are at one barrier, each with a frame of its own.
                let same =
                    |other: &&Group| other.pc == group.pc && warp.called_alike(other.frame, group.frame);
                let mut alike = warp.groups.iter().filter(same);
                let lanes = alike.clone().fold(0, |lanes, other| lanes | other.mask);
                if alike.next().is_some_and(|first| first.frame == group.frame) {
                    let at = At { pc: group.pc, warp: warp.index, lanes };
                    self.cx.observer.barrier(at, id, barrier.threads, step, op.aligned);
                }
            }
        }
        if waits {
            warp.arrived = Some(id);
        }
        let moved = !passed.is_empty();
        for i in passed {
            warp.groups[i].pc += 1;
            warp.groups[i].wait = Wait::Nothing;
        }
        Ok(moved)
    }

    /// Lets the warps that wait at a barrier go on.
    #[inline(never)]
    fn open(&mut self, id: u32) {
        let block = &mut *self.cx.block;
        let barrier = std::mem::take(&mut block.barriers[id as usize]);
        block.awaited &= !(1 << id);
        block.progress += 1;
        for index in 0..self.warps.len() {
            let resume = &mut self.resumes[index];
            match resume.state {
                WarpState::AtBarrier(at) if at == id => {
                    resume.state = WarpState::Ready;
                    resume.pc += 1;
                }
                WarpState::Irregular => self.open_for_groups(index, id, barrier),
                _ => {}
            }
        }
    }

    /// The same for the groups of an interpreted warp.
    #[inline(never)]
    fn open_for_groups(&mut self, index: usize, id: u32, barrier: Barrier) {
        let warp = &mut self.warps[index];
        if warp.arrived != Some(id) {
            return;
        }
        warp.arrived = None;
        for i in 0..warp.groups.len() {
            let group = warp.groups[i];
            if group.wait != Wait::Barrier(id) {
                continue;
            }
            if let Some(op) = barrier_op(self.cx.launch, &group) {
                let regs = warp.regs(group.frame);
                let all = |yes: bool| if yes { u32::MAX } else { 0 };
                // SAFETY: decoding gave the target a 32-bit register, or a predicate for `.and` and `.or`.
                unsafe {
                    match op.kind {
                        BarrierKind::ReducePopc => regs.store(op.target, &[barrier.yes; 32], group.mask),
                        BarrierKind::ReduceAnd => {
                            regs.set_predicate(op.target, all(barrier.yes == barrier.asked), group.mask)
                        }
                        BarrierKind::ReduceOr => {
                            regs.set_predicate(op.target, all(barrier.yes > 0), group.mask)
                        }
                        BarrierKind::Sync | BarrierKind::Arrive => {}
                    }
                }
                if O::SYNCHRONISATION {
                    let at = At { pc: group.pc, warp: warp.index, lanes: group.mask };
                    self.cx.observer.barrier(at, id, barrier.threads, BarrierStep::Leave, op.aligned);
                }
            }
            warp.groups[i].pc += 1;
            warp.groups[i].wait = Wait::Nothing;
        }
    }
}

fn barrier_op<'a>(launch: &LaunchContext<'a>, group: &Group) -> Option<&'a BarrierOp> {
    match &launch.code.ops[group.pc as usize].kind {
        OpKind::Barrier(op) => Some(op),
        _ => None,
    }
}

fn bad_count(threads: u32, lanes: u32) -> Box<Raise> {
    let why = format!("a barrier for {threads} threads: the number must be a multiple of 32");
    raise(FaultKind::IllegalSync(why), lanes & lanes_of(lanes).next().map_or(0, |i| 1 << i))
}
