//! Reports of a block that faulted, or that cannot go on.

use super::Block;
use crate::exec::context::{LaunchContext, raise};
use crate::exec::interpreter::Raised;
use crate::exec::warp::Wait;
use crate::fault::{Fault, FaultKind, is_library};
use crate::observer::BlockObserver;

impl<O: BlockObserver> Block<O> {
    /// Says of a fault where it was.
    pub(in crate::exec) fn fault(
        &self,
        launch: &LaunchContext<'_>,
        index: usize,
        raised: Raised,
    ) -> Box<Fault> {
        let warp = &self.warps[index];
        let lane = raised.raise.lane;
        let mut fault = launch.fault(self.state.index, warp.index, raised.pc, *raised.raise);
        // A library's function that is not inlined, such as one that reports panics: its callers are shown, too.
        let frames = &mut fault.location.frames;
        let mut calls = warp.calls(lane);
        while frames.iter().all(|frame| is_library(&frame.file))
            && let Some(pc) = calls.next()
        {
            frames.extend_from_slice(launch.code.frames(pc));
        }
        Box::new(fault)
    }

    /// The fault of a block in which nothing can go on, with the place of each waiting warp.
    pub fn deadlock(&self, launch: &LaunchContext<'_>) -> Box<Fault> {
        // Warps that wait alike share a line: a block has up to 32 of them, and most often one place.
        let mut waits: Vec<(String, Vec<u32>)> = Vec::new();
        let mut first = None;
        let phase_waits = self.state.phase_waits.as_ref();
        let go_round = |warp, lanes| phase_waits.is_some_and(|waits| waits.go_round(warp, lanes));
        for (index, warp) in self.warps.iter().enumerate() {
            for group in &warp.groups {
                first.get_or_insert((index, group.pc, group.mask));
                let what = match group.wait {
                    Wait::Barrier(id) => format!("for barrier {id}"),
                    Wait::Members(mask) => {
                        let missing = mask & warp.live & !group.mask;
                        format!("for lanes {missing:#010x} of the member mask {mask:#010x}")
                    }
                    Wait::Nothing if go_round(warp.index, group.mask) => {
                        "for a phase of an mbarrier that nothing completes any more".into()
                    }
                    Wait::Retry | Wait::Nothing => "in a loop for something that never comes".into(),
                };
                let exited = !warp.live & self.born(launch, warp.index);
                let note =
                    if exited != 0 { format!("; lanes {exited:#010x} have exited") } else { String::new() };
                let place = launch.code.location(group.pc);
                let wait = format!("lanes {:#010x}, wait {what}, {place}{note}", group.mask);
                match waits.iter_mut().find(|(known, _)| *known == wait) {
                    Some((_, warps)) => warps.push(warp.index),
                    None => waits.push((wait, vec![warp.index])),
                }
            }
        }
        let mut report = String::new();
        for (wait, warps) in waits {
            report += &format!("  {}, {wait}\n", named(&warps));
        }
        for (id, barrier) in self.state.barriers.iter().enumerate().filter(|(_, b)| b.arrived > 0) {
            let expected = if barrier.threads == 0 {
                (self.warps.len() as u32 - self.finished) * 32
            } else {
                barrier.threads
            };
            report += &format!("  barrier {id}: {} of {expected} threads have arrived\n", barrier.arrived);
        }
        let (index, pc, mask) = first.unwrap_or((0, 0, 1));
        self.fault(launch, index, Raised { raise: raise(FaultKind::Deadlock(report), mask), pc })
    }

    fn born(&self, launch: &LaunchContext<'_>, warp: u32) -> u32 {
        let lanes = (launch.launch.threads() as u32 - warp * 32).min(32);
        if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 }
    }

    /// A fault that is no operation's own, at the place where the block is now.
    pub fn stopped(&self, launch: &LaunchContext<'_>, kind: FaultKind) -> Box<Fault> {
        let at = self.groups().next().map(|(index, group)| (index, group.pc, group.mask));
        let (index, pc, mask) = at.unwrap_or((0, 0, 1));
        self.fault(launch, index, Raised { raise: raise(kind, mask), pc })
    }
}

/// Warps by their numbers, which rise: `warp 3`, `warps 0 to 7, 9`.
fn named(warps: &[u32]) -> String {
    let runs = warps.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        run => run.iter().map(u32::to_string).collect(),
    });
    let runs: Vec<String> = runs.collect();
    format!("warp{} {}", if warps.len() == 1 { "" } else { "s" }, runs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn warps_that_follow_each_other_are_named_together() {
        assert_eq!(named(&[3]), "warp 3");
        assert_eq!(named(&[0, 1]), "warps 0 to 1");
        assert_eq!(named(&[0, 2, 3, 4, 9]), "warps 0, 2 to 4, 9");
    }
}
