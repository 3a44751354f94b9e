//! A warp: its frames, its converged groups of lanes, and which group runs.
//!
//! Each lane has its own way through the program. Lanes that are in the same frame at the same program counter form a
//! group and run together. Of several groups the one deepest in calls runs, among these the one with the lowest program
//! counter; blocks of code are laid out in reverse post-order, so groups meet where their ways join. A group that only
//! goes round in a loop while others could run is made to wait for a while, so spinning lanes cannot starve the lanes
//! they wait for.

use super::collective::alike;
use super::local::Local;
use crate::form::op::CollectiveKind;
use crate::form::program::{Code, FunctionCode};
use crate::form::registers::{Regs, Row};

/// An activation of a function, shared by the lanes that called it together.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// First row.
    pub base: u32,
    pub rows: u32,
    pub function: u32,
    /// Index of the caller's frame.
    pub parent: u32,
    /// Where the call is; lanes go on behind it.
    pub call_pc: u32,
    pub depth: u32,
    /// Where its variables start in local memory, and how many bytes they take.
    pub local_base: u32,
    pub local_size: u32,
    /// Lanes that have not returned.
    pub live: u32,
}

/// The reason for which a group waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    /// The lanes of a member mask.
    Members(u32),
    /// A block barrier.
    Barrier(u32),
    /// An operation that said "not yet": it is tried again in each slice.
    Retry,
}

/// Lanes at one place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub frame: u32,
    pub pc: u32,
    pub mask: u32,
    pub wait: Wait,
    /// When it ran last, for fairness.
    pub last_run: u64,
}

/// A call without room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// The function's variables in local memory.
    Local,
    /// One more return address in local memory, at this depth of calls.
    ReturnAddresses { depth: u32 },
    /// The function's registers on this machine: the calls that are under way, and the rows that all would take.
    Registers { frames: u32, rows: usize },
}

/// Bytes of a thread's stack that a call takes at least.
const RETURN_ADDRESS: u32 = 8;

/// Rows that each group of a warp may take in any case: 4 MiB.
const ROWS_OF_A_GROUP: usize = 1 << 15;

/// Backward branches that a group may take while others wait.
pub const MOST_BACKWARD: u32 = 64;

/// A warp of one block.
#[derive(Debug)]
pub(crate) struct Warp {
    pub index: u32,
    /// Lanes that have not exited.
    pub live: u32,
    pub rows: Vec<Row>,
    /// Its first frame may stay for the warp of its number in another block, but for what [`FrameReset`] sets.
    ///
    /// [`FrameReset`]: super::frame::FrameReset
    pub is_prepared: bool,
    pub frames: Vec<Frame>,
    /// Frames without lanes that lie below one with lanes.
    empty: u32,
    pub groups: Vec<Group>,
    pub local: Local,
    /// Most rows that its frames may take together.
    most_rows: usize,
    /// Its lanes have not diverged since it began.
    pub converged: bool,
    /// Operations executed, also what its clock shows.
    pub steps: u64,
    /// Of these, operations that said "not yet".
    pub vain: u64,
    /// Operations since it last looked at memory, counted only under [`super::spin::Watch`].
    pub unobtrusive: u64,
    /// The barrier at which the warp has been counted.
    pub arrived: Option<u32>,
    /// Completed `bar.warp.sync`s whose lanes came at different times, for observers: program counter, member mask, lanes.
    pub met: Vec<(u32, u32, u32)>,
    /// A group that runs out of order, and how many backward branches it may still take.
    favoured: Option<(u32, u32, u32)>,
    turns: u64,
    pub backward: u32,
}

impl Warp {
    pub fn new(index: u32, live: u32, local_limit: u32, most_rows: usize) -> Self {
        Warp {
            index,
            live,
            rows: Vec::new(),
            is_prepared: false,
            frames: Vec::new(),
            empty: 0,
            groups: Vec::new(),
            local: Local::new(local_limit),
            most_rows,
            converged: true,
            steps: 0,
            vain: 0,
            unobtrusive: 0,
            arrived: None,
            met: Vec::new(),
            favoured: None,
            turns: 0,
            backward: 0,
        }
    }

