//! Findings of a block: what the tools say is put beside who did it, where, and to which object.

use std::sync::Arc;

use virtual_gpu::SharedArray;
use virtual_gpu::observer::{At, MemorySpace, Operation};

use crate::finding::{Action, Finding, Findings, Key, Object, Site};
use crate::kind::Kind;
use crate::launched::Launched;
use crate::names::readable;
use crate::objects::Objects;

/// Takes down what is found in a block.
#[derive(Debug)]
pub(crate) struct Reporter {
    pub launched: Arc<Launched>,
    pub objects: Arc<Objects>,
    pub block: u32,
    pub findings: Findings,
}

impl Reporter {
    /// Adds a finding, or counts it if there was one of its kind at the same instructions.
    pub fn note(&mut self, key: Key, finding: impl FnOnce(&Self) -> Finding) {
        if !self.findings.again(&key) {
            let finding = finding(self).in_kernel(&self.launched.kernel);
            self.findings.add(key, finding);
        }
    }

    /// Adds a finding of one instruction.
    pub fn note_at(&mut self, pc: u32, kind: Kind, finding: impl FnOnce(&Self, Finding) -> Finding) {
        let key = Key::of(&kind, [pc, pc]);
        self.note(key, |reporter| finding(reporter, Finding::new(kind)));
    }

    /// Where the first of the lanes that execute an instruction does something.
    pub fn here(&self, what: Action, at: At) -> Site {
        self.site(what, at.pc, self.block, at.warp, at.lanes.trailing_zeros() & 31)
    }

    /// Where a lane does something.
    pub fn site(&self, what: Action, pc: u32, block: u32, warp: u32, lane: u32) -> Site {
        let shape = &self.launched.shape;
        Site::new(what, shape.block(block), shape.thread(warp, lane), self.launched.code.location(pc))
    }

    /// The object at an address.
    pub fn object(&self, space: MemorySpace, address: u64) -> Object {
        let own = |space: &'static str| Object {
            space: space.into(),
            name: None,
            size: None,
            offset: address,
            element: None,
            allocated: None,
        };
        match space {
            MemorySpace::Global => self.objects.global(address),
            MemorySpace::Shared => self.shared_object(address),
            MemorySpace::Local => own("local"),
            MemorySpace::Const => Object { space: "const".into(), ..self.objects.global(address) },
            MemorySpace::Param => own("param"),
        }
    }

    /// An instruction's target, as an array of the elements of its access.
    pub fn accessed(&self, pc: u32, space: MemorySpace, address: u64) -> Object {
        Object { element: self.element(pc), ..self.object(space, address) }
    }

    /// Bytes of the elements that an instruction accesses.
    fn element(&self, pc: u32) -> Option<u32> {
        match self.launched.code.operation(pc) {
            Operation::Load(access) | Operation::Store(access) => Some(access.width),
            Operation::Atomic(atomic) => Some(atomic.width),
            _ => None,
        }
    }

    /// The shared array that holds an address, or else the block's shared memory.
    fn shared_object(&self, address: u64) -> Object {
        let address = crate::cluster::within(address);
        let holds = |array: &&SharedArray| {
            let start = u64::from(array.offset);
            (start..start + u64::from(array.size)).contains(&address)
        };
        match self.launched.shared.iter().flatten().find(holds) {
            Some(array) => Object {
                space: "shared".into(),
                name: Some(readable(&array.name)),
                size: Some(array.size.into()),
                offset: address - u64::from(array.offset),
                element: None,
                allocated: None,
            },
            None => Object {
                space: "shared".into(),
                name: None,
                size: Some(self.launched.shared_bytes.into()),
                offset: address,
                element: None,
                allocated: None,
            },
        }
    }
}
