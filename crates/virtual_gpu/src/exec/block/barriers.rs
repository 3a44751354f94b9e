//! The barriers at which a block's warps meet.

use super::Block;
use crate::exec::context::{LaunchContext, Raise, raise};
use crate::exec::interpreter::Raised;
use crate::exec::resume::WarpState;
use crate::exec::warp::{Group, Wait};
use crate::fault::FaultKind;
use crate::form::op::{BarrierKind, BarrierOp, OpKind};
use crate::form::registers::lanes_of;
use crate::observer::{At, BarrierStep, BlockObserver};

impl<O: BlockObserver> Block<O> {
    /// Counts a warp all lanes of which have come to a barrier. Whether some lane may go on.
    #[inline(always)]
    pub(in crate::exec) fn arrive(
        &mut self,
        launch: &LaunchContext<'_>,
        index: usize,
        id: u32,
    ) -> Result<bool, Raised> {
        let passed = match &mut self.resumes[index].state {
            // Compiled code stops at plain barriers only.
            state @ WarpState::Ready => {
                *state = WarpState::AtBarrier(id);
                false
            }
            _ => self.arrive_by_groups(launch, index, id)?,
        };
        self.state.barriers[id as usize].arrived += 32;
        self.state.awaited |= 1 << id;
        Ok(self.open_complete(launch, 1 << id) | passed)
    }

    /// Opens those of some barriers, a bit each, that are complete. Whether there were any.
    #[inline(always)]
    pub(in crate::exec) fn open_complete(&mut self, launch: &LaunchContext<'_>, changed: u32) -> bool {
        let warps = self.warps.len() as u32 - self.finished;
        let mut moved = false;
        for id in lanes_of(changed).map(|id| id as u32) {
            if self.state.barriers[id as usize].is_complete(warps) {
                self.open(launch, id);
                self.state.progress += 1;
                moved = true;
            }
        }
        moved
    }

    /// Has the groups of an interpreted warp arrive. Whether some of them go on at once.
    #[inline(never)]
    fn arrive_by_groups(
        &mut self,
        launch: &LaunchContext<'_>,
        index: usize,
        id: u32,
    ) -> Result<bool, Raised> {
        let warp = &mut self.warps[index];
        let barrier = &mut self.state.barriers[id as usize];
        let mut waits = false;
        let mut passed = Vec::new();
        for i in 0..warp.groups.len() {
            let group = warp.groups[i];
            let Some(op) = barrier_op(launch, &group) else { continue };
            let regs = warp.regs(group.frame);
            let lane = group.mask.trailing_zeros() as usize;
            if op.threads != crate::form::registers::NONE {
                // SAFETY: decoding gave the operand a 32-bit register.
                let threads: u32 = unsafe { regs.get(op.threads, lane) };
                if threads == 0 || !threads.is_multiple_of(32) {
                    return Err(Raised { raise: bad_count(threads, group.mask), pc: group.pc });
                }
                barrier.threads = threads;
            }
            if op.predicate != crate::form::registers::NONE {
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
            if O::SYNCHRONISATION
                && let Some(observer) = &mut self.observer
            {
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
                    observer.barrier(at, id, barrier.threads, step, op.aligned);
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
    fn open(&mut self, launch: &LaunchContext<'_>, id: u32) {
        let barrier = std::mem::take(&mut self.state.barriers[id as usize]);
        self.state.awaited &= !(1 << id);
        for resume in &mut self.resumes {
            if resume.state == WarpState::AtBarrier(id) {
                resume.state = WarpState::Ready;
                resume.pc += 1;
            }
        }
        for (warp, resume) in self.warps.iter_mut().zip(&self.resumes) {
            if resume.state != WarpState::Irregular || warp.arrived != Some(id) {
                continue;
            }
            warp.arrived = None;
            for i in 0..warp.groups.len() {
                let group = warp.groups[i];
                if group.wait != Wait::Barrier(id) {
                    continue;
                }
                if let Some(op) = barrier_op(launch, &group) {
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
                    if O::SYNCHRONISATION
                        && let Some(observer) = &mut self.observer
                    {
                        let at = At { pc: group.pc, warp: warp.index, lanes: group.mask };
                        observer.barrier(at, id, barrier.threads, BarrierStep::Leave, op.aligned);
                    }
                }
                warp.groups[i].pc += 1;
                warp.groups[i].wait = Wait::Nothing;
            }
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
    raise(FaultKind::IllegalInstruction(why), lanes & lanes_of(lanes).next().map_or(0, |i| 1 << i))
}
