//! Branches at which lanes of a warp may part without leaving the code, and what that means for registers.

use std::collections::HashSet;

use virtual_gpu::stretch::{Function, Slot};

use crate::{loops, regions};

/// What lies between a branch and the place where all lanes are together again.
struct Part {
    branch: u32,
    end: u32,
    /// Registers that only some lanes may have written at the end.
    written: Vec<Slot>,
    /// Of these, the ones that somebody reads who is not under the mask.
    lost: Vec<Slot>,
}

/// All of them in a function, and which branches do part lanes.
pub struct Parting {
    parts: Vec<Part>,
    branches: HashSet<u32>,
}

impl Parting {
    pub fn of(function: &Function<'_>) -> Self {
        let part = |branch: u32| {
            if let Some(end) = regions::end_of(function, branch) {
                let writes = (branch..end).flat_map(|pc| function.step(pc).writes);
                let written: Vec<Slot> = writes.map(|write| write.0).collect();
                return Some(Part { branch, end, lost: written.clone(), written });
            }
            let start = loops::start_of(function, branch)?;
            let written = loops::written(function, start, branch);
            let lost = loops::read_elsewhere(function, start, branch, &written);
            Some(Part { branch, end: branch + 1, written, lost })
        };
        Parting { parts: function.range().filter_map(part).collect(), branches: HashSet::new() }
    }

    fn parting(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| self.branches.contains(&part.branch))
    }

    /// Takes note that lanes may part at a branch; whether that is new, and stays in the code.
    pub fn add(&mut self, branch: u32) -> bool {
        self.parts.iter().any(|part| part.branch == branch) && self.branches.insert(branch)
    }

    /// Registers of which few lanes cannot tell all others for the whole function.
    pub fn lost(&self) -> impl Iterator<Item = Slot> {
        self.parting().flat_map(|part| part.lost.iter().copied())
    }

    /// Registers that differ from lane to lane where those that have parted come together at a program counter.
    pub fn written_before(&self, pc: u32) -> impl Iterator<Item = Slot> {
        self.parting().filter(move |part| part.end == pc).flat_map(|part| part.written.iter().copied())
    }
}
