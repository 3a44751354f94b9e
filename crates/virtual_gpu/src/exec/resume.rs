//! Where the warps of a block that runs in compiled code stand between slices.
//!
//! Most slices begin where a block begins or behind a barrier, and end at a barrier or at the exit, with all lanes converged. A block
//! of eight warps has tens of kilobytes of registers, so a whole [`Warp`] is no longer in the cache when its slice comes. What such
//! slices need of it is a [`Resume`]; the warp is [restored](Resume::restore) when the interpreter goes on with it.

use super::compiled::CodeEntry;
use super::context::LaunchContext;
use super::warp::{Group, Wait, Warp};
use crate::form::op::OpKind;
use crate::form::registers::{Regs, Row};

/// The position of a warp between two slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resume {
    pub state: WarpState,
    pub pc: u32,
    pub lanes: u32,
    /// [`State::converged`](crate::jit::State::converged).
    pub converged: u32,
    /// [`State::may_diverge`](crate::jit::State::may_diverge).
    pub may_diverge: u32,
    /// Operations that the warp has executed.
    pub steps: u64,
    /// The rows of its first frame.
    pub rows: *mut Row,
    /// Some registers are stored for some lanes only: see [`CodeEntry::expand`].
    pub compact: bool,
    /// [`State::backward`](crate::jit::State::backward).
    pub backward: u32,
    /// Lanes that have diverged from others, and where these wait.
    pub diverged: (u32, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WarpState {
    /// All its lanes can go on, at one program counter of the kernel's own function.
    Ready,
    /// They have arrived at a plain barrier.
    AtBarrier(u32),
    Exited,
    /// The [`Warp`] alone knows.
    Irregular,
}

impl Resume {
    /// Moves the position into the warp.
    pub fn restore(&mut self, warp: &mut Warp, entry: &CodeEntry<'_>) {
        let Resume { state, pc, steps, converged, rows, compact, backward, diverged, .. } = *self;
        if state == WarpState::Irregular {
            return;
        }
        warp.converged &= converged != 0;
        warp.steps = steps;
        if state == WarpState::Exited {
            return warp.finish();
        }
        self.state = WarpState::Irregular;
        if compact {
            // SAFETY: `Resume::of` found the rows of the frame of the kernel's function.
            entry.expand(unsafe { Regs::new(rows) }, pc);
        }
        let (wait, arrived) = match state {
            WarpState::AtBarrier(id) => (Wait::Barrier(id), Some(id)),
            _ => (Wait::Nothing, None),
        };
        (warp.arrived, warp.backward) = (arrived, backward);
        (warp.groups[0].pc, warp.groups[0].wait) = (pc, wait);
        if let (lanes @ 1.., behind) = diverged {
            warp.diverge(lanes, pc, behind);
        }
    }

    /// The position of a warp, for `compiled` code or the interpreter alone.
    pub fn of(warp: &mut Warp, launch: &LaunchContext<'_>, compiled: bool) -> Self {
        let whole = warp.converged && warp.live == u32::MAX && in_halves(launch.launch.block);
        let (state, pc, lanes) = match warp.groups[..] {
            _ if warp.live == 0 => (WarpState::Exited, 0, 0),
            _ if !compiled => (WarpState::Irregular, 0, 0),
            [Group { frame: 0, wait: Wait::Nothing, pc, mask, .. }] => (WarpState::Ready, pc, mask),
            [Group { frame: 0, wait: Wait::Barrier(id), pc, mask, .. }]
                if warp.arrived == Some(id)
                    && matches!(&launch.code.ops[pc as usize].kind, OpKind::Barrier(op) if op.is_plain()) =>
            {
                (WarpState::AtBarrier(id), pc, mask)
            }
            _ => (WarpState::Irregular, 0, 0),
        };
        Resume {
            state,
            pc,
            lanes,
            converged: whole.into(),
            may_diverge: (warp.converged || warp.is_in_order()).into(),
            steps: warp.steps,
            rows: warp.rows.as_mut_ptr(),
            compact: false,
            backward: warp.backward,
            diverged: (0, 0),
        }
    }
}

/// Whether the threads of half a warp are always neighbours in one row of the block.
pub(super) fn in_halves([x, y, z]: [u32; 3]) -> bool {
    x.is_multiple_of(16) || y == 1 && z == 1
}
