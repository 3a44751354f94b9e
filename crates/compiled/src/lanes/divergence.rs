//! Branches at which a warp may diverge within the code, and the registers whose facts that weakens.
//!
//! LLVM calls it sync dependence (Coutinho, Sampaio, Pereira and Meira, "Divergence analysis and optimizations", PACT 2011): a
//! register written between a divergent branch and the point of reconvergence varies there.

use std::collections::HashSet;

use virtual_gpu::jit::{Function, Slot};

use crate::{if_conversion, loops};

/// The operations between a branch and the point where all lanes reconverge.
struct Span {
    branch: u32,
    end: u32,
    /// Registers that only some lanes may have written at the end.
    written: Vec<Slot>,
    /// Registers among them that an operation outside of the mask reads.
    lost: Vec<Slot>,
}

/// All of them in a function, and the branches that are divergent.
pub struct Divergence {
    spans: Vec<Span>,
    branches: HashSet<u32>,
}

impl Divergence {
    pub fn of(function: &Function<'_>) -> Self {
        let span = |branch: u32| {
            if let Some(end) = if_conversion::end_of(function, branch) {
                let writes = (branch..end).flat_map(|pc| function.step(pc).writes);
                let written: Vec<Slot> = writes.map(|write| write.0).collect();
                return Some(Span { branch, end, lost: written.clone(), written });
            }
            let start = loops::start_of(function, branch)?;
            let written = loops::written(function, start, branch);
            let lost = loops::read_elsewhere(function, start, branch, &written);
            Some(Span { branch, end: branch + 1, written, lost })
        };
        Divergence { spans: function.range().filter_map(span).collect(), branches: HashSet::new() }
    }

    fn divergent(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| self.branches.contains(&span.branch))
    }

    /// Marks a branch as divergent. True if that is new, and the lanes stay in the code.
    pub fn add(&mut self, branch: u32) -> bool {
        self.spans.iter().any(|span| span.branch == branch) && self.branches.insert(branch)
    }

    /// Registers that vary in the whole function.
    pub fn lost(&self) -> impl Iterator<Item = Slot> {
        self.divergent().flat_map(|span| span.lost.iter().copied())
    }

    /// Registers that vary where lanes reconverge at a program counter.
    pub fn written_before(&self, pc: u32) -> impl Iterator<Item = Slot> {
        self.divergent().filter(move |span| span.end == pc).flat_map(|span| span.written.iter().copied())
    }
}