    /// Makes it a warp that begins, with what it had as the warp of that number in another block of the same launch. Its first
    /// frame stays if it has one that fits any block.
    pub fn restart(&mut self) {
        self.frames.truncate(usize::from(self.is_prepared));
        self.groups.clear();
        self.local.restart();
        self.empty = 0;
        self.converged = true;
        self.steps = 0;
        self.vain = 0;
        self.unobtrusive = 0;
        self.arrived = None;
        self.met.clear();
        self.favoured = None;
        self.turns = 0;
        self.backward = 0;
    }

    /// Puts all lanes at the beginning of a kernel, in its first frame.
    pub fn begin(&mut self, function: &FunctionCode, lanes: u32) {
        self.live = lanes;
        if let Some(frame) = self.frames.first_mut() {
            frame.live = lanes;
            frame.local_size = function.local_size;
            self.rows.truncate(frame.rows as usize);
        }
        self.groups.push(Group {
            frame: 0,
            pc: function.start,
            mask: lanes,
            wait: Wait::Nothing,
            last_run: 0,
        });
    }

    /// All its lanes exit, together and from their first frame.
    pub fn finish(&mut self) {
        self.live = 0;
        self.groups.clear();
    }

    /// Lets the operations that said "not yet" be tried again.
    pub fn retry(&mut self) {
        for g in self.groups.iter_mut().filter(|g| g.wait == Wait::Retry) {
            g.wait = Wait::Nothing;
        }
    }

    /// The registers of a frame.
    #[inline]
    pub fn regs(&mut self, frame: u32) -> Regs {
        let base = self.frames[frame as usize].base as usize;
        debug_assert!(base <= self.rows.len());
        // SAFETY: `base` and the frame's rows lie in `rows`: `push_frame` made them.
        unsafe { Regs::new(self.rows.as_mut_ptr().add(base)) }
    }

    /// Index of the first row of what `regs` reaches.
    pub fn base_of(&self, regs: Regs) -> u32 {
        regs.row_after(self.rows.as_ptr())
    }

    /// Makes a frame for a function and gives its index.
    pub fn push_frame(
        &mut self,
        code: &Code,
        function: u32,
        parent: Option<(u32, u32)>,
        lanes: u32,
    ) -> Result<u32, Overflow> {
        let f = &code.functions[function as usize];
        let rows = f.image.len();
        // Groups that call and return in turn would otherwise pile up empty frames under each other's.
        let reused = match self.empty {
            0 => None,
            _ => self.frames.iter().position(|frame| frame.live == 0 && frame.rows as usize >= rows),
        };
        let base = match reused {
            Some(index) => self.frames[index].base,
            None => self.frames.last().map_or(0, |last| last.base + last.rows),
        };
        let (depth, local_base) = match parent {
            Some((parent, _)) => {
                let p = &self.frames[parent as usize];
                (p.depth + 1, (p.local_base + p.local_size).next_multiple_of(16))
            }
            None => (0, 0),
        };
        if depth > self.local.limit() / RETURN_ADDRESS {
            return Err(Overflow::ReturnAddresses { depth });
        }
        let end = base as usize + rows;
        if end > self.most_rows.max(ROWS_OF_A_GROUP * self.groups.len()) && depth > 0 {
            return Err(Overflow::Registers { frames: self.frames.len() as u32, rows: end });
        }
        let local_end = local_base.checked_add(f.local_size).ok_or(Overflow::Local)?;
        if !self.local.reserve(local_end) {
            return Err(Overflow::Local);
        }
        let frame = Frame {
            base,
            rows: reused.map_or(rows as u32, |index| self.frames[index].rows),
            function,
            parent: parent.map_or(0, |p| p.0),
            call_pc: parent.map_or(0, |p| p.1),
            depth,
            local_base,
            local_size: f.local_size,
            live: lanes,
        };
        if let Some(index) = reused {
            self.rows[base as usize..][..rows].copy_from_slice(&f.image);
            self.frames[index] = frame;
            self.empty -= 1;
            return Ok(index as u32);
        }
        self.rows.truncate(base as usize);
        self.rows.extend_from_slice(&f.image);
        self.frames.push(frame);
        Ok(self.frames.len() as u32 - 1)
    }

    /// Lanes leave a frame, by returning or exiting; frames without lanes are freed.
    pub fn leave_frame(&mut self, frame: u32, lanes: u32) {
        self.take_out(frame, lanes);
        while self.frames.len() > 1 && self.frames.last().is_some_and(|f| f.live == 0) {
            self.frames.pop();
            self.empty -= 1;
        }
    }

