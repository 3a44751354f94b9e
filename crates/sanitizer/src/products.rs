//! Registers that a `wgmma` still writes: its result may be read once its group is awaited.
//!
//! Compilers copy such registers to and fro, and give them to the next product; neither looks at them. A store to a thread's
//! own stack, which code without optimisation makes of each, is such a copy, too.

use std::collections::HashMap;

use virtual_gpu::observer::{AsyncEvent, MemorySpace, Opcode, Operation, Register, SpaceOperand};

/// Of one warp: by slot of the register, the group that its product is in; `None` before it is committed.
#[derive(Debug, Default)]
struct OfWarp {
    results: HashMap<u32, Option<u32>>,
    committed: u32,
}

/// The results that are under way in a block.
#[derive(Debug, Default)]
pub struct Products(Vec<OfWarp>);

impl Products {
    fn warp(&mut self, warp: u32) -> &mut OfWarp {
        let warp = warp as usize;
        if self.0.len() <= warp {
            self.0.resize_with(warp + 1, OfWarp::default);
        }
        &mut self.0[warp]
    }

    /// Whether a warp has such a register.
    #[inline]
    pub fn follows(&self, warp: u32) -> bool {
        self.0.get(warp as usize).is_some_and(|warp| !warp.results.is_empty())
    }

    /// A warp issues a product, closes its products into a group, or waits for groups.
    pub fn follow(&mut self, warp: u32, event: &AsyncEvent<'_>) {
        match *event {
            AsyncEvent::ProductIssued { result, .. } => {
                let results = result.iter().flatten().map(|register| (register.slot, None));
                self.warp(warp).results.extend(results);
            }
            AsyncEvent::ProductsCommitted => {
                let warp = self.warp(warp);
                let group = warp.committed;
                warp.results.values_mut().for_each(|of| *of = of.or(Some(group)));
                warp.committed += 1;
            }
            AsyncEvent::ProductsAwaited { pending } => {
                let warp = self.warp(warp);
                let done = warp.committed.saturating_sub(pending);
                warp.results.retain(|_, of| of.is_none_or(|group| group >= done));
            }
            _ => {}
        }
    }

    /// An instruction of a warp reads and writes registers: whether it looks at such a result.
    pub fn looks(
        &mut self,
        warp: u32,
        operation: Operation<'_>,
        reads: &[Register],
        writes: &[Register],
    ) -> bool {
        let results = &mut self.warp(warp).results;
        let read = reads.iter().find_map(|register| results.get(&register.slot).copied());
        let moves = match operation {
            Operation::Matrix { asynchronous: true } => return false,
            Operation::Arithmetic(arithmetic) => arithmetic.opcode == Opcode::Move,
            _ => false,
        };
        for register in writes {
            match read.filter(|_| moves) {
                Some(group) => results.insert(register.slot, group),
                None => results.remove(&register.slot),
            };
        }
        let spills = matches!(operation, Operation::Store(store) if matches!(store.space, SpaceOperand::In(MemorySpace::Local)));
        read.is_some() && !moves && !spills
    }
}