    fn take_out(&mut self, frame: u32, lanes: u32) {
        let live = &mut self.frames[frame as usize].live;
        let before = std::mem::replace(live, *live & !lanes);
        if before != 0 && before & !lanes == 0 {
            self.empty += 1;
        }
    }

    /// The calls that a lane is in, the innermost first.
    pub fn calls(&self, lane: u32) -> impl Iterator<Item = u32> {
        let of_lane = self.groups.iter().find(|group| group.mask >> lane & 1 != 0);
        let innermost = of_lane.map(|group| &self.frames[group.frame as usize]);
        let all = std::iter::successors(innermost, |frame| {
            (frame.depth > 0).then(|| &self.frames[frame.parent as usize])
        });
        all.filter(|frame| frame.depth > 0).map(|frame| frame.call_pc)
    }

    /// Whether two frames are of one function, called from the same places.
    pub fn called_alike(&self, a: u32, b: u32) -> bool {
        let (mut a, mut b) = (a, b);
        while a != b {
            let (one, other) = (&self.frames[a as usize], &self.frames[b as usize]);
            if (one.function, one.call_pc, one.depth) != (other.function, other.call_pc, other.depth)
                || one.depth == 0
            {
                return false;
            }
            (a, b) = (one.parent, other.parent);
        }
        true
    }

    /// Lanes exit: they leave their frame and all its callers.
    pub fn exit_lanes(&mut self, frame: u32, lanes: u32) {
        self.live &= !lanes;
        let mut at = frame;
        loop {
            self.take_out(at, lanes);
            if at == 0 {
                break;
            }
            at = self.frames[at as usize].parent;
        }
        self.leave_frame(frame, lanes);
    }

    /// Joins groups that are at the same place in the same state.
    fn merge(&mut self) {
        let mut i = 0;
        while i < self.groups.len() {
            let mut j = i + 1;
            while j < self.groups.len() {
                let (a, b) = (&self.groups[i], &self.groups[j]);
                if a.pc == b.pc && a.frame == b.frame && a.wait == b.wait {
                    self.groups[i].mask |= self.groups[j].mask;
                    self.groups[i].last_run = self.groups[i].last_run.max(self.groups[j].last_run);
                    self.groups.remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// Lanes parked with `members` whose missing lanes have come or exited may go on.
    fn wake_members(&mut self, code: &Code) {
        for i in 0..self.groups.len() {
            let Wait::Members(members) = self.groups[i].wait else { continue };
            let at = self.groups[i].pc;
            let meets = |g: &Group| g.wait == Wait::Members(members) && alike(code, g.pc, at);
            let here = self.groups.iter().filter(|g| meets(g)).fold(0, |mask, g| mask | g.mask);
            if members & self.live & !here != 0 {
                continue;
            }
            if is_warp_sync(code, at) {
                self.met.push((at, members, here));
            }
            for g in &mut self.groups {
                if meets(g) {
                    g.wait = Wait::Nothing;
                    if is_warp_sync(code, at) {
                        g.pc += 1;
                    }
                }
            }
        }
    }

    /// Chooses the group that runs next, and the program counter at which it may reconverge with another.
    pub fn pick(&mut self, code: &Code) -> Option<(usize, u32)> {
        if self.groups.len() > 1 {
            self.converged = false;
            self.merge();
        }
        if self.groups.iter().any(|g| matches!(g.wait, Wait::Members(_))) {
            self.wake_members(code);
            self.merge();
        }
        if let [only] = self.groups.as_slice() {
            return (only.wait == Wait::Nothing).then_some((0, u32::MAX));
        }
        let favourite = self.favoured.and_then(|(frame, mask, _)| {
            self.groups.iter().position(|g| g.frame == frame && g.mask & mask != 0 && g.wait == Wait::Nothing)
        });
        let chosen = favourite.or_else(|| {
            self.favoured = None;
            let ready = self.groups.iter().enumerate().filter(|(_, g)| g.wait == Wait::Nothing);
            ready
                .min_by_key(|(_, g)| (std::cmp::Reverse(self.frames[g.frame as usize].depth), g.frame, g.pc))
                .map(|(i, _)| i)
        })?;
        let (frame, pc) = (self.groups[chosen].frame, self.groups[chosen].pc);
        let meet = self
            .groups
            .iter()
            .filter(|g| g.frame == frame && g.pc > pc && g.wait == Wait::Nothing)
            .map(|g| g.pc)
            .min()
            .unwrap_or(u32::MAX);
        Some((chosen, meet))
    }

    /// Backward branches that the running group may take before [`Warp::count_backward`] makes another run; none while it runs
    /// out of order, since then each branch may restore the usual order.
    pub fn spin_limit(&self) -> u32 {
        match (self.groups.len(), self.favoured) {
            (1, _) => u32::MAX,
            (_, Some(_)) => 0,
            (_, None) => MOST_BACKWARD.saturating_sub(self.backward + 1),
        }
    }

    /// Whether no group runs out of order, also after a lone group diverges. In a warp that never diverged none does.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.favoured.is_none()
    }

    /// Adds backward branches of the running group.
    pub fn took_backward(&mut self, branches: u32) {
        if self.groups.len() > 1 {
            self.backward += branches;
        }
    }

    /// Counts a backward branch of the running group, and makes another run when it has had its share.
    pub fn count_backward(&mut self, running: usize) {
        self.backward += 1;
        let limit = self.favoured.map_or(MOST_BACKWARD, |(_, _, share)| share);
        if self.backward < limit {
            return;
        }
        self.rotate(running);
    }

    /// Some lanes of its only group have gone back to `pc`, and the others wait `behind`.
    pub fn diverge(&mut self, lanes: u32, pc: u32, behind: u32) {
        let group = &mut self.groups[0];
        let back = Group { pc, mask: lanes, ..*group };
        (group.pc, group.mask) = (behind, group.mask & !lanes);
        self.groups.push(back);
    }

    /// Lets the group run that has waited longest.
    pub fn rotate(&mut self, running: usize) {
        self.backward = 0;
        self.turns += 1;
        self.groups[running].last_run = self.turns;
        if self.favoured.take().is_some() {
            // Back to the usual order; the group at the lowest counter runs.
            return;
        }
        let ready = self.groups.iter().enumerate().filter(|&(i, g)| i != running && g.wait == Wait::Nothing);
        if let Some((_, g)) = ready.min_by_key(|(_, g)| g.last_run) {
            self.favoured = Some((g.frame, g.mask, MOST_BACKWARD));
        }
    }

    /// Whether all lanes that have not exited wait at one barrier: its index.
    pub fn at_barrier(&self) -> Option<u32> {
        let mut at = None;
        for g in &self.groups {
            match (g.wait, at) {
                (Wait::Barrier(id), None) => at = Some(id),
                (Wait::Barrier(id), Some(other)) if id == other => {}
                _ => return None,
            }
        }
        at
    }
}

/// Whether an operation is `bar.warp.sync`, at which lanes may meet from different places.
fn is_warp_sync(code: &Code, pc: u32) -> bool {
    matches!(&code.ops[pc as usize].kind, crate::form::op::OpKind::Collective(c) if c.kind == CollectiveKind::WarpSync)
}

/// Lanes of the running group that an operation's guard left out go on behind it, as a group of their own.
pub(super) fn split_off(warp: &mut Warp, running: usize, active: u32) {
    let group = &mut warp.groups[running];
    let rest = group.mask & !active;
    if rest != 0 {
        group.mask = active;
        let other = Group { pc: group.pc + 1, mask: rest, ..*group };
        warp.groups.push(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two diverged lanes call alternately, each before the other returns, so no frame is ever the last one.
    #[test]
    fn calls_in_turn_do_not_pile_up_frames() {
        let image = vec![Row([0; 32]); 64].into_boxed_slice();
        let code = Code { functions: vec![FunctionCode { image, ..Default::default() }], ..Code::default() };
        let mut warp = Warp::new(0, 3, 1024, 1 << 17);
        warp.push_frame(&code, 0, None, 3).unwrap();
        let mut first = warp.push_frame(&code, 0, Some((0, 0)), 1).unwrap();
        for _ in 0..10_000 {
            let second = warp.push_frame(&code, 0, Some((0, 0)), 2).unwrap();
            warp.leave_frame(first, 1);
            first = warp.push_frame(&code, 0, Some((0, 0)), 1).expect("an empty frame is used again");
            assert_ne!(first, second);
            warp.leave_frame(second, 2);
        }
        assert!(warp.frames.len() < 5);
        warp.leave_frame(first, 1);
        assert_eq!((warp.frames.len(), warp.empty), (1, 0));
    }
}
